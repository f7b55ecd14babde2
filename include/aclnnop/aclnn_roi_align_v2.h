/**
 * @file
 * aclnnRoiAlignV2: averages regions of images, as torchvision.ops.roi_align does.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/roi_align.md has maths, limits and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_ROI_ALIGN_V2_H_
#define PORTACL_ACLNNOP_ACLNN_ROI_ALIGN_V2_H_

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
 * @param self (N, C, H, W): FLOAT or FLOAT16. Any strides.
 * @param boxes (K, 5): image, x1, y1, x2, y2; dtype of self. A roi without image gives 0.
 * @param pooledHeight rows of bins, at least 1.
 * @param pooledWidth columns of bins, at least 1.
 * @param spatialScale elements of the image per unit of a roi, above 0.
 * @param samplingRatio samples of a bin along each axis; 0: the bin's length, rounded up.
 * @param aligned true: half an element is subtracted from scaled coordinates, as in torchvision.
 * @param out (K, C, pooledHeight, pooledWidth); dtype of self.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnRoiAlignV2GetWorkspaceSize(
    const aclTensor* self, const aclTensor* boxes, int64_t pooledHeight, int64_t pooledWidth,
    float spatialScale, int64_t samplingRatio, bool aligned, aclTensor* out,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnRoiAlignV2(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_ROI_ALIGN_V2_H_
