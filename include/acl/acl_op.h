/**
 * @file
 * Running an operator by its graph name: attributes, execution and handles. acl_op_compiler.h has
 * functions that also compile; portacl compiles nothing, so both do the same.
 *
 * An operator computes and checks like the aclnn operator of its name ("Grad": Backward).
 *
 *   UpsampleNearestExact2d, UpsampleNearestExact3d          input x; output y
 *   UpsampleNearestExact2dGrad, UpsampleNearestExact3dGrad  input grad_output; output grad_input
 *     output_size  list of 2 or 3 int  spatial extents of y or grad_output
 *     input_size   list of 4 or 5 int  of the Grads alone: the shape of grad_input
 *     scales_d (3D), scales_h, scales_w  float  optional, not negative; absent or 0: the sizes
 *     FLOAT, FLOAT16, BF16; without the limit of 50
 *
 *   GridSampler2D, GridSampler3D          inputs x, grid; output y
 *   GridSampler2DGrad, GridSampler3DGrad  inputs grad, x, grid; outputs dx, dgrid: always both
 *     interpolation_mode  string  bilinear (default), nearest, bicubic
 *     padding_mode        string  zeros (default), border, reflection
 *     align_corners       bool    false (default)
 *     the modes and dtypes that the profile has for the aclnn operator
 *   Identity (input x, output y) copies; TransData (src, dst) between orders of the same axes.
 *
 * A description (aclTensorDesc) gives type, shape and format; memory is dense in row-major order or
 * lies as aclSetTensorFormat() says. A data buffer (aclDataBuffer) has its address and its size.
 *
 * Errors of the functions that run or prepare an operator:
 *   100000  null pointer, or an argument that no line below names
 *   100021  wrong number of inputs, or an input that does not fit
 *   100022  wrong number of outputs, or an output that does not fit
 *   100023  an attribute is missing, of another type or out of range
 *   100024  unknown operator type, or one that the current profile (PORTACL_PROFILE) lacks
 *   100026  a dtype that the operator or the profile does not take
 *   100027  a format that the operator does not take
 *   100029  no kernel here can do the shape
 * A refused call writes to no tensor. aclGetRecentErrMsg() (acl.h) has the words.
 *
 * Execution is asynchronous: it enqueues on the stream and returns. Descriptions, buffers and
 * attributes may then be destroyed; the device memory must stay until the stream has done the work.
 *
 * Thread-safety: all functions may be called from any thread. Do not change or destroy an
 * aclopAttr or aclopHandle while another thread uses it; many threads may execute one handle.
 */
#ifndef PORTACL_ACL_ACL_OP_H_
#define PORTACL_ACL_ACL_OP_H_

#include <stdint.h>

#include "acl/acl_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The attributes of an operator: values by name. */
typedef struct aclopAttr aclopAttr;

/** An operator with its types, shapes and attributes, ready to run on any data of these shapes. */
typedef struct aclopHandle aclopHandle;

/** The engine that runs an operator. portacl: accepted and not used. */
typedef enum aclEngineType {
  ACL_ENGINE_SYS = 0, /**< the library chooses */
  ACL_ENGINE_AICORE = 1,
  ACL_ENGINE_VECTOR = 2
} aclopEngineType;

/** Creates an empty set of attributes, to be freed with aclopDestroyAttr(); null without memory. */
PORTACL_API aclopAttr* aclopCreateAttr(void);

/** Frees a set of attributes. Null is accepted and does nothing. */
PORTACL_API void aclopDestroyAttr(const aclopAttr* attr);

/**
 * @name Setting attributes
 * Each copies the name and the value; a name that is set already gets the new value (and type).
 * @param attr the set.
 * @param attrName name as in the table above.
 * @param numValues number of list elements, at least 0.
 * @return ACL_SUCCESS; 100000 for a null pointer or a negative numValues. A name that the operator
 *         does not know is refused with 100023 when the operator is prepared or runs.
 * @{
 */

