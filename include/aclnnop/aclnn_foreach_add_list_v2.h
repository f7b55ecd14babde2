/**
 * @file
 * aclnnForeachAddListV2: sums of the members of two lists.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_FOREACH_ADD_LIST_V2_H_
#define PORTACL_ACLNNOP_ACLNN_FOREACH_ADD_LIST_V2_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out[i] = self[i] + alpha * other[i]; out may be self. */
PORTACL_API aclnnStatus aclnnForeachAddListV2GetWorkspaceSize(
    const aclTensorList* self, const aclTensorList* other, const aclScalar* alpha,
    aclTensorList* out, uint64_t* workspaceSize, aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnForeachAddListV2(void* workspace, uint64_t workspaceSize,
                                              aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_FOREACH_ADD_LIST_V2_H_
