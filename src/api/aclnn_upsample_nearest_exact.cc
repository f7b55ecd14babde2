// The two-phase functions of aclnnUpsampleNearestExact1d, ...2d and ...3d.
#include <array>

#include "aclnnop/aclnn_upsample_nearest_exact1d.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d.h"
#include "aclnnop/aclnn_upsample_nearest_exact3d.h"
#include "api/aclnn_call.h"
#include "ops/operators.h"
#include "ops/upsample_nearest_exact.h"

namespace {

using portacl::api::PhaseOne;
using portacl::api::PhaseTwo;

constexpr const char* k1d = portacl::ops::AclnnName("aclnnUpsampleNearestExact1d");
constexpr const char* k2d = portacl::ops::AclnnName("aclnnUpsampleNearestExact2d");
constexpr const char* k3d = portacl::ops::AclnnName("aclnnUpsampleNearestExact3d");

aclnnStatus Plan(const char* op, int spatial, const std::array<double, 3>& scales,
                 const aclTensor* self, const aclIntArray* outputSize, const aclTensor* out,
                 uint64_t* workspaceSize, aclOpExecutor** executor) {
  return PhaseOne(
      op, workspaceSize, executor, portacl::ops::PlanUpsampleNearestExact,
      [&](portacl::api::Arguments& arguments, portacl::ops::UpsampleNearestExactCall& call) {
        call.spatial = spatial;
        call.input = arguments.Tensor("self", self);
        call.output_size = arguments.Ints("outputSize", outputSize);
        call.output = arguments.Tensor("out", out);
        call.scales = scales;
      });
}

}  // namespace

extern "C" {

aclnnStatus aclnnUpsampleNearestExact1dGetWorkspaceSize(const aclTensor* self,
                                                        const aclIntArray* outputSize,
                                                        double scales, aclTensor* out,
                                                        uint64_t* workspaceSize,
                                                        aclOpExecutor** executor) {
  return Plan(k1d, 1, {scales, 0, 0}, self, outputSize, out, workspaceSize, executor);
}

aclnnStatus aclnnUpsampleNearestExact1d(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream) {
  return PhaseTwo(k1d, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnUpsampleNearestExact2dGetWorkspaceSize(const aclTensor* self,
                                                        const aclIntArray* outputSize,
                                                        double scalesH, double scalesW,
                                                        aclTensor* out, uint64_t* workspaceSize,
                                                        aclOpExecutor** executor) {
  return Plan(k2d, 2, {scalesH, scalesW, 0}, self, outputSize, out, workspaceSize, executor);
}

aclnnStatus aclnnUpsampleNearestExact2d(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream) {
  return PhaseTwo(k2d, workspace, workspaceSize, executor, stream);
}

aclnnStatus aclnnUpsampleNearestExact3dGetWorkspaceSize(
    const aclTensor* self, const aclIntArray* outputSize, double scalesD, double scalesH,
    double scalesW, aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return Plan(k3d, 3, {scalesD, scalesH, scalesW}, self, outputSize, out, workspaceSize, executor);
}

aclnnStatus aclnnUpsampleNearestExact3d(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream) {
  return PhaseTwo(k3d, workspace, workspaceSize, executor, stream);
}

}  // extern "C"
