/**
 * @file
 * aclnnMaskedSelect: the values where a mask is true.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_MASKED_SELECT_H_
#define PORTACL_ACLNNOP_ACLNN_MASKED_SELECT_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: out (1-dimensional, room for all) = the values of self where mask is true, in order;
 * when the stream has run, out's view shape (aclGetViewShape) is the number of these values.
 */
PORTACL_API aclnnStatus aclnnMaskedSelectGetWorkspaceSize(const aclTensor* self,
                                                          const aclTensor* mask, aclTensor* out,
                                                          uint64_t* workspaceSize,
                                                          aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnMaskedSelect(void* workspace, uint64_t workspaceSize,
                                          aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_MASKED_SELECT_H_
