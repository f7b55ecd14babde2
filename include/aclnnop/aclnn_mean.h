/**
 * @file
 * aclnnMean: means over axes.
 * A companion operator: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_MEAN_H_
#define PORTACL_ACLNNOP_ACLNN_MEAN_H_

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = mean of self over `dims` (none: all) in `dtype`. */
PORTACL_API aclnnStatus aclnnMeanGetWorkspaceSize(const aclTensor* self, const aclIntArray* dims,
                                                  bool keepDims, aclDataType dtype, aclTensor* out,
                                                  uint64_t* workspaceSize,
                                                  aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnMean(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream);

/**
 * Phase 1. PyTorch's CPU kernels compute MeanV2: docs/aten.md. Without `dims` the mean of all, or
 * self if noopWithEmptyAxes is true.
 */
PORTACL_API aclnnStatus aclnnMeanV2GetWorkspaceSize(const aclTensor* self, const aclIntArray* dims,
                                                    bool keepDims, bool noopWithEmptyAxes,
                                                    const aclTensor* out, uint64_t* workspaceSize,
                                                    aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnMeanV2(void* workspace, uint64_t workspaceSize,
                                    aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_MEAN_H_
