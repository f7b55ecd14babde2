/**
 * @file
 * aclnnUpsampleBilinear2dAA: antialiased linear resizing of (N, C, H, W) tensors.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/upsample_linear.md has maths, limits and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_UPSAMPLE_BILINEAR2D_AA_H_
#define PORTACL_ACLNNOP_ACLNN_UPSAMPLE_BILINEAR2D_AA_H_

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
 * @param input (N, C, H, W), FLOAT, FLOAT16 or BF16, format NCHW or ND. Any strides.
 * @param outputSize spatial extents of out: 2, each at least 1.
 * @param alignCorners true aligns the middles of the border elements, and scales do not count;
 * false aligns their outer edges.
 * @param scalesH ratio of coordinates (output extent / input extent); 0: from the extents. Negative
 * scales are refused.
 * @param scalesW the same for W.
 * @param out N and C of input, extents outputSize, dtype and format of input. Must not overlap
 * input.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnUpsampleBilinear2dAAGetWorkspaceSize(
    const aclTensor* input, const aclIntArray* outputSize, bool alignCorners, double scalesH,
    double scalesW, aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnUpsampleBilinear2dAA(void* workspace, uint64_t workspaceSize,
                                                  aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_UPSAMPLE_BILINEAR2D_AA_H_
