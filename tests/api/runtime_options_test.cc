// What programs ask about devices and set on them: capabilities, peers, modes, timeouts, limits,
// compile options, attributes of streams; and the functions that need hardware.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

#include "acl/acl_op_compiler.h"
#include "portacl/portacl.h"
#include "support/api/child_process.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

constexpr int kUnknownDevice = ACL_ERROR_RT_INVALID_DEVICEID;

class RuntimeOptions : public RuntimeTest {};

void PeersReachEachOther() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  int32_t can = -1;
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 1), ACL_SUCCESS);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 1, 1), ACL_SUCCESS);
  EXPECT_EQ(can, 0);
  EXPECT_ACL_ERROR(aclrtDeviceCanAccessPeer(&can, 0, 2), kUnknownDevice, "deviceId is 2");
  EXPECT_ACL_ERROR(aclrtDeviceCanAccessPeer(nullptr, 0, 1), kInvalid, "canAccessPeer is null");
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtDeviceEnablePeerAccess(1, 1), kInvalid, "flags is 1");
  EXPECT_ACL_ERROR(aclrtDeviceEnablePeerAccess(0, 0), kInvalid, "the current device itself");
  EXPECT_ACL_ERROR(aclrtDeviceEnablePeerAccess(2, 0), kUnknownDevice, "deviceId is 2");
  EXPECT_EQ(aclrtDeviceDisablePeerAccess(1), ACL_SUCCESS);

  // What that is for: a copy from one device to the other.
  void* here = nullptr;
  void* there = nullptr;
  ASSERT_EQ(aclrtMalloc(&here, 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtMalloc(&there, 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(there, 4, here, 4, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);

  aclrtUuid first{};
  aclrtUuid second{};
  EXPECT_EQ(aclrtDeviceGetUuid(0, &first), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceGetUuid(1, &second), ACL_SUCCESS);
  EXPECT_NE(std::memcmp(&first, &second, sizeof first), 0);
  EXPECT_EQ(aclrtDeviceGetUuid(1, &first), ACL_SUCCESS);
  EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0);
}

TEST(RuntimeOptionsChild, PeersReachEachOther) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_DEVICES", "2"}}), PeersReachEachOther());
}

TEST_F(RuntimeOptions, ADeviceTellsWhatItIs) {
  const int64_t threads = portaclGetNumThreads();
  size_t free_bytes = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), ACL_SUCCESS);
  const auto info = [](aclrtDevAttr attr) {
    int64_t value = -1;
    EXPECT_EQ(aclrtGetDeviceInfo(0, attr, &value), ACL_SUCCESS) << attr;
    return value;
  };
  EXPECT_EQ(info(ACL_DEV_ATTR_AICORE_CORE_NUM), threads);
  EXPECT_EQ(info(ACL_DEV_ATTR_VECTOR_CORE_NUM), threads);
  EXPECT_EQ(info(ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE), static_cast<int64_t>(total));
  EXPECT_EQ(info(ACL_DEV_ATTR_PHY_CHIP_ID), 0);
  EXPECT_EQ(info(ACL_DEV_ATTR_WARP_SIZE), 0);
  const auto capability = [](aclDeviceInfo which) {
    int64_t value = -1;
    EXPECT_EQ(aclGetDeviceCapability(0, which, &value), ACL_SUCCESS) << which;
    return value;
  };
  EXPECT_EQ(capability(ACL_DEVICE_INFO_AI_CORE_NUM), threads);
  EXPECT_EQ(capability(ACL_DEVICE_INFO_VECTOR_CORE_NUM), threads);
  EXPECT_EQ(capability(ACL_DEVICE_INFO_L2_SIZE), info(ACL_DEV_ATTR_L2_CACHE_SIZE));
  int64_t value = 0;
  EXPECT_ACL_ERROR(aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(7), &value), kInvalid,
                   "attr is 7");
  EXPECT_ACL_ERROR(aclrtGetDeviceInfo(99, ACL_DEV_ATTR_SMP_ID, &value), kUnknownDevice, "99");
  EXPECT_ACL_ERROR(aclGetDeviceCapability(0, ACL_DEVICE_INFO_UNDEFINED, &value),
                   ACL_ERROR_INVALID_PARAM, "deviceInfo is -1");
  EXPECT_ACL_ERROR(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, nullptr),
                   ACL_ERROR_INVALID_PARAM, "value is null");

  int32_t pid = 0;
  EXPECT_EQ(aclrtDeviceGetBareTgid(&pid), ACL_SUCCESS);
  EXPECT_EQ(pid, getpid());
  int32_t logical = -1;
  EXPECT_EQ(aclrtGetLogicDevIdByUserDevId(0, &logical), ACL_SUCCESS);
  EXPECT_EQ(logical, 0);
  uint32_t flags = 1;
  int32_t active = 0;
  EXPECT_EQ(aclrtGetPrimaryCtxState(0, &flags, &active), ACL_SUCCESS);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(flags, 0u);
}

