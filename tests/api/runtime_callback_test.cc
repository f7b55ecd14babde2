// Host functions and callbacks through the C API.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "support/api/child_process.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

using RuntimeCallback = RuntimeTest;

uint64_t ThisThread() { return static_cast<uint64_t>(pthread_self()); }

// A thread that processes reports until it is told to stop, as programs do.
class ReportThread {
 public:
  ReportThread()
      : thread_([this] {
          while (!stop_) {
            const aclError error = aclrtProcessReport(5);
            if (error == ACL_SUCCESS) ++processed_;
          }
        }) {}
  ~ReportThread() { Join(); }
  void Join() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  uint64_t id() { return static_cast<uint64_t>(thread_.native_handle()); }
  int processed() const { return processed_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> processed_{0};
  std::thread thread_;
};

struct WhereItRan {
  std::atomic<uint64_t> thread{0};
  static void Run(void* self) { static_cast<WhereItRan*>(self)->thread = ThisThread(); }
};

TEST_F(RuntimeCallback, HostFunctionsRunOnAThreadOfTheLibrary) {
  WhereItRan where;
  ASSERT_EQ(aclrtLaunchHostFunc(stream_, &WhereItRan::Run, &where), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_NE(where.thread, 0u);
  EXPECT_NE(where.thread, ThisThread());
  EXPECT_ACL_ERROR(aclrtLaunchHostFunc(stream_, nullptr, nullptr), ACL_ERROR_RT_PARAM_INVALID,
                   "fn is null");
}

TEST_F(RuntimeCallback, AnExceptionOfAHostFunctionIsTheTasksError) {
  const auto throwing = [](void*) { throw std::runtime_error("out of luck"); };
  ASSERT_EQ(aclrtLaunchHostFunc(stream_, throwing, nullptr), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtSynchronizeStream(stream_), ACL_ERROR_INTERNAL_ERROR, "out of luck");
}

TEST_F(RuntimeCallback, BlockingCallbacksRunOnTheSubscribedThreadBeforeLaterWork) {
  ReportThread reports;
  ASSERT_EQ(aclrtSubscribeReport(reports.id(), stream_), ACL_SUCCESS);
  struct Order {
    std::atomic<int> next{0};
    int callback = -1;
    int later = -1;
    std::atomic<uint64_t> thread{0};
  } order;
  const auto callback = [](void* pointer) {
    auto* const self = static_cast<Order*>(pointer);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    self->thread = ThisThread();
    self->callback = self->next++;
  };
  const auto later = [](void* pointer) {
    auto* const self = static_cast<Order*>(pointer);
    self->later = self->next++;
  };
  ASSERT_EQ(aclrtLaunchCallback(callback, &order, ACL_CALLBACK_BLOCK, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtLaunchHostFunc(stream_, later, &order), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(order.callback, 0);
  EXPECT_EQ(order.later, 1);
  EXPECT_EQ(order.thread, reports.id());
  EXPECT_EQ(aclrtUnSubscribeReport(reports.id(), stream_), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, OneThatAFailedTaskDropsHoldsNothingUp) {
  ReportThread reports;
  ASSERT_EQ(aclrtSubscribeReport(reports.id(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetStreamFailureMode(stream_, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
  const auto fail = [](void*) { throw std::runtime_error("on purpose"); };
  ASSERT_EQ(aclrtLaunchHostFunc(stream_, fail, nullptr), ACL_SUCCESS);
  Counter counter;
  ASSERT_EQ(aclrtLaunchCallback(&Counter::Run, &counter, ACL_CALLBACK_BLOCK, stream_), 0);
  EXPECT_NE(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 0);
  EXPECT_EQ(aclrtUnSubscribeReport(reports.id(), stream_), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, NonBlockingCallbacksHoldNothingUp) {
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  Counter callback;
  Counter later;
  ASSERT_EQ(aclrtLaunchCallback(&Counter::Run, &callback, ACL_CALLBACK_NO_BLOCK, stream_), 0);
  ASSERT_EQ(later.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(callback.count(), 0) << "this thread has not processed it";
  EXPECT_EQ(later.count(), 1);
  EXPECT_EQ(aclrtProcessReport(-1), ACL_SUCCESS);
  EXPECT_EQ(callback.count(), 1);
  EXPECT_ACL_ERROR(aclrtProcessReport(5), ACL_ERROR_RT_WAIT_TIMEOUT, "within the timeout");
  EXPECT_EQ(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
}

// A function of the program, run as a callback of `stream` on this thread.
aclError RunAsCallback(std::function<void()> function, aclrtCallbackBlockType block,
                       aclrtStream stream) {
  const auto run = [](void* pointer) { (*static_cast<std::function<void()>*>(pointer))(); };
  if (const aclError error = aclrtLaunchCallback(run, &function, block, stream)) return error;
  return aclrtProcessReport(10000);
}

// Each of these would wait for the callback that calls it.
void CallsThatWaitInABlockingCallback() {
  alarm(60);  // a hang ends here
  aclrtContext mine = nullptr;
  aclrtContext other = nullptr;
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetCurrentContext(&mine), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetCurrentContext(mine), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream), ACL_SUCCESS);
  const std::pair<const char*, std::function<aclError()>> calls[] = {
      {"aclrtSynchronizeStream", [&] { return aclrtSynchronizeStream(stream); }},
      {"... WithTimeout", [&] { return aclrtSynchronizeStreamWithTimeout(stream, 100); }},
      {"aclrtSynchronizeDevice", [&] { return aclrtSynchronizeDevice(); }},
      {"aclrtStreamAbort", [&] { return aclrtStreamAbort(stream); }},
      {"aclrtDestroyStream", [&] { return aclrtDestroyStream(stream); }},
      {"aclrtDestroyStreamForce", [&] { return aclrtDestroyStreamForce(stream); }},
      {"aclrtDestroyContext", [&] { return aclrtDestroyContext(other); }},
      {"aclrtResetDevice", [&] { return aclrtResetDevice(0); }},
      {"aclrtResetDeviceForce", [&] { return aclrtResetDeviceForce(0); }},
  };
  for (const auto& [name, call] : calls) {
    aclError error = ACL_SUCCESS;
    std::string message;
    const auto function = [&, &called = call] {
      error = called();
      message = NewestMessage();
    };
    ASSERT_EQ(RunAsCallback(function, ACL_CALLBACK_BLOCK, stream), ACL_SUCCESS) << name;
    EXPECT_EQ(error, ACL_ERROR_RT_PARAM_INVALID) << name;
    EXPECT_THAT(message, testing::HasSubstr("called from a task")) << name;
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << "after the callback, " << name;
  }
  EXPECT_EQ(aclrtDestroyContext(other), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST(RuntimeCallbackChild, OneThatBlocksDoesNotWaitForItself) {
  PORTACL_IN_CHILD(Environment{}, CallsThatWaitInABlockingCallback());
}

TEST_F(RuntimeCallback, TheThreadIsItsOwnAgainAfterOneThatThrows) {
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  const auto fail = [] { throw std::runtime_error("on purpose"); };
  EXPECT_ACL_ERROR(RunAsCallback(fail, ACL_CALLBACK_BLOCK, stream_), ACL_ERROR_INTERNAL_ERROR,
                   "on purpose");
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, NonBlockingCallbacksMayWaitForTheirStream) {
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  aclError stream_error = -1;
  aclError device_error = -1;
  const auto wait = [&] {
    stream_error = aclrtSynchronizeStream(stream_);
    device_error = aclrtSynchronizeDevice();
  };
  ASSERT_EQ(RunAsCallback(wait, ACL_CALLBACK_NO_BLOCK, stream_), ACL_SUCCESS);
  EXPECT_EQ(stream_error, ACL_SUCCESS);
  EXPECT_EQ(device_error, ACL_SUCCESS);
  EXPECT_EQ(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
}

TEST_F(RuntimeCallback, ManyStreamsShareAThread) {
  const StreamHandle other;
  ReportThread reports;
  Counter counter;
  const aclrtStream streams[] = {stream_, other.get(), nullptr};
  for (const aclrtStream stream : streams) {
    ASSERT_EQ(aclrtSubscribeReport(reports.id(), stream), ACL_SUCCESS);
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(aclrtLaunchCallback(&Counter::Run, &counter, ACL_CALLBACK_BLOCK, stream), 0);
    }
  }
  ASSERT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 30);
  for (const aclrtStream stream : streams) {
    EXPECT_EQ(aclrtUnSubscribeReport(reports.id(), stream), ACL_SUCCESS);
  }
  reports.Join();
  EXPECT_EQ(reports.processed(), 30) << "one callback per aclrtProcessReport";
}

TEST_F(RuntimeCallback, SubscriptionsAreChecked) {
  Counter counter;
  EXPECT_ACL_ERROR(aclrtLaunchCallback(&Counter::Run, &counter, ACL_CALLBACK_BLOCK, stream_),
                   ACL_ERROR_RT_STREAM_NO_CB_REG, "no subscribed thread");
  EXPECT_ACL_ERROR(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE, "not subscribed");
  EXPECT_ACL_ERROR(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_ERROR_RT_THREAD_SUBSCRIBE,
                   "not subscribed");
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtSubscribeReport(ThisThread(), stream_), ACL_ERROR_RT_STREAM_SUBSCRIBE,
                   "already subscribed");
  EXPECT_ACL_ERROR(aclrtSubscribeReport(1, stream_), ACL_ERROR_RT_STREAM_SUBSCRIBE,
                   "already subscribed");
  EXPECT_ACL_ERROR(aclrtUnSubscribeReport(ThisThread(), nullptr), ACL_ERROR_RT_STREAM_SUBSCRIBE,
                   "is not subscribed");
  EXPECT_ACL_ERROR(aclrtLaunchCallback(nullptr, nullptr, ACL_CALLBACK_BLOCK, stream_),
                   ACL_ERROR_RT_PARAM_INVALID, "fn is null");
  EXPECT_ACL_ERROR(
      aclrtLaunchCallback(&Counter::Run, &counter, static_cast<aclrtCallbackBlockType>(2), stream_),
      ACL_ERROR_RT_PARAM_INVALID, "blockType is 2");
  EXPECT_EQ(aclrtProcessReport(-2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSubscribeReport(ThisThread(), &counter), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(RuntimeCallback, UnsubscribingDropsCallbacksAndFreesTheStream) {
  Counter counter;
  aclError error = ACL_ERROR_RT_STREAM_NO_CB_REG;
  // If a callback's turn comes only after the subscription has ended, that is an error: the test
  // tries again, with more time for the stream's thread.
  for (int32_t ms = 10; error == ACL_ERROR_RT_STREAM_NO_CB_REG && ms < 100000; ms *= 4) {
    ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtLaunchCallback(&Counter::Run, &counter, ACL_CALLBACK_BLOCK, stream_), 0);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, ms), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT)
        << "it waits for the callback";
    EXPECT_EQ(aclrtUnSubscribeReport(ThisThread(), stream_), ACL_SUCCESS);
    error = aclrtSynchronizeStream(stream_);
  }
  EXPECT_EQ(error, ACL_SUCCESS);
  EXPECT_EQ(counter.count(), 0);
}

TEST_F(RuntimeCallback, AWaitingThreadIsToldThatItWasUnsubscribed) {
  std::atomic<aclError> error{-1};
  std::atomic<bool> subscribed{false};
  std::thread waiting([&] {
    while (!subscribed) std::this_thread::yield();
    error = aclrtProcessReport(-1);
  });
  const auto id = static_cast<uint64_t>(waiting.native_handle());
  ASSERT_EQ(aclrtSubscribeReport(id, stream_), ACL_SUCCESS);
  subscribed = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_EQ(aclrtUnSubscribeReport(id, stream_), ACL_SUCCESS);
  waiting.join();
  EXPECT_EQ(error, ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

TEST_F(RuntimeCallback, DestroyingAStreamEndsItsSubscription) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

TEST_F(RuntimeCallback, DeliveredCallbacksOutliveTheirStream) {
  Counter counter;
  for (const bool force : {false, true}) {
    aclrtStream stream = nullptr;
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtSubscribeReport(ThisThread(), stream), ACL_SUCCESS);
    ASSERT_EQ(aclrtLaunchCallback(&Counter::Run, &counter, ACL_CALLBACK_NO_BLOCK, stream), 0);
    ASSERT_EQ(force ? aclrtDestroyStreamForce(stream) : aclrtDestroyStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtProcessReport(1), force ? ACL_ERROR_RT_THREAD_SUBSCRIBE : ACL_SUCCESS);
  }
  EXPECT_EQ(counter.count(), 1);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
}

}  // namespace
}  // namespace portacl_test
