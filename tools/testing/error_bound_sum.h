// The currency of error_bound.h: a sum, with the numbers to judge the error of another.
#ifndef PORTACL_TOOLS_TESTING_ERROR_BOUND_SUM_H_
#define PORTACL_TOOLS_TESTING_ERROR_BOUND_SUM_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tools/testing/error_bound.h"

namespace portacl::golden {

// 113 bits on every machine (x86's own long double has 64).
#if defined(__x86_64__) || defined(__i386__)
__extension__ typedef __float128 Quad;
#else
using Quad = long double;
#endif

// The operator calculates in Float, error_bound.h in the wider type.
template <class Float>
struct WideOf;
template <>
struct WideOf<float> {
  using Type = double;
};
template <>
struct WideOf<double> {
  using Type = Quad;
};

template <class Wide>
Wide Magnitude(Wide value) {
  return value < 0 ? -value : value;
}

template <class Wide>
struct Sum {
  Wide value = 0;
  double magnitude = 0;  // of the terms
  double spread = 0;     // what moved coordinates may change
  int64_t terms = 0;
};

// The bound of a sum; `roundings`: how many a term has (error_bound.h).
template <class Float, class Wide>
double BoundOf(const Sum<Wide>& sum, DataType dtype, int roundings) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (std::isnan(sum.spread) || std::isinf(sum.spread)) return kInfinity;
  const auto value = static_cast<double>(sum.value);
  if (!std::isfinite(value)) return 0;
  if (!(sum.magnitude < static_cast<double>(std::numeric_limits<Float>::max()) / 4)) {
    return kInfinity;
  }
  if (sum.terms == 0 && sum.spread == 0) return 0;
  const double unit = static_cast<double>(std::numeric_limits<Float>::epsilon()) / 2;
  const double k = static_cast<double>(std::max<int64_t>(sum.terms + roundings, 0)) * unit;
  if (k >= 0.5) return kInfinity;
  const double bound = k / (1 - k) * sum.magnitude + sum.spread;
  // The last term: `value` itself is rounded to double.
  return bound + UlpAt(dtype, std::fabs(value) + bound) / 2 + std::fabs(value) * 0x1p-53;
}

template <class Float, class Wide>
Exact Finished(const std::vector<Sum<Wide>>& sums, DataType dtype, int roundings) {
  Exact exact;
  exact.value.reserve(sums.size());
  exact.bound.reserve(sums.size());
  for (const Sum<Wide>& sum : sums) {
    exact.value.push_back(static_cast<double>(sum.value));
    exact.bound.push_back(BoundOf<Float>(sum, dtype, roundings));
  }
  return exact;
}

// For nearest and nearest-exact resizing.
std::vector<Exact> ExactNearest(const Call& call);

// ExactOutputs() is made of these: one function for each operator's checks in the list.
#define PORTACL_OPERATOR(Name, name, Checks, Params) std::vector<Exact> Exact##Checks(const Call&);
#include "src/ops/operator_list.inc"

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_ERROR_BOUND_SUM_H_