TEST_F(RuntimeOptions, AttributesOfTheInterface) {
  int32_t value = 0;
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_INF_NAN, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_JIT_COMPILE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0);
  EXPECT_ACL_ERROR(aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &value), ACL_ERROR_INVALID_PARAM,
                   "cannAttr is -1");
  const aclCannAttr* list = nullptr;
  size_t count = 0;
  ASSERT_EQ(aclGetCannAttributeList(&list, &count), ACL_SUCCESS);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(aclGetCannAttribute(list[i], &value), ACL_SUCCESS);
    EXPECT_EQ(value, 1) << list[i];
  }
  EXPECT_EQ(count, 2u);
  aclCANNPackageVersion version{};
  aclGetRecentErrMsg();
  EXPECT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version), ACL_ERROR_INVALID_FILE);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr) << "an answer is no error";
  EXPECT_ACL_ERROR(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, nullptr), ACL_ERROR_INVALID_PARAM,
                   "version is null");
}

TEST_F(RuntimeOptions, ModesAndTimeoutsAreReadBack) {
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), kInvalid, "mode is 2");

  uint32_t milliseconds = 1;
  EXPECT_EQ(aclrtSetOpExecuteTimeOut(547), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetOpExecuteTimeout(&milliseconds), ACL_SUCCESS);
  EXPECT_EQ(milliseconds, 547000u);
  uint64_t actual = 0;
  EXPECT_EQ(aclrtSetOpExecuteTimeOutV2(3000, &actual), ACL_SUCCESS);
  EXPECT_EQ(actual, 3000u);
  EXPECT_EQ(aclrtGetOpExecuteTimeout(&milliseconds), ACL_SUCCESS);
  EXPECT_EQ(milliseconds, 3u);
  EXPECT_EQ(aclrtSetOpWaitTimeout(10), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtSetOpExecuteTimeOutV2(1, nullptr), kInvalid, "actualTimeout is null");
}

TEST_F(RuntimeOptions, LimitsOfDevicesStreamsAndThreads) {
  const auto of_device = [] {
    uint32_t cores = 0;
    EXPECT_EQ(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &cores), ACL_SUCCESS);
    return cores;
  };
  const auto of_stream = [this] {
    uint32_t cores = 0;
    EXPECT_EQ(aclrtGetStreamResLimit(stream_, ACL_RT_DEV_RES_VECTOR_CORE, &cores), ACL_SUCCESS);
    return cores;
  };
  const auto of_thread = [] {
    uint32_t cores = 0;
    EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &cores), ACL_SUCCESS);
    return cores;
  };
  const auto threads = static_cast<uint32_t>(portaclGetNumThreads());
  EXPECT_EQ(of_device(), threads);
  EXPECT_EQ(of_stream(), threads);
  ASSERT_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, 77), ACL_SUCCESS);
  EXPECT_EQ(of_device(), 77u);
  EXPECT_EQ(of_stream(), 77u);
  EXPECT_EQ(of_thread(), 77u);
  ASSERT_EQ(aclrtSetStreamResLimit(stream_, ACL_RT_DEV_RES_VECTOR_CORE, 5), ACL_SUCCESS);
  EXPECT_EQ(of_stream(), 5u);
  EXPECT_EQ(of_thread(), 77u);
  ASSERT_EQ(aclrtUseStreamResInCurrentThread(stream_), ACL_SUCCESS);
  EXPECT_EQ(of_thread(), 5u);
  ASSERT_EQ(aclrtUnuseStreamResInCurrentThread(stream_), ACL_SUCCESS);
  EXPECT_EQ(of_thread(), 77u);
  EXPECT_ACL_ERROR(aclrtUnuseStreamResInCurrentThread(stream_), kInvalid, "is not the one");
  ASSERT_EQ(aclrtResetStreamResLimit(stream_), ACL_SUCCESS);
  EXPECT_EQ(of_stream(), 77u);
  ASSERT_EQ(aclrtResetDeviceResLimit(0), ACL_SUCCESS);
  EXPECT_EQ(of_stream(), threads);
  EXPECT_ACL_ERROR(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 0), kInvalid, "value is 0");
  EXPECT_ACL_ERROR(aclrtSetDeviceResLimit(0, static_cast<aclrtDevResLimitType>(2), 1), kInvalid,
                   "type is 2");
  EXPECT_ACL_ERROR(aclrtSetDeviceResLimit(99, ACL_RT_DEV_RES_CUBE_CORE, 1), kUnknownDevice, "99");
}

