// The two-phase functions of aclnnGridSampler2DBackward.
#include <memory>

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
      kOp, workspaceSize, executor,
      [&](std::shared_ptr<const portacl::ops::Plan>* plan) -> portacl::base::Status {
        portacl::api::Arguments arguments(kOp);
        portacl::ops::GridSampler2DBackwardCall call;
        call.op = kOp;
        call.surface = portacl::ops::Surface::kAclnn;
        call.grad_output = arguments.Tensor("gradOutput", gradOutput);
        call.input = arguments.Tensor("input", input);
        call.grid = arguments.Tensor("grid", grid);
        call.interpolation = interpolationMode;
        call.padding = paddingMode;
        call.align_corners = alignCorners;
        call.output_mask = arguments.Bools("outputMask", outputMask);
        call.input_grad = arguments.Tensor("inputGrad", inputGrad);
        call.grid_grad = arguments.Tensor("gridGrad", gridGrad);
        call.has_workspace_size = workspaceSize != nullptr;
        call.has_executor = executor != nullptr;
        if (call.has_workspace_size && call.has_executor) {
          PORTACL_RETURN_IF_ERROR(arguments.status());
        }
        return PlanGridSampler2DBackward(call, plan);
      });
}

aclnnStatus aclnnGridSampler2DBackward(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, aclrtStream stream) {
  return portacl::api::PhaseTwo(kOp, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
