/**
 * @file
 * aclnnLtScalar: which values are below a scalar.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_LT_SCALAR_H_
#define PORTACL_ACLNNOP_ACLNN_LT_SCALAR_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out (BOOL) = self < other. */
PORTACL_API aclnnStatus aclnnLtScalarGetWorkspaceSize(const aclTensor* self, const aclScalar* other,
                                                      aclTensor* out, uint64_t* workspaceSize,
                                                      aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnLtScalar(void* workspace, uint64_t workspaceSize,
                                      aclOpExecutor* executor, aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute lt.Scalar(selfRef, other): docs/aten.md. */
PORTACL_API aclnnStatus aclnnInplaceLtScalarGetWorkspaceSize(aclTensor* selfRef,
                                                             const aclScalar* other,
                                                             uint64_t* workspaceSize,
                                                             aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceLtScalar(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_LT_SCALAR_H_
