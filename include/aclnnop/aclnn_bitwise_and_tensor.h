/**
 * @file
 * aclnnBitwiseAndTensor: bitwise AND of integers, logical AND of BOOL. A companion operator:
 * docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_BITWISE_AND_TENSOR_H_
#define PORTACL_ACLNNOP_ACLNN_BITWISE_AND_TENSOR_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = self & other. */
PORTACL_API aclnnStatus aclnnBitwiseAndTensorGetWorkspaceSize(const aclTensor* self,
                                                              const aclTensor* other,
                                                              aclTensor* out,
                                                              uint64_t* workspaceSize,
                                                              aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnBitwiseAndTensor(void* workspace, uint64_t workspaceSize,
                                              aclOpExecutor* executor, aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute bitwise_and.Tensor(selfRef, other): docs/aten.md. */
PORTACL_API aclnnStatus aclnnInplaceBitwiseAndTensorGetWorkspaceSize(aclTensor* selfRef,
                                                                     const aclTensor* other,
                                                                     uint64_t* workspaceSize,
                                                                     aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceBitwiseAndTensor(void* workspace, uint64_t workspaceSize,
                                                     aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_BITWISE_AND_TENSOR_H_
