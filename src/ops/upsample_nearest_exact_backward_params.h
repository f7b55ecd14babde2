// Parameters of the nearest-exact backward kernels.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_PARAMS_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ops {

// grad_input[n, c, k, i, j] = sum of grad_output[n, c, od, oh, ow] over od in the sources of k, oh
// in i's and ow in j's. The sum is made in row-major (od, oh, ow) order from +0, in float (double
// for double), and rounded once. Operators of fewer axes have D = 1 and H = 1.
struct UpsampleNearestExactBackwardParams {
  base::DType dtype = base::DType::kFloat;
  int64_t n = 0;
  int64_t c = 0;
  NearestAxis d{};
  NearestAxis h;
  NearestAxis w;
  const void* grad_output = nullptr;            // (n, c, d.out, h.out, w.out): the first element
  void* grad_input = nullptr;                   // (n, c, d.in, h.in, w.in)
  std::array<int64_t, 4> grad_output_stride{};  // of n, c, h, w; in elements, any sign, 0 allowed
  std::array<int64_t, 4> grad_input_stride{};   // of n, c, h, w; in elements, any sign, no overlap
  int64_t grad_output_depth_stride = 0;
  int64_t grad_input_depth_stride = 0;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_PARAMS_H_
