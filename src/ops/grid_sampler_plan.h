// The common part of the plans of grid sampling and of its gradients.
#ifndef PORTACL_OPS_GRID_SAMPLER_PLAN_H_
#define PORTACL_OPS_GRID_SAMPLER_PLAN_H_

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/grid_sampler_2d_params.h"
#include "ops/grid_sampler_3d_params.h"

namespace portacl::ops {

// `input` is the call's input, moved to (N, C, D, H, W) if its format is NDHWC.
template <class Shape>
Shape ShapeOf(const Call& call, const base::TensorDesc& input, const base::TensorDesc& grid) {
  constexpr int kAxes = std::is_base_of_v<GridSampler3DShape, Shape> ? 3 : 2;
  Shape shape;
  shape.dtype = input.dtype;
  shape.n = input.shape[0];
  shape.c = input.shape[1];
  shape.h = input.shape[kAxes];
  shape.w = input.shape[kAxes + 1];
  shape.oh = grid.shape[kAxes - 1];
  shape.ow = grid.shape[kAxes];
  if constexpr (kAxes == 3) {
    shape.d = input.shape[2];
    shape.od = grid.shape[1];
    // One empty axis: the other axes are not multiplied, because their products may exceed 64 bits.
    if (grid.NumElements() == 0) shape.od = shape.oh = shape.ow = 0;
  }
  shape.interpolation = static_cast<Interpolation>(call.mode(0));
  shape.padding = static_cast<Padding>(call.mode(1));
  shape.align_corners = call.flag(0);
  shape.fill = call.real(0);
  shape.replaces_outside = call.flag(1);
  shape.outside_value = call.real(1);
  return shape;
}
template <class Params>
inline constexpr bool kVolume = std::is_base_of_v<GridSampler3DShape, decltype(Params::shape)>;
template <size_t kRank>
void SetStrides(const base::TensorDesc& tensor, std::array<int64_t, kRank>* strides) {
  std::copy_n(tensor.strides.data(), kRank, strides->begin());
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_PLAN_H_
