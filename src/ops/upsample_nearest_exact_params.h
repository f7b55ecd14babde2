// Parameters of the kernels of nearest and nearest-exact, and of their gradients.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_PARAMS_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace portacl::ops {

// The index map of one axis. `in` is the extent of the forward input and of gradInput; `out` is the
// extent of the forward output and of gradOutput. src(o), the source of o, never decreases. So the
//   src(o) == i  <=>  begin[i] <= o < begin[i + 1],  begin[0] == 0, begin[in] == out.
struct NearestAxis {
  int64_t in = 1;
  int64_t out = 1;
  const int64_t* begin = nullptr;  // in + 1 entries, made in the plan from the float rule
  int64_t ratio = 0;  // k if begin[i] == k * i for every i (checked against the table), else 0
};

// Tensors are (N, C, D, H, W); operators of fewer axes have D = 1 and H = 1. Strides are in
// elements, of any sign; 0 only in `from`. Arrays hold N, C, H and W; D has its own members.
struct NearestParams {
  base::DType dtype = base::DType::kFloat;
  int64_t n = 0;
  int64_t c = 0;
  NearestAxis d{};
  NearestAxis h{};
  NearestAxis w{};
  const void* from = nullptr;  // the element (0, 0, 0, 0, 0)
  void* to = nullptr;
  std::array<int64_t, 4> from_stride{};
  std::array<int64_t, 4> to_stride{};
  int64_t from_depth_stride = 0;
  int64_t to_depth_stride = 0;
};

// Reads the input (n, c, d.in, h.in, w.in); writes the output (n, c, d.out, h.out, w.out).
struct UpsampleNearestExactParams : NearestParams {};

// Reads gradOutput (the output's shape); writes gradInput. gradInput[n, c, k, i, j] = sum of
// gradOutput[n, c, od, oh, ow] with src(od) = k, src(oh) = i and src(ow) = j on their axes. Sums
// are in row-major order from +0, in float (double for double), rounded once.
struct UpsampleNearestExactBackwardParams : NearestParams {};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_PARAMS_H_
