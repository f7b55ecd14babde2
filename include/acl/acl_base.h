/**
 * @file
 * Basic types of the ACL interface: error codes, data types and formats; data buffers and tensor
 * descriptions (arguments of acl_op.h); float16 conversion and the application log.
 *
 * Names and numbers are the same as in the vendor's toolkit, also for programs that were compiled
 * with it. Never renumber.
 *
 * Thread-safety: all functions may be called from any thread. One aclDataBuffer or aclTensorDesc
 * must not be changed or destroyed while another thread uses it.
 */
#ifndef PORTACL_ACL_ACL_BASE_H_
#define PORTACL_ACL_ACL_BASE_H_

#include <stddef.h>
#include <stdint.h>

#include "portacl/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Status of the acl..., aclrt... and aclop... functions: ACL_SUCCESS or one of the codes below. */
typedef int aclError;

/** The 16 bits of an IEEE 754 binary16 number; see aclFloat16ToFloat(). */
typedef uint16_t aclFloat16;

/** Handle of a queue of work that runs in order; null is the current context's default stream. */
typedef void* aclrtStream;

/** Handle of a mark in a stream, which others can wait for and which can have a time. */
typedef void* aclrtEvent;

/** Handle of a context: a device with its streams and events, current on a thread. */
typedef void* aclrtContext;

/** An address and a length in bytes. It does not own the memory. */
typedef struct aclDataBuffer aclDataBuffer;

/** Data type, shape, format and name of a tensor, without data. */
typedef struct aclTensorDesc aclTensorDesc;

/**
 * @name Error codes
 * 1xxxxx: the caller's mistake. 2xxxxx: a resource is missing. 3xxxxx: a limit of the business
 * rules. 5xxxxx: an internal failure. aclGetRecentErrMsg() (acl.h) has the words.
 * @{
 */
PORTACL_CONSTANT(aclError, ACL_SUCCESS, 0);
PORTACL_CONSTANT(aclError, ACL_ERROR_NONE, 0);

PORTACL_CONSTANT(aclError, ACL_ERROR_INVALID_PARAM, 100000);
PORTACL_CONSTANT(aclError, ACL_ERROR_UNINITIALIZE, 100001);
PORTACL_CONSTANT(aclError, ACL_ERROR_REPEAT_INITIALIZE, 100002); /**< aclInit() a second time */
PORTACL_CONSTANT(aclError, ACL_ERROR_INVALID_FILE, 100003);
PORTACL_CONSTANT(aclError, ACL_ERROR_WRITE_FILE, 100004);
PORTACL_CONSTANT(aclError, ACL_ERROR_INVALID_FILE_SIZE, 100005);
PORTACL_CONSTANT(aclError, ACL_ERROR_PARSE_FILE, 100006);
PORTACL_CONSTANT(aclError, ACL_ERROR_FILE_MISSING_ATTR, 100007);
PORTACL_CONSTANT(aclError, ACL_ERROR_FILE_ATTR_INVALID, 100008);
PORTACL_CONSTANT(aclError, ACL_ERROR_INVALID_DUMP_CONFIG, 100009);
PORTACL_CONSTANT(aclError, ACL_ERROR_INVALID_PROFILING_CONFIG, 100010);
PORTACL_CONSTANT(aclError, ACL_ERROR_OP_TYPE_NOT_MATCH, 100020);
PORTACL_CONSTANT(aclError, ACL_ERROR_OP_INPUT_NOT_MATCH, 100021);  /**< an operator's inputs */
PORTACL_CONSTANT(aclError, ACL_ERROR_OP_OUTPUT_NOT_MATCH, 100022); /**< an operator's outputs */
PORTACL_CONSTANT(aclError, ACL_ERROR_OP_ATTR_NOT_MATCH, 100023);   /**< a missing or wrong one */
PORTACL_CONSTANT(aclError, ACL_ERROR_OP_NOT_FOUND, 100024);        /**< no such operator type */
PORTACL_CONSTANT(aclError, ACL_ERROR_OP_LOAD_FAILED, 100025);
PORTACL_CONSTANT(aclError, ACL_ERROR_UNSUPPORTED_DATA_TYPE, 100026);
PORTACL_CONSTANT(aclError, ACL_ERROR_FORMAT_NOT_MATCH, 100027);
PORTACL_CONSTANT(aclError, ACL_ERROR_KERNEL_NOT_FOUND, 100029);
PORTACL_CONSTANT(aclError, ACL_ERROR_REPEAT_SUBSCRIBE, 100033);
PORTACL_CONSTANT(aclError, ACL_ERROR_STREAM_NOT_SUBSCRIBE, 100034);
PORTACL_CONSTANT(aclError, ACL_ERROR_THREAD_NOT_SUBSCRIBE, 100035);
PORTACL_CONSTANT(aclError, ACL_ERROR_WAIT_CALLBACK_TIMEOUT, 100036);
PORTACL_CONSTANT(aclError, ACL_ERROR_REPEAT_FINALIZE, 100037); /**< aclFinalize() a second time */

