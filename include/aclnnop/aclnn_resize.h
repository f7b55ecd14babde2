/**
 * @file
 * aclnnResize: nearest or bilinear resizing of (N, C, H, W) tensors by scales.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles); docs/ops/upsample_linear.md has maths and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_RESIZE_H_
#define PORTACL_ACLNNOP_ACLNN_RESIZE_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * @param self (N, C, H, W), FLOAT or FLOAT16, format NCHW. Any strides.
 * @param scales output extent / input extent of each of self's 4 axes; 1 for N and C.
 * @param mode "nearest" or "bilinear": computes the same as aclnnUpsampleNearest2dV2, or as
 * aclnnUpsampleBilinear2d without alignCorners.
 * @param out extents floor(extent of self * scale), dtype and format of self. Must not overlap it.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnResizeGetWorkspaceSize(const aclTensor* self,
                                                    const aclFloatArray* scales, const char* mode,
                                                    aclTensor* out, uint64_t* workspaceSize,
                                                    aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnResize(void* workspace, uint64_t workspaceSize,
                                    aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_RESIZE_H_
