// The two-phase functions of aclnnGridSampler2D and ...3D.
#include "aclnnop/aclnn_grid_sampler2d.h"
#include "aclnnop/aclnn_grid_sampler3d.h"
#include "api/aclnn_call.h"
#include "ops/grid_sampler.h"
#include "ops/operators.h"

namespace {

using portacl::api::PhaseOne;
using portacl::api::PhaseTwo;

constexpr const char* k2d = portacl::ops::AclnnName("aclnnGridSampler2D");
constexpr const char* k3d = portacl::ops::AclnnName("aclnnGridSampler3D");

aclnnStatus Plan(const char* op, int spatial, const aclTensor* input, const aclTensor* grid,
                 int64_t interpolationMode, int64_t paddingMode, bool alignCorners,
                 const aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return PhaseOne(op, workspaceSize, executor, portacl::ops::PlanGridSampler,
                  [&](portacl::api::Arguments& arguments, portacl::ops::GridSamplerCall& call) {
                    call.spatial = spatial;
                    call.input = arguments.Tensor("input", input);
                    call.grid = arguments.Tensor("grid", grid);
                    call.output = arguments.Tensor("out", out);
                    call.interpolation = interpolationMode;
                    call.padding = paddingMode;
                    call.align_corners = alignCorners;
                  });
}

}  // namespace

extern "C" {

aclnnStatus aclnnGridSampler2DGetWorkspaceSize(const aclTensor* input, const aclTensor* grid,
                                               int64_t interpolationMode, int64_t paddingMode,
                                               bool alignCorners, aclTensor* out,
                                               uint64_t* workspaceSize, aclOpExecutor** executor) {
  return Plan(k2d, 2, input, grid, interpolationMode, paddingMode, alignCorners, out, workspaceSize,
              executor);
}

aclnnStatus aclnnGridSampler2D(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                               aclrtStream stream) {
  return PhaseTwo(k2d, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnGridSampler3DGetWorkspaceSize(const aclTensor* input, const aclTensor* grid,
                                               int64_t interpolationMode, int64_t paddingMode,
                                               bool alignCorners, aclTensor* out,
                                               uint64_t* workspaceSize, aclOpExecutor** executor) {
  return Plan(k3d, 3, input, grid, interpolationMode, paddingMode, alignCorners, out, workspaceSize,
              executor);
}

aclnnStatus aclnnGridSampler3D(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                               aclrtStream stream) {
  return PhaseTwo(k3d, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
