/**
 * @file
 * aclnnStack: tensors side by side along a new axis.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_STACK_H_
#define PORTACL_ACLNNOP_ACLNN_STACK_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = the members of `tensors`, of one shape, side by side along the new axis `dim`. */
PORTACL_API aclnnStatus aclnnStackGetWorkspaceSize(const aclTensorList* tensors, int64_t dim,
                                                   aclTensor* out, uint64_t* workspaceSize,
                                                   aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnStack(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_STACK_H_
