// Thresholds per element type, and the pass over the elements.
#include "tools/tensor/mere_mare.h"

#include <algorithm>
#include <cmath>

namespace portacl::cli {

double ComparisonThreshold(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16:
      return 0x1p-10;
    case DataType::kBFloat16:
      return 0x1p-7;
    case DataType::kFloat32:
      return 0x1p-13;
    case DataType::kFloat64:
      return 0x1p-44;
    default:
      break;
  }
  return 0x1p-13;  // bytes: another one is further off than ten of these
}

Comparison Compare(const HostTensor& actual, const HostTensor& golden) {
  Comparison result;
  result.threshold = ComparisonThreshold(actual.dtype());
  result.count = actual.count();
  double sum = 0;
  for (int64_t i = 0; i < actual.count(); ++i) {
    const double a = actual.Get(i), g = golden.Get(i);
    if (a == g || (std::isnan(a) && std::isnan(g))) continue;
    ++result.different;
    if (!std::isfinite(a) || !std::isfinite(g)) {
      if (result.not_finite++ == 0) result.worst = i;
      continue;
    }
    constexpr double kFloor = 1e-7;  // keeps the quotient finite if the reference is 0
    const double error = std::fabs(a - g) / (std::fabs(g) + kFloor);
    sum += error;
    result.largest_difference = std::max(result.largest_difference, std::fabs(a - g));
    if (error > result.mare) {
      result.mare = error;
      if (result.not_finite == 0) result.worst = i;
    }
  }
  if (result.count > 0) result.mere = sum / static_cast<double>(result.count);
  result.passed = result.not_finite == 0 && result.mere < result.threshold &&
                  result.mare < 10 * result.threshold;
  return result;
}

}  // namespace portacl::cli
