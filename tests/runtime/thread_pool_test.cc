// Threads that a host lends: which loops use them, how many, nesting, streams, forks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl_base.h"
#include "portacl/portacl.h"
#include "runtime/context.h"
#include "runtime/parallel.h"
#include "runtime/stream.h"
#include "support/api/thread_pools.h"

namespace portacl::runtime {
namespace {

using portacl_test::CrowdedPool;
using portacl_test::LentPool;
using portacl_test::OddOrderPool;
using portacl_test::OneThreadPool;

bool Lend(LentPool& pool, const char* name = nullptr) {
  portaclThreadPool lent = {};
  lent.host = &pool;
  lent.name = name;
  lent.numThreads = [](void* host) -> int32_t {
    return static_cast<LentPool*>(host)->num_threads();
  };
  lent.run = [](void* host, int32_t count, void (*task)(void*, int32_t), void* context) {
    static_cast<LentPool*>(host)->run(count, [task, context](int i) { task(context, i); });
  };
  return SetThreadPool(&lent);
}

class ThreadPool : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(SetNumThreads(0)); }
  void TearDown() override {
    EXPECT_TRUE(SetThreadPool(nullptr));
    EXPECT_TRUE(SetNumThreads(0));
  }
};

// How often each index of a loop was run.
std::vector<int> Hits(int64_t count, int64_t grain) {
  std::vector<int> hits(static_cast<size_t>(count));
  ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
  });
  return hits;
}

TEST_F(ThreadPool, EveryIndexOnceOnEveryPool) {
  OneThreadPool one(4);
  OddOrderPool odd(5);
  CrowdedPool crowded(64);
  for (LentPool* pool : {static_cast<LentPool*>(&one), static_cast<LentPool*>(&odd),
                         static_cast<LentPool*>(&crowded)}) {
    ASSERT_TRUE(Lend(*pool));
    for (const int64_t count : {1, 2, 17, 4097}) {
      EXPECT_EQ(Hits(count, 1), std::vector<int>(static_cast<size_t>(count), 1));
      EXPECT_EQ(Hits(count, 16), std::vector<int>(static_cast<size_t>(count), 1));
    }
    EXPECT_GT(pool->loops, 0);
  }
  EXPECT_EQ(one.most_tasks, 4);
  EXPECT_EQ(crowded.most_tasks, 64);
}

// A thread that a pool gives the same task every time finds its part in its caches.
TEST_F(ThreadPool, EachTaskBeginsInAPartOfItsOwn) {
  portaclThreadPool lent = {};
  lent.numThreads = [](void*) -> int32_t { return 4; };
  lent.run = [](void*, int32_t count, void (*task)(void*, int32_t), void* context) {
    for (int32_t i = count; i-- > 0;) task(context, i);
  };
  ASSERT_TRUE(SetThreadPool(&lent));
  std::vector<int64_t> begins;
  ParallelFor(400, 100, [&](int64_t begin, int64_t) { begins.push_back(begin); });
  EXPECT_EQ(begins, (std::vector<int64_t>{300, 0, 100, 200}));
}

TEST_F(ThreadPool, SlotsAreNotSharedWithMoreThreadsThanSlots) {
  CrowdedPool pool(32);
  ASSERT_TRUE(Lend(pool));
  constexpr int kSlots = 3;
  std::atomic<int> users[kSlots] = {};
  std::atomic<int> shared{0};
  std::vector<std::atomic<int>> hits(200);
  ParallelForSlots(200, kSlots, [&](int slot, int64_t index) {
    if (users[slot]++ != 0) ++shared;
    ++hits[static_cast<size_t>(index)];
    --users[slot];
  });
  EXPECT_EQ(shared, 0);
  for (const auto& hit : hits) EXPECT_EQ(hit, 1);
}

TEST_F(ThreadPool, NestedLoopsRunWhereTheyAre) {
  CrowdedPool pool(3);
  ASSERT_TRUE(Lend(pool));
  std::atomic<int> elsewhere{0};
  std::atomic<int> count{0};
  ParallelFor(7, 1, [&](int64_t, int64_t) {
    const std::thread::id here = std::this_thread::get_id();
    ParallelFor(11, 1, [&](int64_t begin, int64_t end) {
      count += static_cast<int>(end - begin);
      if (std::this_thread::get_id() != here) ++elsewhere;
    });
  });
  EXPECT_EQ(pool.loops, 1);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(count % 11, 0);
}

TEST_F(ThreadPool, TheHostSaysHowManyUnlessSomebodyAsked) {
  CrowdedPool pool(6);
  ASSERT_TRUE(Lend(pool, "six"));
  EXPECT_EQ(NumThreads(), 6);
  EXPECT_EQ(ThreadPoolName(), "six");
  ASSERT_TRUE(SetNumThreads(2));
  EXPECT_EQ(NumThreads(), 2);
  Hits(1000, 1);
  EXPECT_EQ(pool.most_tasks, 2) << "still the host's threads, but fewer";
  ASSERT_TRUE(SetNumThreads(0));
  EXPECT_EQ(NumThreads(), 6);
  ASSERT_TRUE(SetThreadPool(nullptr));
  EXPECT_EQ(ThreadPoolName(), "oneTBB");
  pool.loops = 0;
  Hits(1000, 1);
  EXPECT_EQ(pool.loops, 0);
}

