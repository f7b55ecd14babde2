// libcust_opapi.so: functions that DrivingSDK's package has in a library of this name, with their
// published parameters, computed by portacl's operators.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"
#include "cust_opapi/entry.h"
#include "portacl/export.h"

namespace {

template <class... Arguments>
aclnnStatus Plan(const char* function, uint64_t* workspace_size, aclOpExecutor** executor,
                 const Arguments&... arguments) {
  const void* const addresses[] = {&arguments...};
  return portaclCustomPlan(function, addresses, workspace_size, executor);
}

// The shape of a tensor (N, C, H, W) as (N, H, W, C). With another number of axes it keeps the
// shape; the call is then refused, and also for null.
class ChannelsLast {
 public:
  explicit ChannelsLast(const aclTensor* tensor) {
    int64_t* shape = nullptr;
    uint64_t rank = 0;
    if (aclGetViewShape(tensor, &shape, &rank) != ACLNN_SUCCESS) return;
    if (rank == 4) std::rotate(shape + 1, shape + 2, shape + 4);
    list_ = aclCreateIntArray(shape, rank);
    delete[] shape;
  }
  ~ChannelsLast() {
    if (list_ != nullptr) aclDestroyIntArray(list_);
  }
  ChannelsLast(const ChannelsLast&) = delete;
  ChannelsLast& operator=(const ChannelsLast&) = delete;
  const aclIntArray* get() const { return list_; }

 private:
  aclIntArray* list_ = nullptr;
};

}  // namespace

extern "C" {

#define PORTACL_PHASE_TWO(function)                                                 \
  PORTACL_API aclnnStatus function(void* workspace, uint64_t workspaceSize,         \
                                   aclOpExecutor* executor, aclrtStream stream) {   \
    return portaclCustomRun(#function, workspace, workspaceSize, executor, stream); \
  }

PORTACL_API aclnnStatus aclnnMultiScaleDeformableAttnGetWorkspaceSize(
    const aclTensor* value, const aclTensor* spatialShapes, const aclTensor* levelStartIndex,
    const aclTensor* samplingLocations, const aclTensor* attentionWeights, aclTensor* output,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return Plan("aclnnMultiScaleDeformableAttn", workspaceSize, executor, value, spatialShapes,
              levelStartIndex, samplingLocations, attentionWeights, output);
}
PORTACL_PHASE_TWO(aclnnMultiScaleDeformableAttn)

PORTACL_API aclnnStatus aclnnMultiScaleDeformableAttnGradGetWorkspaceSize(
    const aclTensor* value, const aclTensor* spatialShapes, const aclTensor* levelStartIndex,
    const aclTensor* samplingLocations, const aclTensor* attentionWeights,
    const aclTensor* gradOutput, aclTensor* gradValue, aclTensor* gradSamplingLocations,
    aclTensor* gradAttentionWeights, uint64_t* workspaceSize, aclOpExecutor** executor) {
  return Plan("aclnnMultiScaleDeformableAttnGrad", workspaceSize, executor, value, spatialShapes,
              levelStartIndex, samplingLocations, attentionWeights, gradOutput, gradValue,
              gradSamplingLocations, gradAttentionWeights);
}
PORTACL_PHASE_TWO(aclnnMultiScaleDeformableAttnGrad)

// featureMap (N, H, W, C), rois (6, K), output (K, pooledHeight, pooledWidth, C).
PORTACL_API aclnnStatus aclnnRoiAlignRotatedV2GetWorkspaceSize(
    const aclTensor* featureMap, const aclTensor* rois, double spatialScale, int samplingRatio,
    int pooledHeight, int pooledWidth, bool aligned, bool clockwise, aclTensor* output,
    uint64_t* workspaceSize, aclOpExecutor** executor) {
  return Plan("aclnnRoiAlignRotatedV2", workspaceSize, executor, featureMap, rois, pooledHeight,
              pooledWidth, spatialScale, samplingRatio, aligned, clockwise, output);
}
PORTACL_PHASE_TWO(aclnnRoiAlignRotatedV2)

// input (N, C, H, W), its shape alone; gradOutput (K, pooledHeight, pooledWidth, C); gradInput
// (N, H, W, C).
PORTACL_API aclnnStatus aclnnRoiAlignRotatedGradV2GetWorkspaceSize(
    const aclTensor* input, const aclTensor* rois, const aclTensor* gradOutput, int pooledHeight,
    int pooledWidth, double spatialScale, int samplingRatio, bool aligned, bool clockwise,
    aclTensor* gradInput, uint64_t* workspaceSize, aclOpExecutor** executor) {
  const ChannelsLast size(input);
  const aclIntArray* const list = size.get();
  return Plan("aclnnRoiAlignRotatedGradV2", workspaceSize, executor, gradOutput, rois, list,
              pooledHeight, pooledWidth, spatialScale, samplingRatio, aligned, clockwise,
              gradInput);
}
PORTACL_PHASE_TWO(aclnnRoiAlignRotatedGradV2)

}  // extern "C"
