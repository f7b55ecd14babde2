/**
 * @file
 * aclnnMul, aclnnMuls, aclnnInplaceMul, aclnnInplaceMuls:
 * products of tensors, or of a tensor and a scalar.
 * Companion operators: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_MUL_H_
#define PORTACL_ACLNNOP_ACLNN_MUL_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = self * other. */
PORTACL_API aclnnStatus aclnnMulGetWorkspaceSize(const aclTensor* self, const aclTensor* other,
                                                 aclTensor* out, uint64_t* workspaceSize,
                                                 aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnMul(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream);

/** Phase 1: out = self * other, with a scalar `other`. */
PORTACL_API aclnnStatus aclnnMulsGetWorkspaceSize(const aclTensor* self, const aclScalar* other,
                                                  aclTensor* out, uint64_t* workspaceSize,
                                                  aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnMuls(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream);

/** Phase 1: selfRef *= other. */
PORTACL_API aclnnStatus aclnnInplaceMulGetWorkspaceSize(aclTensor* selfRef, const aclTensor* other,
                                                        uint64_t* workspaceSize,
                                                        aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceMul(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream);

/** Phase 1: selfRef *= other, with a scalar `other`. */
PORTACL_API aclnnStatus aclnnInplaceMulsGetWorkspaceSize(aclTensor* selfRef, const aclScalar* other,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceMuls(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_MUL_H_
