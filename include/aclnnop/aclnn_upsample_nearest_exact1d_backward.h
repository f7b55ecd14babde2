/**
 * @file
 * aclnnUpsampleNearestExact1dBackward: gradient of nearest-exact upsampling of (N, C, L) tensors.
 * Source: the page of this name. aclnn/aclnn_base.h has the rules of all operators (phases, checks
 * of strides and overlap, profiles, warnings).
 */
#ifndef PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT1D_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT1D_BACKWARD_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * Computes, for every n, c and every position o of gradOutput,
 *
 *     out[n, c, src(o)] += gradOutput[n, c, o]          out starts as 0
 *
 *     I = extent L of out,  O = extent L of gradOutput
 *     r      = scales > 0 ? (float)(1.0 / scales) : (float)I / (float)O
 *     src(o) = min(floor((float)((o + 0.5) * (double)r)), I - 1)
 *
 * with the product in double, rounded to float before floor. For I > 2^24 (more than a float can
 * index) everything is double. `scales` is O / I, the factor of the forward operator. The page's
 * formula, floor(scales * (L + 0.5)), means the inverse, as its constraint outputSize =
 * floor(inputSize * scales) shows.
 *
 * Sums are FLOAT for every dtype, sequential in ascending o from +0, rounded once at the end.
 * A float sum of equal terms stops growing after 2^24 = 16,777,216 of them.
 *
 * @param gradOutput (N, C, O), FLOAT, FLOAT16 or BF16, format NCL or ND. Any strides. Not empty.
 * @param outputSize one element, at least 1: O. With scales = 0 it must be gradOutput's extent;
 *        with scales > 0 its value is not used.
 * @param inputSize three elements: N, C, I; none negative, I at least 1. portacl: if they differ
 *        from out's shape, out's shape counts, with a warning.
 * @param scales O / I, neither negative nor NaN; 0 means "use the sizes". It never changes a shape.
 * @param out (N, C, I), dtype and format of gradOutput. Any strides that give each element its own
 *        address. Must not overlap gradOutput.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, or the first of these that applies:
 *
 *     161001  gradOutput, outputSize, inputSize, out, workspaceSize or executor is null
 *             (portacl: the documents name gradOutput, inputSize and out)
 *     161002  dtype of gradOutput or out not FLOAT, FLOAT16, BF16
 *     161002  dtypes of gradOutput and out differ
 *     161002  gradOutput or out is not 3D
 *     161002  extent L of gradOutput or out < 1
 *     161002  format not NCL or ND, or formats of gradOutput and out differ
 *     161002  outputSize has not 1, inputSize not 3 elements, a spatial one < 1, or any is negative
 *     161002  scales is negative or NaN
 *     161002  N or C of out differ from gradOutput's
 *     161002  scales = 0 and outputSize differs from gradOutput's extent
 *     161002  I > 50 * O: the documents' limit; none in profile `open`
 *     161002  an empty tensor (N or C is 0)
 *     then the checks that all operators share; 161002 also in profile `atlas-training`
 */
PORTACL_API aclnnStatus aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclIntArray* outputSize, const aclIntArray* inputSize,
    double scales, aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: enqueues the planned work.
 * @param workspace device memory that no other work uses meanwhile; may be null if the size is 0.
 * @param workspaceSize bytes there, at least what phase 1 returned.
 * @param executor from phase 1; used up unless it is repeatable.
 * @param stream where to enqueue; null for the current context's default stream.
 * @return 0 or a code from aclnn/aclnn_base.h.
 */
PORTACL_API aclnnStatus aclnnUpsampleNearestExact1dBackward(void* workspace, uint64_t workspaceSize,
                                                            aclOpExecutor* executor,
                                                            aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT1D_BACKWARD_H_
