// Captured streams: recorded, replayed with the addresses of the capture, forked and joined by
// events, changed by groups of tasks; and each mistake refused.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "support/api/child_process.h"
#include "support/api/device_memory_fixture.h"

namespace portacl_test {
namespace {

class Capture : public DeviceMemoryTest {
 protected:
  void Begin(aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
    ASSERT_EQ(aclmdlRICaptureBegin(stream_, mode), ACL_SUCCESS) << NewestMessage();
  }
  void End() { ASSERT_EQ(aclmdlRICaptureEnd(stream_, &graph_), ACL_SUCCESS) << NewestMessage(); }
  void Replay() {
    ASSERT_EQ(aclmdlRIExecuteAsync(graph_, stream_), ACL_SUCCESS) << NewestMessage();
    ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  }
  void Set(size_t at, int32_t value, aclrtStream stream) {
    ASSERT_EQ(aclrtMemsetAsync(At(at), 1, value, 1, stream), ACL_SUCCESS);
  }
  void Move(size_t to, size_t from, aclrtStream stream) {
    ASSERT_EQ(aclrtMemcpyAsync(At(to), 1, At(from), 1, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
              ACL_SUCCESS);
  }
  int Get(size_t at) {
    unsigned char value = 0;
    EXPECT_EQ(aclrtMemcpy(&value, 1, At(at), 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return value;
  }
  // A capture with one fork, made by `forked`; the fork's stream is destroyed.
  void BeginAndDestroyAFork(aclrtEvent forked) {
    aclrtStream fork = nullptr;
    ASSERT_EQ(aclrtCreateStream(&fork), ACL_SUCCESS);
    Begin();
    ASSERT_EQ(aclrtRecordEvent(forked, stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtStreamWaitEvent(fork, forked), ACL_SUCCESS);
    ASSERT_EQ(aclrtDestroyStreamForce(fork), ACL_SUCCESS);
  }
  // A capture cannot wait for the event, and goes on.
  void ExpectRefusedInACapture(aclrtEvent outside) {
    Begin();
    EXPECT_ACL_ERROR(aclrtStreamWaitEvent(stream_, outside), ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                     "its capture has not recorded");
    End();
    EXPECT_EQ(aclmdlRIDestroy(graph_), ACL_SUCCESS);
  }
  aclmdlRICaptureStatus StatusOf(aclrtStream stream, aclmdlRI* graph = nullptr) {
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
    EXPECT_EQ(aclmdlRICaptureGetInfo(stream, &status, graph), ACL_SUCCESS);
    return status;
  }

  aclmdlRI graph_ = nullptr;
};

TEST_F(Capture, RecordsWithoutRunningAndReplaysOften) {
  Counter counter;
  EXPECT_EQ(StatusOf(stream_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  Begin();
  aclmdlRI during = nullptr;
  EXPECT_EQ(StatusOf(stream_, &during), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(during, nullptr);
  Set(0, 1, stream_);
  Move(1, 0, stream_);
  Set(0, 2, stream_);
  ASSERT_EQ(counter.Launch(stream_), ACL_SUCCESS);
  End();
  EXPECT_EQ(during, graph_);
  EXPECT_EQ(StatusOf(stream_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(Get(0), 0);  // nothing ran
  EXPECT_EQ(counter.count(), 0);
  for (int i = 1; i <= 3; ++i) {
    Set(1, 9, stream_);
    Replay();
    EXPECT_EQ(Get(0), 2);
    EXPECT_EQ(Get(1), 1);
    EXPECT_EQ(counter.count(), i);
  }
  EXPECT_EQ(aclmdlRIDestroy(graph_), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclmdlRIDestroy(graph_), ACL_ERROR_RT_INVALID_HANDLE, "no live captured work");
  EXPECT_ACL_ERROR(aclmdlRIExecuteAsync(graph_, stream_), ACL_ERROR_RT_INVALID_HANDLE,
                   "no live captured work");
}

TEST_F(Capture, WorkThatIsEnqueuedStillRunsAfterItsGraphIsDestroyed) {
  Counter counter;
  Blocker blocker;
  Begin();
  ASSERT_EQ(counter.Launch(stream_), ACL_SUCCESS);
  End();
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRIExecuteAsync(graph_, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRIDestroy(graph_), ACL_SUCCESS);
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 1);
}

TEST_F(Capture, ForksAndJoinsByEvents) {
  const StreamHandle fork;
  const EventHandle forked;
  const EventHandle joined;
  Begin();
  Set(0, 5, stream_);
  ASSERT_EQ(aclrtRecordEvent(forked.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(fork.get(), forked.get()), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(StatusOf(fork.get()), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  Move(1, 0, fork.get());
  ASSERT_EQ(aclrtRecordEvent(joined.get(), fork.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(stream_, joined.get()), ACL_SUCCESS) << NewestMessage();
  Move(2, 1, stream_);
  End();
  EXPECT_EQ(StatusOf(fork.get()), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  Replay();
  EXPECT_EQ(Get(1), 5);
  EXPECT_EQ(Get(2), 5);
  // Both streams and the events work as before.
  Set(3, 7, fork.get());
  ASSERT_EQ(aclrtRecordEvent(joined.get(), fork.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeEvent(joined.get()), ACL_SUCCESS);
  EXPECT_EQ(Get(3), 7);
  EXPECT_EQ(aclmdlRIDestroy(graph_), ACL_SUCCESS);
}

TEST_F(Capture, AForkThatIsNotJoinedEndsTheCaptureWithAnError) {
  const StreamHandle fork;
  const EventHandle forked;
  Begin();
  ASSERT_EQ(aclrtRecordEvent(forked.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(fork.get(), forked.get()), ACL_SUCCESS);
  Set(1, 1, fork.get());
  EXPECT_ACL_ERROR(aclmdlRICaptureEnd(fork.get(), &graph_), ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED,
                   "began on another stream");
  EXPECT_ACL_ERROR(aclmdlRICaptureEnd(stream_, &graph_), ACL_ERROR_RT_STREAM_UNJOINED,
                   "was not joined again");
  EXPECT_EQ(graph_, nullptr);
  EXPECT_EQ(StatusOf(stream_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(StatusOf(fork.get()), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(aclrtSynchronizeStream(fork.get()), ACL_SUCCESS);
}

TEST_F(Capture, WorkBehindTheJoiningEventIsNotJoined) {
  const StreamHandle fork;
  const EventHandle forked;
  const EventHandle joined;
  Begin();
  ASSERT_EQ(aclrtRecordEvent(forked.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(fork.get(), forked.get()), ACL_SUCCESS);
  Set(1, 1, fork.get());
  ASSERT_EQ(aclrtRecordEvent(joined.get(), fork.get()), ACL_SUCCESS);
  Set(2, 1, fork.get());
  ASSERT_EQ(aclrtStreamWaitEvent(stream_, joined.get()), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclmdlRICaptureEnd(stream_, &graph_), ACL_ERROR_RT_STREAM_UNJOINED,
                   "was not joined again");
}

TEST_F(Capture, EventsFromOutsideAreErrors) {
  const StreamHandle other;
  const EventHandle never;
  const EventHandle outside;
  ASSERT_EQ(aclrtRecordEvent(outside.get(), other.get()), ACL_SUCCESS);
  ExpectRefusedInACapture(outside.get());
  ExpectRefusedInACapture(never.get());
}

TEST_F(Capture, ACapturedStreamCannotBeWaitedForOrAsked) {
  const EventHandle event;
  Begin();
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  aclrtStreamStatus stream_status = ACL_STREAM_STATUS_RESERVED;
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  uint64_t time = 0;
  aclmdlRI executed = nullptr;
  EXPECT_ACL_ERROR(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_STREAM_CAPTURED, "is captured");
  EXPECT_EQ(aclrtStreamQuery(stream_, &stream_status), ACL_ERROR_RT_STREAM_CAPTURED);
  EXPECT_ACL_ERROR(aclrtDestroyStream(stream_), ACL_ERROR_RT_STREAM_CAPTURED, "is captured");
  EXPECT_ACL_ERROR(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED),
                   ACL_ERROR_RT_STREAM_CAPTURED, "captured already");
  EXPECT_ACL_ERROR(aclrtSynchronizeEvent(event.get()), ACL_ERROR_RT_EVENT_CAPTURED, "captured");
  EXPECT_EQ(aclrtQueryEventStatus(event.get(), &recorded), ACL_ERROR_RT_EVENT_CAPTURED);
  EXPECT_ACL_ERROR(aclrtEventGetTimestamp(event.get(), &time), ACL_ERROR_RT_EVENT_CAPTURED,
                   "captured");
  EXPECT_ACL_ERROR(aclrtLaunchCallback(&Counter::Run, this, ACL_CALLBACK_BLOCK, stream_),
                   ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "cannot be replayed");
  StatusOf(stream_, &executed);
  const StreamHandle other;
  EXPECT_ACL_ERROR(aclmdlRIExecuteAsync(executed, other.get()), ACL_ERROR_RT_MODEL_CAPTURED,
                   "still being captured");
  EXPECT_ACL_ERROR(aclmdlRIDestroy(executed), ACL_ERROR_RT_MODEL_CAPTURED, "still being captured");
  End();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(graph_), ACL_SUCCESS);
}

TEST_F(Capture, EndsWithoutABeginAreErrors) {
  EXPECT_ACL_ERROR(aclmdlRICaptureEnd(stream_, &graph_), ACL_ERROR_RT_STREAM_NOT_CAPTURED,
                   "is not captured");
  EXPECT_ACL_ERROR(aclmdlRICaptureEnd(stream_, nullptr), ACL_ERROR_RT_PARAM_INVALID,
                   "modelRI is null");
  EXPECT_ACL_ERROR(aclmdlRICaptureBegin(nullptr, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
                   ACL_ERROR_RT_PARAM_INVALID, "default stream");
  EXPECT_ACL_ERROR(aclmdlRICaptureBegin(stream_, static_cast<aclmdlRICaptureMode>(3)),
                   ACL_ERROR_RT_PARAM_INVALID, "mode is 3");
}

// The calls that go through no stream, on this thread: the code of each is the same.
int UnsafeCall(void* memory) {
  const int code = aclrtMemset(memory, 1, 0, 1);
  char byte = 0;
  EXPECT_EQ(aclrtMemcpy(&byte, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_HOST), code);
  EXPECT_EQ(aclrtSynchronizeDevice(), code);
  return code;
}

int UnsafeCallOnAnotherThread(void* memory) {
  int code = -1;
  std::thread thread([&] {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    code = UnsafeCall(memory);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
  thread.join();
  return code;
}

TEST_F(Capture, ModesSayWhoMayCallWithoutAStream) {
  constexpr int kRefused = ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT;
  struct Expected {
    aclmdlRICaptureMode mode;
    int here;
    int elsewhere;
  };
  for (const Expected& expected :
       {Expected{ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, kRefused, kRefused},
        Expected{ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL, kRefused, ACL_SUCCESS},
        Expected{ACL_MODEL_RI_CAPTURE_MODE_RELAXED, ACL_SUCCESS, ACL_SUCCESS}}) {
    Begin(expected.mode);
    EXPECT_EQ(UnsafeCall(device_), expected.here) << expected.mode;
    EXPECT_EQ(UnsafeCallOnAnotherThread(device_), expected.elsewhere) << expected.mode;
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
    EXPECT_EQ(mode, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(UnsafeCall(device_), ACL_SUCCESS);
    EXPECT_EQ(aclmdlRICaptureThreadExchangeMode(&mode), ACL_SUCCESS);
    EXPECT_EQ(mode, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
    End();
    EXPECT_EQ(UnsafeCall(device_), ACL_SUCCESS);
    EXPECT_EQ(aclmdlRIDestroy(graph_), ACL_SUCCESS);
  }
}

TEST_F(Capture, GroupsOfTasksCanBeChanged) {
  aclrtTaskGrp group = nullptr;
  Begin();
  Set(0, 1, stream_);
  ASSERT_EQ(aclmdlRICaptureTaskGrpBegin(stream_), ACL_SUCCESS);
  Set(1, 1, stream_);
  Set(2, 1, stream_);
  ASSERT_EQ(aclmdlRICaptureTaskGrpEnd(stream_, &group), ACL_SUCCESS);
  Move(3, 2, stream_);
  End();
  Replay();
  EXPECT_EQ(Get(3), 1);

  const StreamHandle changing;
  ASSERT_EQ(aclmdlRICaptureTaskUpdateBegin(changing.get(), group), ACL_SUCCESS);
  Set(1, 8, changing.get());
  EXPECT_ACL_ERROR(aclmdlRICaptureTaskUpdateEnd(changing.get()), ACL_ERROR_RT_PARAM_INVALID,
                   "1 tasks were enqueued for a group of 2");
  ASSERT_EQ(aclmdlRICaptureTaskUpdateBegin(changing.get(), group), ACL_SUCCESS);
  for (const size_t task : {1, 2, 3}) Set(task, 8, changing.get());
  EXPECT_ACL_ERROR(aclmdlRICaptureTaskUpdateEnd(changing.get()), ACL_ERROR_RT_PARAM_INVALID,
                   "3 tasks were enqueued for a group of 2");
  Replay();
  EXPECT_EQ(Get(1), 1);  // as it was
  ASSERT_EQ(aclmdlRICaptureTaskUpdateBegin(changing.get(), group), ACL_SUCCESS);
  Set(1, 8, changing.get());
  Set(2, 9, changing.get());
  ASSERT_EQ(aclmdlRICaptureTaskUpdateEnd(changing.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(changing.get()), ACL_SUCCESS);
  EXPECT_EQ(Get(1), 1);  // changed, not run
  Replay();
  EXPECT_EQ(Get(1), 8);
  EXPECT_EQ(Get(3), 9);
  EXPECT_EQ(aclmdlRIDestroy(graph_), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclmdlRICaptureTaskUpdateBegin(changing.get(), group),
                   ACL_ERROR_RT_INVALID_HANDLE, "no live group");
  EXPECT_ACL_ERROR(aclmdlRICaptureTaskGrpBegin(stream_), ACL_ERROR_RT_STREAM_NOT_CAPTURED,
                   "is not captured");
  EXPECT_ACL_ERROR(aclmdlRICaptureTaskUpdateEnd(stream_), ACL_ERROR_RT_PARAM_INVALID,
                   "changes no group");
}

TEST_F(Capture, ADestroyedForkInvalidatesTheCapture) {
  const EventHandle forked;
  BeginAndDestroyAFork(forked.get());
  EXPECT_EQ(StatusOf(stream_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  EXPECT_ACL_ERROR(aclmdlRICaptureEnd(stream_, &graph_), ACL_ERROR_RT_STREAM_UNJOINED, "destroyed");
}

// A capture without the stream that it began on: nobody could end it.
TEST_F(Capture, DestroyingItsFirstStreamEndsTheCapture) {
  const StreamHandle fork;
  const EventHandle forked;
  aclrtStream first = nullptr;
  ASSERT_EQ(aclrtCreateStream(&first), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(first, &graph_), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  ASSERT_EQ(aclrtRecordEvent(forked.get(), first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(fork.get(), forked.get()), ACL_SUCCESS);
  Set(0, 1, fork.get());
  ASSERT_EQ(aclrtDestroyStreamForce(first), ACL_SUCCESS);
  EXPECT_EQ(UnsafeCall(device_), ACL_SUCCESS);
  EXPECT_EQ(UnsafeCallOnAnotherThread(device_), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclmdlRIExecuteAsync(graph_, stream_), ACL_ERROR_RT_INVALID_HANDLE,
                   "no live captured work");
  // The fork and the event are as if they had taken part in nothing.
  EXPECT_EQ(StatusOf(fork.get()), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(aclrtSynchronizeStream(fork.get()), ACL_SUCCESS);
  EXPECT_EQ(Get(0), 0);
  EXPECT_ACL_ERROR(aclmdlRICaptureEnd(fork.get(), &graph_), ACL_ERROR_RT_STREAM_NOT_CAPTURED,
                   "is not captured");
  EXPECT_EQ(aclrtSynchronizeEvent(forked.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(nullptr, forked.get()), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(nullptr), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  ExpectRefusedInACapture(forked.get());
}

TEST_F(Capture, DestroyingTheContextOfItsFirstStreamEndsTheCapture) {
  const StreamHandle fork;
  const EventHandle forked;
  aclrtContext before = nullptr;
  aclrtContext context = nullptr;
  aclrtStream first = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&before), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&first), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(forked.get(), first), ACL_SUCCESS);
  // The context's default stream, which goes before the others, and a stream that stays.
  ASSERT_EQ(aclrtStreamWaitEvent(nullptr, forked.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetCurrentContext(before), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(fork.get(), forked.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_EQ(UnsafeCall(device_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(fork.get()), ACL_SUCCESS);
}

// A capture is ended by whoever comes first; the other is told that there is none.
TEST_F(Capture, EndsOnceWhereItsStreamIsDestroyedMeanwhile) {
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    const EventHandle event;
    aclrtStream first = nullptr;
    aclmdlRI graph = nullptr;
    ASSERT_EQ(aclrtCreateStream(&first), ACL_SUCCESS);
    ASSERT_EQ(aclmdlRICaptureBegin(first, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
    ASSERT_EQ(aclrtRecordEvent(event.get(), first), ACL_SUCCESS);
    aclrtContext context = nullptr;
    ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
    std::thread joining([&] {
      EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
      static_cast<void>(aclrtStreamWaitEvent(stream_, event.get()));
    });
    std::thread ending([&] {
      EXPECT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
      static_cast<void>(aclmdlRICaptureEnd(first, &graph));
    });
    EXPECT_EQ(aclrtDestroyStreamForce(first), ACL_SUCCESS);
    ending.join();
    joining.join();
    EXPECT_EQ(aclmdlRIDestroy(graph), graph != nullptr ? ACL_SUCCESS : ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(UnsafeCall(device_), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << "still captured";
  }
}

TEST_F(Capture, NobodyJoinsAnInvalidatedCapture) {
  const StreamHandle other;
  const EventHandle forked;
  BeginAndDestroyAFork(forked.get());
  for (const aclrtStream stream : {other.get(), aclrtStream{nullptr}, stream_}) {
    EXPECT_ACL_ERROR(aclrtStreamWaitEvent(stream, forked.get()), ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                     "a stream of it was destroyed");
  }
  EXPECT_EQ(StatusOf(other.get()), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(StatusOf(nullptr), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_ACL_ERROR(aclmdlRICaptureEnd(stream_, &graph_), ACL_ERROR_RT_STREAM_UNJOINED, "destroyed");
}

TEST_F(Capture, PrintsItsTasks) {
  const std::string path = PathForChildren("capture.json");
  Begin();
  Set(0, 1, stream_);
  Move(1, 0, stream_);
  End();
  EXPECT_EQ(aclmdlRIDebugPrint(graph_), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRIDebugJsonPrint(graph_, path.c_str()), ACL_SUCCESS);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), testing::StartsWith("[\n"));
  EXPECT_THAT(text.str(),
              testing::HasSubstr(R"({"index": 0, "category": "memset", "name": "memset"},)"));
  EXPECT_THAT(text.str(), testing::HasSubstr(R"("name": "copy"})"));
  EXPECT_ACL_ERROR(aclmdlRIDebugJsonPrint(graph_, "/nowhere/file"), ACL_ERROR_WRITE_FILE,
                   "cannot be written");
  std::remove(path.c_str());
  EXPECT_EQ(aclmdlRIDestroy(graph_), ACL_SUCCESS);
}

// A reset leaves nothing of a capture behind.
void CaptureAndReset() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  for (const auto reset : {&aclrtResetDevice, &aclrtResetDeviceForce}) {
    aclrtStream stream = nullptr;
    void* memory = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
    ASSERT_EQ(reset(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(UnsafeCall(memory), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST(CaptureChild, ResettingTheDeviceEndsTheCapture) {
  PORTACL_IN_CHILD(Environment{}, CaptureAndReset());
}

// The child of a fork() has no captures, whatever its parent is about.
void CaptureAndFork() {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    void* memory = nullptr;
    const bool works = aclrtSetDevice(0) == ACL_SUCCESS &&
                       aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS &&
                       aclrtMemset(memory, 8, 0, 8) == ACL_SUCCESS;
    _exit(works ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  aclmdlRI graph = nullptr;
  EXPECT_EQ(aclmdlRICaptureEnd(stream, &graph), ACL_SUCCESS);
  EXPECT_EQ(aclmdlRIDestroy(graph), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST(CaptureChild, AForkedProcessHasNoCaptures) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow forks of threaded processes";
#endif
  PORTACL_IN_CHILD(Environment{}, CaptureAndFork());
}

TEST(CaptureDumps, AreNotSupported) {
  EXPECT_ACL_ERROR(aclmdlInitDump(), ACL_ERROR_API_NOT_SUPPORT, "no dumps");
  EXPECT_ACL_ERROR(aclmdlSetDump("file"), ACL_ERROR_API_NOT_SUPPORT, "no dumps");
  EXPECT_ACL_ERROR(aclmdlFinalizeDump(), ACL_ERROR_API_NOT_SUPPORT, "no dumps");
}

}  // namespace
}  // namespace portacl_test
