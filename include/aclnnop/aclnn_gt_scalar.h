/**
 * @file
 * aclnnGtScalar: which values are above a scalar.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_GT_SCALAR_H_
#define PORTACL_ACLNNOP_ACLNN_GT_SCALAR_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out (BOOL) = self > other. */
PORTACL_API aclnnStatus aclnnGtScalarGetWorkspaceSize(const aclTensor* self, const aclScalar* other,
                                                      aclTensor* out, uint64_t* workspaceSize,
                                                      aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnGtScalar(void* workspace, uint64_t workspaceSize,
                                      aclOpExecutor* executor, aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute gt.Scalar(selfRef, other): docs/aten.md. */
PORTACL_API aclnnStatus aclnnInplaceGtScalarGetWorkspaceSize(aclTensor* selfRef,
                                                             const aclScalar* other,
                                                             uint64_t* workspaceSize,
                                                             aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceGtScalar(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_GT_SCALAR_H_
