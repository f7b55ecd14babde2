// Events through the C API: records, waits, times, reset, reuse and destruction while pending.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

using RuntimeEvent = RuntimeTest;

aclrtEventStatus StatusOf(aclrtEvent event) {
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  EXPECT_EQ(aclrtQueryEvent(event, &status), ACL_SUCCESS);
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_EQ(aclrtQueryEventStatus(event, &recorded), ACL_SUCCESS);
  EXPECT_EQ(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE, status == ACL_EVENT_STATUS_COMPLETE);
  return status;
}

aclrtEventWaitStatus WaitStatusOf(aclrtEvent event) {
  aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_RESERVED;
  EXPECT_EQ(aclrtQueryEventWaitStatus(event, &status), ACL_SUCCESS);
  return status;
}

TEST_F(RuntimeEvent, IsCompleteWhenAllWorkBeforeItIsDone) {
  const EventHandle event;
  EXPECT_EQ(StatusOf(event.get()), ACL_EVENT_STATUS_NOT_READY) << "never recorded";
  Blocker blocker;
  Blocker later;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(later.Launch(stream_), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event.get()), ACL_EVENT_STATUS_NOT_READY);
  EXPECT_ACL_ERROR(aclrtSynchronizeEventWithTimeout(event.get(), 10), ACL_ERROR_RT_WAIT_TIMEOUT,
                   "not complete");
  blocker.Release();
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event.get()), ACL_EVENT_STATUS_COMPLETE) << "work after it does not count";
}

TEST_F(RuntimeEvent, OrdersStreams) {
  const StreamHandle consumer;
  const EventHandle event;
  Blocker blocker;
  Counter counter;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(consumer.get(), event.get()), ACL_SUCCESS);
  ASSERT_EQ(counter.Launch(consumer.get()), ACL_SUCCESS);
  EXPECT_EQ(WaitStatusOf(event.get()), ACL_EVENT_WAIT_STATUS_NOT_READY);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(consumer.get(), 20),
            ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(counter.count(), 0);
  blocker.Release();
  EXPECT_EQ(aclrtSynchronizeStream(consumer.get()), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 1);
  EXPECT_EQ(WaitStatusOf(event.get()), ACL_EVENT_WAIT_STATUS_COMPLETE);
}

TEST_F(RuntimeEvent, OneRecordReleasesManyStreams) {
  const EventHandle event;
  const StreamHandle streams[5];
  Blocker blocker;
  Counter counter;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  for (const StreamHandle& stream : streams) {
    ASSERT_EQ(aclrtStreamWaitEvent(stream.get(), event.get()), ACL_SUCCESS);
    ASSERT_EQ(counter.Launch(stream.get()), ACL_SUCCESS);
  }
  EXPECT_EQ(counter.count(), 0);
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 5);
}

TEST_F(RuntimeEvent, AnUnrecordedEventHoldsNothingUp) {
  const EventHandle event;
  EXPECT_EQ(aclrtStreamWaitEvent(stream_, event.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS);
  EXPECT_EQ(WaitStatusOf(event.get()), ACL_EVENT_WAIT_STATUS_COMPLETE);
}

// A wait belongs to the record that was the latest when it was enqueued.
TEST_F(RuntimeEvent, AReusedEventDoesNotHoldUpEarlierWaits) {
  const StreamHandle consumer;
  const EventHandle event;
  Blocker first;
  Blocker second;
  Counter counter;
  ASSERT_EQ(first.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(consumer.get(), event.get()), ACL_SUCCESS);
  ASSERT_EQ(counter.Launch(consumer.get()), ACL_SUCCESS);
  ASSERT_EQ(second.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  first.Release();
  EXPECT_EQ(aclrtSynchronizeStream(consumer.get()), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 1);
  EXPECT_EQ(StatusOf(event.get()), ACL_EVENT_STATUS_NOT_READY);
  second.Release();
  EXPECT_EQ(aclrtSynchronizeEvent(event.get()), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event.get()), ACL_EVENT_STATUS_COMPLETE);
}

TEST_F(RuntimeEvent, ResetForgetsTheRecordInTheStreamsOrder) {
  const EventHandle event;
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetEvent(event.get(), stream_), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event.get()), ACL_EVENT_STATUS_COMPLETE) << "the reset has not had its turn";
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event.get()), ACL_EVENT_STATUS_NOT_READY);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event.get()), ACL_EVENT_STATUS_COMPLETE);
}

TEST_F(RuntimeEvent, AResetDoesNotForgetALaterRecord) {
  const EventHandle event;
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetEvent(event.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(StatusOf(event.get()), ACL_EVENT_STATUS_COMPLETE);
}

TEST_F(RuntimeEvent, ElapsedTimeIsThatOfTheWorkBetween) {
  const EventHandle start;
  const EventHandle end;
  ASSERT_EQ(aclrtRecordEvent(start.get(), stream_), ACL_SUCCESS);
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(end.get(), stream_), ACL_SUCCESS);
  float ms = -1;
  EXPECT_ACL_ERROR(aclrtEventElapsedTime(&ms, start.get(), end.get()), ACL_ERROR_RT_PARAM_INVALID,
                   "endEvent");
  blocker.AwaitStart();
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtEventElapsedTime(&ms, start.get(), end.get()), ACL_SUCCESS);
  EXPECT_GE(ms, 15.0f);
  float backwards = 0;
  ASSERT_EQ(aclrtEventElapsedTime(&backwards, end.get(), start.get()), ACL_SUCCESS);
  EXPECT_EQ(backwards, -ms);
}

