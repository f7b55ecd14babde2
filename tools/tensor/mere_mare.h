// MERE and MARE, the community standard for comparing results with a reference: mean and largest
// relative error against thresholds that depend on the element type.
#ifndef PORTACL_TOOLS_TENSOR_MERE_MARE_H_
#define PORTACL_TOOLS_TENSOR_MERE_MARE_H_

#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

struct Comparison {
  double mere = 0;       // mean of |a - g| / (|g| + 1e-7)
  double mare = 0;       // largest of the same
  double threshold = 0;  // MERE must be below it, MARE below ten times it
  double largest_difference = 0;
  int64_t count = 0;
  int64_t different = 0;   // elements with different values
  int64_t not_finite = 0;  // elements where exactly one is NaN, or infinities do not agree
  int64_t worst = -1;      // row-major index of MARE's (or the first not_finite) element
  bool passed = false;
};

// 2^-13 float32, 2^-10 float16, 2^-7 bfloat16, 2^-44 float64.
double ComparisonThreshold(DataType dtype);

// Compares `actual` with `golden` (which may have another dtype, but not another shape); the
// threshold is the one of `actual`. Equal values, equal infinities and a NaN on both sides count as
// error 0; any other pair with a NaN or infinity fails. No elements: passed.
Comparison Compare(const HostTensor& actual, const HostTensor& golden);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_TENSOR_MERE_MARE_H_
