/**
 * @file
 * aclnnCat: tensors side by side along an axis.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_CAT_H_
#define PORTACL_ACLNNOP_ACLNN_CAT_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = the members of `tensors` side by side along axis `dim` (negative: from behind).
 */
PORTACL_API aclnnStatus aclnnCatGetWorkspaceSize(const aclTensorList* tensors, int64_t dim,
                                                 aclTensor* out, uint64_t* workspaceSize,
                                                 aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnCat(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_CAT_H_
