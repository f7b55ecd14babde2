/**
 * @file
 * aclnnRoiAlignV2Backward: gradient of aclnnRoiAlignV2 with respect to self.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/roi_align.md has maths, limits and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_ROI_ALIGN_V2_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_ROI_ALIGN_V2_BACKWARD_H_

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * @param gradOutput (K, C, pooledHeight, pooledWidth): FLOAT. Any strides.
 * @param boxes (K, 5): image, x1, y1, x2, y2; dtype of gradOutput. A roi without image gives 0.
 * @param inputShape N, C, H and W of self.
 * @param pooledHeight rows of bins, at least 1.
 * @param pooledWidth columns of bins, at least 1.
 * @param spatialScale elements of the image per unit of a roi, above 0.
 * @param samplingRatio samples of a bin along each axis; 0: the bin's length, rounded up.
 * @param aligned true: half an element is subtracted from scaled coordinates, as in torchvision.
 * @param gradInput (N, C, H, W); dtype of gradOutput. Overwritten.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnRoiAlignV2BackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* boxes, const aclIntArray* inputShape,
    int64_t pooledHeight, int64_t pooledWidth, float spatialScale, int64_t samplingRatio,
    bool aligned, aclTensor* gradInput, uint64_t* workspaceSize, aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnRoiAlignV2Backward(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_ROI_ALIGN_V2_BACKWARD_H_
