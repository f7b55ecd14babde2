// Parameters of the nearest-exact backward kernels.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_PARAMS_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ops {

// grad_input[n, c, i, j] = sum of grad_output[n, c, oh, ow] over oh in the sources of i and ow in
// the sources of j, in row-major (oh, ow) order from +0 in float (double for double), rounded once.
struct UpsampleNearestExactBackwardParams {
  base::DType dtype = base::DType::kFloat;
  int64_t n = 0;
  int64_t c = 0;
  NearestAxis h;
  NearestAxis w;
  const void* grad_output = nullptr;            // (n, c, h.out, w.out): element (0, 0, 0, 0)
  void* grad_input = nullptr;                   // (n, c, h.in, w.in)
  std::array<int64_t, 4> grad_output_stride{};  // in elements, any sign, 0 allowed
  std::array<int64_t, 4> grad_input_stride{};   // in elements, any sign, no overlap
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_PARAMS_H_
