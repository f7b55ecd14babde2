// Rows for devices, contexts, streams, events, callbacks and captures.
#include <pthread.h>

#include "acl/acl_mdl.h"
#include "faults/calls.h"

namespace portacl_test {
namespace {

constexpr int64_t kNotSupported = ACL_ERROR_API_NOT_SUPPORT;
constexpr aclrtDevResLimitType kVector = ACL_RT_DEV_RES_VECTOR_CORE;

void DoNothing(void*) {}

uint64_t ThisThread() { return static_cast<uint64_t>(pthread_self()); }

// One asynchronous fill, so that a stream has a task; on the stream's own thread, as it is long.
void EnqueueWork(World& w) {
  aclrtLaunchHostFunc(w.stream, DoNothing, nullptr);
  aclrtMemsetAsync(w.device, World::kDeviceBytes, 7, World::kDeviceBytes, w.stream);
}

std::vector<Row> DeviceRows() {
  return {
      {"aclrtSetDevice",
       PORTACL_CALL(aclrtSetDevice(0)),
       nullptr,
       PORTACL_DO(aclrtResetDevice(0)),
       {.bare = true}},
      {"aclrtResetDevice",
       PORTACL_CALL(aclrtResetDevice(0)),
       PORTACL_DO(aclrtSetDevice(0)),
       {.bare = true}},
      {"aclrtResetDeviceForce",
       PORTACL_CALL(aclrtResetDeviceForce(0)),
       PORTACL_DO(aclrtSetDevice(0)),
       {.bare = true}},
      {"aclrtGetDevice", PORTACL_CALL(aclrtGetDevice(w.Out<int32_t>()))},
      {"aclrtGetDeviceCount", PORTACL_CALL(aclrtGetDeviceCount(w.Out<uint32_t>())), {.bare = true}},
      {"aclrtGetRunMode", PORTACL_CALL(aclrtGetRunMode(w.Out<aclrtRunMode>()))},
      {"aclrtSynchronizeDevice",
       PORTACL_CALL(aclrtSynchronizeDevice()),
       EnqueueWork,
       {.pending = true}},
      {"aclrtSynchronizeDeviceWithTimeout",
       PORTACL_CALL(aclrtSynchronizeDeviceWithTimeout(10000)),
       EnqueueWork,
       {.pending = true}},
      {"aclrtCreateContext",
       PORTACL_CALL(aclrtCreateContext(w.Out<aclrtContext>(), 0)),
       nullptr,
       PORTACL_DO(aclrtDestroyContext(w.Get<aclrtContext>()); aclrtSetCurrentContext(w.context)),
       {.settle = false}},
      {"aclrtDestroyContext", PORTACL_CALL(aclrtDestroyContext(w.made[0])),
       PORTACL_DO(aclrtCreateContext(&w.made[0], 0); aclrtSetCurrentContext(w.context))},
      {"aclrtSetCurrentContext", PORTACL_CALL(aclrtSetCurrentContext(w.context))},
      {"aclrtGetCurrentContext", PORTACL_CALL(aclrtGetCurrentContext(w.Out<aclrtContext>()))},
      {"aclrtCtxSetSysParamOpt", PORTACL_CALL(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1))},
      {"aclrtCtxGetSysParamOpt",
       PORTACL_CALL(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, w.Out<int64_t>())),
       PORTACL_DO(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1))},
      {"aclrtSetSysParamOpt", PORTACL_CALL(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1))},
      {"aclrtGetSysParamOpt",
       PORTACL_CALL(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, w.Out<int64_t>())),
       PORTACL_DO(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1))},
      {"aclrtDeviceCanAccessPeer", PORTACL_CALL(aclrtDeviceCanAccessPeer(w.Out<int32_t>(), 0, 1))},
      {"aclrtDeviceEnablePeerAccess", PORTACL_CALL(aclrtDeviceEnablePeerAccess(1, 0)), nullptr,
       PORTACL_DO(aclrtDeviceDisablePeerAccess(1))},
      {"aclrtDeviceDisablePeerAccess", PORTACL_CALL(aclrtDeviceDisablePeerAccess(1)),
       PORTACL_DO(aclrtDeviceEnablePeerAccess(1, 0))},
      {"aclrtDeviceGetBareTgid", PORTACL_CALL(aclrtDeviceGetBareTgid(w.Out<int32_t>()))},
      {"aclrtGetLogicDevIdByUserDevId",
       PORTACL_CALL(aclrtGetLogicDevIdByUserDevId(0, w.Out<int32_t>()))},
      {"aclrtGetDeviceInfo",
       PORTACL_CALL(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_VECTOR_CORE_NUM, w.Out<int64_t>()))},
      {"aclrtGetDeviceInfo",
       PORTACL_CALL(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_L2_CACHE_SIZE, w.Out<int64_t>())),
       {.variant = " of the cache"}},
      {"aclrtDeviceGetUuid", PORTACL_CALL(aclrtDeviceGetUuid(0, w.Out<aclrtUuid>()))},
      {"aclrtGetPrimaryCtxState",
       PORTACL_CALL(aclrtGetPrimaryCtxState(0, w.Out<uint32_t>(), w.Out<int32_t>(8)))},
      {"aclrtGetDeviceUtilizationRate",
       PORTACL_CALL(aclrtGetDeviceUtilizationRate(0, w.Out<aclrtUtilizationInfo>())),
       PORTACL_DO(w.Out<aclrtUtilizationInfo>()->utilizationExtend = nullptr),
       nullptr,
       {.bad = {}}},
      {"aclrtSetDeviceSatMode", PORTACL_CALL(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN))},
      {"aclrtGetDeviceSatMode",
       PORTACL_CALL(aclrtGetDeviceSatMode(w.Out<aclrtFloatOverflowMode>()))},
      {"aclrtSetOpExecuteTimeOut", PORTACL_CALL(aclrtSetOpExecuteTimeOut(5))},
      {"aclrtSetOpExecuteTimeOutV2",
       PORTACL_CALL(aclrtSetOpExecuteTimeOutV2(5, w.Out<uint64_t>()))},
      {"aclrtGetOpExecuteTimeout", PORTACL_CALL(aclrtGetOpExecuteTimeout(w.Out<uint32_t>()))},
      {"aclrtSetOpWaitTimeout", PORTACL_CALL(aclrtSetOpWaitTimeout(5))},
      {"aclrtSetDeviceResLimit", PORTACL_CALL(aclrtSetDeviceResLimit(0, kVector, 1))},
      {"aclrtGetDeviceResLimit",
       PORTACL_CALL(aclrtGetDeviceResLimit(0, kVector, w.Out<uint32_t>()))},
      {"aclrtResetDeviceResLimit", PORTACL_CALL(aclrtResetDeviceResLimit(0))},
      {"aclrtGetResInCurrentThread",
       PORTACL_CALL(aclrtGetResInCurrentThread(kVector, w.Out<uint32_t>()))},
      {"aclrtDeviceTaskAbort", PORTACL_CALL(aclrtDeviceTaskAbort(0, 10000))},
      {"aclrtGetMemUceInfo",
       PORTACL_CALL(aclrtGetMemUceInfo(0, w.Out<aclrtMemUceInfo>(64), 1, w.Out<size_t>()))},
      {"aclrtMemUceRepair",
       PORTACL_CALL(aclrtMemUceRepair(0, w.Out<aclrtMemUceInfo>(), 1)),
       {.good = kNotSupported}},
      {"aclrtGetErrorVerbose",
       PORTACL_CALL(aclrtGetErrorVerbose(0, reinterpret_cast<aclrtErrorInfo*>(w.host)))},
      {"aclrtRepairError",
       PORTACL_CALL(aclrtRepairError(0, reinterpret_cast<aclrtErrorInfo*>(w.host))),
       {.good = kNotSupported}},
      {"aclrtGetSocName", PORTACL_CALL(Answer(aclrtGetSocName())), {.bare = true}},
      {"aclrtPeekAtLastError",
       PORTACL_USE(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL)),
       {.bare = true}},
      {"aclrtGetLastError", PORTACL_USE(aclrtGetLastError(ACL_RT_THREAD_LEVEL)), {.bare = true}},
  };
}

