// The binary interface: every constant's value, every function's signature and every struct's size,
// as programs were compiled against them. Nothing here may ever change; new names are added.
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "aclnn/aclnn_base.h"
#include "every_aclnnop.h"
#include "portacl/portacl.h"
#include "support/api/abi.h"

namespace {

// ---- values ------------------------------------------------------------------------------------

struct Value {
  const char* name;
  long long got;
  long long want;
};
#define PORTACL_VALUE(name, want) \
  { #name, static_cast < long long>(name), want }

constexpr Value kValues[] = {
    PORTACL_VALUE(ACL_SUCCESS, 0),
    PORTACL_VALUE(ACL_ERROR_NONE, 0),
    PORTACL_VALUE(ACL_ERROR_INVALID_PARAM, 100000),
    PORTACL_VALUE(ACL_ERROR_UNINITIALIZE, 100001),
    PORTACL_VALUE(ACL_ERROR_REPEAT_INITIALIZE, 100002),
    PORTACL_VALUE(ACL_ERROR_INVALID_FILE, 100003),
    PORTACL_VALUE(ACL_ERROR_WRITE_FILE, 100004),
    PORTACL_VALUE(ACL_ERROR_INVALID_FILE_SIZE, 100005),
    PORTACL_VALUE(ACL_ERROR_PARSE_FILE, 100006),
    PORTACL_VALUE(ACL_ERROR_FILE_MISSING_ATTR, 100007),
    PORTACL_VALUE(ACL_ERROR_FILE_ATTR_INVALID, 100008),
    PORTACL_VALUE(ACL_ERROR_INVALID_DUMP_CONFIG, 100009),
    PORTACL_VALUE(ACL_ERROR_INVALID_PROFILING_CONFIG, 100010),
    PORTACL_VALUE(ACL_ERROR_OP_TYPE_NOT_MATCH, 100020),
    PORTACL_VALUE(ACL_ERROR_OP_INPUT_NOT_MATCH, 100021),
    PORTACL_VALUE(ACL_ERROR_OP_OUTPUT_NOT_MATCH, 100022),
    PORTACL_VALUE(ACL_ERROR_OP_ATTR_NOT_MATCH, 100023),
    PORTACL_VALUE(ACL_ERROR_OP_NOT_FOUND, 100024),
    PORTACL_VALUE(ACL_ERROR_OP_LOAD_FAILED, 100025),
    PORTACL_VALUE(ACL_ERROR_UNSUPPORTED_DATA_TYPE, 100026),
    PORTACL_VALUE(ACL_ERROR_FORMAT_NOT_MATCH, 100027),
    PORTACL_VALUE(ACL_ERROR_KERNEL_NOT_FOUND, 100029),
    PORTACL_VALUE(ACL_ERROR_REPEAT_SUBSCRIBE, 100033),
    PORTACL_VALUE(ACL_ERROR_STREAM_NOT_SUBSCRIBE, 100034),
    PORTACL_VALUE(ACL_ERROR_THREAD_NOT_SUBSCRIBE, 100035),
    PORTACL_VALUE(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, 100036),
    PORTACL_VALUE(ACL_ERROR_REPEAT_FINALIZE, 100037),
    PORTACL_VALUE(ACL_ERROR_BAD_ALLOC, 200000),
    PORTACL_VALUE(ACL_ERROR_API_NOT_SUPPORT, 200001),
    PORTACL_VALUE(ACL_ERROR_INVALID_DEVICE, 200002),
    PORTACL_VALUE(ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, 200003),
    PORTACL_VALUE(ACL_ERROR_RESOURCE_NOT_MATCH, 200004),
    PORTACL_VALUE(ACL_ERROR_INVALID_RESOURCE_HANDLE, 200005),
    PORTACL_VALUE(ACL_ERROR_FEATURE_UNSUPPORTED, 200006),
    PORTACL_VALUE(ACL_ERROR_STORAGE_OVER_LIMIT, 300000),
    PORTACL_VALUE(ACL_ERROR_INTERNAL_ERROR, 500000),
    PORTACL_VALUE(ACL_ERROR_FAILURE, 500001),
    PORTACL_VALUE(ACL_ERROR_GE_FAILURE, 500002),
    PORTACL_VALUE(ACL_ERROR_RT_FAILURE, 500003),
    PORTACL_VALUE(ACL_ERROR_DRV_FAILURE, 500004),
    PORTACL_VALUE(ACL_ERROR_PROFILING_FAILURE, 500005),
    PORTACL_VALUE(ACL_DT_UNDEFINED, -1),
    PORTACL_VALUE(ACL_FLOAT, 0),
    PORTACL_VALUE(ACL_FLOAT16, 1),
    PORTACL_VALUE(ACL_INT8, 2),
    PORTACL_VALUE(ACL_INT32, 3),
    PORTACL_VALUE(ACL_UINT8, 4),
    PORTACL_VALUE(ACL_INT16, 6),
    PORTACL_VALUE(ACL_UINT16, 7),
    PORTACL_VALUE(ACL_UINT32, 8),
    PORTACL_VALUE(ACL_INT64, 9),
    PORTACL_VALUE(ACL_UINT64, 10),
    PORTACL_VALUE(ACL_DOUBLE, 11),
    PORTACL_VALUE(ACL_BOOL, 12),
    PORTACL_VALUE(ACL_STRING, 13),
    PORTACL_VALUE(ACL_COMPLEX64, 16),
    PORTACL_VALUE(ACL_COMPLEX128, 17),
    PORTACL_VALUE(ACL_BF16, 27),
    PORTACL_VALUE(ACL_INT4, 29),
    PORTACL_VALUE(ACL_UINT1, 30),
    PORTACL_VALUE(ACL_COMPLEX32, 33),
    PORTACL_VALUE(ACL_FORMAT_UNDEFINED, -1),
    PORTACL_VALUE(ACL_FORMAT_NCHW, 0),
    PORTACL_VALUE(ACL_FORMAT_NHWC, 1),
    PORTACL_VALUE(ACL_FORMAT_ND, 2),
    PORTACL_VALUE(ACL_FORMAT_NC1HWC0, 3),
    PORTACL_VALUE(ACL_FORMAT_FRACTAL_Z, 4),
    PORTACL_VALUE(ACL_FORMAT_NC1HWC0_C04, 12),
    PORTACL_VALUE(ACL_FORMAT_HWCN, 16),
    PORTACL_VALUE(ACL_FORMAT_NDHWC, 27),
    PORTACL_VALUE(ACL_FORMAT_FRACTAL_NZ, 29),
    PORTACL_VALUE(ACL_FORMAT_NCDHW, 30),
    PORTACL_VALUE(ACL_FORMAT_NDC1HWC0, 32),
    PORTACL_VALUE(ACL_FORMAT_NC, 35),
    PORTACL_VALUE(ACL_FORMAT_NCL, 47),
    PORTACL_VALUE(ACL_FRACTAL_Z_3D, 33),
    PORTACL_VALUE(ACL_OPT_DETERMINISTIC, 0),
    PORTACL_VALUE(ACL_OPT_ENABLE_DEBUG_KERNEL, 1),
    PORTACL_VALUE(ACL_DEBUG, 0),
    PORTACL_VALUE(ACL_INFO, 1),
    PORTACL_VALUE(ACL_WARNING, 2),
    PORTACL_VALUE(ACL_ERROR, 3),
    PORTACL_VALUE(ACL_MEMTYPE_DEVICE, 0),
    PORTACL_VALUE(ACL_MEMTYPE_HOST, 1),
    PORTACL_VALUE(ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT, 2),
    PORTACL_VALUE(ACL_EVENT_SYNC, 1),
    PORTACL_VALUE(ACL_EVENT_CAPTURE_STREAM_PROGRESS, 2),
    PORTACL_VALUE(ACL_EVENT_TIME_LINE, 8),
    PORTACL_VALUE(ACL_STREAM_FAST_LAUNCH, 1),
    PORTACL_VALUE(ACL_STREAM_FAST_SYNC, 2),
    PORTACL_VALUE(ACL_CONTINUE_ON_FAILURE, 0),
    PORTACL_VALUE(ACL_STOP_ON_FAILURE, 1),
    PORTACL_VALUE(ACL_DEVICE, 0),
    PORTACL_VALUE(ACL_HOST, 1),
    PORTACL_VALUE(ACL_EVENT_STATUS_COMPLETE, 0),
    PORTACL_VALUE(ACL_EVENT_STATUS_NOT_READY, 1),
    PORTACL_VALUE(ACL_EVENT_STATUS_RESERVED, 2),
    PORTACL_VALUE(ACL_EVENT_RECORDED_STATUS_NOT_READY, 0),
    PORTACL_VALUE(ACL_EVENT_RECORDED_STATUS_COMPLETE, 1),
    PORTACL_VALUE(ACL_EVENT_WAIT_STATUS_COMPLETE, 0),
    PORTACL_VALUE(ACL_EVENT_WAIT_STATUS_NOT_READY, 1),
    PORTACL_VALUE(ACL_EVENT_WAIT_STATUS_RESERVED, 0xFFFF),
    PORTACL_VALUE(ACL_STREAM_STATUS_COMPLETE, 0),
    PORTACL_VALUE(ACL_STREAM_STATUS_NOT_READY, 1),
    PORTACL_VALUE(ACL_STREAM_STATUS_RESERVED, 0xFFFF),
    PORTACL_VALUE(ACL_CALLBACK_NO_BLOCK, 0),
    PORTACL_VALUE(ACL_CALLBACK_BLOCK, 1),
    PORTACL_VALUE(ACL_MEMCPY_HOST_TO_HOST, 0),
    PORTACL_VALUE(ACL_MEMCPY_HOST_TO_DEVICE, 1),
    PORTACL_VALUE(ACL_MEMCPY_DEVICE_TO_HOST, 2),
    PORTACL_VALUE(ACL_MEMCPY_DEVICE_TO_DEVICE, 3),
    PORTACL_VALUE(ACL_MEMCPY_DEFAULT, 4),
    PORTACL_VALUE(ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, 5),
    PORTACL_VALUE(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, 6),
    PORTACL_VALUE(ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, 7),
    PORTACL_VALUE(ACL_MEM_MALLOC_HUGE_FIRST, 0),
    PORTACL_VALUE(ACL_MEM_MALLOC_HUGE_ONLY, 1),
    PORTACL_VALUE(ACL_MEM_MALLOC_NORMAL_ONLY, 2),
    PORTACL_VALUE(ACL_MEM_MALLOC_HUGE_FIRST_P2P, 3),
    PORTACL_VALUE(ACL_MEM_MALLOC_HUGE_ONLY_P2P, 4),
    PORTACL_VALUE(ACL_MEM_MALLOC_NORMAL_ONLY_P2P, 5),
    PORTACL_VALUE(ACL_MEM_MALLOC_HUGE1G_ONLY, 6),
    PORTACL_VALUE(ACL_MEM_MALLOC_HUGE1G_ONLY_P2P, 7),
    PORTACL_VALUE(ACL_MEM_TYPE_LOW_BAND_WIDTH, 0x0100),
    PORTACL_VALUE(ACL_MEM_TYPE_HIGH_BAND_WIDTH, 0x1000),
    PORTACL_VALUE(ACL_MEM_ACCESS_USER_SPACE_READONLY, 0x100000),
    PORTACL_VALUE(ACL_DDR_MEM, 0),
    PORTACL_VALUE(ACL_HBM_MEM, 1),
    PORTACL_VALUE(ACL_DDR_MEM_HUGE, 2),
    PORTACL_VALUE(ACL_DDR_MEM_NORMAL, 3),
    PORTACL_VALUE(ACL_HBM_MEM_HUGE, 4),
    PORTACL_VALUE(ACL_HBM_MEM_NORMAL, 5),
    PORTACL_VALUE(ACL_DDR_MEM_P2P_HUGE, 6),
    PORTACL_VALUE(ACL_DDR_MEM_P2P_NORMAL, 7),
    PORTACL_VALUE(ACL_HBM_MEM_P2P_HUGE, 8),
    PORTACL_VALUE(ACL_HBM_MEM_P2P_NORMAL, 9),
    PORTACL_VALUE(ACL_HBM_MEM_HUGE1G, 10),
    PORTACL_VALUE(ACL_HBM_MEM_P2P_HUGE1G, 11),
    PORTACL_VALUE(ACL_MEM_LOCATION_TYPE_HOST, 0),
    PORTACL_VALUE(ACL_MEM_LOCATION_TYPE_DEVICE, 1),
    PORTACL_VALUE(ACL_RT_THREAD_LEVEL, 0),
    PORTACL_VALUE(ACL_ENGINE_SYS, 0),
    PORTACL_VALUE(ACL_ENGINE_AICORE, 1),
    PORTACL_VALUE(ACL_ENGINE_VECTOR, 2),
    PORTACL_VALUE(ACL_COMPILE_SYS, 0),
    PORTACL_VALUE(ACL_COMPILE_UNREGISTERED, 1),
    PORTACL_VALUE(OK, 0),
    PORTACL_VALUE(ACLNN_SUCCESS, 0),
    PORTACL_VALUE(ACLNN_ERR_PARAM_NULLPTR, 161001),
    PORTACL_VALUE(ACLNN_ERR_PARAM_INVALID, 161002),
    PORTACL_VALUE(ACLNN_ERR_RUNTIME_ERROR, 361001),
    PORTACL_VALUE(ACLNN_ERR_INNER, 561000),
    PORTACL_VALUE(ACLNN_ERR_INNER_INFERSHAPE_ERROR, 561001),
    PORTACL_VALUE(ACLNN_ERR_INNER_TILING_ERROR, 561002),
    PORTACL_VALUE(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, 561003),
    PORTACL_VALUE(ACLNN_ERR_INNER_CREATE_EXECUTOR, 561101),
    PORTACL_VALUE(ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR, 561102),
    PORTACL_VALUE(ACLNN_ERR_INNER_NULLPTR, 561103),
    PORTACL_VALUE(ACLNN_ERR_INNER_WRONG_ATTR_INFO_SIZE, 561104),
    PORTACL_VALUE(PORTACL_OK, 0),
    PORTACL_VALUE(PORTACL_ERROR_NULL, 161001),
    PORTACL_VALUE(PORTACL_ERROR_INVALID, 161002),
    PORTACL_VALUE(PORTACL_ERROR_RUNTIME, 361001),
    PORTACL_VALUE(PORTACL_ERROR_INTERNAL, 561000),
    PORTACL_VALUE(PORTACL_ERROR_NO_KERNEL, 561003),
    PORTACL_VALUE(PORTACL_FLOAT32, 0),
    PORTACL_VALUE(PORTACL_FLOAT16, 1),
    PORTACL_VALUE(PORTACL_FLOAT64, 11),
    PORTACL_VALUE(PORTACL_BFLOAT16, 27),
    PORTACL_VALUE(PORTACL_BILINEAR, 0),
    PORTACL_VALUE(PORTACL_NEAREST, 1),
    PORTACL_VALUE(PORTACL_BICUBIC, 2),
    PORTACL_VALUE(PORTACL_ZEROS, 0),
    PORTACL_VALUE(PORTACL_BORDER, 1),
    PORTACL_VALUE(PORTACL_REFLECTION, 2),
    PORTACL_VALUE(PORTACL_MAX_RANK, 5),
};

TEST(Abi, ConstantsHaveTheInterfacesValues) {
  for (const Value& value : kValues) EXPECT_EQ(value.got, value.want) << value.name;
}

// ---- signatures --------------------------------------------------------------------------------

PORTACL_ABI_OF(aclFloat16ToFloat, float(aclFloat16));
PORTACL_ABI_OF(aclFloatToFloat16, aclFloat16(float));
PORTACL_ABI_OF(aclDataTypeSize, size_t(aclDataType));
PORTACL_ABI_OF(aclCreateDataBuffer, aclDataBuffer*(void*, size_t));
PORTACL_ABI_OF(aclDestroyDataBuffer, aclError(const aclDataBuffer*));
PORTACL_ABI_OF(aclUpdateDataBuffer, aclError(aclDataBuffer*, void*, size_t));
PORTACL_ABI_OF(aclGetDataBufferAddr, void*(const aclDataBuffer*));
PORTACL_ABI_OF(aclGetDataBufferSize, uint32_t(const aclDataBuffer*));
PORTACL_ABI_OF(aclGetDataBufferSizeV2, size_t(const aclDataBuffer*));
PORTACL_ABI_OF(aclCreateTensorDesc, aclTensorDesc*(aclDataType, int, const int64_t*, aclFormat));
PORTACL_ABI_OF(aclDestroyTensorDesc, void(const aclTensorDesc*));
PORTACL_ABI_OF(aclGetTensorDescType, aclDataType(const aclTensorDesc*));
PORTACL_ABI_OF(aclGetTensorDescFormat, aclFormat(const aclTensorDesc*));
PORTACL_ABI_OF(aclGetTensorDescSize, size_t(const aclTensorDesc*));
PORTACL_ABI_OF(aclGetTensorDescElementCount, size_t(const aclTensorDesc*));
PORTACL_ABI_OF(aclGetTensorDescNumDims, size_t(const aclTensorDesc*));
PORTACL_ABI_OF(aclGetTensorDescDim, int64_t(const aclTensorDesc*, size_t));
PORTACL_ABI_OF(aclGetTensorDescDimV2, aclError(const aclTensorDesc*, size_t, int64_t*));
PORTACL_ABI_OF(aclSetTensorDescName, void(aclTensorDesc*, const char*));
PORTACL_ABI_OF(aclGetTensorDescName, const char*(aclTensorDesc*));
PORTACL_ABI_OF(aclAppLog, void(aclLogLevel, const char*, const char*, uint32_t, const char*, ...));
PORTACL_ABI_OF(aclrtGetSocName, const char*());
PORTACL_ABI_OF(aclGetRecentErrMsg, const char*());
PORTACL_ABI_OF(aclInit, aclError(const char*));
PORTACL_ABI_OF(aclFinalize, aclError());
PORTACL_ABI_OF(aclrtGetVersion, aclError(int32_t*, int32_t*, int32_t*));
PORTACL_ABI_OF(aclrtSetDevice, aclError(int32_t));
PORTACL_ABI_OF(aclrtResetDevice, aclError(int32_t));
PORTACL_ABI_OF(aclrtResetDeviceForce, aclError(int32_t));
PORTACL_ABI_OF(aclrtGetDevice, aclError(int32_t*));
PORTACL_ABI_OF(aclrtGetDeviceCount, aclError(uint32_t*));
PORTACL_ABI_OF(aclrtGetRunMode, aclError(aclrtRunMode*));
PORTACL_ABI_OF(aclrtSynchronizeDevice, aclError());
PORTACL_ABI_OF(aclrtSynchronizeDeviceWithTimeout, aclError(int32_t));
PORTACL_ABI_OF(aclrtCreateContext, aclError(aclrtContext*, int32_t));
PORTACL_ABI_OF(aclrtDestroyContext, aclError(aclrtContext));
PORTACL_ABI_OF(aclrtSetCurrentContext, aclError(aclrtContext));
PORTACL_ABI_OF(aclrtGetCurrentContext, aclError(aclrtContext*));
PORTACL_ABI_OF(aclrtCtxSetSysParamOpt, aclError(aclSysParamOpt, int64_t));
PORTACL_ABI_OF(aclrtCtxGetSysParamOpt, aclError(aclSysParamOpt, int64_t*));
PORTACL_ABI_OF(aclrtSetSysParamOpt, aclError(aclSysParamOpt, int64_t));
PORTACL_ABI_OF(aclrtGetSysParamOpt, aclError(aclSysParamOpt, int64_t*));
PORTACL_ABI_OF(aclrtGetMemInfo, aclError(aclrtMemAttr, size_t*, size_t*));
PORTACL_ABI_OF(aclrtMalloc, aclError(void**, size_t, aclrtMemMallocPolicy));
PORTACL_ABI_OF(aclrtMallocAlign32, aclError(void**, size_t, aclrtMemMallocPolicy));
PORTACL_ABI_OF(aclrtMallocCached, aclError(void**, size_t, aclrtMemMallocPolicy));
PORTACL_ABI_OF(aclrtFree, aclError(void*));
PORTACL_ABI_OF(aclrtMallocHost, aclError(void**, size_t));
PORTACL_ABI_OF(aclrtFreeHost, aclError(void*));
PORTACL_ABI_OF(aclrtMemcpy, aclError(void*, size_t, const void*, size_t, aclrtMemcpyKind));
PORTACL_ABI_OF(aclrtMemcpyAsync,
               aclError(void*, size_t, const void*, size_t, aclrtMemcpyKind, aclrtStream));
PORTACL_ABI_OF(aclrtMemset, aclError(void*, size_t, int32_t, size_t));
PORTACL_ABI_OF(aclrtMemsetAsync, aclError(void*, size_t, int32_t, size_t, aclrtStream));
PORTACL_ABI_OF(aclrtMemcpy2d,
               aclError(void*, size_t, const void*, size_t, size_t, size_t, aclrtMemcpyKind));
PORTACL_ABI_OF(aclrtMemcpy2dAsync, aclError(void*, size_t, const void*, size_t, size_t, size_t,
                                            aclrtMemcpyKind, aclrtStream));
PORTACL_ABI_OF(aclrtPointerGetAttributes, aclError(const void*, aclrtPtrAttributes*));
PORTACL_ABI_OF(aclrtMemFlush, aclError(void*, size_t));
PORTACL_ABI_OF(aclrtMemInvalidate, aclError(void*, size_t));
PORTACL_ABI_OF(aclrtCreateStream, aclError(aclrtStream*));
PORTACL_ABI_OF(aclrtCreateStreamWithConfig, aclError(aclrtStream*, uint32_t, uint32_t));
PORTACL_ABI_OF(aclrtDestroyStream, aclError(aclrtStream));
PORTACL_ABI_OF(aclrtDestroyStreamForce, aclError(aclrtStream));
PORTACL_ABI_OF(aclrtSynchronizeStream, aclError(aclrtStream));
PORTACL_ABI_OF(aclrtSynchronizeStreamWithTimeout, aclError(aclrtStream, int32_t));
PORTACL_ABI_OF(aclrtStreamQuery, aclError(aclrtStream, aclrtStreamStatus*));
PORTACL_ABI_OF(aclrtStreamWaitEvent, aclError(aclrtStream, aclrtEvent));
PORTACL_ABI_OF(aclrtStreamGetId, aclError(aclrtStream, int32_t*));
PORTACL_ABI_OF(aclrtSetStreamFailureMode, aclError(aclrtStream, uint64_t));
PORTACL_ABI_OF(aclrtStreamAbort, aclError(aclrtStream));
PORTACL_ABI_OF(aclrtCreateEvent, aclError(aclrtEvent*));
PORTACL_ABI_OF(aclrtCreateEventWithFlag, aclError(aclrtEvent*, uint32_t));
PORTACL_ABI_OF(aclrtCreateEventExWithFlag, aclError(aclrtEvent*, uint32_t));
PORTACL_ABI_OF(aclrtDestroyEvent, aclError(aclrtEvent));
PORTACL_ABI_OF(aclrtRecordEvent, aclError(aclrtEvent, aclrtStream));
PORTACL_ABI_OF(aclrtResetEvent, aclError(aclrtEvent, aclrtStream));
PORTACL_ABI_OF(aclrtQueryEvent, aclError(aclrtEvent, aclrtEventStatus*));
PORTACL_ABI_OF(aclrtQueryEventStatus, aclError(aclrtEvent, aclrtEventRecordedStatus*));
PORTACL_ABI_OF(aclrtQueryEventWaitStatus, aclError(aclrtEvent, aclrtEventWaitStatus*));
PORTACL_ABI_OF(aclrtSynchronizeEvent, aclError(aclrtEvent));
PORTACL_ABI_OF(aclrtSynchronizeEventWithTimeout, aclError(aclrtEvent, int32_t));
PORTACL_ABI_OF(aclrtEventElapsedTime, aclError(float*, aclrtEvent, aclrtEvent));
PORTACL_ABI_OF(aclrtSubscribeReport, aclError(uint64_t, aclrtStream));
PORTACL_ABI_OF(aclrtLaunchCallback,
               aclError(aclrtCallback, void*, aclrtCallbackBlockType, aclrtStream));
PORTACL_ABI_OF(aclrtProcessReport, aclError(int32_t));
PORTACL_ABI_OF(aclrtUnSubscribeReport, aclError(uint64_t, aclrtStream));
PORTACL_ABI_OF(aclrtLaunchHostFunc, aclError(aclrtStream, aclrtHostFunc, void*));
PORTACL_ABI_OF(aclrtPeekAtLastError, aclError(aclrtLastErrLevel));
PORTACL_ABI_OF(aclrtGetLastError, aclError(aclrtLastErrLevel));
PORTACL_ABI_OF(aclCreateTensor, aclTensor*(const int64_t*, uint64_t, aclDataType, const int64_t*,
                                           int64_t, aclFormat, const int64_t*, uint64_t, void*));
PORTACL_ABI_OF(aclInitTensor,
               aclnnStatus(aclTensor*, const int64_t*, uint64_t, aclDataType, const int64_t*,
                           int64_t, aclFormat, const int64_t*, uint64_t, void*));
PORTACL_ABI_OF(aclCreateIntArray, aclIntArray*(const int64_t*, uint64_t));
PORTACL_ABI_OF(aclCreateFloatArray, aclFloatArray*(const float*, uint64_t));
PORTACL_ABI_OF(aclCreateBoolArray, aclBoolArray*(const bool*, uint64_t));
PORTACL_ABI_OF(aclCreateScalar, aclScalar*(void*, aclDataType));
PORTACL_ABI_OF(aclCreateTensorList, aclTensorList*(const aclTensor* const*, uint64_t));
PORTACL_ABI_OF(aclCreateScalarList, aclScalarList*(const aclScalar* const*, uint64_t));
PORTACL_ABI_OF(aclDestroyTensor, aclnnStatus(const aclTensor*));
PORTACL_ABI_OF(aclDestroyScalar, aclnnStatus(const aclScalar*));
PORTACL_ABI_OF(aclDestroyIntArray, aclnnStatus(const aclIntArray*));
PORTACL_ABI_OF(aclDestroyFloatArray, aclnnStatus(const aclFloatArray*));
PORTACL_ABI_OF(aclDestroyBoolArray, aclnnStatus(const aclBoolArray*));
PORTACL_ABI_OF(aclDestroyTensorList, aclnnStatus(const aclTensorList*));
PORTACL_ABI_OF(aclDestroyScalarList, aclnnStatus(const aclScalarList*));
PORTACL_ABI_OF(aclGetIntArraySize, aclnnStatus(const aclIntArray*, uint64_t*));
PORTACL_ABI_OF(aclGetFloatArraySize, aclnnStatus(const aclFloatArray*, uint64_t*));
PORTACL_ABI_OF(aclGetBoolArraySize, aclnnStatus(const aclBoolArray*, uint64_t*));
PORTACL_ABI_OF(aclGetTensorListSize, aclnnStatus(const aclTensorList*, uint64_t*));
PORTACL_ABI_OF(aclGetScalarListSize, aclnnStatus(const aclScalarList*, uint64_t*));
PORTACL_ABI_OF(aclGetViewShape, aclnnStatus(const aclTensor*, int64_t**, uint64_t*));
PORTACL_ABI_OF(aclGetStorageShape, aclnnStatus(const aclTensor*, int64_t**, uint64_t*));
PORTACL_ABI_OF(aclGetViewStrides, aclnnStatus(const aclTensor*, int64_t**, uint64_t*));
PORTACL_ABI_OF(aclGetViewOffset, aclnnStatus(const aclTensor*, int64_t*));
PORTACL_ABI_OF(aclGetFormat, aclnnStatus(const aclTensor*, aclFormat*));
PORTACL_ABI_OF(aclGetDataType, aclnnStatus(const aclTensor*, aclDataType*));
PORTACL_ABI_OF(aclSetRawTensorAddr, aclnnStatus(aclTensor*, void*));
PORTACL_ABI_OF(aclGetRawTensorAddr, aclnnStatus(const aclTensor*, void**));
PORTACL_ABI_OF(aclSetAclOpExecutorRepeatable, aclnnStatus(aclOpExecutor*));
PORTACL_ABI_OF(aclDestroyAclOpExecutor, aclnnStatus(aclOpExecutor*));
PORTACL_ABI_OF(aclSetInputTensorAddr, aclnnStatus(aclOpExecutor*, size_t, aclTensor*, void*));
PORTACL_ABI_OF(aclSetOutputTensorAddr, aclnnStatus(aclOpExecutor*, size_t, aclTensor*, void*));
PORTACL_ABI_OF(aclSetTensorAddr, aclnnStatus(aclOpExecutor*, size_t, aclTensor*, void*));
PORTACL_ABI_OF(AclSetInputTensorAddr, aclnnStatus(aclOpExecutor*, size_t, aclTensor*, void*));
PORTACL_ABI_OF(AclSetOutputTensorAddr, aclnnStatus(aclOpExecutor*, size_t, aclTensor*, void*));
PORTACL_ABI_OF(AclSetTensorAddr, aclnnStatus(aclOpExecutor*, size_t, aclTensor*, void*));
PORTACL_ABI_OF(aclnnInit, aclnnStatus(const char*));
PORTACL_ABI_OF(aclnnFinalize, aclnnStatus());
PORTACL_ABI_OF(aclopCreateAttr, aclopAttr*());
PORTACL_ABI_OF(aclopDestroyAttr, void(const aclopAttr*));
PORTACL_ABI_OF(aclopDestroyHandle, void(aclopHandle*));
PORTACL_ABI_OF(aclopSetAttrBool, aclError(aclopAttr*, const char*, uint8_t));
PORTACL_ABI_OF(aclopSetAttrInt, aclError(aclopAttr*, const char*, int64_t));
PORTACL_ABI_OF(aclopSetAttrFloat, aclError(aclopAttr*, const char*, float));
PORTACL_ABI_OF(aclopSetAttrString, aclError(aclopAttr*, const char*, const char*));
PORTACL_ABI_OF(aclopSetAttrListInt, aclError(aclopAttr*, const char*, int, const int64_t*));
PORTACL_ABI_OF(aclopSetAttrListFloat, aclError(aclopAttr*, const char*, int, const float*));
PORTACL_ABI_OF(aclopSetAttrListBool, aclError(aclopAttr*, const char*, int, const uint8_t*));
PORTACL_ABI_OF(aclopCompileAndExecute,
               aclError(const char*, int, const aclTensorDesc* const*, const aclDataBuffer* const*,
                        int, const aclTensorDesc* const*, aclDataBuffer* const*, const aclopAttr*,
                        aclopEngineType, aclopCompileType, const char*, aclrtStream));
PORTACL_ABI_OF(aclopCompileAndExecuteV2,
               aclError(const char*, int, aclTensorDesc**, aclDataBuffer**, int, aclTensorDesc**,
                        aclDataBuffer**, aclopAttr*, aclopEngineType, aclopCompileType, const char*,
                        aclrtStream));
PORTACL_ABI_OF(aclopExecuteV2, aclError(const char*, int, aclTensorDesc**, aclDataBuffer**, int,
                                        aclTensorDesc**, aclDataBuffer**, aclopAttr*, aclrtStream));
PORTACL_ABI_OF(aclopCompile, aclError(const char*, int, const aclTensorDesc* const*, int,
                                      const aclTensorDesc* const*, const aclopAttr*,
                                      aclopEngineType, aclopCompileType, const char*));
PORTACL_ABI_OF(aclopCreateHandle,
               aclError(const char*, int, const aclTensorDesc* const*, int,
                        const aclTensorDesc* const*, const aclopAttr*, aclopHandle**));
PORTACL_ABI_OF(aclopExecWithHandle, aclError(aclopHandle*, int, const aclDataBuffer* const*, int,
                                             aclDataBuffer* const*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, double,
                           aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearestExact1dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, double, double,
                           aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearestExact2dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, double, double,
                           double, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearestExact3dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnGridSampler2DBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*, int64_t, int64_t,
                           bool, const aclBoolArray*, aclTensor*, aclTensor*, uint64_t*,
                           aclOpExecutor**));
PORTACL_ABI_OF(aclnnGridSampler3DBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*, int64_t, int64_t,
                           bool, const aclBoolArray*, aclTensor*, aclTensor*, uint64_t*,
                           aclOpExecutor**));
PORTACL_ABI_OF(aclnnGridSampler2DBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnGridSampler3DBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearestExact1dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, double, aclTensor*, uint64_t*,
                           aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearestExact1d,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearestExact2dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, double, double, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearestExact2d,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearestExact3dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, double, double, double, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearestExact3d,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnGridSampler2DGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, int64_t, int64_t, bool, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnGridSampler2D, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnGridSampler3DGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, int64_t, int64_t, bool, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnGridSampler3D, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearest1dV2GetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, float, aclTensor*, uint64_t*,
                           aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearest1dV2, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearest1dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, aclTensor*, uint64_t*,
                           aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearest1d, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearest2dV2GetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, float, float, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearest2dV2, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearest2dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, aclTensor*, uint64_t*,
                           aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearest2d, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearest3dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, double, double, double, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearest3d, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearest1dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, double,
                           aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearest1dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearest2dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, double, double,
                           aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearest2dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleNearest3dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, double, double,
                           double, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleNearest3dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleLinear1dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, bool, double, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleLinear1d, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleLinear1dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, bool, double,
                           aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleLinear1dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleBilinear2dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, bool, double, double, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleBilinear2d, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleBilinear2dBackwardV2GetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, bool, double,
                           double, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleBilinear2dBackwardV2,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleBilinear2dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, bool, double,
                           double, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleBilinear2dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleBilinear2dAAGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, bool, double, double, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleBilinear2dAA,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleBilinear2dAABackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, bool, double,
                           double, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleBilinear2dAABackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleBicubic2dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, bool, double, double, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleBicubic2d, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleBicubic2dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, bool, double,
                           double, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleBicubic2dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleBicubic2dAAGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, bool, double, double, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleBicubic2dAA, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleBicubic2dAAGradGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, bool, double,
                           double, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleBicubic2dAAGrad,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleTrilinear3dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, bool, double, double, double,
                           aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleTrilinear3d, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, const aclIntArray*, bool, double,
                           double, double, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnUpsampleTrilinear3dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnResizeGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclFloatArray*, const char*, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnResize, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnAffineGridGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclIntArray*, bool, aclTensor*, uint64_t*,
                           aclOpExecutor**));
