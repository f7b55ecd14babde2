// The gradients of grid sampling: checks in the order of the documents' table, and plans.
#ifndef PORTACL_OPS_GRID_SAMPLER_2D_BACKWARD_H_
#define PORTACL_OPS_GRID_SAMPLER_2D_BACKWARD_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/grid_sampler_2d_params.h"
#include "ops/plan.h"
#include "ops/surface.h"

namespace portacl::ops {

struct GridSampler2DBackwardCall {
  const char* op = "";  // the function's name in messages; a static string
  Surface surface = Surface::kNative;
  const base::TensorDesc* grad_output = nullptr;
  const base::TensorDesc* input = nullptr;
  const base::TensorDesc* grid = nullptr;
  int64_t interpolation = 0;
  int64_t padding = 0;
  bool align_corners = false;
  const std::vector<bool>* output_mask = nullptr;  // inputGrad, gridGrad
  // The native API passes null for an output that the mask leaves out; the others never.
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
base::Status CheckGridSampler2DBackward(const GridSampler2DBackwardCall& call);

// What the forward and the backward plan share. The arguments have passed the checks.
GridSampler2DShape ShapeOf(const base::TensorDesc& input, const base::TensorDesc& grid,
                           int64_t interpolation, int64_t padding, bool align_corners);
std::array<int64_t, 4> Strides4D(const base::TensorDesc& tensor);

// Checks everything and plans. Errors: see docs/ops/grid_sampler_2d_backward.md; aclnn and native
// calls use aclnn codes, graph calls use aclError codes.
base::Status PlanGridSampler2DBackward(const GridSampler2DBackwardCall& call,
                                       std::shared_ptr<const Plan>* plan);

// The same for a call that has passed CheckGridSampler2DBackward().
base::Status PlanCheckedGridSampler2DBackward(const GridSampler2DBackwardCall& call,
                                              std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_2D_BACKWARD_H_