std::vector<Row> StreamRows() {
  return {
      {"aclrtCreateStream", PORTACL_CALL(aclrtCreateStream(w.Out<aclrtStream>())), nullptr,
       PORTACL_DO(aclrtDestroyStream(w.Get<aclrtStream>()))},
      {"aclrtCreateStreamWithConfig",
       PORTACL_CALL(aclrtCreateStreamWithConfig(w.Out<aclrtStream>(), 0, ACL_STREAM_FAST_LAUNCH)),
       nullptr, PORTACL_DO(aclrtDestroyStream(w.Get<aclrtStream>()))},
      {"aclrtDestroyStream", PORTACL_CALL(aclrtDestroyStream(w.made[0])),
       PORTACL_DO(aclrtCreateStream(&w.made[0]);
                  aclrtLaunchHostFunc(w.made[0], DoNothing, nullptr))},
      {"aclrtDestroyStreamForce", PORTACL_CALL(aclrtDestroyStreamForce(w.made[0])),
       PORTACL_DO(aclrtCreateStream(&w.made[0]);
                  aclrtLaunchHostFunc(w.made[0], DoNothing, nullptr))},
      {"aclrtSynchronizeStream",
       PORTACL_CALL(aclrtSynchronizeStream(w.stream)),
       EnqueueWork,
       {.pending = true}},
      {"aclrtSynchronizeStreamWithTimeout",
       PORTACL_CALL(aclrtSynchronizeStreamWithTimeout(w.stream, 10000)),
       EnqueueWork,
       {.pending = true}},
      {"aclrtStreamQuery", PORTACL_CALL(aclrtStreamQuery(w.stream, w.Out<aclrtStreamStatus>()))},
      {"aclrtStreamGetId", PORTACL_CALL(aclrtStreamGetId(w.stream, w.Out<int32_t>()))},
      {"aclrtSetStreamFailureMode",
       PORTACL_CALL(aclrtSetStreamFailureMode(w.stream, ACL_CONTINUE_ON_FAILURE))},
      {"aclrtStreamAbort", PORTACL_CALL(aclrtStreamAbort(w.stream)), nullptr},
      {"aclrtSetStreamAttribute",
       PORTACL_CALL(aclrtSetStreamAttribute(w.stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG,
                                            reinterpret_cast<aclrtStreamAttrValue*>(w.host)))},
      {"aclrtGetStreamAttribute",
       PORTACL_CALL(aclrtGetStreamAttribute(w.stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG,
                                            w.Out<aclrtStreamAttrValue>()))},
      {"aclrtSetStreamOverflowSwitch", PORTACL_CALL(aclrtSetStreamOverflowSwitch(w.stream, 1))},
      {"aclrtGetStreamOverflowSwitch",
       PORTACL_CALL(aclrtGetStreamOverflowSwitch(w.stream, w.Out<uint32_t>()))},
      {"aclrtSetStreamResLimit", PORTACL_CALL(aclrtSetStreamResLimit(w.stream, kVector, 1))},
      {"aclrtGetStreamResLimit",
       PORTACL_CALL(aclrtGetStreamResLimit(w.stream, kVector, w.Out<uint32_t>()))},
      {"aclrtResetStreamResLimit", PORTACL_CALL(aclrtResetStreamResLimit(w.stream))},
      {"aclrtUseStreamResInCurrentThread", PORTACL_CALL(aclrtUseStreamResInCurrentThread(w.stream)),
       nullptr, PORTACL_DO(aclrtUnuseStreamResInCurrentThread(w.stream))},
      {"aclrtUnuseStreamResInCurrentThread",
       PORTACL_CALL(aclrtUnuseStreamResInCurrentThread(w.stream)),
       PORTACL_DO(aclrtUseStreamResInCurrentThread(w.stream))},
      {"aclrtValueWrite", PORTACL_CALL(aclrtValueWrite(w.device, 5, 0, w.stream))},
      {"aclrtValueWait", PORTACL_CALL(aclrtValueWait(w.device, 5, ACL_VALUE_WAIT_EQ, w.stream)),
       PORTACL_DO(aclrtValueWrite(w.device, 5, 0, w.stream); aclrtSynchronizeStream(w.stream))},
      {"aclrtValueWait",
       PORTACL_CALL(aclrtValueWait(w.device, 9, ACL_VALUE_WAIT_EQ, w.stream)),
       PORTACL_DO(aclrtValueWrite(w.device, 5, 0, w.stream); aclrtSynchronizeStream(w.stream)),
       PORTACL_DO(aclrtValueWrite(w.device, 9, 0, w.other_stream);
                  aclrtSynchronizeStream(w.other_stream); aclrtSynchronizeStream(w.stream)),
       {.settle = false, .variant = " for a later value"}},
      {"aclrtCmoAsync",
       PORTACL_CALL(aclrtCmoAsync(w.device, 4096, ACL_RT_CMO_TYPE_PREFETCH, w.stream))},
      {"aclrtBinaryLoadFromData",
       PORTACL_CALL(aclrtBinaryLoadFromData(w.host, 8, nullptr, w.Out<aclrtBinHandle>())),
       {.good = kNotSupported}},
      {"aclrtBinaryGetFunction",
       PORTACL_CALL(aclrtBinaryGetFunction(nullptr, "f", w.Out<aclrtFuncHandle>())),
       {.good = kNotSupported}},
      {"aclrtGetFunctionAddr",
       PORTACL_CALL(aclrtGetFunctionAddr(nullptr, w.Out<void*>(), w.Out<void*>(8))),
       {.good = kNotSupported}},
  };
}

