// When calls use several threads, and when their callers compute alone: the policy on given
// numbers, and inside the runtime with pools that are as slow as the test wants.
#include "runtime/thread_policy.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "portacl/portacl.h"
#include "runtime/parallel.h"

namespace portacl::runtime {
namespace {

constexpr int64_t kUs = 1000;
constexpr int64_t kMs = 1000 * kUs;

// A kind that no other test has used.
CallKind& NewKind() {
  static uint64_t key = 0x5000'0000'0000;
  return KindOf(key += 2);
}

// Calls until the next one shares, each of them so long.
int CallsAlone(CallKind& kind, int64_t nanoseconds) {
  int calls = 0;
  for (; kind.Alone(); ++calls) kind.RanAlone(nanoseconds);
  return calls;
}

TEST(ThreadPolicy, WhereSharingPaysCallsShare) {
  CallKind& kind = NewKind();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(kind.Shared(20 * kUs, 300 * kUs), 0);
    EXPECT_FALSE(kind.Alone());
  }
}

TEST(ThreadPolicy, OneLongWaitIsForgiven) {
  CallKind& kind = NewKind();
  EXPECT_EQ(kind.Shared(4 * kMs, 300 * kUs), 0);
  EXPECT_FALSE(kind.Alone());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(kind.Shared(10 * kUs, 310 * kUs), 0);
  EXPECT_EQ(kind.Shared(4 * kMs, 300 * kUs), 0) << "20 calls have gained more than half of it";
}

TEST(ThreadPolicy, TwoInARowAreNot) {
  CallKind& kind = NewKind();
  kind.Shared(4 * kMs, 300 * kUs);
  kind.Shared(10 * kUs, 310 * kUs);
  EXPECT_EQ(kind.Shared(5 * kMs, 1 * kMs), CallKind::kPatience * 4 * kMs);
  EXPECT_TRUE(kind.Alone());
}

TEST(ThreadPolicy, TryingAgainCostsAShareOfTheTimeThatIsDocumented) {
  CallKind& kind = NewKind();
  kind.Shared(4 * kMs, 0);
  int64_t lost = 4 * kMs;
  int64_t alone = 0;
  for (int round = 0; round < 50; ++round) {
    kind.Shared(4 * kMs, 0);
    lost += 4 * kMs;
    alone += CallsAlone(kind, 600 * kUs) * 600 * kUs;
  }
  EXPECT_LE(lost, alone / CallKind::kPatience + 4 * kMs);
}

TEST(ThreadPolicy, OneLossIsEnoughWhereTheLastTryWasOne) {
  CallKind& kind = NewKind();
  kind.Shared(2 * kMs, 0);
  ASSERT_GT(kind.Shared(2 * kMs, 0), 0);
  CallsAlone(kind, kMs);
  EXPECT_GT(kind.Shared(2 * kMs, 0), 0);
}

TEST(ThreadPolicy, AMachineThatBecomesIdleIsShared) {
  CallKind& kind = NewKind();
  kind.Shared(4 * kMs, 0);
  kind.Shared(4 * kMs, 0);
  EXPECT_EQ(CallsAlone(kind, kMs), 64);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(kind.Shared(10 * kUs, 300 * kUs), 0);
    EXPECT_FALSE(kind.Alone());
  }
  EXPECT_EQ(kind.Shared(4 * kMs, 0), 0) << "the old losses are made up for";
}

TEST(ThreadPolicy, AStoppedProcessDoesNotWorkAloneForHours) {
  CallKind& kind = NewKind();
  kind.Shared(3600 * 1000 * kMs, 0);
  EXPECT_LE(kind.Shared(3600 * 1000 * kMs, 0), 2000 * kMs);
}

