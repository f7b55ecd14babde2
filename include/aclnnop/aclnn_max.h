/**
 * @file
 * aclnnMax: the largest value.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_MAX_H_
#define PORTACL_ACLNNOP_ACLNN_MAX_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out (0-dimensional) = the largest value of self; NaN if self has a NaN. */
PORTACL_API aclnnStatus aclnnMaxGetWorkspaceSize(const aclTensor* self, aclTensor* out,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnMax(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_MAX_H_
