// Devices, contexts and options through the C API.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "support/api/child_process.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

using RuntimeDevice = RuntimeTest;

void CheckThatNothingWorksWithoutAContext() {
  aclrtContext context = nullptr;
  EXPECT_ACL_ERROR(aclrtGetCurrentContext(&context), ACL_ERROR_RT_CONTEXT_NULL,
                   "call aclrtSetDevice");
  int32_t device = 7;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(device, 7) << "a failed call changes nothing";
  aclrtStream stream = nullptr;
  EXPECT_EQ(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(stream, nullptr);
  aclrtEvent event = nullptr;
  EXPECT_EQ(aclrtCreateEvent(&event), ACL_ERROR_RT_CONTEXT_NULL);
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtMallocHost(&memory, 8), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL);
  char a = 0;
  char b = 0;
  EXPECT_EQ(aclrtMemcpy(&a, 1, &b, 1, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtMemset(&a, 1, 0, 1), ACL_ERROR_RT_CONTEXT_NULL);
  size_t size = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &size, &size), ACL_ERROR_RT_CONTEXT_NULL);
  int64_t value = 0;
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_CONTEXT_NULL);
}

TEST(RuntimeDeviceTable, ThreadsWithoutADeviceHaveNoContext) {
  std::thread(CheckThatNothingWorksWithoutAContext).join();
}

TEST_F(RuntimeDevice, AnswersAboutItself) {
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_GE(count, 1u);
  int32_t device = -1;
  ASSERT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 0);
  aclrtRunMode mode = ACL_DEVICE;
  ASSERT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_HOST);
  EXPECT_THAT(aclrtGetSocName(), testing::StartsWith("Ascend910"));
  EXPECT_EQ(aclrtGetDeviceCount(nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetDevice(nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetRunMode(nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetCurrentContext(nullptr), ACL_ERROR_RT_PARAM_INVALID);
}

// torch_npu refuses names that it does not know, so the open profile has one of them too.
void CheckOpenName() { EXPECT_STREQ(aclrtGetSocName(), "Ascend910B1"); }

TEST(RuntimeDeviceChild, TheOpenProfileKeepsTheName) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_PROFILE", "open"}}), CheckOpenName());
}

TEST_F(RuntimeDevice, UnknownDevicesAreErrors) {
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  aclrtContext context = nullptr;
  for (const int32_t bad : {-1, static_cast<int32_t>(count)}) {
    EXPECT_ACL_ERROR(aclrtSetDevice(bad), ACL_ERROR_RT_INVALID_DEVICEID,
                     "deviceId is " + std::to_string(bad));
    EXPECT_EQ(aclrtResetDevice(bad), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtResetDeviceForce(bad), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtCreateContext(&context, bad), ACL_ERROR_RT_INVALID_DEVICEID);
  }
  EXPECT_EQ(aclrtCreateContext(nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS) << "a failed call changes nothing";
}

TEST_F(RuntimeDevice, ContextsAreCurrentPerThread) {
  aclrtContext standard = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&standard), ACL_SUCCESS);
  aclrtContext made = nullptr;
  ASSERT_EQ(aclrtCreateContext(&made, 0), ACL_SUCCESS);
  EXPECT_NE(made, standard);
  aclrtContext current = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
  EXPECT_EQ(current, made);
  std::thread([&] {
    EXPECT_EQ(aclrtGetCurrentContext(&current), ACL_ERROR_RT_CONTEXT_NULL);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtGetCurrentContext(&current), ACL_SUCCESS);
    EXPECT_EQ(current, standard) << "one default context for all threads";
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }).join();
  ASSERT_EQ(aclrtSetCurrentContext(standard), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(made), ACL_SUCCESS);
}

TEST_F(RuntimeDevice, DestroyedContextsAreGoneOnAllThreads) {
  aclrtContext context = nullptr;
  aclrtContext standard = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&standard), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  Counter counter;
  for (int i = 0; i < 10; ++i) ASSERT_EQ(counter.Launch(stream), ACL_SUCCESS);
  std::thread([&] { EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS); }).join();
  EXPECT_EQ(counter.count(), 10) << "destroying waits for the context's work";
  EXPECT_ACL_ERROR(counter.Launch(stream), ACL_ERROR_RT_CONTEXT_NULL, "was destroyed");
  EXPECT_ACL_ERROR(aclrtSetCurrentContext(context), ACL_ERROR_RT_INVALID_HANDLE,
                   "not a live context");
  EXPECT_EQ(aclrtDestroyContext(context), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtDestroyContext(nullptr), ACL_ERROR_RT_INVALID_HANDLE);
  ASSERT_EQ(aclrtSetCurrentContext(standard), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE)
      << "its streams are gone too";
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE) << "its events are gone too";
  EXPECT_ACL_ERROR(aclrtDestroyContext(standard), ACL_ERROR_RT_PARAM_INVALID, "aclrtResetDevice");
}

