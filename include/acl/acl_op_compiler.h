/**
 * @file
 * Running an operator by its graph name, with the interface's compile step. portacl's kernels are
 * compiled with the library, so that step only checks. Operators, data layout, errors, ownership
 * and thread-safety: see acl_op.h.
 */
#ifndef PORTACL_ACL_ACL_OP_COMPILER_H_
#define PORTACL_ACL_ACL_OP_COMPILER_H_

#include <stddef.h>

#include "acl/acl_base.h"
#include "acl/acl_op.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where an operator's code comes from. portacl: accepted and not used. */
typedef enum aclCompileType {
  ACL_COMPILE_SYS = 0,         /**< the library's own operator */
  ACL_COMPILE_UNREGISTERED = 1 /**< code at opPath */
} aclopCompileType;

/** Options of aclSetCompileopt(); their values are texts. */
typedef enum aclCompileOpt {
  ACL_PRECISION_MODE = 0,
  ACL_AICORE_NUM = 1,
  ACL_AUTO_TUNE_MODE = 2,
  ACL_OP_SELECT_IMPL_MODE = 3,
  ACL_OPTYPELIST_FOR_IMPLMODE = 4,
  ACL_OP_DEBUG_LEVEL = 5,
  ACL_DEBUG_DIR = 6,
  ACL_OP_COMPILER_CACHE_MODE = 7,
  ACL_OP_COMPILER_CACHE_DIR = 8,
  ACL_OP_PERFORMANCE_MODE = 9,
  ACL_OP_JIT_COMPILE = 10, /**< "enable" or "disable" (the value at first) */
  ACL_OP_DETERMINISTIC = 11,
  ACL_CUSTOMIZE_DTYPES = 12,
  ACL_OP_PRECISION_MODE = 13,
  ACL_ALLOW_HF32 = 14,
  ACL_PRECISION_MODE_V2 = 15,
  ACL_OP_DEBUG_OPTION = 16
} aclCompileOpt;

/** Options of aclGenGraphAndDumpForOp(). */
typedef struct aclGraphDumpOption aclGraphDumpOption;

/**
 * Sets an option of the operator compiler. portacl: kept and reported back; nothing is compiled,
 * and operators compute in the precision of their documents whatever the options ask for.
 * @return ACL_SUCCESS; 100000 for a null value or an option that is not in the list.
 */
PORTACL_API aclError aclSetCompileopt(aclCompileOpt opt, const char* value);

/** Bytes that aclGetCompileopt() writes, with the NUL; 0 for an option that is not in the list. */
PORTACL_API size_t aclGetCompileoptSize(aclCompileOpt opt);

/**
 * An option's text, empty if it was never set.
 * @param length bytes at value, at least aclGetCompileoptSize().
 */
PORTACL_API aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length);

/**
 * Writes an operator's graph to a file: 200001, portacl has no graphs of operators.
 */
PORTACL_API aclError aclGenGraphAndDumpForOp(const char* opType, int numInputs,
                                             const aclTensorDesc* const inputDesc[],
                                             const aclDataBuffer* const inputs[], int numOutputs,
                                             const aclTensorDesc* const outputDesc[],
                                             aclDataBuffer* const outputs[], const aclopAttr* attr,
                                             aclopEngineType engineType, const char* graphDumpPath,
                                             const aclGraphDumpOption* graphDumpOpt);

/**
 * Makes all checks of an operator call that need no data, and enqueues nothing.
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
 * Like aclopCompileAndExecute(). (If shapes depend on data, the interface writes them into
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
