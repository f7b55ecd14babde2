// Parameters of the nearest-exact kernels: the forward function and, by inclusion, the backward
// one.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_PARAMS_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace portacl::ops {

// The index map of one axis. `in` is the side of the forward input and of gradInput, `out` the side
// of the forward output and of gradOutput. src(o) never decreases, so the sources of i are a range:
//   src(o) == i  <=>  begin[i] <= o < begin[i + 1],  begin[0] == 0, begin[in] == out.
struct NearestAxis {
  int64_t in = 1;
  int64_t out = 1;
  const int64_t* begin = nullptr;  // in + 1 entries, made in the plan from the float rule
  int64_t ratio = 0;  // k if begin[i] == k * i for every i (checked against the table), else 0
};

// (N, C, D, H, W); operators of fewer axes have D = 1 and H = 1. Strides in elements, any sign; 0
// only in inputs: four of them for N, C, H and W, one for D.
struct UpsampleNearestExactParams {
  base::DType dtype = base::DType::kFloat;
  int64_t n = 0;
  int64_t c = 0;
  NearestAxis d{};
  NearestAxis h;
  NearestAxis w;
  const void* input = nullptr;  // (n, c, d.in, h.in, w.in): element (0, 0, 0, 0, 0)
  void* output = nullptr;       // (n, c, d.out, h.out, w.out)
  std::array<int64_t, 4> input_stride{};
  std::array<int64_t, 4> output_stride{};
  int64_t input_depth_stride = 0;
  int64_t output_depth_stride = 0;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_PARAMS_H_
