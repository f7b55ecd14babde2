/**
 * @file
 * aclnnUpsampleNearestExact3dBackward: gradient of nearest-exact upsampling of (N, C, D, H, W). It
 * follows aclnnUpsampleNearestExact2dBackward, with one more axis. aclnn/aclnn_base.h has the rules
 * of all operators (phases, checks of strides and overlap, profiles, warnings).
 */
#ifndef PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT3D_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT3D_BACKWARD_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * Computes, for every n, c and every position (od, oh, ow) of gradOutput,
 *
 *     out[n, c, srcD(od), srcH(oh), srcW(ow)] += gradOutput[n, c, od, oh, ow]    out starts as 0
 *
 * with the src of aclnnUpsampleNearestExact2dBackward on each axis. Sums are FLOAT for every dtype,
 * sequential in row-major (od, oh, ow) order from +0, rounded once at the end; always
 * deterministic. A float sum of equal terms stops growing after 2^24 = 16,777,216 of them.
 *
 * @param gradOutput (N, C, OD, OH, OW), FLOAT, FLOAT16 or BF16, format NCDHW or ND. Any strides.
 * @param outputSize three elements, each at least 1: OD, OH, OW. Per axis: with scale 0 it must be
 *        gradOutput's extent; with a scale > 0 its value is not used.
 * @param inputSize five elements: N, C, D, H, W; none negative, D, H and W at least 1. If they
 *        differ from out's shape, out's shape counts, with a warning.
 * @param scalesD, scalesH, scalesW OD / D, OH / H and OW / W, neither negative nor NaN; 0 means
 *        "use the sizes". They never change a shape.
 * @param out (N, C, D, H, W), dtype and format of gradOutput. Any strides that give each element
 * its own address. Must not overlap gradOutput.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * N or C may be 0: success, workspace 0, nothing to do (then also 0 in inputSize).
 *
 * @return 0, or the first of these that applies:
 *
 *     161001  gradOutput, outputSize, inputSize, out, workspaceSize or executor is null
 *     161002  dtype of gradOutput or out not FLOAT, FLOAT16, BF16
 *     161002  dtypes of gradOutput and out differ
 *     161002  gradOutput or out is not 5D
 *     161002  D, H or W of gradOutput or out < 1
 *     161002  format not NCDHW or ND, or formats of gradOutput and out differ
 *     161002  outputSize has not 3, inputSize not 5 elements, a spatial one < 1, or any is negative
 *     161002  a scale is negative or NaN
 *     161002  N or C of out differ from gradOutput's
 *     161002  a scale is 0 and outputSize differs from gradOutput's extent on that axis
 *     then the checks that all operators share; 161002 also in profile `atlas-training`
 */
PORTACL_API aclnnStatus aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclIntArray* outputSize, const aclIntArray* inputSize,
    double scalesD, double scalesH, double scalesW, aclTensor* out, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/**
 * Phase 2: enqueues the planned work.
 * @param workspace device memory that no other work uses meanwhile; may be null if the size is 0.
 * @param workspaceSize bytes there, at least what phase 1 returned.
 * @param executor from phase 1; used up unless it is repeatable.
 * @param stream where to enqueue; null for the current context's default stream.
 * @return 0 or a code from aclnn/aclnn_base.h.
 */
PORTACL_API aclnnStatus aclnnUpsampleNearestExact3dBackward(void* workspace, uint64_t workspaceSize,
                                                            aclOpExecutor* executor,
                                                            aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT3D_BACKWARD_H_