PORTACL_ABI_OF(aclnnAffineGrid, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(portaclPlanUpsampleLinear, int32_t(const portaclTensor*, const portaclTensor*,
                                                  int32_t, int32_t, const double*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanUpsampleLinearBackward,
               int32_t(const portaclTensor*, const portaclTensor*, int32_t, int32_t, const double*,
                       portaclPlan**));
PORTACL_ABI_OF(portaclPlanUpsampleCubic, int32_t(const portaclTensor*, const portaclTensor*,
                                                 int32_t, int32_t, const double*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanUpsampleLanczos, int32_t(const portaclTensor*, const portaclTensor*,
                                                   int32_t, int32_t, const double*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanUpsampleLanczosBackward,
               int32_t(const portaclTensor*, const portaclTensor*, int32_t, int32_t, const double*,
                       portaclPlan**));
PORTACL_ABI_OF(portaclPlanUpsampleCubicBackward,
               int32_t(const portaclTensor*, const portaclTensor*, int32_t, int32_t, const double*,
                       portaclPlan**));
PORTACL_ABI_OF(portaclPlanUpsampleNearest,
               int32_t(const portaclTensor*, const portaclTensor*, const double*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanAffineGrid,
               int32_t(const portaclTensor*, const portaclTensor*, int32_t, portaclPlan**));
PORTACL_ABI_OF(portaclPlanUpsampleNearestBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const double*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanAffineGridBackward,
               int32_t(const portaclTensor*, const portaclTensor*, int32_t, portaclPlan**));
PORTACL_ABI_OF(portaclGetIntArrayValues, int32_t(const aclIntArray*, int64_t*, uint64_t));
PORTACL_ABI_OF(portaclGetFloatArrayValues, int32_t(const aclFloatArray*, float*, uint64_t));
PORTACL_ABI_OF(portaclGetBoolArrayValues, int32_t(const aclBoolArray*, bool*, uint64_t));
PORTACL_ABI_OF(portaclGetScalarValue, int32_t(const aclScalar*, int32_t*, void*, uint64_t));
PORTACL_ABI_OF(portaclGetTensorListMembers,
               int32_t(const aclTensorList*, const aclTensor**, uint64_t));
PORTACL_ABI_OF(portaclGetErrorMessage, const char*());
PORTACL_ABI_OF(portaclGetVersion, const char*());
PORTACL_ABI_OF(portaclGetInfo, const char*());
PORTACL_ABI_OF(portaclGetDevice, const char*());
PORTACL_ABI_OF(portaclSetDevice, int32_t(const char*));
PORTACL_ABI_OF(portaclPlanEnqueue,
               int32_t(const portaclPlan*, void* const*, void*, uint64_t, void*));
PORTACL_ABI_OF(portaclGetEdition, const char*());
PORTACL_ABI_OF(portaclGetProfile, const char*());
PORTACL_ABI_OF(portaclGetImpl, const char*());
PORTACL_ABI_OF(portaclPlanGetKernel, const char*(const portaclPlan*));
PORTACL_ABI_OF(portaclSetNumThreads, int32_t(int32_t));
PORTACL_ABI_OF(portaclGetNumThreads, int32_t());
PORTACL_ABI_OF(portaclSetThreadPool, int32_t(const portaclThreadPool*));
PORTACL_ABI_OF(portaclSetEdition, int32_t(const char*));
PORTACL_ABI_OF(portaclSetProfile, int32_t(const char*));
PORTACL_ABI_OF(portaclSetStrict, int32_t(int32_t));
PORTACL_ABI_OF(portaclGetStrict, int32_t());
PORTACL_ABI_OF(portaclSetImpl, int32_t(const char*));
PORTACL_ABI_OF(portaclPlanUpsampleNearestExactBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const double*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanUpsampleNearestExact,
               int32_t(const portaclTensor*, const portaclTensor*, const double*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanGridSampler2DBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, int32_t, int32_t, int32_t,
                       portaclPlan**));
PORTACL_ABI_OF(portaclPlanGridSampler3DBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, int32_t, int32_t, int32_t,
                       portaclPlan**));
PORTACL_ABI_OF(portaclPlanGridSampler2D,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*, int32_t,
                       int32_t, int32_t, portaclPlan**));
PORTACL_ABI_OF(portaclPlanGridSampler3D,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*, int32_t,
                       int32_t, int32_t, portaclPlan**));
PORTACL_ABI_OF(portaclPlanRun, int32_t(const portaclPlan*, void* const*, void*, uint64_t));
PORTACL_ABI_OF(portaclPlanGetWorkspaceSize, uint64_t(const portaclPlan*));
PORTACL_ABI_OF(portaclPlanDestroy, void(portaclPlan*));

// ---- layouts -----------------------------------------------------------------------------------

static_assert(sizeof(aclError) == 4 && sizeof(aclnnStatus) == 4 && sizeof(aclFloat16) == 2);
static_assert(sizeof(aclrtStream) == sizeof(void*) && sizeof(aclrtEvent) == sizeof(void*) &&
              sizeof(aclrtContext) == sizeof(void*));
static_assert(sizeof(aclDataType) == 4 && sizeof(aclFormat) == 4 && sizeof(aclrtMemcpyKind) == 4 &&
              sizeof(aclrtMemMallocPolicy) == 4 && sizeof(aclopEngineType) == 4);
static_assert(sizeof(aclrtMemLocation) == 8 && offsetof(aclrtMemLocation, type) == 4);
static_assert(sizeof(aclrtPtrAttributes) == 28 && offsetof(aclrtPtrAttributes, pageSize) == 8 &&
              offsetof(aclrtPtrAttributes, rsv) == 12);
static_assert(sizeof(portaclTensor) == 96 && offsetof(portaclTensor, dtype) == 8 &&
              offsetof(portaclTensor, rank) == 12 && offsetof(portaclTensor, shape) == 16 &&
              offsetof(portaclTensor, strides) == 56);
static_assert(sizeof(portaclThreadPool) == 32 && offsetof(portaclThreadPool, numThreads) == 8 &&
              offsetof(portaclThreadPool, run) == 16 && offsetof(portaclThreadPool, name) == 24);
static_assert(sizeof(portacl::Tensor) == sizeof(portaclTensor));
static_assert(std::is_same_v<aclrtCallback, void (*)(void*)> &&
              std::is_same_v<aclrtHostFunc, void (*)(void*)>);

}  // namespace
