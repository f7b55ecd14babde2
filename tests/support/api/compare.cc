// Comparisons that report the first and the number of differences.
#include "support/api/compare.h"

#include <algorithm>
#include <cmath>

namespace portacl_test {
namespace {

// Calls `agrees(index)` for every element, and `explain(index, result)` for the first element for
// which it is false. Two functions, because making text of numbers took half the time of all tests.
template <class Agrees, class Explain>
testing::AssertionResult ForAll(const Tensor& got, const Agrees& agrees, const Explain& explain) {
  int64_t failures = 0;
  testing::AssertionResult result = testing::AssertionFailure();
  for (int64_t i = 0; i < got.size(); ++i) {
    if (agrees(i)) continue;
    if (++failures <= 3) {
      result << NameOf(got.element()) << ToString(got.shape()) << " element " << i << ": got "
             << got.Get(i) << ", wanted ";
      explain(i, &result);
      result << "; ";
    }
  }
  if (failures == 0) return testing::AssertionSuccess();
  return result << failures << " of " << got.size() << " elements differ";
}

double CommunityThreshold(Element element) {
  switch (element) {
    case Element::kFloat16:
      return 0x1p-10;
    case Element::kBFloat16:
      return 0x1p-7;
    case Element::kDouble:
      return 0x1p-44;
    default:
      return 0x1p-13;
  }
}

}  // namespace

testing::AssertionResult WithinTolerance(Operator op, const Tensor& got,
                                         const std::vector<ExactSum>& want) {
  if (static_cast<size_t>(got.size()) != want.size()) {
    return testing::AssertionFailure() << got.size() << " elements, wanted " << want.size();
  }
  const auto allowed = [&](const ExactSum& exact) {
    return AllowedError(op, got.element(), exact);
  };
  const auto error = [&](int64_t i, const ExactSum& exact) {
    return std::fabs(static_cast<long double>(got.Get(i)) - exact.value);
  };
  return ForAll(
      got,
      [&](int64_t i) {
        const ExactSum& exact = want[static_cast<size_t>(i)];
        if (std::isnan(exact.value)) return std::isnan(got.Get(i));
        if (std::isinf(exact.value)) return got.Get(i) == exact.value;
        return error(i, exact) <= allowed(exact);  // false for NaN
      },
      [&](int64_t i, testing::AssertionResult* result) {
        const ExactSum& exact = want[static_cast<size_t>(i)];
        *result << exact.value;
        if (!std::isfinite(exact.value)) return;
        *result << ", error " << error(i, exact) << ", allowed " << allowed(exact);
      });
}

testing::AssertionResult BitIdentical(const Tensor& got, const Tensor& want) {
  if (got.element() != want.element() || got.shape() != want.shape()) {
    return testing::AssertionFailure()
           << NameOf(got.element()) << ToString(got.shape()) << ", wanted "
           << NameOf(want.element()) << ToString(want.shape());
  }
  return ForAll(
      got, [&](int64_t i) { return got.Bits(i) == want.Bits(i); },
      [&](int64_t i, testing::AssertionResult* result) {
        *result << "the bits of " << want.Get(i);
      });
}

testing::AssertionResult WithinCommunityStandard(const Tensor& got,
                                                 const std::vector<double>& want) {
  if (static_cast<size_t>(got.size()) != want.size()) {
    return testing::AssertionFailure() << got.size() << " elements, wanted " << want.size();
  }
  const double threshold = CommunityThreshold(got.element());
  double sum = 0;
  const auto error = [&](int64_t i) {
    const double expected = want[static_cast<size_t>(i)];
    return std::fabs(got.Get(i) - expected) / (std::fabs(expected) + 1e-7);
  };
  const testing::AssertionResult each = ForAll(
      got,
      [&](int64_t i) {
        sum += error(i);
        return error(i) < 10 * threshold;
      },
      [&](int64_t i, testing::AssertionResult* result) {
        *result << want[static_cast<size_t>(i)] << ", relative error " << error(i) << ", allowed "
                << 10 * threshold;
      });
  if (!each) return each;
  const double mean = sum / static_cast<double>(std::max<int64_t>(got.size(), 1));
  if (mean < threshold) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "mean relative error " << mean << ", allowed " << threshold;
}

}  // namespace portacl_test