/** @param attrValue 0 for false, anything else for true. */
PORTACL_API aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue);

/** Sets an attribute that is an integer. */
PORTACL_API aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue);

/** Sets an attribute that is a float. */
PORTACL_API aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue);

/** Sets an attribute that is text, which is copied. */
PORTACL_API aclError aclopSetAttrString(aclopAttr* attr, const char* attrName,
                                        const char* attrValue);

/** Sets an attribute that is a list of integers, which is copied. */
PORTACL_API aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues,
                                         const int64_t* values);

/** Sets an attribute that is a list of floats, which is copied. */
PORTACL_API aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int numValues,
                                           const float* values);

/** @param values per element 0 for false, anything else for true. */
PORTACL_API aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int numValues,
                                          const uint8_t* values);

/** Sets an attribute that is a list of texts, which are copied. */
PORTACL_API aclError aclopSetAttrListString(aclopAttr* attr, const char* attrName, int numValues,
                                            const char** values);

/** Sets an attribute that is a data type, not an integer. */
PORTACL_API aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName,
                                          aclDataType attrValue);

/**
 * A list of lists.
 * @param numLists number of lists; list i has numValues[i] values at values[i].
 */
PORTACL_API aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int numLists,
                                             const int* numValues, const int64_t* const values[]);
/** @} */

/**
 * Names a folder of compiled operators. portacl reads none, because it contains its operators.
 * @return ACL_SUCCESS; 100003 if modelDir is no folder.
 */
PORTACL_API aclError aclopSetModelDir(const char* modelDir);

/**
 * Checks the arguments and enqueues the operator on a stream.
 * @param opType operator name from the table above.
 * @param numInputs, inputDesc, inputs the inputs in the operator's order: two arrays of numInputs.
 * @param numOutputs, outputDesc, outputs the outputs, in the same way.
 * @param attr the attributes; null if all may be absent.
 * @param stream null for the current context's default stream.
 * @return ACL_SUCCESS or a code from the list at the top of this file.
 */
PORTACL_API aclError aclopExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                    aclDataBuffer* inputs[], int numOutputs,
                                    aclTensorDesc* outputDesc[], aclDataBuffer* outputs[],
                                    aclopAttr* attr, aclrtStream stream);

/**
 * Prepares an operator: makes, once, all checks of aclopExecuteV2() that need no data.
 * @param opType, numInputs, inputDesc, numOutputs, outputDesc, opAttr as in aclopExecuteV2(); all
 *        copied.
 * @param[out] handle the prepared operator, to be freed with aclopDestroyHandle(); null on failure.
 * @return ACL_SUCCESS or a code from the list at the top of this file.
 */
PORTACL_API aclError aclopCreateHandle(const char* opType, int numInputs,
                                       const aclTensorDesc* const inputDesc[], int numOutputs,
                                       const aclTensorDesc* const outputDesc[],
                                       const aclopAttr* opAttr, aclopHandle** handle);

/** Frees a handle; work that it enqueued still runs. Null is accepted and does nothing. */
PORTACL_API void aclopDestroyHandle(aclopHandle* handle);

/**
 * Enqueues a prepared operator on a stream.
 * @param numInputs, inputs, numOutputs, outputs data for the shapes that the handle was made with.
 * @return ACL_SUCCESS or a code from the list at the top of this file.
 */
PORTACL_API aclError aclopExecWithHandle(aclopHandle* handle, int numInputs,
                                         const aclDataBuffer* const inputs[], int numOutputs,
                                         aclDataBuffer* const outputs[], aclrtStream stream);

/** Begins to write each operator's arguments to files: 200001, portacl has no dumps. */
PORTACL_API aclError aclopStartDumpArgs(uint32_t dumpType, const char* path);

/** Ends aclopStartDumpArgs(): 200001. */
PORTACL_API aclError aclopStopDumpArgs(uint32_t dumpType);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_OP_H_
