/**
 * @file
 * aclnnDiv, aclnnDivs, aclnnInplaceDiv, aclnnInplaceDivs:
 * quotients of tensors, or of a tensor and a scalar; integers divide as FLOAT.
 * Companion operators: docs/ops/companion.md has the rules of all.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_DIV_H_
#define PORTACL_ACLNNOP_ACLNN_DIV_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Phase 1: out = self / other. */
PORTACL_API aclnnStatus aclnnDivGetWorkspaceSize(const aclTensor* self, const aclTensor* other,
                                                 aclTensor* out, uint64_t* workspaceSize,
                                                 aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnDiv(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream);

/** Phase 1: out = self / other, with a scalar `other`. */
PORTACL_API aclnnStatus aclnnDivsGetWorkspaceSize(const aclTensor* self, const aclScalar* other,
                                                  aclTensor* out, uint64_t* workspaceSize,
                                                  aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnDivs(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream);

/** Phase 1: selfRef /= other. */
PORTACL_API aclnnStatus aclnnInplaceDivGetWorkspaceSize(aclTensor* selfRef, const aclTensor* other,
                                                        uint64_t* workspaceSize,
                                                        aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceDiv(void* workspace, uint64_t workspaceSize,
                                        aclOpExecutor* executor, aclrtStream stream);

/** Phase 1: selfRef /= other, with a scalar `other`. */
PORTACL_API aclnnStatus aclnnInplaceDivsGetWorkspaceSize(aclTensor* selfRef, const aclScalar* other,
                                                         uint64_t* workspaceSize,
                                                         aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceDivs(void* workspace, uint64_t workspaceSize,
                                         aclOpExecutor* executor, aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute DivMod: docs/aten.md. */
PORTACL_API aclnnStatus aclnnDivModGetWorkspaceSize(const aclTensor* self, const aclTensor* other,
                                                    int mode, const aclTensor* out,
                                                    uint64_t* workspaceSize,
                                                    aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnDivMod(void* workspace, uint64_t workspaceSize,
                                    aclOpExecutor* executor, aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute DivMods: docs/aten.md. */
PORTACL_API aclnnStatus aclnnDivModsGetWorkspaceSize(const aclTensor* self, const aclScalar* other,
                                                     int mode, const aclTensor* out,
                                                     uint64_t* workspaceSize,
                                                     aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnDivMods(void* workspace, uint64_t workspaceSize,
                                     aclOpExecutor* executor, aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute DivMod: docs/aten.md. */
PORTACL_API aclnnStatus aclnnInplaceDivModGetWorkspaceSize(aclTensor* selfRef,
                                                           const aclTensor* other, int mode,
                                                           uint64_t* workspaceSize,
                                                           aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceDivMod(void* workspace, uint64_t workspaceSize,
                                           aclOpExecutor* executor, aclrtStream stream);

/** Phase 1. PyTorch's CPU kernels compute DivMods: docs/aten.md. */
PORTACL_API aclnnStatus aclnnInplaceDivModsGetWorkspaceSize(aclTensor* selfRef,
                                                            const aclScalar* other, int mode,
                                                            uint64_t* workspaceSize,
                                                            aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnInplaceDivMods(void* workspace, uint64_t workspaceSize,
                                            aclOpExecutor* executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_DIV_H_
