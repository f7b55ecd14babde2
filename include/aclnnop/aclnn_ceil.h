/**
 * @file
 * aclnnCeil: values rounded up.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_CEIL_H_
#define PORTACL_ACLNNOP_ACLNN_CEIL_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = the smallest integer not below self. */
PORTACL_API aclnnStatus aclnnCeilGetWorkspaceSize(const aclTensor* self, aclTensor* out,
                                                  uint64_t* workspaceSize,
                                                  aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnCeil(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute ceil(selfRef): docs/aten.md. */
PORTACL_API aclnnStatus aclnnInplaceCeilGetWorkspaceSize(aclTensor* selfRef,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceCeil(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_CEIL_H_
