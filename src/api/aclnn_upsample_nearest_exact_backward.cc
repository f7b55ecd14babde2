// The two-phase functions of aclnnUpsampleNearestExact1dBackward, ...2dBackward and
// ...3dBackward.
#include <array>

#include "aclnnop/aclnn_upsample_nearest_exact1d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_exact3d_backward.h"
#include "api/aclnn_call.h"
#include "ops/operators.h"
#include "ops/upsample_nearest_exact_backward.h"

namespace {

using portacl::api::PhaseOne;
using portacl::api::PhaseTwo;

constexpr const char* k1d = portacl::ops::AclnnName("aclnnUpsampleNearestExact1dBackward");
constexpr const char* k2d = portacl::ops::AclnnName("aclnnUpsampleNearestExact2dBackward");
constexpr const char* k3d = portacl::ops::AclnnName("aclnnUpsampleNearestExact3dBackward");

struct Request {
  const char* op;
  int spatial;
  std::array<double, 3> scales;
};

aclnnStatus Plan(const Request& request, const aclTensor* gradOutput, const aclIntArray* outputSize,
                 const aclIntArray* inputSize, const aclTensor* out, uint64_t* workspaceSize,
                 aclOpExecutor** executor) {
  return PhaseOne(request.op, workspaceSize, executor,
                  portacl::ops::PlanUpsampleNearestExactBackward,
                  [&](portacl::api::Arguments& arguments,
                      portacl::ops::UpsampleNearestExactBackwardCall& call) {
                    call.spatial = request.spatial;
                    call.grad_output = arguments.Tensor("gradOutput", gradOutput);
                    call.output_size = arguments.Ints("outputSize", outputSize);
                    call.input_size = arguments.Ints("inputSize", inputSize);
                    call.grad_input = arguments.Tensor("out", out);
                    call.scales = request.scales;
                  });
}

}  // namespace

extern "C" {

aclnnStatus aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclIntArray* outputSize, const aclIntArray* inputSize,
    double scales, aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return Plan({k1d, 1, {scales, 0, 0}}, gradOutput, outputSize, inputSize, out, workspaceSize,
              executor);
}

aclnnStatus aclnnUpsampleNearestExact1dBackward(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream) {
  return PhaseTwo(k1d, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclIntArray* outputSize, const aclIntArray* inputSize,
    double scalesH, double scalesW, aclTensor* out, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return Plan({k2d, 2, {scalesH, scalesW, 0}}, gradOutput, outputSize, inputSize, out,
              workspaceSize, executor);
}

aclnnStatus aclnnUpsampleNearestExact2dBackward(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream) {
  return PhaseTwo(k2d, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclIntArray* outputSize, const aclIntArray* inputSize,
    double scalesD, double scalesH, double scalesW, aclTensor* out, uint64_t* workspaceSize,
    aclOpExecutor** executor) {
  return Plan({k3d, 3, {scalesD, scalesH, scalesW}}, gradOutput, outputSize, inputSize, out,
              workspaceSize, executor);
}

aclnnStatus aclnnUpsampleNearestExact3dBackward(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream) {
  return PhaseTwo(k3d, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
