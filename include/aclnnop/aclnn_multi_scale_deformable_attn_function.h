/**
 * @file
 * aclnnMultiScaleDeformableAttnFunction: multi-scale deformable attention.
 * aclnn/aclnn_base.h has the rules of all operators (phases, checks of strides and overlap,
 * profiles, warnings); docs/ops/ms_deform_attn.md has maths, order of sums and refusals in order.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_MULTI_SCALE_DEFORMABLE_ATTN_FUNCTION_H_
#define PORTACL_ACLNNOP_ACLNN_MULTI_SCALE_DEFORMABLE_ATTN_FUNCTION_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: checks, plans, and returns workspace size and executor.
 *
 * @param value (bs, num_keys, num_heads, channels): FLOAT, FLOAT16 or BF16, format ND. Any strides.
 * @param spatialShape (num_levels, 2): height and width of each level. INT32 or INT64, read when
 * the work runs.
 * @param levelStartIndex (num_levels): the key of each level's first pixel. INT32 or INT64.
 * @param location (bs, num_queries, num_heads, num_levels, num_points, 2), x first: 0 and 1 are the
 * edges of a level. dtype of value.
 * @param attnWeight (bs, num_queries, num_heads, num_levels, num_points); dtype of value.
 * @param output (bs, num_queries, num_heads * channels) or (bs, num_queries, num_heads, channels);
 * dtype of value.
 * @param[out] workspaceSize bytes of device memory that phase 2 needs.
 * @param[out] executor the planned execution.
 *
 * A level that does not fit among the keys contributes nothing, and the log gets a warning (with
 * PORTACL_STRICT=1 the stream gets an error).
 *
 * @return 0, 161001 for a null argument, 161002 for a wrong one: aclGetRecentErrMsg names it.
 */
PORTACL_API aclnnStatus aclnnMultiScaleDeformableAttnFunctionGetWorkspaceSize(
    const aclTensor* value, const aclTensor* spatialShape, const aclTensor* levelStartIndex,
    const aclTensor* location, const aclTensor* attnWeight, aclTensor* output,
    uint64_t* workspaceSize, aclOpExecutor** executor);

/** Phase 2: enqueues the planned work; as in every two-phase operator. */
PORTACL_API aclnnStatus aclnnMultiScaleDeformableAttnFunction(void* workspace,
                                                              uint64_t workspaceSize,
                                                              aclOpExecutor* executor,
                                                              aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_MULTI_SCALE_DEFORMABLE_ATTN_FUNCTION_H_