PORTACL_CONSTANT(aclError, ACL_ERROR_BAD_ALLOC, 200000);
PORTACL_CONSTANT(aclError, ACL_ERROR_API_NOT_SUPPORT, 200001);
PORTACL_CONSTANT(aclError, ACL_ERROR_INVALID_DEVICE, 200002);
PORTACL_CONSTANT(aclError, ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, 200003);
PORTACL_CONSTANT(aclError, ACL_ERROR_RESOURCE_NOT_MATCH, 200004);
PORTACL_CONSTANT(aclError, ACL_ERROR_INVALID_RESOURCE_HANDLE, 200005);
PORTACL_CONSTANT(aclError, ACL_ERROR_FEATURE_UNSUPPORTED, 200006);

PORTACL_CONSTANT(aclError, ACL_ERROR_STORAGE_OVER_LIMIT, 300000);

PORTACL_CONSTANT(aclError, ACL_ERROR_INTERNAL_ERROR, 500000);
PORTACL_CONSTANT(aclError, ACL_ERROR_FAILURE, 500001);
PORTACL_CONSTANT(aclError, ACL_ERROR_GE_FAILURE, 500002);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_FAILURE, 500003);
PORTACL_CONSTANT(aclError, ACL_ERROR_DRV_FAILURE, 500004);
PORTACL_CONSTANT(aclError, ACL_ERROR_PROFILING_FAILURE, 500005);
/** @} */

/**
 * @name Error codes of the runtime
 * What the aclrt... functions of acl_rt.h return.
 * @{
 */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_PARAM_INVALID, 107000);    /**< bad argument */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_INVALID_DEVICEID, 107001); /**< no device has this id */
/** No current context: no aclrtSetDevice() on this thread, or its context was destroyed. */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_CONTEXT_NULL, 107002);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_STREAM_CONTEXT, 107003); /**< stream of another context */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                 107006); /**< an event without time */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL,
                 107007);                                          /**< the end came first */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_STREAM_SUBSCRIBE, 107011); /**< the stream's subscription */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_THREAD_SUBSCRIBE, 107012); /**< the thread's subscription */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_STREAM_NO_CB_REG, 107015); /**< no callback registered */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_INVALID_MEMORY_TYPE, 107016);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_INVALID_HANDLE, 107017); /**< never made, or destroyed */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_INVALID_MALLOC_TYPE, 107018);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_WAIT_TIMEOUT, 107019); /**< a wait took too long */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_TASK_TIMEOUT, 107020);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, 107021);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_DEVICE_TASK_ABORT, 107022);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_STREAM_ABORT, 107023);
/** A captured stream waits for an event that the capture has not recorded. */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_CAPTURE_DEPENDENCY, 107024);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_STREAM_UNJOINED, 107025); /**< a fork that never joins */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_MODEL_CAPTURED, 107026);  /**< not captured to the end */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_STREAM_CAPTURED, 107027); /**< not for a captured stream */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_EVENT_CAPTURED, 107028);  /**< not for a captured event */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_STREAM_NOT_CAPTURED, 107029);
/** A call that is not allowed while a stream is captured. */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, 107030);
/** The capture was begun on another stream. */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, 107036);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, 207000);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_MEMORY_ALLOCATION, 207001); /**< out of memory */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_MEMORY_FREE, 207002); /**< free of an unknown address */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_NO_DEVICE, 207004);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, 207005);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_NO_PERMISSION, 207006);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_NO_EVENT_RESOURCE, 207007);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_NO_STREAM_RESOURCE, 207008);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_NO_NOTIFY_RESOURCE, 207009);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_NO_MODEL_RESOURCE, 207010);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_NO_CDQ_RESOURCE, 207011);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_OVER_LIMIT, 207012);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_DEVICE_OOM, 207018); /**< device memory ran out in a task */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_INTERNAL_ERROR, 507000);
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_MODEL_EXECUTE, 507011);
/** aclrtSynchronizeStreamWithTimeout() ran out of time. */
PORTACL_CONSTANT(aclError, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, 507046);
/** @} */