TEST_F(RuntimeOptions, CompileOptionsAreTexts) {
  const auto read = [](aclCompileOpt opt) {
    std::string text(aclGetCompileoptSize(opt), '?');
    EXPECT_EQ(aclGetCompileopt(opt, text.data(), text.size()), ACL_SUCCESS);
    text.pop_back();  // the NUL
    return text;
  };
  EXPECT_EQ(read(ACL_OP_JIT_COMPILE), "disable");
  EXPECT_EQ(read(ACL_OP_DEBUG_OPTION), "");
  EXPECT_EQ(aclSetCompileopt(ACL_ALLOW_HF32, "10"), ACL_SUCCESS);
  EXPECT_EQ(read(ACL_ALLOW_HF32), "10");
  EXPECT_EQ(aclSetCompileopt(ACL_ALLOW_HF32, ""), ACL_SUCCESS);
  EXPECT_EQ(read(ACL_ALLOW_HF32), "");
  char small[3];
  EXPECT_ACL_ERROR(aclGetCompileopt(ACL_OP_JIT_COMPILE, small, sizeof small),
                   ACL_ERROR_INVALID_PARAM, "length is 3, wanted at least 8");
  EXPECT_ACL_ERROR(aclSetCompileopt(ACL_ALLOW_HF32, nullptr), ACL_ERROR_INVALID_PARAM,
                   "value is null");
  const auto unknown = static_cast<aclCompileOpt>(17);
  EXPECT_ACL_ERROR(aclSetCompileopt(unknown, "x"), ACL_ERROR_INVALID_PARAM, "opt is 17");
  EXPECT_EQ(aclGetCompileoptSize(unknown), 0u);
  EXPECT_EQ(aclopSetModelDir("/tmp"), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclopSetModelDir("/nowhere/at/all"), ACL_ERROR_INVALID_FILE, "no folder");
}

TEST_F(RuntimeOptions, StreamsKeepTheirAttributes) {
  uint32_t on = 9;
  EXPECT_EQ(aclrtGetStreamOverflowSwitch(stream_, &on), ACL_SUCCESS);
  EXPECT_EQ(on, 0u);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(stream_, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetStreamOverflowSwitch(stream_, &on), ACL_SUCCESS);
  EXPECT_EQ(on, 1u);
  EXPECT_ACL_ERROR(aclrtSetStreamOverflowSwitch(stream_, 2), kInvalid, "flag is 2");
  aclrtStreamAttrValue value{};
  EXPECT_EQ(aclrtGetStreamAttribute(stream_, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value), 0);
  EXPECT_EQ(value.overflowSwitch, 1u);
  value = {};
  value.userCustomTag = 1234;
  EXPECT_EQ(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value), 0);
  value = {};
  EXPECT_EQ(aclrtGetStreamAttribute(stream_, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value), 0);
  EXPECT_EQ(value.userCustomTag, 1234u);
  value = {};
  value.failureMode = ACL_STOP_ON_FAILURE;
  EXPECT_EQ(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_FAILURE_MODE, &value), 0);
  value = {};
  EXPECT_EQ(aclrtGetStreamAttribute(stream_, ACL_STREAM_ATTR_FAILURE_MODE, &value), 0);
  EXPECT_EQ(value.failureMode, ACL_STOP_ON_FAILURE);
  value.failureMode = 2;
  EXPECT_ACL_ERROR(aclrtSetStreamAttribute(stream_, ACL_STREAM_ATTR_FAILURE_MODE, &value), kInvalid,
                   "failureMode is 2");
  EXPECT_ACL_ERROR(aclrtSetStreamAttribute(stream_, static_cast<aclrtStreamAttr>(0), &value),
                   kInvalid, "stmAttrType is 0");
  aclrtStream flagged = nullptr;
  ASSERT_EQ(aclrtCreateStreamWithConfig(
                &flagged, 0, ACL_STREAM_PERSISTENT | ACL_STREAM_HUGE | ACL_STREAM_CPU_SCHEDULE),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(flagged), ACL_SUCCESS);
}

