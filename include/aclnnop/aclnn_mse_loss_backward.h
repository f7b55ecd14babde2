/**
 * @file
 * aclnnMseLossBackward: gradient of the mean squared error.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_MSE_LOSS_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_MSE_LOSS_BACKWARD_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: out = 2 (self - target) * gradOutput, divided by the number of elements for the mean
 * (1).
 */
PORTACL_API aclnnStatus aclnnMseLossBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* self, const aclTensor* target, int64_t reduction,
    aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnMseLossBackward(void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_MSE_LOSS_BACKWARD_H_
