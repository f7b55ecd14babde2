// Streams through the C API: order, independence, waiting, errors of tasks, abort and destruction.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

using RuntimeStream = RuntimeTest;

struct Append {
  std::vector<int>* list;
  int value;
  static void Run(void* self_pointer) {
    const auto* self = static_cast<Append*>(self_pointer);
    self->list->push_back(self->value);
  }
};

void WaitBriefly() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

// A task that fails: its thread is unsubscribed before the callback's turn.
void LaunchFailure(aclrtStream stream) {
  const auto thread = static_cast<uint64_t>(pthread_self());
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSubscribeReport(thread, stream), ACL_SUCCESS);
  Counter never;
  ASSERT_EQ(aclrtLaunchCallback(&Counter::Run, &never, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtUnSubscribeReport(thread, stream), ACL_SUCCESS);
  blocker.AwaitStart();
  blocker.Release();
  aclrtEvent passed = nullptr;  // the failure has happened when this returns
  ASSERT_EQ(aclrtCreateEvent(&passed), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(passed, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeEvent(passed), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyEvent(passed), ACL_SUCCESS);
  EXPECT_EQ(never.count(), 0);
}

TEST_F(RuntimeStream, RunsTasksInTheOrderOfTheCalls) {
  constexpr int kTasks = 500;
  std::vector<int> list;
  std::vector<Append> tasks;
  for (int i = 0; i < kTasks; ++i) tasks.push_back({&list, i});
  for (Append& task : tasks) {
    ASSERT_EQ(aclrtLaunchHostFunc(stream_, &Append::Run, &task), ACL_SUCCESS);
  }
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  std::vector<int> wanted(kTasks);
  std::iota(wanted.begin(), wanted.end(), 0);
  EXPECT_EQ(list, wanted);
}

// Small copies may run on the calling thread; they must not overtake what is before them.
TEST_F(RuntimeStream, SmallWorkDoesNotOvertakePendingWork) {
  void* device = nullptr;
  ASSERT_EQ(aclrtMalloc(&device, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemset(device, 16, 1, 16), ACL_SUCCESS);
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  char before = 0;
  char after = 0;
  ASSERT_EQ(aclrtMemcpyAsync(&before, 1, device, 1, ACL_MEMCPY_DEVICE_TO_HOST, stream_), 0);
  ASSERT_EQ(aclrtMemsetAsync(device, 16, 2, 16, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(&after, 1, device, 1, ACL_MEMCPY_DEVICE_TO_HOST, stream_), 0);
  WaitBriefly();
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 2);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
}

TEST_F(RuntimeStream, StreamsDoNotWaitForEachOther) {
  const StreamHandle other;
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  Counter counter;
  ASSERT_EQ(counter.Launch(other.get()), ACL_SUCCESS);
  ASSERT_EQ(counter.Launch(nullptr), ACL_SUCCESS);  // the default stream is one more
  EXPECT_EQ(aclrtSynchronizeStream(other.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 2);
}

TEST_F(RuntimeStream, QueryTellsWhetherWorkIsLeft) {
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  EXPECT_EQ(aclrtStreamQuery(stream_, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamQuery(stream_, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamQuery(stream_, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  EXPECT_EQ(aclrtStreamQuery(stream_, nullptr), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(RuntimeStream, TimeoutsEndTheWaitAndNotTheWork) {
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtSynchronizeStreamWithTimeout(stream_, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                   "after the timeout");
  EXPECT_ACL_ERROR(aclrtSynchronizeStreamWithTimeout(stream_, 0), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                   "1 unfinished");
  EXPECT_ACL_ERROR(aclrtSynchronizeDeviceWithTimeout(10), ACL_ERROR_RT_WAIT_TIMEOUT,
                   "after the timeout");
  EXPECT_ACL_ERROR(aclrtSynchronizeStreamWithTimeout(stream_, -2), ACL_ERROR_RT_PARAM_INVALID,
                   "timeout is -2");
  EXPECT_ACL_ERROR(aclrtSynchronizeDeviceWithTimeout(-2), ACL_ERROR_RT_PARAM_INVALID,
                   "timeout is -2");
  blocker.Release();
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 10000), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, -1), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDeviceWithTimeout(10000), ACL_SUCCESS);
}

TEST_F(RuntimeStream, SynchronizeDeviceWaitsForAllStreams) {
  const StreamHandle other;
  Counter counter;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(counter.Launch(stream_), ACL_SUCCESS);
    ASSERT_EQ(counter.Launch(other.get()), ACL_SUCCESS);
    ASSERT_EQ(counter.Launch(nullptr), ACL_SUCCESS);
  }
  ASSERT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 60);
}

TEST_F(RuntimeStream, ErrorsOfTasksComeBackOnceAtSynchronise) {
  LaunchFailure(stream_);
  Counter counter;
  ASSERT_EQ(counter.Launch(stream_), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_STREAM_NO_CB_REG,
                   "callback on stream");
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_STREAM_NO_CB_REG);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 1) << "by default later work runs after a failure";
}

TEST_F(RuntimeStream, ErrorsComeToTheThreadThatSynchronises) {
  LaunchFailure(stream_);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  std::thread([&] {
    ASSERT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
    EXPECT_ACL_ERROR(aclrtSynchronizeDevice(), ACL_ERROR_RT_STREAM_NO_CB_REG, "failed");
  }).join();
  EXPECT_EQ(NewestMessage(), "");
}

TEST_F(RuntimeStream, StopOnFailureDropsLaterWorkUntilTheErrorIsReported) {
  ASSERT_EQ(aclrtSetStreamFailureMode(stream_, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  LaunchFailure(stream_);
  Counter counter;
  const EventHandle event;
  ASSERT_EQ(counter.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS) << "who waits must not hang";
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_STREAM_NO_CB_REG);
  EXPECT_EQ(counter.count(), 0);
  ASSERT_EQ(counter.Launch(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 1);
  EXPECT_ACL_ERROR(aclrtSetStreamFailureMode(stream_, 2), ACL_ERROR_RT_PARAM_INVALID, "mode is 2");
}

TEST_F(RuntimeStream, AbortDropsWhatHasNotStarted) {
  const EventHandle event;
  Blocker blocker;
  Counter counter;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(counter.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  blocker.AwaitStart();
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  std::atomic<bool> aborted{false};
  std::thread aborting([&] {
    aclrtSetCurrentContext(context);
    EXPECT_EQ(aclrtStreamAbort(stream_), ACL_SUCCESS);
    aborted = true;
  });
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS) << "a dropped record holds nobody up";
  EXPECT_FALSE(aborted) << "abort waits for the task that runs";
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
      << "who waits for the running task must not be let go by the dropped ones";
  blocker.Release();
  aborting.join();
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 0);
  ASSERT_EQ(counter.Launch(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 1) << "an aborted stream goes on";
}

TEST_F(RuntimeStream, AbortFreesAStreamThatWaitsForAnEvent) {
  const StreamHandle other;
  const EventHandle event;
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(other.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), other.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(stream_, event.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamAbort(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

TEST_F(RuntimeStream, DestroyWaitsAndForceDestroyDrops) {
  for (const bool force : {false, true}) {
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    Blocker blocker;
    Counter counter;
    ASSERT_EQ(blocker.Launch(stream), ACL_SUCCESS);
    const EventHandle dropped;
    for (int i = 0; i < 5; ++i) ASSERT_EQ(counter.Launch(stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtRecordEvent(dropped.get(), stream), ACL_SUCCESS);
    blocker.AwaitStart();
    std::thread releasing([&] {
      if (force) {
        EXPECT_EQ(aclrtSynchronizeEvent(dropped.get()), ACL_SUCCESS);
      } else {
        WaitBriefly();
      }
      blocker.Release();
    });
    EXPECT_EQ(force ? aclrtDestroyStreamForce(stream) : aclrtDestroyStream(stream), ACL_SUCCESS);
    releasing.join();
    EXPECT_EQ(counter.count(), force ? 0 : 5);
    EXPECT_ACL_ERROR(counter.Launch(stream), ACL_ERROR_RT_INVALID_HANDLE, "not a live stream");
  }
}

TEST_F(RuntimeStream, BadHandlesAreErrors) {
  aclrtStream destroyed = nullptr;
  ASSERT_EQ(aclrtCreateStream(&destroyed), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(destroyed), ACL_SUCCESS);
  int foreign = 0;
  aclrtStreamStatus status;
  int32_t id = 0;
  for (const aclrtStream bad : {destroyed, static_cast<aclrtStream>(&foreign)}) {
    EXPECT_EQ(aclrtSynchronizeStream(bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(bad, 1), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtStreamQuery(bad, &status), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtStreamGetId(bad, &id), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtSetStreamFailureMode(bad, 0), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtStreamAbort(bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtDestroyStream(bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_ACL_ERROR(aclrtDestroyStreamForce(bad), ACL_ERROR_RT_INVALID_HANDLE,
                     "aclrtDestroyStreamForce: stream");
  }
  EXPECT_ACL_ERROR(aclrtDestroyStream(nullptr), ACL_ERROR_RT_PARAM_INVALID, "default stream");
  EXPECT_ACL_ERROR(aclrtCreateStream(nullptr), ACL_ERROR_RT_PARAM_INVALID,
                   "aclrtCreateStream: stream is null");
  EXPECT_ACL_ERROR(aclrtStreamGetId(stream_, nullptr), ACL_ERROR_RT_PARAM_INVALID,
                   "streamId is null");
}

TEST_F(RuntimeStream, StreamsOfAnotherContextAreRefused) {
  aclrtContext own = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&own), ACL_SUCCESS);
  aclrtContext other = nullptr;
  ASSERT_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  Counter counter;
  EXPECT_ACL_ERROR(counter.Launch(stream_), ACL_ERROR_RT_STREAM_CONTEXT, "another context");
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtDestroyStream(stream_), ACL_ERROR_RT_STREAM_CONTEXT);
  EXPECT_EQ(aclrtDestroyContext(other), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtSynchronizeStream(stream_), ACL_ERROR_RT_CONTEXT_NULL, "was destroyed");
  EXPECT_EQ(aclrtSetCurrentContext(own), ACL_SUCCESS);
  EXPECT_EQ(counter.Launch(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

TEST_F(RuntimeStream, PrioritiesAndFlagsAreAccepted) {
  for (const uint32_t priority : {0u, 7u}) {
    for (const uint32_t flag : {0u, ACL_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_SYNC, 3u}) {
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStreamWithConfig(&stream, priority, flag), ACL_SUCCESS);
      EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    }
  }
  aclrtStream stream = nullptr;
  EXPECT_ACL_ERROR(aclrtCreateStreamWithConfig(&stream, 0, 32), ACL_ERROR_RT_PARAM_INVALID,
                   "flag is 0x20");
}

TEST_F(RuntimeStream, IdsDiffer) {
  const StreamHandle other;
  int32_t first = -1;
  int32_t second = -1;
  int32_t standard = -1;
  ASSERT_EQ(aclrtStreamGetId(stream_, &first), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamGetId(other.get(), &second), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamGetId(nullptr, &standard), ACL_SUCCESS);
  EXPECT_NE(first, second);
  EXPECT_NE(first, standard);
}

// Host functions must not call the runtime; where one does, it gets an error and no deadlock.
TEST_F(RuntimeStream, ATaskThatWaitsForItsOwnStreamIsRefused) {
  struct Result {
    aclrtStream stream;
    aclrtContext context = nullptr;
    aclError synchronize = 0;
    aclError destroy = 0;
    aclError reset = 0;
  } result{stream_};
  ASSERT_EQ(aclrtGetCurrentContext(&result.context), ACL_SUCCESS);
  const auto task = [](void* pointer) {
    auto* const self = static_cast<Result*>(pointer);
    aclrtSetCurrentContext(self->context);
    self->synchronize = aclrtSynchronizeStream(self->stream);
    self->destroy = aclrtDestroyStream(self->stream);
    self->reset = aclrtResetDeviceForce(0);
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream_, task, &result), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(result.synchronize, ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(result.destroy, ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(result.reset, ACL_ERROR_RT_PARAM_INVALID);
}

}  // namespace
}  // namespace portacl_test
