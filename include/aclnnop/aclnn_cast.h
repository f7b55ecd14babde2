/**
 * @file
 * aclnnCast: conversion to another data type.
 * A companion operator: what they share is in docs/ops/companion.md.
 */
#ifndef PORTACL_ACLNNOP_ACLNN_CAST_H_
#define PORTACL_ACLNNOP_ACLNN_CAST_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Phase 1: out = self as `dtype`, which is out's data type: to integers by truncation, to BOOL by
 * != 0.
 */
PORTACL_API aclnnStatus aclnnCastGetWorkspaceSize(const aclTensor* self, const aclDataType dtype,
                                                  aclTensor* out, uint64_t* workspaceSize,
                                                  aclOpExecutor** executor);
/** Phase 2: enqueues what phase 1 planned. */
PORTACL_API aclnnStatus aclnnCast(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                  aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNNOP_ACLNN_CAST_H_
