/**
 * @file
 * aclnnAdd, aclnnAdds, aclnnInplaceAdd, aclnnInplaceAdds:
 * sums of tensors, or of a tensor and a scalar.
 * Companion operators: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_ADD_H_
#define PORTACL_ACLNNOP_ACLNN_ADD_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = self + alpha * other, rounded once. */
PORTACL_API aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor* self, const aclTensor* other,
                                                 const aclScalar* alpha, aclTensor* out,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnAdd(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream);

/** Phase 1: out = self + alpha * other, with a scalar `other`. */
PORTACL_API aclnnStatus aclnnAddsGetWorkspaceSize(const aclTensor* self, const aclScalar* other,
                                                  const aclScalar* alpha, aclTensor* out,
                                                  uint64_t* workspaceSize,
                                                  aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnAdds(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream);

/** Phase 1: selfRef += alpha * other. */
PORTACL_API aclnnStatus aclnnInplaceAddGetWorkspaceSize(aclTensor* selfRef, const aclTensor* other,
                                                        const aclScalar* alpha,
                                                        uint64_t* workspaceSize,
                                                        aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceAdd(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream);

/** Phase 1: selfRef += alpha * other, with a scalar `other`. */
PORTACL_API aclnnStatus aclnnInplaceAddsGetWorkspaceSize(aclTensor* selfRef, const aclScalar* other,
                                                         const aclScalar* alpha,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceAdds(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute AddScalarTensor: docs/aten.md. */
PORTACL_API aclnnStatus aclnnAddV3GetWorkspaceSize(const aclScalar* self, const aclTensor* other,
                                                   const aclScalar* alpha, const aclTensor* out,
                                                   uint64_t* workspaceSize,
                                                   aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnAddV3(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                   aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_ADD_H_