void Record(World& w) {
  aclrtRecordEvent(w.event, w.stream);
  aclrtSynchronizeStream(w.stream);
}
// A record that is not complete before value 9 is written.
void RecordBehindWait(World& w) {
  aclrtValueWrite(w.device, 5, 0, w.stream);
  aclrtSynchronizeStream(w.stream);
  aclrtValueWait(w.device, 9, ACL_VALUE_WAIT_EQ, w.stream);
  aclrtRecordEvent(w.event, w.stream);
}
void EndWait(World& w) {
  aclrtValueWrite(w.device, 9, 0, nullptr);
  aclrtSynchronizeStream(nullptr);
  aclrtSynchronizeStream(w.stream);
  aclrtSynchronizeStream(w.other_stream);
}

std::vector<Row> EventRows() {
  const Step destroy = PORTACL_DO(aclrtDestroyEvent(w.Get<aclrtEvent>()));
  return {
      {"aclrtCreateEvent", PORTACL_CALL(aclrtCreateEvent(w.Out<aclrtEvent>())), nullptr, destroy},
      {"aclrtCreateEventWithFlag",
       PORTACL_CALL(aclrtCreateEventWithFlag(w.Out<aclrtEvent>(), ACL_EVENT_TIME_LINE)), nullptr,
       destroy},
      {"aclrtCreateEventExWithFlag",
       PORTACL_CALL(aclrtCreateEventExWithFlag(w.Out<aclrtEvent>(), ACL_EVENT_SYNC)), nullptr,
       destroy},
      {"aclrtDestroyEvent", PORTACL_CALL(aclrtDestroyEvent(w.made[0])),
       PORTACL_DO(aclrtCreateEvent(&w.made[0]))},
      {"aclrtRecordEvent", PORTACL_CALL(aclrtRecordEvent(w.event, w.stream))},
      {"aclrtRecordEvent",
       PORTACL_CALL(aclrtRecordEvent(w.event, w.stream)),
       PORTACL_DO(aclrtValueWrite(w.device, 5, 0, w.stream); aclrtSynchronizeStream(w.stream);
                  aclrtValueWait(w.device, 9, ACL_VALUE_WAIT_EQ, w.stream)),
       EndWait,
       {.settle = false, .variant = " behind other work"}},
      {"aclrtResetEvent", PORTACL_CALL(aclrtResetEvent(w.event, w.stream)), Record},
      {"aclrtStreamWaitEvent", PORTACL_CALL(aclrtStreamWaitEvent(w.other_stream, w.event)), Record},
      {"aclrtStreamWaitEvent",
       PORTACL_CALL(aclrtStreamWaitEvent(w.other_stream, w.event)),
       RecordBehindWait,
       EndWait,
       {.settle = false, .variant = " of unfinished work"}},
      {"aclrtQueryEvent", PORTACL_CALL(aclrtQueryEvent(w.event, w.Out<aclrtEventStatus>())),
       Record},
      {"aclrtQueryEventStatus",
       PORTACL_CALL(aclrtQueryEventStatus(w.event, w.Out<aclrtEventRecordedStatus>())), Record},
      {"aclrtQueryEventWaitStatus",
       PORTACL_CALL(aclrtQueryEventWaitStatus(w.event, w.Out<aclrtEventWaitStatus>())), Record},
      {"aclrtSynchronizeEvent", PORTACL_CALL(aclrtSynchronizeEvent(w.event)), Record},
      {"aclrtSynchronizeEventWithTimeout",
       PORTACL_CALL(aclrtSynchronizeEventWithTimeout(w.event, 10000)), Record},
      {"aclrtEventElapsedTime",
       PORTACL_CALL(aclrtEventElapsedTime(w.Out<float>(), w.event, w.event)), Record},
      {"aclrtEventGetTimestamp", PORTACL_CALL(aclrtEventGetTimestamp(w.event, w.Out<uint64_t>())),
       Record},
      {"aclrtIpcGetEventHandle",
       PORTACL_CALL(aclrtIpcGetEventHandle(w.event, w.Out<aclrtIpcEventHandle>())),
       {.good = kNotSupported}},
      {"aclrtIpcOpenEventHandle",
       PORTACL_CALL(aclrtIpcOpenEventHandle(aclrtIpcEventHandle{}, w.Out<aclrtEvent>())),
       {.good = kNotSupported}},
  };
}

