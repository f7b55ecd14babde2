/**
 * @file
 * aclnnUpsampleNearest1d: nearest upsampling of (N, C, L) tensors.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/upsample_nearest.md has maths, limits and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_1D_H_
#define PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_1D_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * @param self (N, C, L), FLOAT, FLOAT16, BF16, DOUBLE or UINT8, format NCL. Any strides.
 * @param outputSize spatial extents of out: 1, each at least 1.
 * @param out N and C of self, extents outputSize, dtype and format of self. Must not overlap self.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnUpsampleNearest1dGetWorkspaceSize(const aclTensor* self,
                                                               const aclIntArray* outputSize,
                                                               aclTensor* out,
                                                               uint64_t* workspaceSize,
                                                               aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnUpsampleNearest1d(void* workspace, uint64_t workspaceSize,
                                               aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_UPSAMPLE_NEAREST_1D_H_
