// The gradients of grid sampling, of images and volumes: checks in the order of the documents'
// table, and plans.
#ifndef PORTACL_OPS_GRID_SAMPLER_BACKWARD_H_
#define PORTACL_OPS_GRID_SAMPLER_BACKWARD_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/grid_sampler_2d_backward_params.h"
#include "ops/grid_sampler_2d_params.h"
#include "ops/grid_sampler_3d_params.h"
#include "ops/plan.h"
#include "ops/surface.h"

namespace portacl::ops {

struct GridSamplerBackwardCall {
  const Signature* signature = nullptr;
  const char* op = "";  // the function's name in messages; a static string
  Surface surface = Surface::kNative;
  int spatial = 2;  // axes of an image: 2 or 3
  const base::TensorDesc* grad_output = nullptr;
  const base::TensorDesc* input = nullptr;
  const base::TensorDesc* grid = nullptr;
  int64_t interpolation = 0;
  int64_t padding = 0;
  bool align_corners = false;
  // inputGrad, gridGrad. The aclnn API alone has it: the native one passes null for an output that
  // is not wanted, and by name both are.
  const std::vector<bool>* output_mask = nullptr;
  const base::TensorDesc* input_grad = nullptr;
  const base::TensorDesc* grid_grad = nullptr;
  // The two result pointers of an aclnn phase 1: only whether they are null matters.
  bool has_workspace_size = true;
  bool has_executor = true;
  // A call of the forward operator: grad_output is its output, there are no gradients and no mask,
  // and every profile has all modes.
  bool forward = false;
};

// The checks alone, in the order of the documents' table.
base::Status CheckGridSamplerBackward(const GridSamplerBackwardCall& call);

// What the forward and the backward plan share. The arguments have passed the checks; tensors of
// format NDHWC are moved to (N, C, D, H, W) before.
template <class Shape>
Shape ShapeOf(const base::TensorDesc& input, const base::TensorDesc& grid, int64_t interpolation,
              int64_t padding, bool align_corners) {
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
    // One empty axis: none of the products of the others, which may exceed 64 bits, is taken.
    if (grid.NumElements() == 0) shape.od = shape.oh = shape.ow = 0;
  }
  shape.interpolation = static_cast<Interpolation>(interpolation);
  shape.padding = static_cast<Padding>(padding);
  shape.align_corners = align_corners;
  return shape;
}
template <class Params>
inline constexpr bool kVolume = std::is_base_of_v<GridSampler3DShape, decltype(Params::shape)>;
template <size_t kRank>
void SetStrides(const base::TensorDesc& tensor, std::array<int64_t, kRank>* strides) {
  std::copy_n(tensor.strides.data(), kRank, strides->begin());
}

// The plan of a call that has passed CheckGridSamplerBackward(). Errors: see
// docs/ops/grid_sampler_2d_backward.md and ..._3d_...; aclnn and native calls use aclnn codes,
// graph calls use aclError codes.
base::Status PlanCheckedGridSamplerBackward(const GridSamplerBackwardCall& call,
                                            std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_BACKWARD_H_