/** Element type of a tensor. Sizes in bytes: aclDataTypeSize(). */
typedef enum aclDataType {
  ACL_DT_UNDEFINED = -1,
  ACL_FLOAT = 0,
  ACL_FLOAT16 = 1,
  ACL_INT8 = 2,
  ACL_INT32 = 3,
  ACL_UINT8 = 4,
  ACL_INT16 = 6,
  ACL_UINT16 = 7,
  ACL_UINT32 = 8,
  ACL_INT64 = 9,
  ACL_UINT64 = 10,
  ACL_DOUBLE = 11,
  ACL_BOOL = 12,
  ACL_STRING = 13,
  ACL_COMPLEX64 = 16,
  ACL_COMPLEX128 = 17,
  ACL_BF16 = 27,
  ACL_INT4 = 29,
  ACL_UINT1 = 30,
  ACL_COMPLEX32 = 33,
  ACL_HIFLOAT8 = 34,
  ACL_FLOAT8_E5M2 = 35,
  ACL_FLOAT8_E4M3FN = 36,
  ACL_FLOAT8_E8M0 = 37,
  ACL_FLOAT6_E3M2 = 38,
  ACL_FLOAT6_E2M3 = 39,
  ACL_FLOAT4_E2M1 = 40,
  ACL_FLOAT4_E1M2 = 41
} aclDataType;

/**
 * What the axes of a tensor mean. It never changes how memory is addressed; only shape, strides and
 * offset do.
 */
typedef enum aclFormat {
  ACL_FORMAT_UNDEFINED = -1,
  ACL_FORMAT_NCHW = 0,
  ACL_FORMAT_NHWC = 1,
  ACL_FORMAT_ND = 2, /**< no meaning; by rank it is read as NCL, NCHW or NCDHW */
  ACL_FORMAT_NC1HWC0 = 3,
  ACL_FORMAT_FRACTAL_Z = 4,
  ACL_FORMAT_NC1HWC0_C04 = 12,
  ACL_FORMAT_HWCN = 16,
  ACL_FORMAT_NDHWC = 27,
  ACL_FORMAT_FRACTAL_NZ = 29,
  ACL_FORMAT_NCDHW = 30,
  ACL_FORMAT_NDC1HWC0 = 32,
  ACL_FRACTAL_Z_3D = 33, /**< the interface's own irregular name */
  ACL_FORMAT_NC = 35,
  ACL_FORMAT_NCL = 47,
  ACL_FORMAT_FRACTAL_NZ_C0_16 = 50,
  ACL_FORMAT_FRACTAL_NZ_C0_32 = 51,
  ACL_FORMAT_FRACTAL_NZ_C0_2 = 52,
  ACL_FORMAT_FRACTAL_NZ_C0_4 = 53,
  ACL_FORMAT_FRACTAL_NZ_C0_8 = 54
} aclFormat;

/** Options of aclrtSetSysParamOpt() and aclrtCtxSetSysParamOpt(). */
typedef enum aclSysParamOpt {
  /** 1: the same bits on every run, as portacl always gives; kept and reported back. */
  ACL_OPT_DETERMINISTIC = 0,
  ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
  ACL_OPT_STRONG_CONSISTENCY = 2 /**< like ACL_OPT_DETERMINISTIC, also across batch sizes */
} aclSysParamOpt;

/** Severity of a log message, lowest first. */
typedef enum aclLogLevel {
  ACL_DEBUG = 0,
  ACL_INFO = 1,
  ACL_WARNING = 2,
  ACL_ERROR = 3
} aclLogLevel;

/** Where the memory of a tensor lies. */
typedef enum aclMemType {
  ACL_MEMTYPE_DEVICE = 0,
  ACL_MEMTYPE_HOST = 1,
  ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT = 2
} aclMemType;

/** The exact float of a binary16 number; subnormals, infinities and NaN included. */
PORTACL_API float aclFloat16ToFloat(aclFloat16 value);

/** The binary16 number nearest to a float, ties to even; overflow gives infinity, NaN stays NaN. */
PORTACL_API aclFloat16 aclFloatToFloat16(float value);

/**
 * Bytes per element of a data type; 0 if an element has no fixed number of whole bytes
 * (ACL_DT_UNDEFINED, ACL_STRING, ACL_INT4, ACL_UINT1) and for a value that is no data type.
 */
PORTACL_API size_t aclDataTypeSize(aclDataType dataType);

/**
 * Creates a data buffer: a note of where data lies.
 * @param data address, usually of device memory; stays the caller's. May be null with size 0.
 * @param size length in bytes.
 * @return the buffer, to be freed with aclDestroyDataBuffer(); null when memory runs out.
 */
PORTACL_API aclDataBuffer* aclCreateDataBuffer(void* data, size_t size);

/** Frees a data buffer, never the data. Null is accepted and does nothing. */
PORTACL_API aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer);

/**
 * Points a data buffer at other data.
 * @return ACL_SUCCESS; 100000 for a null dataBuffer.
 */
PORTACL_API aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size);

/** The buffer's address; null for a null buffer. */
PORTACL_API void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer);