TEST(ThreadPolicy, KindsDoNotKnowOfEachOther) {
  CallKind& one = NewKind();
  CallKind& other = NewKind();
  one.SetLoops(5);
  one.Shared(kMs, 0);
  one.Shared(kMs, 0);
  EXPECT_TRUE(one.Alone());
  EXPECT_FALSE(other.Alone());
  EXPECT_EQ(other.loops(), 0);
}

// ---- inside the runtime
// --------------------------------------------------------------------------

// The test's time: only what the pools and bodies below say passes.
std::atomic<int64_t> now{0};

// A pool of two threads. One computes; the other comes after `delay`, when nothing is left to do.
struct SlowPool {
  int64_t delay = 0;
  int entered = 0;
};

portaclThreadPool Lent(SlowPool* pool) {
  portaclThreadPool lent = {};
  lent.host = pool;
  lent.numThreads = [](void*) -> int32_t { return 2; };
  lent.run = [](void* host, int32_t count, void (*task)(void*, int32_t), void* context) {
    SlowPool& slow = *static_cast<SlowPool*>(host);
    ++slow.entered;
    for (int32_t i = 0; i < count; ++i) {
      task(context, i);
      if (i == 0) now += slow.delay;
    }
  };
  return lent;
}

class PolicyInTheRuntime : public testing::Test {
 protected:
  void SetUp() override {
    SetPolicyClock([] { return now.load(); });
    const portaclThreadPool lent = Lent(&pool_);
    ASSERT_TRUE(SetThreadPool(&lent));
    key_ = next_key_ += 2;
  }
  void TearDown() override {
    EXPECT_TRUE(SetThreadPool(nullptr));
    SetPolicyClock(nullptr);
  }

  // A call of `loops` loops, a millisecond each; all their indices are run, or the test fails.
  void Call(int loops) {
    RunAsOneCall(key_, [&] {
      for (int i = 0; i < loops; ++i) {
        std::atomic<int64_t> sum{0};
        ParallelFor(10, 1, [&](int64_t begin, int64_t end) {
          now += (end - begin) * 100 * kUs;
          sum += end - begin;
        });
        EXPECT_EQ(sum, 10);
      }
    });
  }

  SlowPool pool_;
  uint64_t key_ = 0;
  static inline uint64_t next_key_ = 0x6000'0000'0000;
};

TEST_F(PolicyInTheRuntime, CallsOfSeveralLoopsEnterThePoolOnce) {
  Call(5);
  EXPECT_EQ(pool_.entered, 5) << "nothing is known yet";
  pool_.entered = 0;
  Call(5);
  EXPECT_EQ(pool_.entered, 1);
}

TEST_F(PolicyInTheRuntime, CallsWithoutLoopsNeverEnterIt) {
  for (int i = 0; i < 3; ++i) Call(0);
  EXPECT_EQ(pool_.entered, 0);
}

TEST_F(PolicyInTheRuntime, WhereThreadsKeepTheCallerWaitingItComputesAlone) {
  pool_.delay = 4 * kMs;
  for (int i = 0; i < 2; ++i) Call(1);
  EXPECT_EQ(pool_.entered, 2);
  const SharingCounts before = CountsOfSharing();
  for (int i = 0; i < 64; ++i) Call(1);  // 16 times 4 ms
  EXPECT_EQ(pool_.entered, 2);
  EXPECT_EQ(CountsOfSharing().alone - before.alone, 64);
  pool_.delay = 0;
  for (int i = 0; i < 10; ++i) Call(1);
  EXPECT_EQ(pool_.entered, 12) << "they come at once again";
}

TEST_F(PolicyInTheRuntime, SoDoCallsOfSeveralLoops) {
  for (int i = 0; i < 2; ++i) Call(3);
  pool_.delay = 10 * kMs;
  for (int i = 0; i < 2; ++i) Call(3);
  pool_.entered = 0;
  for (int i = 0; i < 20; ++i) Call(3);
  EXPECT_EQ(pool_.entered, 0);
}

}  // namespace
}  // namespace portacl::runtime