TEST_F(RuntimeDevice, OptionsAreKeptPerContextAndPerProcess) {
  int64_t value = -1;
  ASSERT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  ASSERT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0);
  ASSERT_EQ(aclrtSetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  ASSERT_EQ(aclrtSetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(3), 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_ACL_ERROR(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 2), ACL_ERROR_RT_PARAM_INVALID,
                   "value is 2");
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(RuntimeDevice, LastErrorsAreKeptPerThread) {
  aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  std::thread([] { EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS); }).join();
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtGetLastError(static_cast<aclrtLastErrLevel>(9)), ACL_ERROR_RT_PARAM_INVALID,
                   "level is 9");
}

// ---- whole life of a device, each in a process of its own ---------------------------------------

void CheckReset() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  ASSERT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  Counter counter;
  ASSERT_EQ(counter.Launch(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << "set twice, reset once";
  for (int i = 0; i < 10; ++i) ASSERT_EQ(counter.Launch(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 11) << "a reset waits for the work";
  EXPECT_ACL_ERROR(aclrtSynchronizeStream(stream), ACL_ERROR_RT_CONTEXT_NULL,
                   "its device was reset");
  EXPECT_EQ(aclrtFree(memory), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_ACL_ERROR(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_NULL, "not in use");
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << "a device may be set again";
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtRecordEvent(event, nullptr), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtFree(memory), ACL_ERROR_RT_MEMORY_FREE);
  char host = 0;
  EXPECT_EQ(aclrtMemcpy(&host, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(counter.Launch(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 12);
}

TEST(RuntimeDeviceChild, ResetEndsStreamsEventsAndMemory) { PORTACL_IN_CHILD({}, CheckReset()); }

void CheckForcedReset() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  Blocker blocker;
  Counter counter;
  ASSERT_EQ(blocker.Launch(stream), ACL_SUCCESS);
  ASSERT_EQ(counter.Launch(stream), ACL_SUCCESS);
  aclrtEvent behind = nullptr;  // is complete when the work before it has run or was dropped
  ASSERT_EQ(aclrtCreateEvent(&behind), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(behind, stream), ACL_SUCCESS);
  blocker.AwaitStart();
  std::thread releasing([&] {
    EXPECT_EQ(aclrtSynchronizeEvent(behind), ACL_SUCCESS);
    blocker.Release();
  });
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  releasing.join();
  EXPECT_EQ(counter.count(), 0) << "work that has not started is dropped";
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSetCurrentContext(context), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

TEST(RuntimeDeviceChild, AForcedResetEndsAllContexts) { PORTACL_IN_CHILD({}, CheckForcedReset()); }

// A context made by aclrtCreateContext outlives the default one, and its memory with it.
void CheckResetBesideAContext() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemset(memory, 64, 0, 64), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
}

TEST(RuntimeDeviceChild, AResetLeavesOtherContextsAlone) {
  PORTACL_IN_CHILD({}, CheckResetBesideAContext());
}

// In the child of a fork: nothing of the parent's may be used, and everything may be made anew.
void CheckChildOfFork(aclrtStream parents_stream, aclrtContext parents_context) {
  Counter counter;
  EXPECT_ACL_ERROR(counter.Launch(parents_stream), ACL_ERROR_RT_CONTEXT_NULL, "before fork()");
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSetCurrentContext(parents_context), ACL_ERROR_RT_INVALID_HANDLE);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(parents_stream), ACL_ERROR_RT_STREAM_CONTEXT);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(counter.Launch(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS) << "the parent's streams are not waited for";
  EXPECT_EQ(counter.count(), 1);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

void CheckFork() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream), ACL_SUCCESS);
  blocker.AwaitStart();
  const pid_t child = fork();
  if (child == 0) {
    CheckChildOfFork(stream, context);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  blocker.Release();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << "the parent goes on";
}

TEST(RuntimeDeviceChild, AForkedProcessStartsAfresh) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow forks of threaded processes";
#endif
  PORTACL_IN_CHILD({}, CheckFork());
}

void CheckThreeDevices() {
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(aclrtSetDevice(3), ACL_ERROR_RT_INVALID_DEVICEID);
  std::vector<void*> memory(3);
  std::vector<aclrtStream> streams(3);
  for (int32_t device = 0; device < 3; ++device) {
    const auto at = static_cast<size_t>(device);
    ASSERT_EQ(aclrtSetDevice(device), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&memory[at], 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&streams[at]), ACL_SUCCESS);
    aclrtPtrAttributes attributes;
    ASSERT_EQ(aclrtPointerGetAttributes(memory[at], &attributes), ACL_SUCCESS);
    EXPECT_EQ(attributes.location.id, static_cast<uint32_t>(device));
    size_t free = 0;
    size_t total = 0;
    ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    EXPECT_EQ(total - free, 4096u) << "each device has memory of its own";
  }
  EXPECT_ACL_ERROR(aclrtSynchronizeStream(streams[0]), ACL_ERROR_RT_STREAM_CONTEXT, "device 0");
  EXPECT_ACL_ERROR(aclrtMemcpy(memory[0], 8, memory[1], 8, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE),
                   ACL_ERROR_RT_PARAM_INVALID, "dst is on device 0 and src on device 1");
  EXPECT_EQ(aclrtMemcpy(memory[0], 8, memory[1], 8, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE), 0);
  std::thread([&] {
    int32_t device = -1;
    ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    ASSERT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
    EXPECT_EQ(device, 1);
    ASSERT_EQ(aclrtResetDevice(1), ACL_SUCCESS);
  }).join();
  int32_t device = -1;
  ASSERT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 2) << "the current device is the thread's own";
  ASSERT_EQ(aclrtResetDevice(2), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(streams[0]), ACL_SUCCESS) << "device 0 was not reset";
  EXPECT_EQ(aclrtFree(memory[0]), ACL_SUCCESS) << "nor its memory freed";
}

