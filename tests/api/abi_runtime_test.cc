// The binary interface of the functions beyond operators: signatures, values and sizes, as programs
// were compiled against them. Nothing here may ever change; new names are added.
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_prof.h"

namespace {

#define PORTACL_ABI_OF(name, ...) \
  static_assert(std::is_same_v<decltype(name), __VA_ARGS__>, #name " has another signature")

PORTACL_ABI_OF(aclSetTensorFormat, aclError(aclTensorDesc* desc, aclFormat format));
PORTACL_ABI_OF(aclSetTensorShape, aclError(aclTensorDesc* desc, int numDims, const int64_t* dims));
PORTACL_ABI_OF(aclSetTensorStorageFormat, aclError(aclTensorDesc* desc, aclFormat format));
PORTACL_ABI_OF(aclSetTensorStorageShape,
               aclError(aclTensorDesc* desc, int numDims, const int64_t* dims));
PORTACL_ABI_OF(aclSetTensorOriginFormat, aclError(aclTensorDesc* desc, aclFormat format));
PORTACL_ABI_OF(aclSetTensorOriginShape,
               aclError(aclTensorDesc* desc, int numDims, const int64_t* dims));
PORTACL_ABI_OF(aclSetTensorPlaceMent, aclError(aclTensorDesc* desc, aclMemType memType));
PORTACL_ABI_OF(aclSetTensorConst, aclError(aclTensorDesc* desc, void* dataBuffer, size_t length));
PORTACL_ABI_OF(aclSetTensorShapeRange, aclError(aclTensorDesc* desc, size_t dimsCount,
                                                int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]));
PORTACL_ABI_OF(aclFinalizeReference, aclError(uint64_t* count));
PORTACL_ABI_OF(aclGetCannAttribute, aclError(aclCannAttr cannAttr, int32_t* value));
PORTACL_ABI_OF(aclGetCannAttributeList, aclError(const aclCannAttr** cannAttrList, size_t* num));
PORTACL_ABI_OF(aclGetDeviceCapability,
               aclError(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value));
PORTACL_ABI_OF(aclsysGetCANNVersion,
               aclError(aclCANNPackageName name, aclCANNPackageVersion* version));
PORTACL_ABI_OF(aclopSetAttrDataType,
               aclError(aclopAttr* attr, const char* attrName, aclDataType attrValue));
PORTACL_ABI_OF(aclopSetAttrListString, aclError(aclopAttr*, const char*, int, const char**));
PORTACL_ABI_OF(aclopSetAttrListListInt,
               aclError(aclopAttr* attr, const char* attrName, int numLists, const int* numValues,
                        const int64_t* const values[]));
PORTACL_ABI_OF(aclopSetModelDir, aclError(const char* modelDir));
PORTACL_ABI_OF(aclopStartDumpArgs, aclError(uint32_t dumpType, const char* path));
PORTACL_ABI_OF(aclopStopDumpArgs, aclError(uint32_t dumpType));
PORTACL_ABI_OF(aclSetCompileopt, aclError(aclCompileOpt opt, const char* value));
PORTACL_ABI_OF(aclGetCompileoptSize, size_t(aclCompileOpt opt));
PORTACL_ABI_OF(aclGetCompileopt, aclError(aclCompileOpt opt, char* value, size_t length));
PORTACL_ABI_OF(aclGenGraphAndDumpForOp,
               aclError(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                        const aclDataBuffer* const inputs[], int numOutputs,
                        const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                        const aclopAttr* attr, aclopEngineType engineType,
                        const char* graphDumpPath, const aclGraphDumpOption* graphDumpOpt));
PORTACL_ABI_OF(aclrtDeviceCanAccessPeer,
               aclError(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId));
PORTACL_ABI_OF(aclrtDeviceEnablePeerAccess, aclError(int32_t peerDeviceId, uint32_t flags));
PORTACL_ABI_OF(aclrtDeviceDisablePeerAccess, aclError(int32_t peerDeviceId));
PORTACL_ABI_OF(aclrtDeviceGetBareTgid, aclError(int32_t* pid));
PORTACL_ABI_OF(aclrtGetLogicDevIdByUserDevId,
               aclError(const int32_t userDevid, int32_t* logicDevId));
PORTACL_ABI_OF(aclrtGetDeviceInfo, aclError(uint32_t deviceId, aclrtDevAttr attr, int64_t* value));
PORTACL_ABI_OF(aclrtDeviceGetUuid, aclError(int32_t deviceId, aclrtUuid* uuid));
PORTACL_ABI_OF(aclrtGetPrimaryCtxState,
               aclError(int32_t deviceId, uint32_t* flags, int32_t* active));
PORTACL_ABI_OF(aclrtGetDeviceUtilizationRate,
               aclError(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo));
PORTACL_ABI_OF(aclrtSetDeviceSatMode, aclError(aclrtFloatOverflowMode mode));
PORTACL_ABI_OF(aclrtGetDeviceSatMode, aclError(aclrtFloatOverflowMode* mode));
PORTACL_ABI_OF(aclrtSetOpExecuteTimeOut, aclError(uint32_t timeout));
PORTACL_ABI_OF(aclrtSetOpExecuteTimeOutV2, aclError(uint64_t timeout, uint64_t* actualTimeout));
PORTACL_ABI_OF(aclrtGetOpExecuteTimeout, aclError(uint32_t* timeoutMs));
PORTACL_ABI_OF(aclrtSetOpWaitTimeout, aclError(uint32_t timeout));
PORTACL_ABI_OF(aclrtSetDeviceResLimit,
               aclError(int32_t deviceId, aclrtDevResLimitType type, uint32_t value));
PORTACL_ABI_OF(aclrtGetDeviceResLimit,
               aclError(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value));
PORTACL_ABI_OF(aclrtResetDeviceResLimit, aclError(int32_t deviceId));
PORTACL_ABI_OF(aclrtGetResInCurrentThread, aclError(aclrtDevResLimitType type, uint32_t* value));
PORTACL_ABI_OF(aclrtDeviceTaskAbort, aclError(int32_t deviceId, uint32_t timeout));
PORTACL_ABI_OF(aclrtGetMemUceInfo, aclError(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray,
                                            size_t arraySize, size_t* retSize));
PORTACL_ABI_OF(aclrtMemUceRepair,
               aclError(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray, size_t arraySize));
PORTACL_ABI_OF(aclrtGetErrorVerbose, aclError(int32_t deviceId, aclrtErrorInfo* errorInfo));
PORTACL_ABI_OF(aclrtRepairError, aclError(int32_t deviceId, const aclrtErrorInfo* errorInfo));
PORTACL_ABI_OF(aclrtReserveMemAddress, aclError(void** virPtr, size_t size, size_t alignment,
                                                void* expectPtr, uint64_t flags));
PORTACL_ABI_OF(aclrtReleaseMemAddress, aclError(void* virPtr));
PORTACL_ABI_OF(aclrtMallocPhysical, aclError(aclrtDrvMemHandle* handle, size_t size,
                                             const aclrtPhysicalMemProp* prop, uint64_t flags));
PORTACL_ABI_OF(aclrtFreePhysical, aclError(aclrtDrvMemHandle handle));
PORTACL_ABI_OF(aclrtMapMem, aclError(void* virPtr, size_t size, size_t offset,
                                     aclrtDrvMemHandle handle, uint64_t flags));
PORTACL_ABI_OF(aclrtUnmapMem, aclError(void* virPtr));
PORTACL_ABI_OF(aclrtMemGetAllocationGranularity,
               aclError(aclrtPhysicalMemProp* prop, aclrtMemGranularityOptions option,
                        size_t* granularity));
PORTACL_ABI_OF(aclrtMemExportToShareableHandle,
               aclError(aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags,
                        uint64_t* shareableHandle));
PORTACL_ABI_OF(aclrtMemImportFromShareableHandle,
               aclError(uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle* handle));
PORTACL_ABI_OF(aclrtMemSetPidToShareableHandle,
               aclError(uint64_t shareableHandle, int32_t* pid, size_t pidNum));
PORTACL_ABI_OF(aclrtMemcpyBatch, aclError(void** dsts, size_t* destMax, void** srcs, size_t* sizes,
                                          size_t numBatches, aclrtMemcpyBatchAttr* attrs,
                                          size_t* attrsIndexes, size_t numAttrs, size_t* failIdx));
PORTACL_ABI_OF(aclrtMemcpyBatchAsync,
               aclError(void** dsts, size_t* destMax, void** srcs, size_t* sizes, size_t numBatches,
                        aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                        size_t* failIdx, aclrtStream stream));
PORTACL_ABI_OF(aclrtMemcpyAsyncWithCondition,
               aclError(void* dst, size_t destMax, const void* src, size_t count,
                        aclrtMemcpyKind kind, aclrtStream stream));
PORTACL_ABI_OF(aclrtHostRegister,
               aclError(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr));
PORTACL_ABI_OF(aclrtHostRegisterV2, aclError(void* ptr, uint64_t size, uint32_t flag));
PORTACL_ABI_OF(aclrtHostUnregister, aclError(void* ptr));
PORTACL_ABI_OF(aclrtMallocHostWithCfg, aclError(void** ptr, uint64_t size, aclrtMallocConfig* cfg));
PORTACL_ABI_OF(aclrtGetMemUsageInfo, aclError(uint32_t deviceId, aclrtMemUsageInfo* memUsageInfo,
                                              size_t inputNum, size_t* outputNum));
PORTACL_ABI_OF(aclrtIpcMemGetExportKey,
               aclError(void* devPtr, size_t size, char* key, size_t len, uint64_t flag));
PORTACL_ABI_OF(aclrtIpcMemSetImportPid, aclError(const char* key, int32_t* pid, size_t num));
PORTACL_ABI_OF(aclrtIpcMemImportByKey, aclError(void** devPtr, const char* key, uint64_t flag));
PORTACL_ABI_OF(aclrtIpcMemClose, aclError(const char* key));
PORTACL_ABI_OF(aclrtSetStreamAttribute, aclError(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                                 aclrtStreamAttrValue* value));
PORTACL_ABI_OF(aclrtGetStreamAttribute, aclError(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                                 aclrtStreamAttrValue* value));
PORTACL_ABI_OF(aclrtSetStreamOverflowSwitch, aclError(aclrtStream stream, uint32_t flag));
PORTACL_ABI_OF(aclrtGetStreamOverflowSwitch, aclError(aclrtStream stream, uint32_t* flag));
PORTACL_ABI_OF(aclrtSetStreamResLimit,
               aclError(aclrtStream stream, aclrtDevResLimitType type, uint32_t value));
PORTACL_ABI_OF(aclrtGetStreamResLimit,
               aclError(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value));
PORTACL_ABI_OF(aclrtResetStreamResLimit, aclError(aclrtStream stream));
PORTACL_ABI_OF(aclrtUseStreamResInCurrentThread, aclError(aclrtStream stream));
PORTACL_ABI_OF(aclrtUnuseStreamResInCurrentThread, aclError(aclrtStream stream));
PORTACL_ABI_OF(aclrtValueWrite,
               aclError(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream));
PORTACL_ABI_OF(aclrtValueWait,
               aclError(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream));
PORTACL_ABI_OF(aclrtCmoAsync,
               aclError(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream));
PORTACL_ABI_OF(aclrtEventGetTimestamp, aclError(aclrtEvent event, uint64_t* timestamp));
PORTACL_ABI_OF(aclrtIpcGetEventHandle, aclError(aclrtEvent event, aclrtIpcEventHandle* handle));
PORTACL_ABI_OF(aclrtIpcOpenEventHandle, aclError(aclrtIpcEventHandle handle, aclrtEvent* event));
PORTACL_ABI_OF(aclrtBinaryLoadFromData,
               aclError(const void* data, size_t length, const aclrtBinaryLoadOptions* options,
                        aclrtBinHandle* binHandle));
PORTACL_ABI_OF(aclrtBinaryGetFunction,
               aclError(const aclrtBinHandle binHandle, const char* kernelName,
                        aclrtFuncHandle* funcHandle));
PORTACL_ABI_OF(aclrtGetFunctionAddr,
               aclError(aclrtFuncHandle funcHandle, void** aicAddr, void** aivAddr));
PORTACL_ABI_OF(aclmdlRICaptureBegin, aclError(aclrtStream stream, aclmdlRICaptureMode mode));
PORTACL_ABI_OF(aclmdlRICaptureGetInfo,
               aclError(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* modelRI));
PORTACL_ABI_OF(aclmdlRICaptureEnd, aclError(aclrtStream stream, aclmdlRI* modelRI));
PORTACL_ABI_OF(aclmdlRICaptureThreadExchangeMode, aclError(aclmdlRICaptureMode* mode));
PORTACL_ABI_OF(aclmdlRIExecuteAsync, aclError(aclmdlRI modelRI, aclrtStream stream));
PORTACL_ABI_OF(aclmdlRIDestroy, aclError(aclmdlRI modelRI));
PORTACL_ABI_OF(aclmdlRIDebugPrint, aclError(aclmdlRI modelRI));
PORTACL_ABI_OF(aclmdlRIDebugJsonPrint, aclError(aclmdlRI modelRI, const char* path));
PORTACL_ABI_OF(aclmdlRICaptureTaskGrpBegin, aclError(aclrtStream stream));
PORTACL_ABI_OF(aclmdlRICaptureTaskGrpEnd, aclError(aclrtStream stream, aclrtTaskGrp* handle));
PORTACL_ABI_OF(aclmdlRICaptureTaskUpdateBegin, aclError(aclrtStream stream, aclrtTaskGrp handle));
PORTACL_ABI_OF(aclmdlRICaptureTaskUpdateEnd, aclError(aclrtStream stream));
PORTACL_ABI_OF(aclmdlInitDump, aclError());
PORTACL_ABI_OF(aclmdlSetDump, aclError(const char* dumpCfgPath));
PORTACL_ABI_OF(aclmdlFinalizeDump, aclError());
PORTACL_ABI_OF(aclprofInit, aclError(const char* profilerResultPath, size_t length));
PORTACL_ABI_OF(aclprofFinalize, aclError());
PORTACL_ABI_OF(aclprofStart, aclError(const aclprofConfig* profilerConfig));
PORTACL_ABI_OF(aclprofStop, aclError(const aclprofConfig* profilerConfig));
PORTACL_ABI_OF(aclprofCreateConfig,
               aclprofConfig*(uint32_t* deviceIdList, uint32_t deviceNums,
                              aclprofAicoreMetrics aicoreMetrics,
                              const aclprofAicoreEvents* aicoreEvents, uint64_t dataTypeConfig));
PORTACL_ABI_OF(aclprofDestroyConfig, aclError(const aclprofConfig* profilerConfig));
PORTACL_ABI_OF(aclprofSetConfig,
               aclError(aclprofConfigType configType, const char* config, size_t configLength));
PORTACL_ABI_OF(aclprofCreateStepInfo, aclprofStepInfo*());
PORTACL_ABI_OF(aclprofDestroyStepInfo, void(aclprofStepInfo* stepinfo));
PORTACL_ABI_OF(aclprofGetStepTimestamp,
               aclError(aclprofStepInfo* stepInfo, aclprofStepTag tag, aclrtStream stream));
PORTACL_ABI_OF(aclprofCreateStamp, void*());
PORTACL_ABI_OF(aclprofDestroyStamp, void(void* stamp));
PORTACL_ABI_OF(aclprofSetStampTraceMessage,
               aclError(void* stamp, const char* msg, uint32_t msgLen));
PORTACL_ABI_OF(aclprofMark, aclError(void* stamp));
PORTACL_ABI_OF(aclprofMarkEx, aclError(const char* msg, size_t msgLen, aclrtStream stream));
PORTACL_ABI_OF(aclprofPush, aclError(void* stamp));
PORTACL_ABI_OF(aclprofPop, aclError());
PORTACL_ABI_OF(aclprofRangeStart, aclError(void* stamp, uint32_t* rangeId));
PORTACL_ABI_OF(aclprofRangeStop, aclError(uint32_t rangeId));

static_assert(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID == 107006);
static_assert(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL == 107007);
static_assert(ACL_ERROR_RT_INVALID_MEMORY_TYPE == 107016);
static_assert(ACL_ERROR_RT_INVALID_MALLOC_TYPE == 107018);
static_assert(ACL_ERROR_RT_TASK_TIMEOUT == 107020);
static_assert(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET == 107021);
static_assert(ACL_ERROR_RT_DEVICE_TASK_ABORT == 107022);
static_assert(ACL_ERROR_RT_STREAM_ABORT == 107023);
static_assert(ACL_ERROR_RT_CAPTURE_DEPENDENCY == 107024);
static_assert(ACL_ERROR_RT_STREAM_UNJOINED == 107025);
static_assert(ACL_ERROR_RT_MODEL_CAPTURED == 107026);
static_assert(ACL_ERROR_RT_STREAM_CAPTURED == 107027);
static_assert(ACL_ERROR_RT_EVENT_CAPTURED == 107028);
static_assert(ACL_ERROR_RT_STREAM_NOT_CAPTURED == 107029);
static_assert(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT == 107030);
static_assert(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED == 107036);
static_assert(ACL_ERROR_RT_NO_DEVICE == 207004);
static_assert(ACL_ERROR_RT_OVER_LIMIT == 207012);
static_assert(ACL_ERROR_RT_DEVICE_OOM == 207018);
static_assert(ACL_ERROR_RT_INTERNAL_ERROR == 507000);
static_assert(ACL_ERROR_RT_MODEL_EXECUTE == 507011);
static_assert(ACL_HIFLOAT8 == 34);
static_assert(ACL_FLOAT8_E8M0 == 37);
static_assert(ACL_FLOAT4_E1M2 == 41);
static_assert(ACL_FORMAT_FRACTAL_NZ_C0_16 == 50);
static_assert(ACL_FORMAT_FRACTAL_NZ_C0_8 == 54);
static_assert(ACL_OPT_STRONG_CONSISTENCY == 2);
static_assert(ACL_STREAM_PERSISTENT == 4);
static_assert(ACL_STREAM_HUGE == 8);
static_assert(ACL_STREAM_CPU_SCHEDULE == 16);
static_assert(ACL_EVENT_EXTERNAL == 32);
static_assert(ACL_EVENT_IPC == 64);
static_assert(ACL_MEM_LOCATION_TYPE_UNREGISTERED == 2);
static_assert(ACL_DEV_ATTR_AICORE_CORE_NUM == 101);
static_assert(ACL_DEV_ATTR_VECTOR_CORE_NUM == 201);
static_assert(ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE == 301);
static_assert(ACL_DEV_ATTR_L2_CACHE_SIZE == 302);
static_assert(ACL_DEV_ATTR_PHY_CHIP_ID == 402);
static_assert(ACL_DEV_ATTR_IS_VIRTUAL == 501);
static_assert(ACL_RT_OVERFLOW_MODE_INFNAN == 1);
static_assert(ACL_DEVICE_INFO_L2_SIZE == 2);
static_assert(ACL_CANN_ATTR_BF16 == 1);
static_assert(ACL_OP_JIT_COMPILE == 10);
static_assert(ACL_ALLOW_HF32 == 14);
static_assert(ACL_OP_DEBUG_OPTION == 16);
static_assert(ACL_PKG_NAME_DRIVER == 7);
static_assert(ACL_HOST_REG_MAPPED == 2);
static_assert(ACL_HOST_REG_PINNED == 268435456);
static_assert(ACL_RT_MEM_ATTR_VA_FLAG == 3);
static_assert(ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF == 65535);
static_assert(ACL_IPC_HANDLE_SIZE == 65);
static_assert(DEVICE_UTILIZATION_NOT_SUPPORT == -1);
static_assert(ACL_STREAM_ATTR_CACHE_OP_INFO == 4);
static_assert(ACL_VALUE_WAIT_NOR == 3);
static_assert(ACL_RT_CMO_TYPE_FLUSH == 3);
static_assert(ACL_MODEL_RI_CAPTURE_MODE_RELAXED == 2);
static_assert(ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED == 2);
static_assert(ACL_PROF_MSPROFTX == 128);
static_assert(ACL_PROF_OP_ATTR == 16384);
static_assert(ACL_AICORE_NONE == 255);
static_assert(ACL_STEP_END == 1);
static_assert(ACL_TENSOR_SHAPE_RANGE_NUM == 2);
static_assert(ACL_RT_ERROR_OTHERS == 65535);

static_assert(sizeof(aclrtPhysicalMemProp) == 32);
static_assert(sizeof(aclrtMemcpyBatchAttr) == 32);
static_assert(sizeof(aclrtMallocAttribute) == 12);
static_assert(sizeof(aclrtMallocConfig) == 16);
static_assert(sizeof(aclrtMemUsageInfo) == 112);
static_assert(sizeof(aclrtMemUceInfo) == 128);
static_assert(sizeof(aclrtStreamAttrValue) == 16);
static_assert(sizeof(aclrtIpcEventHandle) == 64);
static_assert(sizeof(aclrtUuid) == 16);
static_assert(sizeof(aclrtUtilizationInfo) == 24);
static_assert(sizeof(aclCANNPackageVersion) == 512);
static_assert(sizeof(aclrtBinaryLoadOptions) == 16);

// The tags of the two enumerations that programs name with and without "op".
static_assert(std::is_same_v<aclEngineType, aclopEngineType>);
static_assert(std::is_same_v<aclCompileType, aclopCompileType>);

// A wrong line above does not compile. The test shows that the file is part of the program.
TEST(AbiRuntime, SignaturesValuesAndSizesAreTheInterfaces) { SUCCEED(); }

}  // namespace
