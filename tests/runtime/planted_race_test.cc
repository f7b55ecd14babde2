// Races planted on purpose: the thread sanitizer must find them in spite of the suppressions for
// oneTBB. Skipped in builds without it.
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <thread>

#include "runtime/context.h"
#include "runtime/parallel.h"
#include "runtime/stream.h"

namespace portacl::runtime {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

constexpr int kSanitizersExitCode = 66;

// The sanitizer looks for other threads' accesses before it notes a thread's own, so it misses two
// accesses at the same moment. So races are planted repeatedly; the first that is noticed ends the
// process.
constexpr int kRounds = 2000;

// Two bodies write one variable; each waits a little, so that both really run.
[[noreturn]] void RaceInALoop() {
  SetNumThreads(2);
  int shared = 0;
  for (int round = 0; round < kRounds; ++round) {
    ParallelFor(2, 1, [&](int64_t begin, int64_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      shared += static_cast<int>(begin);
    });
  }
  std::exit(0);
}

// Two streams write one variable, and no event orders them.
[[noreturn]] void RaceOfStreams() {
  static_cast<void>(SetDevice(0));
  void* streams[2] = {};
  int shared = 0;
  for (void*& stream : streams) static_cast<void>(CreateStream(&stream));
  for (int round = 0; round < kRounds; ++round) {
    std::latch both(2);  // without it a stream's lock could order the two on a busy machine
    for (int late = 0; late < 2; ++late) {
      Work work;
      work.run = [&, late] {
        both.arrive_and_wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(2 * late));
        return ++shared, base::Status();
      };
      static_cast<void>(Launch(streams[late], std::move(work)));
    }
    static_cast<void>(SynchronizeDevice(SteadyTime::max()));
  }
  std::exit(0);
}

class PlantedRaceDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kThreadSanitizer) GTEST_SKIP() << "needs the thread sanitizer";
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }
};

TEST_F(PlantedRaceDeathTest, InALoopIsFound) {
  EXPECT_EXIT(RaceInALoop(), testing::ExitedWithCode(kSanitizersExitCode), "data race");
}

TEST_F(PlantedRaceDeathTest, BetweenStreamsIsFound) {
  EXPECT_EXIT(RaceOfStreams(), testing::ExitedWithCode(kSanitizersExitCode), "data race");
}

}  // namespace
}  // namespace portacl::runtime
