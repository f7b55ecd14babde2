// The two-phase functions of aclnnGridSampler2DBackward.
#include "aclnnop/aclnn_grid_sampler2d_backward.h"
#include "api/aclnn_call.h"
#include "ops/grid_sampler_2d_backward.h"
#include "ops/operators.h"

namespace {
constexpr const char* kOp = portacl::ops::AclnnName("aclnnGridSampler2DBackward");
}  // namespace

extern "C" {

aclnnStatus aclnnGridSampler2DBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* input, const aclTensor* grid,
    int64_t interpolationMode, int64_t paddingMode, bool alignCorners,
    const aclBoolArray* outputMask, aclTensor* inputGrad, aclTensor* gridGrad,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return portacl::api::PhaseOne(
      kOp, workspaceSize, executor, portacl::ops::PlanGridSampler2DBackward,
      [&](portacl::api::Arguments& arguments, portacl::ops::GridSampler2DBackwardCall& call) {
        call.grad_output = arguments.Tensor("gradOutput", gradOutput);
        call.input = arguments.Tensor("input", input);
        call.grid = arguments.Tensor("grid", grid);
        call.interpolation = interpolationMode;
        call.padding = paddingMode;
        call.align_corners = alignCorners;
        call.output_mask = arguments.Bools("outputMask", outputMask);
        call.input_grad = arguments.Tensor("inputGrad", inputGrad);
        call.grid_grad = arguments.Tensor("gridGrad", gridGrad);
      });
}

aclnnStatus aclnnGridSampler2DBackward(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, aclrtStream stream) {
  return portacl::api::PhaseTwo(kOp, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
