/**
 * @file
 * aclnnAdaptiveAvgPool3d: averages of windows, from (N, C, D, H, W) to (N, C, OD, OH, OW).
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/adaptive_avg_pool.md has maths, limits and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_ADAPTIVE_AVG_POOL3D_H_
#define PORTACL_ACLNNOP_ACLNN_ADAPTIVE_AVG_POOL3D_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * @param self (N, C, D, H, W): FLOAT, FLOAT16 or BF16, format NCDHW or ND. Any strides.
 * @param outputSize spatial extents of out: 3, each at least 1.
 * @param out (N, C, OD, OH, OW), dtype and format of self. Must not overlap it.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnAdaptiveAvgPool3dGetWorkspaceSize(const aclTensor* self,
                                                               const aclIntArray* outputSize,
                                                               aclTensor* out,
                                                               uint64_t* workspaceSize,
                                                               aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnAdaptiveAvgPool3d(void* workspace, uint64_t workspaceSize,
                                               aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_ADAPTIVE_AVG_POOL3D_H_
