/**
 * @file
 * aclnnGridSampler2DBackward: gradients of 2D grid sampling with respect to the image and the grid.
 * Source: the page of this name. It gives no formulas; the formulas below are portacl's.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles, warnings).
 */
#ifndef PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER2D_BACKWARD_H_
#define PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER2D_BACKWARD_H_

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
 * Arithmetic is FLOAT (DOUBLE for DOUBLE tensors), each result rounded once.
 *
 * Coordinates. A grid point (x, y) names a place in the image; x goes with W, y with H:
 *
 *     ix = ((x + 1) * W - 1) / 2           d_x = W / 2            alignCorners = false
 *     ix = ((x + 1) / 2) * (W - 1)         d_x = (W - 1) / 2      alignCorners = true
 *
 * Padding changes the coordinate and gives a factor m on its derivative (bicubic instead pads the
 * index of each tap and has m = 1):
 *
 *     0 zeros       unchanged, m = 1; taps outside the image contribute nothing
 *     1 border      clipped to [0, W - 1]; m = 0 if ix <= 0 or ix >= W - 1, else 1
 *     2 reflection  (`open`) folded at 0 and W - 1 (alignCorners) or at -0.5 and W - 0.5, then
 *                   clipped to [0, W - 1]; m = +1 or -1 by the direction of the fold, 0 if
 *                   the folded coordinate is <= 0 or >= W - 1
 *
 * Interpolation. x0 = floor(ix), y0 = floor(iy), tx = ix - x0, ty = iy - y0, ux = (x0 + 1) - ix,
 * uy = (y0 + 1) - iy; taps nw, ne, sw, se of the image at (y0, x0), (y0, x0 + 1), (y0 + 1, x0),
 * (y0 + 1, x0 + 1); g = gradOutput at that point and channel:
 *
 *     0 bilinear    inputGrad[tap] += weight * g, weights ux*uy, tx*uy, ux*ty, tx*ty
 *                   gx = sum_c g * ((v_ne - v_nw) * uy + (v_se - v_sw) * ty)
 *                   gy = sum_c g * ((v_sw - v_nw) * ux + (v_se - v_ne) * tx)
 *                   gridGrad = (gx * m_x * d_x, gy * m_y * d_y)
 *     1 nearest     one tap, at ix and iy rounded half to even; gridGrad = 0
 *     2 bicubic     (`open`) 4 x 4 taps, cubic convolution with A = -0.75; gridGrad from the
 *                   differentiated coefficients
 *
 * Values outside the image count as 0. Order of sums: inputGrad takes the points row-major in
 * (oh, ow), in a point nw, ne, sw, se (bicubic: rows, then columns), each step one fused
 * multiply-add from +0; gx and gy take channels in blocks of 16, each by one fixed tree, blocks in
 * ascending order.
 *
 * Not finite. A point with a NaN coordinate adds nothing to inputGrad; its gridGrad is (NaN, NaN),
 * for nearest (0, 0). The same holds for an infinite coordinate with reflection, or with bicubic
 * and border. Otherwise an infinite coordinate lies outside with zeros padding (gridGrad 0) and on
 * the edge with border (m = 0). No coordinate value can make the library touch memory outside the
 * image. NaN and infinity in gradOutput and input follow IEEE arithmetic.
 *
 * dtypes: FLOAT, FLOAT16, BF16, DOUBLE; only FLOAT, FLOAT16 in profile `atlas-training`. All five
 * tensors have one dtype. Format ND; portacl: NCHW is accepted with a warning. Any strides, but
 * each element of an output has its own address; no output overlaps another tensor.
 *
 * @param gradOutput (N, C, OH, OW), gradient of the sampled image.
 * @param input (N, C, H, W), the image; H and W at least 1.
 * @param grid (N, OH, OW, 2), x then y, -1 to 1 across the image; other values are outside.
 * @param interpolationMode 0 bilinear, 1 nearest; 2 bicubic in profile `open`.
 * @param paddingMode 0 zeros, 1 border; 2 reflection in profile `open`.
 * @param alignCorners true: -1 and 1 are the centres of the corner pixels; false: their outer
 *        edges. (The page says only that true puts values at pixel centres.)
 * @param outputMask two values: compute inputGrad, compute gridGrad. Both false: success, nothing
 *        to do.
 * @param inputGrad shape and dtype of input. Never null; keeps its bytes if the mask leaves it
 *        out. Overwritten, not added to.
 * @param gridGrad shape and dtype of grid. Never null; keeps its bytes if the mask leaves it
 *        out. Overwritten, not added to.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * Empty tensors: the document excludes them; portacl accepts them with a warning. Without points
 * (N, OH or OW is 0) a selected inputGrad becomes 0; without channels (C is 0) a selected gridGrad
 * becomes 0.
 *
 * @return 0, or the first of these that applies:
 *
 *     161001  gradOutput, input, grid, outputMask, inputGrad, gridGrad, workspaceSize or executor
 *             is null (portacl: outputMask, which the document does not name)
 *     161002  a dtype not in the list above, or dtypes differ
 *     161002  a tensor is not 4D, or its format is not ND or NCHW
 *     161002  interpolationMode or paddingMode not in the lists above
 *     161002  outputMask has not two values
 *     161002  N differs among input, grid and gradOutput
 *     161002  C of input differs from gradOutput's
 *     161002  OH of grid differs from gradOutput's
 *     161002  OW of grid differs from gradOutput's
 *     161002  H or W of input is 0
 *     161002  the last extent of grid is not 2
 *     161002  inputGrad's shape differs from input's, or gridGrad's from grid's
 *     then the checks that all operators share; an output that the mask leaves out is checked for
 *     dtype and shape only
 */
PORTACL_API aclnnStatus aclnnGridSampler2DBackwardGetWorkspaceSize(
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
PORTACL_API aclnnStatus aclnnGridSampler2DBackward(void* workspace, uint64_t workspaceSize,
                                                   aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_GRID_SAMPLER2D_BACKWARD_H_
