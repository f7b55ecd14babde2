/**
 * @file
 * aclnnGridSampler2D: samples an image at the points of a grid.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/grid_sampler_2d.md has coordinates, modes and kinks.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER2D_H_
#define PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER2D_H_

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
 * @param input (N, C, H, W), FLOAT, FLOAT16, BF16 or DOUBLE, format ND or NCHW. Any strides. H and
 * W at least 1.
 * @param grid (N, OH, OW, 2), x first, dtype of input. Any strides.
 * @param interpolationMode 0 bilinear, 1 nearest, 2 bicubic; all in every profile.
 * @param paddingMode 0 zeros, 1 border, 2 reflection; all in every profile.
 * @param alignCorners true: -1 and 1 are the corner pixels' centres; false: their outer edges.
 * @param out (N, C, OH, OW), dtype of input. Any strides that give each element its own address.
 * Must not overlap an input.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, or the first of these that applies:
 *
 *     161001  input, grid, out, workspaceSize or executor is null
 *     161002  a dtype outside the profile's list (atlas-training: FLOAT, FLOAT16), or dtypes differ
 *     161002  a rank not 4; a format not ND or NCHW
 *     161002  interpolationMode or paddingMode not 0, 1 or 2
 *     161002  N, C, OH, OW disagree; H or W < 1; grid's last extent not 2
 *     then the checks that all operators share
 */
PORTACL_API aclnnStatus aclnnGridSampler2DGetWorkspaceSize(
    const aclTensor* input, const aclTensor* grid, int64_t interpolationMode, int64_t paddingMode,
    bool alignCorners, aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnGridSampler2D(void* workspace, uint64_t workspaceSize,
                                           aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER2D_H_
