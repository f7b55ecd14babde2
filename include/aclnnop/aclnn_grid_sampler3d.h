/**
 * @file
 * aclnnGridSampler3D: samples volumes at the points of a grid.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/grid_sampler_3d.md has coordinates, modes and kinks.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER3D_H_
#define PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER3D_H_

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
 * @param input (N, C, D, H, W), FLOAT, FLOAT16 or DOUBLE (profile `open` also BF16), format ND,
 * NCDHW or NDHWC (then (N, D, H, W, C)). Any strides. D, H and W at least 1.
 * @param grid (N, OD, OH, OW, 3): x goes with W, y with H, z with D; dtype of input. Any strides.
 * @param interpolationMode 0 trilinear, 1 nearest; profile `open` also 2, tricubic.
 * @param paddingMode 0 zeros, 1 border, 2 reflection; all in every profile.
 * @param alignCorners true: -1 and 1 are the corner pixels' centres; false: their outer edges.
 * @param out (N, C, OD, OH, OW), dtype of input. Any strides that give each
 * element its own address. Must not overlap an input.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, or the first of these that applies:
 *
 *     161001  input, grid, out, workspaceSize or executor is null
 *     161002  a dtype outside the profile's list, or dtypes differ
 *     161002  a rank not 5; a format not ND, NCDHW or NDHWC
 *     161002  interpolationMode or paddingMode not in the lists above
 *     161002  N, C, OD, OH, OW disagree; D, H or W < 1; grid's last extent not 3
 *     then the checks that all operators share
 */
PORTACL_API aclnnStatus aclnnGridSampler3DGetWorkspaceSize(
    const aclTensor* input, const aclTensor* grid, int64_t interpolationMode, int64_t paddingMode,
    bool alignCorners, aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnGridSampler3D(void* workspace, uint64_t workspaceSize,
                                           aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER3D_H_