TEST(RuntimeDeviceChild, PortaclDevicesGivesSeparateDevices) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_DEVICES", "3"}}), CheckThreeDevices());
}

void CheckOneDevice() {
  uint32_t count = 0;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 1u);
}

void CheckDeviceCount(uint32_t wanted) {
  uint32_t count = 99;
  ASSERT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, wanted);
  for (uint32_t device = 0; device < wanted; ++device) {
    EXPECT_EQ(aclrtSetDevice(static_cast<int32_t>(device)), ACL_SUCCESS);
  }
  EXPECT_NE(aclrtSetDevice(static_cast<int32_t>(wanted)), ACL_SUCCESS);
}

TEST(RuntimeDeviceChild, VisibleDevicesAreThoseOfTheList) {
  const auto variables = [](const char* devices, const char* visible) {
    return Environment{{"PORTACL_DEVICES", devices}, {"ASCEND_RT_VISIBLE_DEVICES", visible}};
  };
  PORTACL_IN_CHILD(variables("8", "6,7"), CheckDeviceCount(2));
  PORTACL_IN_CHILD(variables("2", "0,2,1"), CheckDeviceCount(1));
  PORTACL_IN_CHILD(variables("2", "-1"), CheckDeviceCount(0));
  PORTACL_IN_CHILD(variables("2", ""), CheckDeviceCount(2));
  PORTACL_IN_CHILD((Environment{{"ASCEND_RT_VISIBLE_DEVICES", "5"}}), CheckDeviceCount(1));
}

TEST(RuntimeDeviceChild, AProgramsDeviceExistsWhereNobodyNamesANumber) {
  PORTACL_IN_CHILD((Environment{{"ASCEND_DEVICE_ID", "3"}}), CheckDeviceCount(4));
  PORTACL_IN_CHILD((Environment{{"ASCEND_DEVICE_ID", "x"}}), CheckDeviceCount(1));
  PORTACL_IN_CHILD((Environment{{"ASCEND_DEVICE_ID", "3"}, {"PORTACL_DEVICES", "2"}}),
                   CheckDeviceCount(2));
  PORTACL_IN_CHILD((Environment{{"ASCEND_DEVICE_ID", "3"}, {"ASCEND_RT_VISIBLE_DEVICES", "0,1"}}),
                   CheckDeviceCount(2));
}

TEST(RuntimeDeviceChild, AnUnusableNumberOfDevicesMeansOne) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_DEVICES", "3x"}}), CheckOneDevice());
  PORTACL_IN_CHILD((Environment{{"PORTACL_DEVICES", "0"}}), CheckOneDevice());
  PORTACL_IN_CHILD((Environment{{"PORTACL_DEVICES", "65"}}), CheckOneDevice());
}

}  // namespace
}  // namespace portacl_test
