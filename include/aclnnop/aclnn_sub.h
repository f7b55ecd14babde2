/**
 * @file
 * aclnnSub, aclnnSubs, aclnnInplaceSub, aclnnInplaceSubs:
 * differences of tensors, or of a tensor and a scalar.
 * Companion operators: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_SUB_H_
#define PORTACL_ACLNNOP_ACLNN_SUB_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = self - alpha * other, rounded once. */
PORTACL_API aclnnStatus aclnnSubGetWorkspaceSize(const aclTensor* self, const aclTensor* other,
                                                 const aclScalar* alpha, aclTensor* out,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnSub(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream);

/** Phase 1: out = self - alpha * other, with a scalar `other`. */
PORTACL_API aclnnStatus aclnnSubsGetWorkspaceSize(const aclTensor* self, const aclScalar* other,
                                                  const aclScalar* alpha, aclTensor* out,
                                                  uint64_t* workspaceSize,
                                                  aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnSubs(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream);

/** Phase 1: selfRef -= alpha * other. */
PORTACL_API aclnnStatus aclnnInplaceSubGetWorkspaceSize(aclTensor* selfRef, const aclTensor* other,
                                                        const aclScalar* alpha,
                                                        uint64_t* workspaceSize,
                                                        aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceSub(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream);

/** Phase 1: selfRef -= alpha * other, with a scalar `other`. */
PORTACL_API aclnnStatus aclnnInplaceSubsGetWorkspaceSize(aclTensor* selfRef, const aclScalar* other,
                                                         const aclScalar* alpha,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceSubs(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_SUB_H_
