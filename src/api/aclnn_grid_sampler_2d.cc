// The two-phase functions of aclnnGridSampler2D.
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
      kOp, workspaceSize, executor, portacl::ops::PlanGridSampler2D,
      [&](portacl::api::Arguments& arguments, portacl::ops::GridSampler2DCall& call) {
        call.input = arguments.Tensor("input", input);
        call.grid = arguments.Tensor("grid", grid);
        call.output = arguments.Tensor("out", out);
        call.interpolation = interpolationMode;
        call.padding = paddingMode;
        call.align_corners = alignCorners;
      });
}

aclnnStatus aclnnGridSampler2D(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                               aclrtStream stream) {
  return portacl::api::PhaseTwo(kOp, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
