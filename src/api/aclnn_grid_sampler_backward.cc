// The two-phase functions of aclnnGridSampler2DBackward and ...3DBackward.
#include "aclnnop/aclnn_grid_sampler2d_backward.h"
#include "aclnnop/aclnn_grid_sampler3d_backward.h"
#include "api/aclnn_call.h"
#include "ops/grid_sampler_backward.h"
#include "ops/operators.h"

namespace {

using portacl::api::PhaseOne;
using portacl::api::PhaseTwo;

constexpr const char* k2d = portacl::ops::AclnnName("aclnnGridSampler2DBackward");
constexpr const char* k3d = portacl::ops::AclnnName("aclnnGridSampler3DBackward");

struct Request {
  const char* op;
  int spatial;
  int64_t interpolation;
  int64_t padding;
  bool align_corners;
};

aclnnStatus Plan(const Request& request, const aclTensor* gradOutput, const aclTensor* input,
                 const aclTensor* grid, const aclBoolArray* outputMask, const aclTensor* inputGrad,
                 const aclTensor* gridGrad, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return PhaseOne(
      request.op, workspaceSize, executor, portacl::ops::PlanGridSamplerBackward,
      [&](portacl::api::Arguments& arguments, portacl::ops::GridSamplerBackwardCall& call) {
        call.spatial = request.spatial;
        call.grad_output = arguments.Tensor("gradOutput", gradOutput);
        call.input = arguments.Tensor("input", input);
        call.grid = arguments.Tensor("grid", grid);
        call.interpolation = request.interpolation;
        call.padding = request.padding;
        call.align_corners = request.align_corners;
        call.output_mask = arguments.Bools("outputMask", outputMask);
        call.input_grad = arguments.Tensor("inputGrad", inputGrad);
        call.grid_grad = arguments.Tensor("gridGrad", gridGrad);
      });
}

}  // namespace

extern "C" {

aclnnStatus aclnnGridSampler2DBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* input, const aclTensor* grid,
    int64_t interpolationMode, int64_t paddingMode, bool alignCorners,
    const aclBoolArray* outputMask, aclTensor* inputGrad, aclTensor* gridGrad,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return Plan({k2d, 2, interpolationMode, paddingMode, alignCorners}, gradOutput, input, grid,
              outputMask, inputGrad, gridGrad, workspaceSize, executor);
}

aclnnStatus aclnnGridSampler2DBackward(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, aclrtStream stream) {
  return PhaseTwo(k2d, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnGridSampler3DBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* input, const aclTensor* grid,
    int64_t interpolationMode, int64_t paddingMode, bool alignCorners,
    const aclBoolArray* outputMask, aclTensor* inputGrad, aclTensor* gridGrad,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return Plan({k3d, 3, interpolationMode, paddingMode, alignCorners}, gradOutput, input, grid,
              outputMask, inputGrad, gridGrad, workspaceSize, executor);
}

aclnnStatus aclnnGridSampler3DBackward(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, aclrtStream stream) {
  return PhaseTwo(k3d, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
