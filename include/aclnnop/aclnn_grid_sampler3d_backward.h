/**
 * @file
 * aclnnGridSampler3DBackward: gradients of 3D grid sampling with respect to the volume and the
 * grid. It follows aclnnGridSampler2DBackward, with one more axis. aclnn/aclnn_base.h has the rules
 * of all operators (phases, checks of strides and overlap, profiles, warnings).
 */
#ifndef PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER3D_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER3D_BACKWARD_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * Arithmetic is FLOAT (DOUBLE for DOUBLE tensors), each result rounded once. Coordinates, padding
 * with its factor m, d, and points that are not finite follow aclnnGridSampler2DBackward on each
 * axis: x goes with W, y with H, z with D.
 *
 * Interpolation. Planes t at z0 = floor(iz) and b at z0 + 1, in each the taps nw, ne, sw, se:
 *
 *     0 trilinear   inputGrad[tap] += weight * g, weight = (w_x * w_y) * w_z
 *
 *                   in each plane, v being the bilinear value there:
 *                     sx = (v_ne - v_nw) * uy + (v_se - v_sw) * ty
 *                     sy = (v_sw - v_nw) * ux + (v_se - v_ne) * tx
 *                   and across the planes:
 *                     gx = sum_c g * (sx_t * uz + sx_b * tz)
 *                     gy = sum_c g * (sy_t * uz + sy_b * tz)
 *                     gz = sum_c g * (v_b - v_t)
 *                     gridGrad = (gx * m_x * d_x, gy * m_y * d_y, gz * m_z * d_z)
 *
 *     1 nearest     one tap, at ix, iy, iz rounded half to even; gridGrad = 0
 *
 *     2 tricubic    (`open`) 4 x 4 x 4 taps, cubic convolution with A = -0.75;
 *                   gridGrad from the differentiated coefficients
 *
 * Values outside the volume count as 0. Order of sums: inputGrad takes the points row-major in
 * (od, oh, ow), in a point tnw, tne, tsw, tse, bnw, bne, bsw, bse (tricubic: planes, rows,
 * columns), each step one fused multiply-add from +0; gx, gy and gz take channels in blocks of 16,
 * each by one fixed tree, blocks in ascending order.
 *
 * dtypes: FLOAT, FLOAT16, DOUBLE; BF16 in profile `open`. All five tensors have one dtype. Format
 * ND, NCDHW or NDHWC. NDHWC is (N, D, H, W, C), but grid and gridGrad keep their axes. Any
 * strides, but each element of an output has its own address; no output overlaps another
 * tensor.
 *
 * @param gradOutput (N, C, OD, OH, OW), gradient of the sampled volume.
 * @param input (N, C, D, H, W), the volume; D, H and W at least 1.
 * @param grid (N, OD, OH, OW, 3), x, y, z, -1 to 1 across the volume; other values are outside.
 * @param interpolationMode 0 trilinear, 1 nearest; 2 tricubic in profile `open`.
 * @param paddingMode 0 zeros, 1 border, 2 reflection; all in every profile.
 * @param alignCorners true: -1 and 1 are the centres of the corner voxels; false: their outer
 * faces.
 * @param outputMask two values: compute inputGrad, compute gridGrad. Both false: success, nothing
 *        to do.
 * @param inputGrad shape and dtype of input. Never null; keeps its bytes if the mask leaves it
 *        out. Overwritten, not added to.
 * @param gridGrad shape and dtype of grid. Never null; keeps its bytes if the mask leaves it
 *        out. Overwritten, not added to.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * Empty tensors: without points (N, OD, OH or OW is 0) a selected inputGrad becomes 0; without
 * channels (C is 0) a selected gridGrad becomes 0.
 *
 * @return 0, or the first of these that applies:
 *
 *     161001  gradOutput, input, grid, outputMask, inputGrad, gridGrad, workspaceSize or executor
 *             is null
 *     161002  a dtype not in the list above, or dtypes differ
 *     161002  a tensor is not 5D, or its format is not ND, NCDHW or NDHWC
 *     161002  interpolationMode or paddingMode not in the lists above
 *     161002  outputMask has not two values
 *     161002  N, C, OD, OH, OW disagree; D, H or W of input is 0; the last extent of grid is not 3
 *     161002  inputGrad's shape differs from input's, or gridGrad's from grid's
 *     then the checks that all operators share; an output that the mask leaves out is checked for
 *     dtype and shape only
 */
PORTACL_API aclnnStatus aclnnGridSampler3DBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* input, const aclTensor* grid,
    int64_t interpolationMode, int64_t paddingMode, bool alignCorners,
    const aclBoolArray* outputMask, aclTensor* inputGrad, aclTensor* gridGrad,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/**
 * Phase 2: enqueues the planned work.
 * @param workspace device memory that no other work uses meanwhile; may be null if the size is 0.
 * @param workspaceSize bytes there, at least what phase 1 returned.
 * @param executor from phase 1; used up unless it is repeatable.
 * @param stream where to enqueue; null for the current context's default stream.
 * @return 0 or a code from aclnn/aclnn_base.h.
 */
PORTACL_API aclnnStatus aclnnGridSampler3DBackward(void* workspace, uint64_t workspaceSize,
                                                   aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER3D_BACKWARD_H_
