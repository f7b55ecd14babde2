/**
 * @file
 * aclnnMseLoss: squared differences, their mean or their sum.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_MSE_LOSS_H_
#define PORTACL_ACLNNOP_ACLNN_MSE_LOSS_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: out = (self - target)^2; `reduction` 0 none, 1 mean, 2 sum (out is 0-dimensional then).
 */
PORTACL_API aclnnStatus aclnnMseLossGetWorkspaceSize(const aclTensor* self, const aclTensor* target,
                                                     int64_t reduction, aclTensor* out,
                                                     uint64_t* workspaceSize,
                                                     aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnMseLoss(void* workspace, uint64_t workspaceSize,
                                     aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_MSE_LOSS_H_
