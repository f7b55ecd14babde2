/**
 * @file
 * Running an operator by its graph name, with the interface's compile step. portacl's kernels are
 * compiled with the library, so that step only checks. Operators, data layout, errors, ownership
 * and thread-safety: see acl_op.h.
 */
#ifndef PORTACL_ACL_ACL_OP_COMPILER_H_
#define PORTACL_ACL_ACL_OP_COMPILER_H_

#include "acl/acl_base.h"
#include "acl/acl_op.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where an operator's code comes from. portacl: accepted and not used. */
typedef enum aclopCompileType {
  ACL_COMPILE_SYS = 0,         /**< the library's own operator */
  ACL_COMPILE_UNREGISTERED = 1 /**< code at opPath */
} aclopCompileType;

/**
 * Checks an operator call as far as that goes without data, and enqueues nothing.
 * @param opType, numInputs, inputDesc, numOutputs, outputDesc, attr as in aclopExecuteV2().
 * @param engineType, compileFlag, opPath accepted and not used; opPath may be null.
 * @return ACL_SUCCESS if aclopExecuteV2() would accept these types, shapes and attributes, or a
 *         code from the list in acl_op.h.
 */
PORTACL_API aclError aclopCompile(const char* opType, int numInputs,
                                  const aclTensorDesc* const inputDesc[], int numOutputs,
                                  const aclTensorDesc* const outputDesc[], const aclopAttr* attr,
                                  aclopEngineType engineType, aclopCompileType compileFlag,
                                  const char* opPath);

/**
 * aclopCompile(), then aclopExecuteV2().
 * @return ACL_SUCCESS or a code from the list in acl_op.h.
 */
PORTACL_API aclError aclopCompileAndExecute(
    const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
    const aclDataBuffer* const inputs[], int numOutputs, const aclTensorDesc* const outputDesc[],
    aclDataBuffer* const outputs[], const aclopAttr* attr, aclopEngineType engineType,
    aclopCompileType compileFlag, const char* opPath, aclrtStream stream);

/**
 * Like aclopCompileAndExecute(). (Where shapes depend on data, the interface writes them into
 * outputDesc; portacl has no such operator and changes no description.)
 */
PORTACL_API aclError aclopCompileAndExecuteV2(const char* opType, int numInputs,
                                              aclTensorDesc* inputDesc[], aclDataBuffer* inputs[],
                                              int numOutputs, aclTensorDesc* outputDesc[],
                                              aclDataBuffer* outputs[], aclopAttr* attr,
                                              aclopEngineType engineType,
                                              aclopCompileType compileFlag, const char* opPath,
                                              aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_OP_COMPILER_H_
