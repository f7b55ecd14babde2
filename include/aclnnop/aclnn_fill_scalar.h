/**
 * @file
 * aclnnInplaceFillScalar: a tensor filled with a value.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_FILL_SCALAR_H_
#define PORTACL_ACLNNOP_ACLNN_FILL_SCALAR_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: selfRef = value. */
PORTACL_API aclnnStatus aclnnInplaceFillScalarGetWorkspaceSize(aclTensor* selfRef,
                                                               const aclScalar* value,
                                                               uint64_t* workspaceSize,
                                                               aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceFillScalar(void* workspace, uint64_t workspaceSize,
                                               aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_FILL_SCALAR_H_