/** The buffer's length in bytes, cut to 32 bits: prefer aclGetDataBufferSizeV2(). */
PORTACL_API uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer);

/** The buffer's length in bytes; 0 for a null buffer. */
PORTACL_API size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer);

/**
 * Creates a tensor description.
 * @param dataType element type.
 * @param numDims number of axes, at least 0; 0 describes a scalar.
 * @param dims numDims extents, outermost first; copied. May be null when numDims is 0.
 * @param format meaning of the axes.
 * @return the description, to be freed with aclDestroyTensorDesc(); null for bad arguments.
 */
PORTACL_API aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims,
                                               const int64_t* dims, aclFormat format);

/** Frees a tensor description. Null is accepted and does nothing. */
PORTACL_API void aclDestroyTensorDesc(const aclTensorDesc* desc);

/** The element type; ACL_DT_UNDEFINED for null. */
PORTACL_API aclDataType aclGetTensorDescType(const aclTensorDesc* desc);

/** The format; ACL_FORMAT_UNDEFINED for null. */
PORTACL_API aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc);

/** Bytes of the described tensor when it is stored densely; 0 for null. */
PORTACL_API size_t aclGetTensorDescSize(const aclTensorDesc* desc);

/** Number of elements, the product of the extents (1 for a scalar); 0 for null. */
PORTACL_API size_t aclGetTensorDescElementCount(const aclTensorDesc* desc);

/** Number of axes; 0 for null. */
PORTACL_API size_t aclGetTensorDescNumDims(const aclTensorDesc* desc);

/** Extent of axis `index`, counted from 0; -1 for null or an axis that is not there. */
PORTACL_API int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index);

/**
 * Extent of one axis.
 * @param index axis, counted from 0.
 * @param[out] dimSize the extent; unchanged on failure.
 * @return ACL_SUCCESS; 100000 for null pointers or an axis that is not there.
 */
PORTACL_API aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index,
                                           int64_t* dimSize);

/** Gives the description a name, which is copied. Null pointers are ignored. */
PORTACL_API void aclSetTensorDescName(aclTensorDesc* desc, const char* name);

/** The name, empty if none was set. It lives until the next aclSetTensorDescName() or destroy. */
PORTACL_API const char* aclGetTensorDescName(aclTensorDesc* desc);

/** Numbers per extent in aclSetTensorShapeRange(): its least and its greatest value. */
#define ACL_TENSOR_SHAPE_RANGE_NUM 2

/**
 * @name How a tensor really lies in memory
 * The type, shape and format of aclCreateTensorDesc() say what a tensor means. If its memory is
 * laid out otherwise, these functions say how, and operators by name use it. portacl knows layouts
 * with the same axes in another order (NCHW and NHWC); operators refuse other layouts with 100027.
 * @return ACL_SUCCESS; 100000 for a handle that is not live or an argument out of range.
 * @{
 */
/** The format of the memory. */
PORTACL_API aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format);
/** The shape of the memory; numDims 0 with null dims is a scalar. */
PORTACL_API aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims);
/** aclSetTensorFormat() under its older name. */
PORTACL_API aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format);
/** aclSetTensorShape() under its older name. */
PORTACL_API aclError aclSetTensorStorageShape(aclTensorDesc* desc, int numDims,
                                              const int64_t* dims);
/** Replaces the format of aclCreateTensorDesc(). */
PORTACL_API aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat format);
/** Replaces the shape of aclCreateTensorDesc(). */
PORTACL_API aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims);
/** Says where the memory lies. An input in host memory is read when the operator is called. */
PORTACL_API aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType);
/** A constant: a copy of host data that replaces the input's buffer. */
PORTACL_API aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length);
/** Least and greatest value of each extent, for unknown shapes. portacl keeps them without use. */
PORTACL_API aclError aclSetTensorShapeRange(aclTensorDesc* desc, size_t dimsCount,
                                            int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]);
/** @} */

/**
 * Writes a message of the application to the library's log. ACL_APP_LOG fills in the place.
 * @param logLevel severity; messages below the configured level are dropped.
 * @param func, file, line where the message comes from.
 * @param fmt printf format for the arguments that follow.
 */
PORTACL_API void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
                           const char* fmt, ...);

/**
 * ACL_APP_LOG(level, fmt, ...): aclAppLog() with the caller's function, file and line.
 * (fmt is part of `...` so that ISO C and C++ allow a call without further arguments.)
 */
#define ACL_APP_LOG(level, ...) aclAppLog(level, __func__, __FILE__, __LINE__, __VA_ARGS__)

/** Name of the processor that the library stands for. Static storage; do not free it. */
PORTACL_API const char* aclrtGetSocName(void);

#ifdef __cplusplus
}
#endif

#endif  // PORTACL_ACL_ACL_BASE_H_
