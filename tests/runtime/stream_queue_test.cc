// Launch and the stream's queue below the C API: failing work, small work, what work may hold.
#include "runtime/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "acl/acl_base.h"
#include "aclnn/aclnn_base.h"
#include "runtime/context.h"

namespace portacl::runtime {
namespace {

using base::Status;

constexpr int32_t kTimeout = ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;

class StreamQueue : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(SetDevice(0).ok());
    ASSERT_TRUE(CreateStream(&handle_).ok());
    ASSERT_TRUE(FindStream(handle_, &stream_).ok());
  }
  void TearDown() override {
    stream_.reset();
    EXPECT_TRUE(DestroyStream(handle_, /*drop=*/false).ok());
  }
  Status Synchronize() { return stream_->Synchronize(DeadlineAfter(-1), kTimeout); }
  Status Run(const char* name, bool small, std::function<Status()> run) {
    Work work;
    work.name = name;
    work.small = small;
    work.run = std::move(run);
    return Launch(handle_, std::move(work));
  }
  // Work that runs until the gate opens.
  Status Block(std::shared_ptr<Gate> gate) {
    return Run("block", false, [gate = std::move(gate)] {
      gate->WaitUntil(SteadyTime::max());
      return Status();
    });
  }

  void* handle_ = nullptr;
  std::shared_ptr<Stream> stream_;
};

