/**
 * @file
 * Arguments of aclnn operators: tensors, scalars, arrays and lists. Also the executor that phase 1
 * of an operator returns.
 *
 * Ownership. A create function returns an object that the caller frees with the matching destroy
 * function, or null for bad arguments (aclGetRecentErrMsg() has the words). Shapes, strides and
 * array values are copied. Tensor data is never copied nor freed: the address stays the caller's.
 * A list owns its members: destroying it destroys them.
 *
 * Lifetime. Phase 1 copies what it needs, so all of these objects may be destroyed between phase 1
 * and phase 2. Device memory must stay until the stream has done the work.
 *
 * Errors of the functions that return aclnnStatus: 0, 161001 for a null pointer, 161002 for a bad
 * value or an object that is already destroyed. A destroy function accepts null and does nothing.
 *
 * Thread-safety: many threads may read one object at a time. While a thread changes or destroys it,
 * no other thread may use it. An executor serves one thread at a time.
 */
#ifndef PORTACL_ACLNN_ACL_META_H_
#define PORTACL_ACLNN_ACL_META_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"
#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A planned execution of one operator, from its phase 1. */
typedef struct aclOpExecutor aclOpExecutor;

/** View of device memory: shape, strides, offset, storage shape, address, dtype and format. */
typedef struct aclTensor aclTensor;

typedef struct aclScalar aclScalar;
typedef struct aclIntArray aclIntArray;
typedef struct aclFloatArray aclFloatArray;
typedef struct aclBoolArray aclBoolArray;
typedef struct aclTensorList aclTensorList;
typedef struct aclScalarList aclScalarList;

/** Status of the aclnn... functions and of those here; codes in aclnn_base.h. */
typedef int32_t aclnnStatus;

#ifdef __cplusplus
/** Success; in C++ only. */
PORTACL_CONSTANT(aclnnStatus, OK, 0);
#endif

/* ---- Tensors -------------------------------------------------------------------------------- */

/**
 * Creates a tensor: a view of storage in device memory.
 *
 * Element (i0, i1, ...) lies at tensorData + (offset + i0 * stride[0] + i1 * stride[1] + ...) *
 * element size. Storage is the dense block of storageDims that starts at tensorData. Strides may be
 * any numbers, also 0 (expanded inputs) and negative. The operator that uses the view checks that
 * it stays in its storage.
 *
 * @param viewDims viewDimsNum extents of the view, outermost first, each at least 0. At most 16.
 * @param dataType element type.
 * @param stride viewDimsNum strides in elements; null means contiguous (row-major).
 * @param offset of element (0, 0, ...) from tensorData, in elements.
 * @param format meaning of the axes; does not move any element.
 * @param storageDims storageDimsNum extents of the storage.
 * @param tensorData device address of the storage; may be null for a tensor without elements, or
 *        until aclSetRawTensorAddr().
 * @return the tensor, to be freed with aclDestroyTensor(); null for bad arguments.
 */
PORTACL_API aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum,
                                       aclDataType dataType, const int64_t* stride, int64_t offset,
                                       aclFormat format, const int64_t* storageDims,
                                       uint64_t storageDimsNum, void* tensorData);

/** Gives an existing tensor new properties; arguments as in aclCreateTensor(). */
PORTACL_API aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims,
                                      uint64_t viewDimsNum, aclDataType dataType,
                                      const int64_t* stride, int64_t offset, aclFormat format,
                                      const int64_t* storageDims, uint64_t storageDimsNum,
                                      void* tensorData);

/** Frees a tensor, never its data. */
PORTACL_API aclnnStatus aclDestroyTensor(const aclTensor* tensor);

/**
 * Shape of the view.
 * @param[out] viewDims new array of *viewDimsNum extents, the caller's to free with `delete[]`.
 */
PORTACL_API aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims,
                                        uint64_t* viewDimsNum);

/**
 * Shape of the storage.
 * @param[out] storageDims new array of *storageDimsNum extents, to free with `delete[]`.
 */
PORTACL_API aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                                           uint64_t* storageDimsNum);

/**
 * Strides of the view, in elements. If null was given: contiguous strides.
 * @param[out] stridesValue new array of *stridesNum strides, to free with `delete[]`.
 */
PORTACL_API aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                                          uint64_t* stridesNum);

/** Offset of the view's first element from the storage's start, in elements. */
PORTACL_API aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset);