TEST_F(RuntimeOptions, ADevicesWorkCanBeDropped) {
  Blocker blocker;
  Counter dropped;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  blocker.AwaitStart();
  ASSERT_EQ(dropped.Launch(stream_), ACL_SUCCESS);
  aclError code = -1;
  std::thread abort([&] { code = aclrtDeviceTaskAbort(0, 0); });
  blocker.Release();
  abort.join();
  EXPECT_EQ(code, ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_LE(dropped.count(), 1);  // the release may have been first
  EXPECT_ACL_ERROR(aclrtDeviceTaskAbort(99, 0), kUnknownDevice, "99");
}

TEST_F(RuntimeOptions, ADeviceHasNoFaults) {
  aclrtMemUceInfo ranges[2];
  size_t count = 9;
  EXPECT_EQ(aclrtGetMemUceInfo(0, ranges, 2, &count), ACL_SUCCESS);
  EXPECT_EQ(count, 0u);
  aclrtErrorInfo fault{};
  fault.errorType = ACL_RT_ERROR_OTHERS;
  EXPECT_EQ(aclrtGetErrorVerbose(0, &fault), ACL_SUCCESS);
  EXPECT_EQ(fault.errorType, ACL_RT_NO_ERROR);
  EXPECT_ACL_ERROR(aclrtMemUceRepair(0, ranges, 1), ACL_ERROR_API_NOT_SUPPORT, "not supported");
  EXPECT_ACL_ERROR(aclrtRepairError(0, &fault), ACL_ERROR_API_NOT_SUPPORT, "not supported");
}

TEST_F(RuntimeOptions, WhatNeedsHardwareSaysSo) {
  constexpr int kNot = ACL_ERROR_API_NOT_SUPPORT;
  void* pointer = nullptr;
  aclrtBinHandle binary = nullptr;
  EXPECT_ACL_ERROR(aclrtBinaryLoadFromData("", 0, nullptr, &binary), kNot, "compiled device code");
  EXPECT_ACL_ERROR(aclrtBinaryGetFunction(nullptr, "f", &pointer), kNot, "compiled device code");
  EXPECT_ACL_ERROR(aclrtGetFunctionAddr(nullptr, &pointer, &pointer), kNot, "compiled device code");
  aclrtIpcEventHandle name{};
  EXPECT_ACL_ERROR(aclrtIpcGetEventHandle(nullptr, &name), kNot, "between processes");
  EXPECT_ACL_ERROR(aclrtIpcOpenEventHandle(name, &pointer), kNot, "between processes");
  EXPECT_ACL_ERROR(aclrtCreateEventExWithFlag(&pointer, ACL_EVENT_EXTERNAL), kNot, "captures");
  char key[ACL_IPC_HANDLE_SIZE] = {};
  int32_t pid = 0;
  EXPECT_ACL_ERROR(aclrtIpcMemGetExportKey(nullptr, 0, key, sizeof key, 0), kNot, "processes");
  EXPECT_ACL_ERROR(aclrtIpcMemSetImportPid(key, &pid, 1), kNot, "between processes");
  EXPECT_ACL_ERROR(aclrtIpcMemImportByKey(&pointer, key, 0), kNot, "between processes");
  EXPECT_ACL_ERROR(aclrtIpcMemClose(key), kNot, "between processes");
  EXPECT_ACL_ERROR(aclopStartDumpArgs(0, "."), kNot, "no dumps");
  EXPECT_ACL_ERROR(aclopStopDumpArgs(0), kNot, "no dumps");
  EXPECT_ACL_ERROR(aclGenGraphAndDumpForOp("Add", 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr,
                                           ACL_ENGINE_SYS, nullptr, nullptr),
                   kNot, "no graphs");
}

// Names that no header of ours declares, as torch_npu's libraries find them.
TEST_F(RuntimeOptions, NamesBelowTheRuntimeAreThere) {
  const auto find = [](const char* name) {
    void* const address = dlsym(RTLD_DEFAULT, name);
    EXPECT_NE(address, nullptr) << name;
    return address;
  };
  const auto cycles = reinterpret_cast<uint64_t (*)()>(find("MsprofSysCycleTime"));
  const uint64_t before = cycles();
  EXPECT_GE(cycles(), before);
  const auto hash = reinterpret_cast<uint64_t (*)(const char*, size_t)>(find("MsprofGetHashId"));
  EXPECT_EQ(hash("abc", 3), hash("abcd", 3));
  EXPECT_NE(hash("abc", 3), hash("abd", 3));
  const auto report = reinterpret_cast<int32_t (*)(uint32_t, const void*)>(find("MsprofReportApi"));
  EXPECT_EQ(report(0, nullptr), 0);
  const auto address =
      reinterpret_cast<int32_t (*)(uint64_t*, uint32_t*)>(find("rtGetC2cCtrlAddr"));
  EXPECT_ACL_ERROR(address(nullptr, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "device code");
  const auto destroy = reinterpret_cast<int32_t (*)(void*)>(find("HcclCommDestroy"));
  EXPECT_EQ(destroy(nullptr), 5);
}

}  // namespace
}  // namespace portacl_test
