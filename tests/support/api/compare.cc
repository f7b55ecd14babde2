// Comparisons that report the first and the number of differences.
#include "support/api/compare.h"

#include <algorithm>
#include <cmath>

namespace portacl_test {
namespace {

// Calls `agrees(index, explanation)` for every element and reports those where it is false.
template <class Agrees>
testing::AssertionResult ForAll(const Tensor& got, Agrees agrees) {
  int64_t failures = 0;
  testing::AssertionResult result = testing::AssertionFailure();
  for (int64_t i = 0; i < got.size(); ++i) {
    testing::Message explanation;
    if (agrees(i, explanation)) continue;
    if (++failures <= 3) {
      result << NameOf(got.element()) << ToString(got.shape()) << " element " << i << ": got "
             << got.Get(i) << explanation << "; ";
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
  return ForAll(got, [&](int64_t i, testing::Message& explanation) {
    const ExactSum& exact = want[static_cast<size_t>(i)];
    const long double value = got.Get(i);
    if (std::isnan(exact.value) || std::isinf(exact.value)) {
      explanation << ", wanted " << exact.value;
      return std::isnan(exact.value) ? std::isnan(value) : value == exact.value;
    }
    const long double allowed = AllowedError(op, got.element(), exact);
    const long double error = std::fabs(value - exact.value);
    explanation << ", wanted " << exact.value << ", error " << error << ", allowed " << allowed;
    return error <= allowed;  // false for NaN
  });
}

testing::AssertionResult BitIdentical(const Tensor& got, const Tensor& want) {
  if (got.element() != want.element() || got.shape() != want.shape()) {
    return testing::AssertionFailure()
           << NameOf(got.element()) << ToString(got.shape()) << ", wanted "
           << NameOf(want.element()) << ToString(want.shape());
  }
  return ForAll(got, [&](int64_t i, testing::Message& explanation) {
    explanation << ", wanted the bits of " << want.Get(i);
    return got.Bits(i) == want.Bits(i);
  });
}

testing::AssertionResult WithinCommunityStandard(const Tensor& got,
                                                 const std::vector<double>& want) {
  if (static_cast<size_t>(got.size()) != want.size()) {
    return testing::AssertionFailure() << got.size() << " elements, wanted " << want.size();
  }
  const double threshold = CommunityThreshold(got.element());
  double sum = 0;
  const testing::AssertionResult each = ForAll(got, [&](int64_t i, testing::Message& explanation) {
    const double expected = want[static_cast<size_t>(i)];
    const double error = std::fabs(got.Get(i) - expected) / (std::fabs(expected) + 1e-7);
    sum += error;
    explanation << ", wanted " << expected << ", relative error " << error << ", allowed "
                << 10 * threshold;
    return error < 10 * threshold;
  });
  if (!each) return each;
  const double mean = sum / static_cast<double>(std::max<int64_t>(got.size(), 1));
  if (mean < threshold) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "mean relative error " << mean << ", allowed " << threshold;
}

}  // namespace portacl_test
