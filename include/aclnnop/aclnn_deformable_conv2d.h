/**
 * @file
 * aclnnDeformableConv2d: deformable convolution of images.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/deform_conv2d.md has maths, order of sums and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_DEFORMABLE_CONV2D_H_
#define PORTACL_ACLNNOP_ACLNN_DEFORMABLE_CONV2D_H_

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
 * @param x (N, C, H, W): FLOAT, FLOAT16 or BF16, as all other tensors. Any strides.
 * @param weight (O, C / groups, KH, KW).
 * @param offset (N, F, OH, OW): planes of x, then of y, then (modulated) of masks; each in the
 * order of groups, then of the kernel's taps. F is 2 or 3 times deformableGroups * KH * KW.
 * @param biasOptional (O), or null; may be FLOAT beside FLOAT16 and BF16.
 * @param kernelSize KH and KW of weight.
 * @param stride 1, 1, and elements between positions along H and W.
 * @param padding zeros added around the image: top, bottom, left, right.
 * @param dilation 1, 1, and elements between the kernel's taps along H and W.
 * @param groups parts of the channels that are convolved separately.
 * @param deformableGroups parts of the channels; each has its own offsets.
 * @param modulated true: offset has masks behind the offsets.
 * @param out (N, O, OH, OW).
 * @param deformOutOptional (N, C, OH * KH, OW * KW): the samples times their masks; or null.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnDeformableConv2dGetWorkspaceSize(
    const aclTensor* x, const aclTensor* weight, const aclTensor* offset,
    const aclTensor* biasOptional, const aclIntArray* kernelSize, const aclIntArray* stride,
    const aclIntArray* padding, const aclIntArray* dilation, int64_t groups,
    int64_t deformableGroups, bool modulated, aclTensor* out, aclTensor* deformOutOptional,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnDeformableConv2d(void* workspace, uint64_t workspaceSize,
                                              aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_DEFORMABLE_CONV2D_H_
