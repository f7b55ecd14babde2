/**
 * @file
 * aclnnUpsampleNearestExact1d: nearest-exact upsampling of (N, C, L) tensors.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/upsample_nearest_exact.md has the index rule.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT1D_H_
#define PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT1D_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * Computes out[n, c, o] = self[n, c, src(o)], one index per spatial axis, with the rule src()
 * of the gradient's header. Each operator is the exact adjoint of the other.
 *
 * @param self (N, C, L), FLOAT, FLOAT16 or BF16, format NCL or ND. Any strides.
 * @param outputSize spatial extents of out: 1, each at least 1.
 * @param scales out / self extent, neither negative nor NaN; 0 means "use the sizes".
 * @param out N and C of self, extents outputSize, dtype and format of self. Any strides that give
 * each element its own address. Must not overlap self.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, or the first of these that applies:
 *
 *     161001  self, outputSize, out, workspaceSize or executor is null
 *     161002  profile `atlas-training`, which lacks the operator
 *     161002  dtype of self or out not FLOAT, FLOAT16, BF16, or the two differ
 *     161002  rank not 3; format not as above, or the two differ
 *     161002  outputSize has not 1 elements or one < 1; a scale is negative or NaN
 *     161002  a spatial extent of self < 1; out's shape is not (N, C, outputSize)
 *     then the checks that all operators share
 */
PORTACL_API aclnnStatus aclnnUpsampleNearestExact1dGetWorkspaceSize(const aclTensor* self,
                                                                    const aclIntArray* outputSize,
                                                                    double scales, aclTensor* out,
                                                                    uint64_t* workspaceSize,
                                                                    aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnUpsampleNearestExact1d(void* workspace, uint64_t workspaceSize,
                                                    aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_EXACT1D_H_