std::vector<Row> CallbackRows() {
  const Step subscribe = PORTACL_DO(aclrtSubscribeReport(ThisThread(), w.stream));
  const Step unsubscribe = PORTACL_DO(aclrtUnSubscribeReport(ThisThread(), w.stream));
  return {
      {"aclrtSubscribeReport", PORTACL_CALL(aclrtSubscribeReport(ThisThread(), w.stream)), nullptr,
       unsubscribe},
      {"aclrtUnSubscribeReport", PORTACL_CALL(aclrtUnSubscribeReport(ThisThread(), w.stream)),
       subscribe},
      {"aclrtLaunchCallback",
       PORTACL_CALL(aclrtLaunchCallback(DoNothing, nullptr, ACL_CALLBACK_NO_BLOCK, w.stream)),
       subscribe,
       PORTACL_DO(aclrtProcessReport(10000); aclrtUnSubscribeReport(ThisThread(), w.stream))},
      {"aclrtLaunchCallback",
       PORTACL_CALL(aclrtLaunchCallback(DoNothing, nullptr, ACL_CALLBACK_BLOCK, w.stream)),
       subscribe,
       PORTACL_DO(aclrtProcessReport(10000); aclrtSynchronizeStream(w.stream);
                  aclrtUnSubscribeReport(ThisThread(), w.stream)),
       {.settle = false, .variant = " that blocks"}},
      {"aclrtProcessReport", PORTACL_CALL(aclrtProcessReport(10000)),
       PORTACL_DO(aclrtSubscribeReport(ThisThread(), w.stream);
                  aclrtLaunchCallback(DoNothing, nullptr, ACL_CALLBACK_NO_BLOCK, w.stream)),
       unsubscribe},
      {"aclrtLaunchHostFunc", PORTACL_CALL(aclrtLaunchHostFunc(w.stream, DoNothing, nullptr))},
  };
}

