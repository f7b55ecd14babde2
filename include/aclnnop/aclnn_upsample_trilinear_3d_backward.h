/**
 * @file
 * aclnnUpsampleTrilinear3dBackward: the gradient of linear resizing of (N, C, D, H, W) tensors.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/upsample_linear.md has maths, limits and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_UPSAMPLE_TRILINEAR_3D_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_UPSAMPLE_TRILINEAR_3D_BACKWARD_H_

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
 * @param gradOut (N, C, D, H, W), FLOAT, FLOAT16, BF16 or DOUBLE, format NCDHW, NDHWC or ND. Any
 * strides.
 * @param outputSize spatial extents of gradOut: 3, each at least 1.
 * @param inputSize the shape of gradInput, in the order (N, C, D, H, W) for each format. For
 * channels-last tensors (N, D, H, W, C) is taken too if gradInput has that shape, with a warning.
 * @param alignCorners true aligns the middles of the border elements, and scales do not count;
 * false aligns their outer edges.
 * @param scalesD ratio of coordinates (output extent / input extent); 0 or less: from the
 * extents.
 * @param scalesH the same for H.
 * @param scalesW the same for W.
 * @param gradInput shape of the forward input; dtype and format of gradOut. Must not overlap
 * gradOut.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize(
    const aclTensor* gradOut, const aclIntArray* outputSize, const aclIntArray* inputSize,
    bool alignCorners, double scalesD, double scalesH, double scalesW, aclTensor* gradInput,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnUpsampleTrilinear3dBackward(void* workspace, uint64_t workspaceSize,
                                                         aclOpExecutor* executor,
                                                         aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_UPSAMPLE_TRILINEAR_3D_BACKWARD_H_
