// The two-phase functions of aclnnGridSampler2D.
#include <memory>

#include "aclnnop/aclnn_grid_sampler2d.h"
#include "api/aclnn_call.h"
#include "ops/grid_sampler_2d.h"
#include "ops/operators.h"

namespace {
constexpr const char* kOp = portacl::ops::AclnnName("aclnnGridSampler2D");
}  // namespace

extern "C" {

aclnnStatus aclnnGridSampler2DGetWorkspaceSize(const aclTensor* input, const aclTensor* grid,
                                               int64_t interpolationMode, int64_t paddingMode,
                                               bool alignCorners, aclTensor* out,
                                               uint64_t* workspaceSize, aclOpExecutor** executor) {
  return portacl::api::PhaseOne(
      kOp, workspaceSize, executor,
      [&](std::shared_ptr<const portacl::ops::Plan>* plan) -> portacl::base::Status {
        portacl::api::Arguments arguments(kOp);
        portacl::ops::GridSampler2DCall call;
        call.op = kOp;
        call.surface = portacl::ops::Surface::kAclnn;
        call.input = arguments.Tensor("input", input);
        call.grid = arguments.Tensor("grid", grid);
        call.output = arguments.Tensor("out", out);
        call.interpolation = interpolationMode;
        call.padding = paddingMode;
        call.align_corners = alignCorners;
        call.has_workspace_size = workspaceSize != nullptr;
        call.has_executor = executor != nullptr;
        if (call.has_workspace_size && call.has_executor) {
          PORTACL_RETURN_IF_ERROR(arguments.status());
        }
        return PlanGridSampler2D(call, plan);
      });
}

aclnnStatus aclnnGridSampler2D(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                               aclrtStream stream) {
  return portacl::api::PhaseTwo(kOp, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