void Capture(World& w) { aclmdlRICaptureBegin(w.stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED); }
void Enqueue(World& w) { aclrtMemsetAsync(w.device, 64, 3, 64, w.stream); }
void CaptureGraph(World& w) {
  Capture(w);
  Enqueue(w);
  aclmdlRICaptureEnd(w.stream, &w.made[0]);
}
void DestroyGraph(World& w) { aclmdlRIDestroy(w.made[0]); }
void CaptureGroup(World& w) {
  Capture(w);
  aclmdlRICaptureTaskGrpBegin(w.stream);
  Enqueue(w);
}
void EndCapture(World& w) {
  aclmdlRI graph = nullptr;
  aclmdlRICaptureEnd(w.stream, &graph);
  aclmdlRIDestroy(graph);
}
// A graph whose only task is a group, in made[0] and made[1].
void CaptureGrouped(World& w) {
  CaptureGroup(w);
  aclmdlRICaptureTaskGrpEnd(w.stream, &w.made[1]);
  aclmdlRICaptureEnd(w.stream, &w.made[0]);
}

std::vector<Row> CaptureRows() {
  return {
      {"aclmdlRICaptureBegin",
       PORTACL_CALL(aclmdlRICaptureBegin(w.stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL)),
       nullptr,
       EndCapture,
       {.settle = false}},
      {"aclmdlRICaptureGetInfo",
       PORTACL_CALL(
           aclmdlRICaptureGetInfo(w.stream, w.Out<aclmdlRICaptureStatus>(), w.Out<aclmdlRI>(8))),
       Capture,
       EndCapture,
       {.settle = false}},
      {"aclmdlRICaptureEnd",
       PORTACL_CALL(aclmdlRICaptureEnd(w.stream, w.Out<aclmdlRI>())),
       PORTACL_DO(Capture(w); Enqueue(w)),
       PORTACL_DO(aclmdlRIDestroy(w.Get<aclmdlRI>())),
       {.nulls = 8, .settle = false}},
      {"aclmdlRICaptureThreadExchangeMode",
       [](World& w) -> int64_t {
         auto mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
         return aclmdlRICaptureThreadExchangeMode((static_cast<void>(w), &mode));
       }},
      {"aclmdlRIExecuteAsync", PORTACL_CALL(aclmdlRIExecuteAsync(w.made[0], w.stream)),
       CaptureGraph, DestroyGraph},
      {"aclmdlRIDestroy", PORTACL_CALL(aclmdlRIDestroy(w.made[0])), CaptureGraph},
      {"aclmdlRIDebugPrint", PORTACL_CALL(aclmdlRIDebugPrint(w.made[0])), CaptureGraph,
       DestroyGraph},
      {"aclmdlRIDebugJsonPrint", PORTACL_CALL(aclmdlRIDebugJsonPrint(w.made[0], "/dev/null")),
       CaptureGraph, DestroyGraph},
      {"aclmdlRICaptureTaskGrpBegin",
       PORTACL_CALL(aclmdlRICaptureTaskGrpBegin(w.stream)),
       Capture,
       PORTACL_DO(Enqueue(w); aclmdlRICaptureTaskGrpEnd(w.stream, &w.made[0]); EndCapture(w)),
       {.settle = false}},
      {"aclmdlRICaptureTaskGrpEnd",
       PORTACL_CALL(aclmdlRICaptureTaskGrpEnd(w.stream, w.Out<aclrtTaskGrp>())),
       CaptureGroup,
       EndCapture,
       {.settle = false}},
      {"aclmdlRICaptureTaskUpdateBegin",
       PORTACL_CALL(aclmdlRICaptureTaskUpdateBegin(w.stream, w.made[1])),
       CaptureGrouped,
       PORTACL_DO(Enqueue(w); aclmdlRICaptureTaskUpdateEnd(w.stream); DestroyGraph(w)),
       {.settle = false}},
      {"aclmdlRICaptureTaskUpdateEnd", PORTACL_CALL(aclmdlRICaptureTaskUpdateEnd(w.stream)),
       PORTACL_DO(CaptureGrouped(w); aclmdlRICaptureTaskUpdateBegin(w.stream, w.made[1]);
                  Enqueue(w)),
       DestroyGraph},
      {"aclrtMemsetAsync",
       PORTACL_CALL(aclrtMemsetAsync(w.device, 64, 3, 64, w.stream)),
       Capture,
       EndCapture,
       {.settle = false, .variant = " in a capture"}},
      {"aclrtRecordEvent",
       PORTACL_CALL(aclrtRecordEvent(w.event, w.stream)),
       Capture,
       EndCapture,
       {.settle = false, .variant = " in a capture"}},
      {"aclrtDestroyStreamForce",
       PORTACL_CALL(aclrtDestroyStreamForce(w.made[0])),
       PORTACL_DO(aclrtCreateStream(&w.made[0]);
                  aclmdlRICaptureBegin(w.made[0], ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
                  aclrtRecordEvent(w.event, w.made[0]);
                  aclrtStreamWaitEvent(w.other_stream, w.event)),
       {.variant = " of a capture's first stream"}},
      {"aclmdlInitDump", PORTACL_CALL(aclmdlInitDump()), {.good = kNotSupported}},
      {"aclmdlSetDump", PORTACL_CALL(aclmdlSetDump("x")), {.good = kNotSupported}},
      {"aclmdlFinalizeDump", PORTACL_CALL(aclmdlFinalizeDump()), {.good = kNotSupported}},
  };
}

const Rows device_rows(DeviceRows());
const Rows stream_rows(StreamRows());
const Rows event_rows(EventRows());
const Rows callback_rows(CallbackRows());
const Rows capture_rows(CaptureRows());

}  // namespace
}  // namespace portacl_test