TEST_F(ThreadPool, WithoutRunOnlyTheNumberIsTheHosts) {
  portaclThreadPool lent = {};
  lent.numThreads = [](void*) -> int32_t { return 3; };
  ASSERT_TRUE(SetThreadPool(&lent));
  EXPECT_EQ(NumThreads(), 3);
  EXPECT_EQ(ThreadPoolName(), "the host's");
  EXPECT_EQ(Hits(4097, 1), std::vector<int>(4097, 1));
  lent.numThreads = [](void*) -> int32_t { return -5; };
  ASSERT_TRUE(SetThreadPool(&lent));
  EXPECT_GE(NumThreads(), 1);
}

TEST_F(ThreadPool, SmallLoopsDoNotWakeIt) {
  CrowdedPool pool(4);
  ASSERT_TRUE(Lend(pool));
  Hits(16, 16);
  EXPECT_EQ(pool.loops, 0);
}

TEST_F(ThreadPool, CannotBeChangedFromATask) {
  OneThreadPool pool(4);
  ASSERT_TRUE(Lend(pool));
  std::atomic<int> refused{0};
  ParallelFor(8, 1, [&](int64_t begin, int64_t end) {
    if (!SetThreadPool(nullptr)) {
      refused += static_cast<int>(end - begin);
    }
  });
  EXPECT_EQ(refused, 8);
  Hits(100, 1);
  EXPECT_EQ(pool.loops, 2) << "still lent";
}

bool RoundsUp() {
  const volatile float tiny = 1e-20f;
  const volatile float sum = 1.0f + tiny;  // volatile: computed here and not later
  return sum > 1.0f;
}

TEST_F(ThreadPool, TasksRoundToNearestOnThreadsThatDoNot) {
  OneThreadPool pool(4);
  ASSERT_TRUE(Lend(pool));
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  std::atomic<int> wrong{0};
  ParallelFor(100, 1, [&](int64_t, int64_t) { wrong += RoundsUp() ? 1 : 0; });
  const bool outside = RoundsUp();
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(outside);
}

// The thread that synchronises is the host's; the stream's own is the library's.
TEST_F(ThreadPool, StreamsOwnThreadsStayOnTheLibrarysThreads) {
  ASSERT_TRUE(SetDevice(0).ok());
  void* handle = nullptr;
  ASSERT_TRUE(CreateStream(&handle).ok());
  CrowdedPool pool(4);
  ASSERT_TRUE(Lend(pool, "crowd"));
  std::string used;
  const auto over = std::make_shared<Gate>();
  const auto launch = [&](bool small) {
    Work work;
    work.name = "loop";
    work.small = small;
    work.run = [&used, over] {
      used = ThreadPoolName();
      Hits(1000, 1);
      over->Open();
      return base::Status();
    };
    return Launch(handle, std::move(work));
  };
  ASSERT_TRUE(launch(/*small=*/false).ok());
  over->WaitUntil(SteadyTime::max());  // without helping
  EXPECT_EQ(used, "oneTBB");
  EXPECT_EQ(pool.loops, 0);
  std::shared_ptr<Stream> stream;
  ASSERT_TRUE(FindStream(handle, &stream).ok());
  EXPECT_TRUE(stream->Synchronize(DeadlineAfter(-1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT).ok());
  ASSERT_TRUE(launch(/*small=*/true).ok());  // at once, on this thread
  EXPECT_EQ(used, "crowd");
  EXPECT_EQ(pool.loops, 1);
  stream.reset();
  EXPECT_TRUE(DestroyStream(handle, /*drop=*/false).ok());
}

// Runs `check` in a child of fork(); true where it returned true.
template <class Check>
bool HoldsInAChild(Check&& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(ThreadPool, AForkedChildNeverUsesIt) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow forks of threaded processes";
#endif
  CrowdedPool pool(4);
  ASSERT_TRUE(Lend(pool));
  Hits(100, 1);
  ASSERT_EQ(pool.loops, 1);
  const std::vector<int> once(100, 1);
  EXPECT_TRUE(HoldsInAChild([&] {
    return Hits(100, 1) == once && pool.loops == 1 && NumThreads() == 1 && SetThreadPool(nullptr);
  }));
}

TEST_F(ThreadPool, LoopsOfManyThreadsAndChangesOfThePoolDoNotMeet) {
  auto pool = std::make_unique<CrowdedPool>(3);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      while (!stop) wrong += Hits(64, 1) != std::vector<int>(64, 1);
    });
  }
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(Lend(*pool));
    std::this_thread::yield();
    EXPECT_TRUE(SetThreadPool(nullptr));
    pool = std::make_unique<CrowdedPool>(2 + round % 3);  // nobody uses the old one any more
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace portacl::runtime
