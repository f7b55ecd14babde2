/**
 * @file
 * aclnnReduceSum: sums over axes.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_REDUCE_SUM_H_
#define PORTACL_ACLNNOP_ACLNN_REDUCE_SUM_H_

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: out = sum of self over `dims` (none: all) in `dtype`. Integers wrap to `dtype`; with
 * BOOL the result says whether any element is not 0.
 */
PORTACL_API aclnnStatus aclnnReduceSumGetWorkspaceSize(const aclTensor* self,
                                                       const aclIntArray* dims, bool keepDims,
                                                       aclDataType dtype, aclTensor* out,
                                                       uint64_t* workspaceSize,
                                                       aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnReduceSum(void* workspace, uint64_t workspaceSize,
                                       aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_REDUCE_SUM_H_
