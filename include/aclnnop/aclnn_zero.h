/**
 * @file
 * aclnnInplaceZero: a tensor filled with zeros.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_ZERO_H_
#define PORTACL_ACLNNOP_ACLNN_ZERO_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: selfRef = 0. */
PORTACL_API aclnnStatus aclnnInplaceZeroGetWorkspaceSize(aclTensor* selfRef,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceZero(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_ZERO_H_
