/**
 * @file
 * aclnnUpsampleNearest2dBackward: the gradient of nearest upsampling of (N, C, H, W) tensors.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/upsample_nearest.md has maths, limits and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_2D_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_2D_BACKWARD_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * @param gradOut (N, C, H, W), FLOAT, FLOAT16 or BF16, format NCHW or NHWC. Any strides.
 * @param outputSize spatial extents of gradOut: 2, each at least 1.
 * @param inputSize the shape of gradInput: (N, C, H, W), for format NHWC (N, H, W, C). If gradInput
 * is NHWC and has exactly the other order's extents, (N, C, H, W) is taken too, with a warning.
 * @param scalesH ratio of coordinates (output extent / input extent); 0 or less: from the
 * extents.
 * @param scalesW the same for W.
 * @param gradInput shape of the forward input; dtype and format of gradOut. Must not overlap
 * gradOut.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnUpsampleNearest2dBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclIntArray* outputSize, const aclIntArray* inputSize,
    double scalesH, double scalesW, aclTensor* gradInput, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnUpsampleNearest2dBackward(void* workspace, uint64_t workspaceSize,
                                                       aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_2D_BACKWARD_H_
