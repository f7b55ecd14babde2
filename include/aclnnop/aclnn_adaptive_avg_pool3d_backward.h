/**
 * @file
 * aclnnAdaptiveAvgPool3dBackward: gradient of aclnnAdaptiveAvgPool3d with respect to self.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/adaptive_avg_pool.md has maths, limits and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_ADAPTIVE_AVG_POOL3D_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_ADAPTIVE_AVG_POOL3D_BACKWARD_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * @param gradOutput (N, C, OD, OH, OW): FLOAT, FLOAT16 or BF16, format NCDHW or ND. Any strides.
 * @param self (N, C, D, H, W), dtype and format of gradOutput; only the shape is read.
 * @param out like self. Overwritten; must not overlap gradOutput.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize(const aclTensor* gradOutput,
                                                                       const aclTensor* self,
                                                                       aclTensor* out,
                                                                       uint64_t* workspaceSize,
                                                                       aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnAdaptiveAvgPool3dBackward(void* workspace, uint64_t workspaceSize,
                                                       aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_ADAPTIVE_AVG_POOL3D_BACKWARD_H_
