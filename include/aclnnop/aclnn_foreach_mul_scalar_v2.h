/**
 * @file
 * aclnnForeachMulScalarV2: the members of a list times a scalar.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_FOREACH_MUL_SCALAR_V2_H_
#define PORTACL_ACLNNOP_ACLNN_FOREACH_MUL_SCALAR_V2_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out[i] = self[i] * scalar; out may be self. */
PORTACL_API aclnnStatus aclnnForeachMulScalarV2GetWorkspaceSize(const aclTensorList* self,
                                                                const aclScalar* scalar,
                                                                aclTensorList* out,
                                                                uint64_t* workspaceSize,
                                                                aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnForeachMulScalarV2(void* workspace, uint64_t workspaceSize,
                                                aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_FOREACH_MUL_SCALAR_V2_H_