TEST_F(StreamQueue, SmallWorkRunsOnTheCallingThreadOfAnIdleStream) {
  std::thread::id small;
  ASSERT_TRUE(
      Run("small", true, [&] { return small = std::this_thread::get_id(), Status(); }).ok());
  EXPECT_EQ(small, std::this_thread::get_id()) << "it has run when Launch returns";
  const auto launched = std::make_shared<Gate>();
  bool later = false;
  ASSERT_TRUE(Run("big", false, [&] {
                later = launched->WaitUntil(DeadlineAfter(10'000));
                return Status();
              }).ok());
  launched->Open();
  ASSERT_TRUE(Synchronize().ok());
  EXPECT_TRUE(later) << "Launch waited for it";
}

TEST_F(StreamQueue, TheFirstErrorIsKeptWithTheNameOfItsTask) {
  for (const bool small : {false, true}) {
    ASSERT_TRUE(
        Run("first", small, [] { return Status(ACLNN_ERR_RUNTIME_ERROR, "no luck"); }).ok());
    ASSERT_TRUE(Run("second", small, [] { return Status(ACLNN_ERR_PARAM_INVALID, "later"); }).ok());
    const Status status = Synchronize();
    EXPECT_EQ(status.code(), ACLNN_ERR_RUNTIME_ERROR);
    EXPECT_THAT(status.message(), testing::AllOf(testing::HasSubstr("first on stream"),
                                                 testing::HasSubstr("no luck")));
    EXPECT_TRUE(Synchronize().ok());
  }
}

TEST_F(StreamQueue, ExceptionsBecomeErrors) {
  for (const bool small : {false, true}) {
    ASSERT_TRUE(Run("throws", small, []() -> Status { throw std::runtime_error("why"); }).ok());
    EXPECT_EQ(Synchronize().code(), ACL_ERROR_INTERNAL_ERROR);
    ASSERT_TRUE(Run("throws", small, []() -> Status { throw 7; }).ok());
    EXPECT_EQ(Synchronize().code(), ACL_ERROR_INTERNAL_ERROR);
  }
}

TEST_F(StreamQueue, WorkHoldsItsObjectsUntilItIsOver) {
  auto object = std::make_shared<int>(1);
  const auto gate = std::make_shared<Gate>();
  ASSERT_TRUE(Block(gate).ok());
  ASSERT_TRUE(Run("holds", false, [object] { return Status(); }).ok());
  EXPECT_EQ(object.use_count(), 2);
  gate->Open();
  ASSERT_TRUE(Synchronize().ok());
  EXPECT_EQ(object.use_count(), 1) << "released before the synchronisation returns";
}

TEST_F(StreamQueue, DroppedWorkReleasesItsObjects) {
  auto object = std::make_shared<int>(1);
  const auto gate = std::make_shared<Gate>();
  ASSERT_TRUE(Block(gate).ok());
  ASSERT_TRUE(Run("holds", false, [object] { return Status(); }).ok());
  std::thread opening([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    gate->Open();
  });
  ASSERT_TRUE(stream_->Abort().ok());
  opening.join();
  EXPECT_EQ(object.use_count(), 1);
  EXPECT_TRUE(stream_->IsIdle());
}

TEST_F(StreamQueue, TasksRunWithTheDefaultRoundingAndTheCallersComesBack) {
  const auto rounds_up = [] {
    const volatile float tiny = 1e-20f;
    const volatile float sum = 1.0f + tiny;  // volatile: computed here and not later
    return sum > 1.0f;
  };
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  bool inside = true;
  ASSERT_TRUE(Run("small", true, [&] { return inside = rounds_up(), Status(); }).ok());
  const bool outside = rounds_up();
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  EXPECT_FALSE(inside);
  EXPECT_TRUE(outside);
}

TEST_F(StreamQueue, SmallWorkOfManyThreadsNeverOverlaps) {
  Context* context = nullptr;
  ASSERT_TRUE(CurrentContext(&context).ok());
  constexpr int kThreads = 8;
  constexpr int kCalls = 500;
  int64_t unprotected = 0;  // the stream alone keeps the tasks apart
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ASSERT_TRUE(SetCurrentContext(context).ok());
      for (int i = 0; i < kCalls; ++i) {
        const bool small = (i + t) % 3 != 0;
        ASSERT_TRUE(Run("add", small, [&] { return ++unprotected, Status(); }).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Synchronize().ok());
  EXPECT_EQ(unprotected, kThreads * kCalls);
}

// The order of one thread's calls holds whether they run at once or on the stream's thread.
TEST_F(StreamQueue, SmallAndBigWorkKeepTheirOrder) {
  std::vector<int> order;
  constexpr int kCalls = 2000;
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_TRUE(
        Run("append", i % 7 != 0, [&order, i] { return order.push_back(i), Status(); }).ok());
  }
  ASSERT_TRUE(Synchronize().ok());
  ASSERT_EQ(order.size(), static_cast<size_t>(kCalls));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// Which thread is first depends on the machine's load; a thousand times the worker is not.
TEST_F(StreamQueue, ASynchronisingThreadRunsWhatIsWaiting) {
  const auto caller = std::this_thread::get_id();
  bool helped = false;
  for (int i = 0; i < 1000 && !helped; ++i) {
    ASSERT_TRUE(Run("big", false, [&] {
                  helped = std::this_thread::get_id() == caller;
                  return Status();
                }).ok());
    ASSERT_TRUE(Synchronize().ok());
  }
  EXPECT_TRUE(helped);
}

TEST_F(StreamQueue, TheUsersCodeRunsOnTheStreamsOwnThreadOnly) {
  const auto caller = std::this_thread::get_id();
  std::vector<std::thread::id> ran;
  for (int i = 0; i < 200; ++i) {
    Work work;
    work.name = "host function";
    work.own_thread = true;
    work.run = [&] {
      ran.push_back(std::this_thread::get_id());
      return Status();
    };
    ASSERT_TRUE(Launch(handle_, std::move(work)).ok());
    ASSERT_TRUE(Synchronize().ok());
  }
  EXPECT_EQ(ran.size(), 200U);
  EXPECT_THAT(ran, testing::Each(testing::Ne(caller)));
}

// Two threads enqueue tasks and wait for them, with the user's code between. Each task runs once,
// in its thread's order, and never beside another.
TEST_F(StreamQueue, ThreadsThatHelpKeepTheOrder) {
  constexpr int kRounds = 300;
  std::vector<int> order[2];
  int running = 0;
  int overlaps = 0;
  const auto enqueue_and_wait = [&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      for (int part = 0; part < 3; ++part) {
        Work work;
        work.name = "part";
        work.own_thread = part == 1;
        work.run = [&, thread, i, part] {
          if (++running != 1) ++overlaps;
          order[thread].push_back(3 * i + part);
          --running;
          return Status();
        };
        ASSERT_TRUE(Launch(handle_, std::move(work)).ok());
      }
      ASSERT_TRUE(Synchronize().ok());
      ASSERT_GE(order[thread].size(), static_cast<size_t>(3 * i + 3));
    }
  };
  std::thread other([&] {
    ASSERT_TRUE(SetDevice(0).ok());
    enqueue_and_wait(1);
  });
  enqueue_and_wait(0);
  other.join();
  EXPECT_EQ(overlaps, 0);
  for (const auto& each : order) {
    ASSERT_EQ(each.size(), static_cast<size_t>(3 * kRounds));
    EXPECT_TRUE(std::is_sorted(each.begin(), each.end()));
  }
}

TEST_F(StreamQueue, AClosedStreamRefusesWork) {
  const auto stream = std::make_shared<Stream>(nullptr, 0, 99);
  ASSERT_TRUE(stream->Close(/*drop=*/false).ok());
  EXPECT_EQ(stream->Enqueue(Task()).code(), ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(StreamQueue, LaunchAndSynchroniseOfSmallWorkWakeNoThread) {
  const auto gate = std::make_shared<Gate>();
  ASSERT_TRUE(Block(gate).ok());  // from here on the stream has a thread that could be woken
  gate->Open();
  ASSERT_TRUE(Synchronize().ok());
  const uint64_t before = stream_->wake_ups();
  EXPECT_GT(before, 0U) << "work that is not small wakes the stream's thread";
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(Run("empty", true, [] { return Status(); }).ok());
    ASSERT_TRUE(Synchronize().ok());
  }
  EXPECT_EQ(stream_->wake_ups(), before);
}

}  // namespace
}  // namespace portacl::runtime
