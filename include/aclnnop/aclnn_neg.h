/**
 * @file
 * aclnnNeg: negated values.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_NEG_H_
#define PORTACL_ACLNNOP_ACLNN_NEG_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = -self. */
PORTACL_API aclnnStatus aclnnNegGetWorkspaceSize(const aclTensor* self, aclTensor* out,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnNeg(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute neg(selfRef): docs/aten.md. */
PORTACL_API aclnnStatus aclnnInplaceNegGetWorkspaceSize(aclTensor* selfRef, uint64_t* workspaceSize,
                                                        aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceNeg(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_NEG_H_
