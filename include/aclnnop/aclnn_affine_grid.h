/**
 * @file
 * aclnnAffineGrid: the points of affine maps, as a grid for grid sampling.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/affine_grid.md has maths, limits and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_AFFINE_GRID_H_
#define PORTACL_ACLNNOP_ACLNN_AFFINE_GRID_H_

#include <stdbool.h>
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * @param theta (N, 2, 3) or, for volumes, (N, 3, 4): FLOAT, FLOAT16 or BF16, format ND. Any
 * strides.
 * @param size of the images to sample: (N, C, H, W) or (N, C, D, H, W).
 * @param alignCorners true: -1 and 1 are the middles of the border elements; false: their outer
 * edges.
 * @param out (N, H, W, 2) or (N, D, H, W, 3), x first; dtype of theta.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnAffineGridGetWorkspaceSize(const aclTensor* theta,
                                                        const aclIntArray* size, bool alignCorners,
                                                        aclTensor* out, uint64_t* workspaceSize,
                                                        aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnAffineGrid(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_AFFINE_GRID_H_
