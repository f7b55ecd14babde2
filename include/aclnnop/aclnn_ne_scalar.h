/**
 * @file
 * aclnnNeScalar: which values differ from a scalar.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_NE_SCALAR_H_
#define PORTACL_ACLNNOP_ACLNN_NE_SCALAR_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out (BOOL) = self != other. */
PORTACL_API aclnnStatus aclnnNeScalarGetWorkspaceSize(const aclTensor* self, const aclScalar* other,
                                                      aclTensor* out, uint64_t* workspaceSize,
                                                      aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnNeScalar(void* workspace, uint64_t workspaceSize,
                                      aclOpExecutor* executor, aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute ne.Scalar(selfRef, other): docs/aten.md. */
PORTACL_API aclnnStatus aclnnInplaceNeScalarGetWorkspaceSize(aclTensor* selfRef,
                                                             const aclScalar* other,
                                                             uint64_t* workspaceSize,
                                                             aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceNeScalar(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_NE_SCALAR_H_