TEST_F(RuntimeEvent, ElapsedTimeResolvesLessThanAMicrosecond) {
  const EventHandle start;
  const EventHandle end;
  int fractions = 0;  // times that are no whole number of microseconds
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(aclrtRecordEvent(start.get(), stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtRecordEvent(end.get(), stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    float ms = -1;
    ASSERT_EQ(aclrtEventElapsedTime(&ms, start.get(), end.get()), ACL_SUCCESS);
    ASSERT_GT(ms, 0.0f);
    const float microseconds = ms * 1e3f;
    if (microseconds != std::floor(microseconds)) ++fractions;
  }
  EXPECT_GT(fractions, 0);
}

TEST_F(RuntimeEvent, ElapsedTimeNeedsRecordedTimingEvents) {
  const EventHandle event;
  ASSERT_EQ(aclrtRecordEvent(event.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  aclrtEvent untimed = nullptr;
  ASSERT_EQ(aclrtCreateEventWithFlag(&untimed, ACL_EVENT_SYNC), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(untimed, stream_), ACL_SUCCESS);
  const EventHandle unrecorded;
  float ms = 0;
  EXPECT_ACL_ERROR(aclrtEventElapsedTime(&ms, untimed, event.get()), ACL_ERROR_RT_PARAM_INVALID,
                   "TIME_LINE");
  EXPECT_ACL_ERROR(aclrtEventElapsedTime(&ms, event.get(), unrecorded.get()),
                   ACL_ERROR_RT_PARAM_INVALID, "endEvent was never recorded");
  EXPECT_ACL_ERROR(aclrtEventElapsedTime(nullptr, event.get(), event.get()),
                   ACL_ERROR_RT_PARAM_INVALID, "ms is null");
  EXPECT_EQ(aclrtDestroyEvent(untimed), ACL_SUCCESS);
}

TEST_F(RuntimeEvent, MayBeDestroyedWhilePending) {
  const StreamHandle consumer;
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  Blocker blocker;
  Counter counter;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(consumer.get(), event), ACL_SUCCESS);
  ASSERT_EQ(counter.Launch(consumer.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 0);
  blocker.Release();
  EXPECT_EQ(aclrtSynchronizeStream(consumer.get()), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 1);
}

TEST_F(RuntimeEvent, FlagsAreCheckedAndKept) {
  for (const auto create : {aclrtCreateEventWithFlag, aclrtCreateEventExWithFlag}) {
    for (uint32_t flag : {1u, 2u, 8u, 11u, 0x40u, 0x41u}) {
      aclrtEvent event = nullptr;
      ASSERT_EQ(create(&event, flag), ACL_SUCCESS);
      EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    }
    aclrtEvent event = nullptr;
    EXPECT_ACL_ERROR(create(&event, 0), ACL_ERROR_RT_PARAM_INVALID, "flag is 0x0");
    EXPECT_ACL_ERROR(create(&event, 4), ACL_ERROR_RT_PARAM_INVALID, "flag is 0x4");
    EXPECT_ACL_ERROR(create(nullptr, 1), ACL_ERROR_RT_PARAM_INVALID, "event is null");
  }
}

TEST_F(RuntimeEvent, BadHandlesAreErrors) {
  const EventHandle good;
  aclrtEvent destroyed = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&destroyed), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyEvent(destroyed), ACL_SUCCESS);
  aclrtEventStatus status;
  aclrtEventRecordedStatus recorded;
  aclrtEventWaitStatus waited;
  float ms = 0;
  for (const aclrtEvent bad : {destroyed, static_cast<aclrtEvent>(nullptr), stream_}) {
    EXPECT_EQ(aclrtRecordEvent(bad, stream_), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtResetEvent(bad, stream_), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtStreamWaitEvent(stream_, bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtQueryEvent(bad, &status), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtQueryEventStatus(bad, &recorded), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtQueryEventWaitStatus(bad, &waited), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtSynchronizeEvent(bad), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtSynchronizeEventWithTimeout(bad, 1), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_EQ(aclrtEventElapsedTime(&ms, bad, good.get()), ACL_ERROR_RT_INVALID_HANDLE);
    EXPECT_ACL_ERROR(aclrtDestroyEvent(bad), ACL_ERROR_RT_INVALID_HANDLE,
                     "aclrtDestroyEvent: event");
  }
  EXPECT_ACL_ERROR(aclrtRecordEvent(good.get(), good.get()), ACL_ERROR_RT_INVALID_HANDLE,
                   "not a live stream");
  EXPECT_EQ(aclrtQueryEvent(good.get(), nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSynchronizeEventWithTimeout(good.get(), -2), ACL_ERROR_RT_PARAM_INVALID);
}

}  // namespace
}  // namespace portacl_test
