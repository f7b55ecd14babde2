// The thread arena: every index once, the wanted number of threads, nesting, forks.
#include "runtime/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace portacl::runtime {
namespace {

class Parallel : public testing::Test {
 protected:
  void TearDown() override { SetNumThreads(0); }
};

TEST_F(Parallel, CoversEveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    ASSERT_TRUE(SetNumThreads(threads));
    for (const int64_t count : {0, 1, 2, 17, 1000, 4097}) {
      for (const int64_t grain : {0, 1, 16, 5000}) {
        std::vector<int> hits(static_cast<size_t>(count));
        ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
        });
        EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), int64_t{0}), count);
        for (const int hit : hits) ASSERT_EQ(hit, 1);
      }
    }
  }
}

// Also where that is more than the machine has cores.
TEST_F(Parallel, UsesTheWantedNumberOfThreads) {
  constexpr int kThreads = 6;
  ASSERT_TRUE(SetNumThreads(kThreads));
  EXPECT_EQ(NumThreads(), kThreads);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  ParallelFor(kThreads, 1, [&](int64_t, int64_t) {
    const int now = ++inside;
    int seen = most.load();
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    // Each body waits for the others: they are on different threads.
    while (most.load() < kThreads && std::chrono::steady_clock::now() < patience) {
      std::this_thread::yield();
    }
    --inside;
  });
  EXPECT_EQ(most.load(), kThreads);
}

TEST_F(Parallel, AbsurdNumbersOfThreadsAreRefused) {
  const int before = NumThreads();
  EXPECT_FALSE(SetNumThreads(-1));
  EXPECT_FALSE(SetNumThreads(1025));
  EXPECT_EQ(NumThreads(), before);
}

TEST_F(Parallel, LoopsNest) {
  ASSERT_TRUE(SetNumThreads(3));
  std::atomic<int> count{0};
  ParallelFor(7, 1, [&](int64_t begin, int64_t end) {
    ParallelFor((end - begin) * 11, 1,
                [&](int64_t b, int64_t e) { count += static_cast<int>(e - b); });
  });
  EXPECT_EQ(count, 77);
}

TEST_F(Parallel, SlotsAreNotShared) {
  ASSERT_TRUE(SetNumThreads(4));
  constexpr int kSlots = 3;
  std::atomic<int> users[kSlots] = {};
  std::vector<std::atomic<int>> hits(200);
  ParallelForSlots(200, kSlots, [&](int slot, int64_t index) {
    ASSERT_GE(slot, 0);
    ASSERT_LT(slot, kSlots);
    EXPECT_EQ(users[slot]++, 0) << "two bodies in one slot";
    ++hits[static_cast<size_t>(index)];
    --users[slot];
  });
  for (const auto& hit : hits) EXPECT_EQ(hit, 1);
}

bool RoundsDown() {
  const volatile float tiny = 1e-20f;
  const volatile float difference = 1.0f - tiny;  // volatile: computed here and not later
  return difference < 1.0f;
}

TEST_F(Parallel, BodiesRunWithTheDefaultRounding) {
  ASSERT_TRUE(SetNumThreads(2));
  ASSERT_EQ(std::fesetround(FE_DOWNWARD), 0);
  std::atomic<int> wrong{0};
  ParallelFor(100, 1, [&](int64_t, int64_t) { wrong += RoundsDown() ? 1 : 0; });
  ParallelFor(1, 1, [&](int64_t, int64_t) { wrong += RoundsDown() ? 1 : 0; });
  const bool outside = RoundsDown();
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(outside);
}

TEST_F(Parallel, WritesOfTheBodiesAreSeenByTheCaller) {
  ASSERT_TRUE(SetNumThreads(4));
  std::vector<int> plain(10000);
  for (int round = 1; round <= 50; ++round) {
    ParallelFor(10000, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++plain[static_cast<size_t>(i)];
    });
    ASSERT_EQ(plain[static_cast<size_t>(round)], round);
  }
}

// oneTBB's threads do not exist in a child of fork(): loops run on the caller there.
TEST_F(Parallel, WorksInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow forks of threaded processes";
#endif
  ASSERT_TRUE(SetNumThreads(3));
  std::atomic<int> sum{0};
  ParallelFor(100, 1, [&](int64_t begin, int64_t end) { sum += static_cast<int>(end - begin); });
  const pid_t child = fork();
  if (child == 0) {
    sum = 0;
    ParallelFor(100, 1, [&](int64_t begin, int64_t end) { sum += static_cast<int>(end - begin); });
    _exit(sum == 100 && NumThreads() == 1 && SetNumThreads(4) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace portacl::runtime
