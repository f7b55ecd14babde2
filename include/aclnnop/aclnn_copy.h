/**
 * @file
 * aclnnInplaceCopy: copies, with every layout, broadcast and conversion.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_COPY_H_
#define PORTACL_ACLNNOP_ACLNN_COPY_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: selfRef = src, broadcast to selfRef's shape and converted to its data type. Complex
 * numbers are copied within one type only.
 */
PORTACL_API aclnnStatus aclnnInplaceCopyGetWorkspaceSize(aclTensor* selfRef, const aclTensor* src,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceCopy(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_COPY_H_
