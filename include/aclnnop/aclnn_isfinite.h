/**
 * @file
 * aclnnIsFinite: which values are finite.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_ISFINITE_H_
#define PORTACL_ACLNNOP_ACLNN_ISFINITE_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out (BOOL) = self is neither infinite nor NaN. */
PORTACL_API aclnnStatus aclnnIsFiniteGetWorkspaceSize(const aclTensor* self, aclTensor* out,
                                                      uint64_t* workspaceSize,
                                                      aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnIsFinite(void* workspace, uint64_t workspaceSize,
                                      aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_ISFINITE_H_
