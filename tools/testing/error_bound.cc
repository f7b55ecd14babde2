// The choice by the operator's family, and the ULP.
#include "tools/testing/error_bound.h"

#include <algorithm>

#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {

std::vector<Exact> ExactOutputs(const Call& call) {
  return call.op->sampler() ? ExactSampler(call) : ExactNearest(call);
}

double UlpAt(DataType dtype, double value) {
  struct Format {
    int fraction_bits, least_exponent, largest_exponent;
  };
  const Format format = dtype == DataType::kFloat16    ? Format{10, -14, 15}
                        : dtype == DataType::kBFloat16 ? Format{7, -126, 127}
                        : dtype == DataType::kFloat32  ? Format{23, -126, 127}
                                                       : Format{52, -1022, 1023};
  const double magnitude = std::fabs(value);
  int exponent = format.least_exponent;
  if (!(magnitude < HUGE_VAL)) {
    exponent = format.largest_exponent;
  } else if (magnitude != 0) {
    exponent = std::clamp(std::ilogb(magnitude), format.least_exponent, format.largest_exponent);
  }
  return std::ldexp(1.0, exponent - format.fraction_bits);
}

}  // namespace portacl::golden