/** Format that the tensor was created with. */
PORTACL_API aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format);

/** Data type of the elements. */
PORTACL_API aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType);

/** Points the tensor at other storage. Executors that were made before keep the old address. */
PORTACL_API aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr);

/** Device address of the storage (the offset is not added). */
PORTACL_API aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr);

/* ---- Scalars, arrays and lists -------------------------------------------------------------- */

/** Creates a scalar from the host value of the given type at `value`, which is copied. */
PORTACL_API aclScalar* aclCreateScalar(void* value, aclDataType dataType);

/** Creates an array from `size` host values, which are copied. `value` may be null for size 0. */
PORTACL_API aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size);

/** Creates an array from `size` host values, which are copied. `value` may be null for size 0. */
PORTACL_API aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size);

/** Creates an array from `size` host values, which are copied. `value` may be null for size 0. */
PORTACL_API aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size);

/** Creates a list of `size` tensors, which it owns from then on. */
PORTACL_API aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size);

/** Creates a list of `size` scalars, which it owns from then on. */
PORTACL_API aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size);

/** Frees a scalar. Executors that were made with it keep its value. */
PORTACL_API aclnnStatus aclDestroyScalar(const aclScalar* scalar);
/** Frees an array of integers. Executors keep its values. */
PORTACL_API aclnnStatus aclDestroyIntArray(const aclIntArray* array);
/** Frees an array of floats. Executors keep its values. */
PORTACL_API aclnnStatus aclDestroyFloatArray(const aclFloatArray* array);
/** Frees an array of booleans. Executors keep its values. */
PORTACL_API aclnnStatus aclDestroyBoolArray(const aclBoolArray* array);

/** Frees a list and the tensors in it. */
PORTACL_API aclnnStatus aclDestroyTensorList(const aclTensorList* array);

/** Frees a list and the scalars in it. */
PORTACL_API aclnnStatus aclDestroyScalarList(const aclScalarList* array);

/**
 * @name Number of elements
 * @{
 */
/** Number of integers. */
PORTACL_API aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size);
/** Number of floats. */
PORTACL_API aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size);
/** Number of booleans. */
PORTACL_API aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size);
/** Number of tensors. */
PORTACL_API aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size);
/** Number of scalars. */
PORTACL_API aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size);
/** @} */

/* ---- Executors ------------------------------------------------------------------------------ */

/**
 * Lets an executor serve any number of executions; the caller frees it (aclDestroyAclOpExecutor()).
 * Without this call one execution uses the executor up and frees it. Call this before phase 2.
 */
PORTACL_API aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor);

/** Frees a repeatable executor, or a one-shot executor that never ran. Enqueued work still runs. */
PORTACL_API aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor);

/**
 * Points an input of a planned execution at other device memory, for the executions that follow.
 *
 * Phase 1 of companion operators and of functions that PyTorch computes accepts null addresses;
 * this function may set them before phase 2. (Lists of companion operators: phase 1 needs them.)
 *
 * @param executor made by phase 1. Null is refused (161001), but the tensor still gets the address,
 * for a later phase 1.
 * @param index counts the operator's tensor inputs from 0, in the order of its signature. The
 *        `selfRef` of an in-place operator is input 0 and output 0: either index replaces the
 *        tensor that is read and written.
 * @param tensor the tensor that phase 1 got there, or another live tensor of the same layout; it
 * gets the address too.
 * @param addr address of storage with the same layout as that tensor's.
 */
PORTACL_API aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index,
                                              aclTensor* tensor, void* addr);

/** Like aclSetInputTensorAddr(), index counting the operator's tensor outputs. */
PORTACL_API aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index,
                                               aclTensor* tensor, void* addr);

/** Like aclSetInputTensorAddr(), index counting all tensors: the inputs, then the outputs. */
PORTACL_API aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index,
                                         aclTensor* tensor, void* addr);

/**
 * @name Old spelling of the three functions above
 * @{
 */
/** aclSetInputTensorAddr(). */
PORTACL_API aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index,
                                              aclTensor* tensor, void* addr);
/** aclSetOutputTensorAddr(). */
PORTACL_API aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index,
                                               aclTensor* tensor, void* addr);
/** aclSetTensorAddr(). */
PORTACL_API aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index,
                                         aclTensor* tensor, void* addr);
/** @} */

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACLNN_ACL_META_H_
