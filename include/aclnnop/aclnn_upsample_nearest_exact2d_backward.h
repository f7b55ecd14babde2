/**
 * @file
 * aclnnUpsampleNearestExact2dBackward: gradient of nearest-exact upsampling of (N, C, H, W).
 * Sources: the pages of this name and of UpsampleNearestExact2dGrad. aclnn/aclnn_base.h has the
 * rules of all operators (phases, checks of strides and overlap, profiles, warnings).
 */
#ifndef PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT2D_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT2D_BACKWARD_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * Computes, for every n, c and every position (oh, ow) of gradOutput,
 *
 *     out[n, c, srcH(oh), srcW(ow)] += gradOutput[n, c, oh, ow]          out starts as 0
 *
 * and per axis, with its own extents and scale,
 *
 *     I = extent of out,  O = extent of gradOutput
 *     r      = scale > 0 ? (float)(1.0 / scale) : (float)I / (float)O
 *     src(o) = min(floor((float)((o + 0.5) * (double)r)), I - 1)
 *
 * with the product in double, rounded to float before floor. For I > 2^24 (more than a float can
 * index) everything is double. A scale is O / I, the factor of the forward operator. The page's
 * formula, floor(scalesH * (H + 0.5)), means the inverse. Two places show this: the page's
 * constraint outputSize = floor(inputSize * scales) and the other page's ceil(scales_h * H -
 * 0.5).
 *
 * Example of the page: gradOutput 4 x 2 holds 0 to 7, out is 8 x 4, both scales are 2.0. Then
 * out[0][0] = 6, out[1][0] = 22, and 0 elsewhere (the scales count, not the sizes).
 *
 * Sums are FLOAT for every dtype, sequential in row-major (oh, ow) order from +0, rounded once at
 * the end. portacl: always deterministic; the page makes that an option.
 * A float sum of equal terms stops growing after 2^24 = 16,777,216 of them.
 *
 * @param gradOutput (N, C, OH, OW), FLOAT, FLOAT16 or BF16, format NCHW or ND. Any strides.
 * @param outputSize two elements, each at least 1: OH, OW. Per axis: with scale 0 it must be
 *        gradOutput's extent; with a scale > 0 its value is not used.
 * @param inputSize four elements: N, C, H, W; none negative, H and W at least 1. portacl: if
 *        they differ from out's shape, out's shape counts, with a warning.
 * @param scalesH, scalesW OH / H and OW / W, neither negative nor NaN; 0 means "use the sizes".
 *        They never change a shape.
 * @param out (N, C, H, W), dtype and format of gradOutput. Any strides that give each element its
 *        own address. Must not overlap gradOutput.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * N or C may be 0: success, workspace 0, nothing to do (then also 0 in inputSize).
 *
 * @return 0, or the first of these that applies:
 *
 *     161001  gradOutput, outputSize, inputSize, out, workspaceSize or executor is null
 *             (portacl: the document names gradOutput, inputSize and out)
 *     161002  dtype of gradOutput or out not FLOAT, FLOAT16, BF16
 *     161002  dtypes of gradOutput and out differ
 *     161002  gradOutput or out is not 4D
 *     161002  H or W of gradOutput or out < 1
 *     161002  format not NCHW or ND, or formats of gradOutput and out differ
 *     161002  outputSize has not 2, inputSize not 4 elements, a spatial one < 1, or any is negative
 *     161002  a scale is negative or NaN
 *     161002  N or C of out differ from gradOutput's
 *     161002  a scale is 0 and outputSize differs from gradOutput's extent on that axis
 *     161002  OH > 50 * H or OW > 50 * W: the document's limit; none in profile `open`
 *     then the checks that all operators share; 161002 also in profile `atlas-training`
 */
PORTACL_API aclnnStatus aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclIntArray* outputSize, const aclIntArray* inputSize,
    double scalesH, double scalesW, aclTensor* out, uint64_t* workspaceSize,
    aclOpExecutor** executor);

/**
 * Phase 2: enqueues the planned work.
 * @param workspace device memory that no other work uses meanwhile; may be null if the size is 0.
 * @param workspaceSize bytes there, at least what phase 1 returned.
 * @param executor from phase 1; used up unless it is repeatable.
 * @param stream where to enqueue; null for the current context's default stream.
 * @return 0 or a code from aclnn/aclnn_base.h.
 */
PORTACL_API aclnnStatus aclnnUpsampleNearestExact2dBackward(void* workspace, uint64_t workspaceSize,
                                                            aclOpExecutor* executor,
                                                            aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT2D_BACKWARD_H_
