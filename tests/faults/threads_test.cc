// Beside other users of oneTBB in the process, also where the system gives no more threads.
#include <gtest/gtest.h>
#include <sched.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <thread>

#include "faults/injection.h"
#include "portacl/portacl.h"
#include "support/api/child_process.h"
#include "support/api/native.h"
#include "support/api/tensor.h"

namespace portacl_test {
namespace {

// A user of oneTBB of its own, which asks for many more threads than there are.
class BusyArena {
 public:
  BusyArena() {
    while (!runs_) std::this_thread::yield();
  }
  ~BusyArena() {
    stop_ = true;
    thread_.join();
  }
  BusyArena(const BusyArena&) = delete;
  BusyArena& operator=(const BusyArena&) = delete;

 private:
  void Work() {
    tbb::task_arena arena(64);
    while (!stop_) {
      arena.execute([this] { tbb::parallel_for(0, 1000, [this](int) { runs_ = true; }); });
    }
  }

  std::atomic<bool> runs_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_{[this] { Work(); }};
};

// Restricts the process to its first two processors: then oneTBB has fewer threads than the library
// asks for, on any machine.
void StayOnTwoProcessors() {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  cpu_set_t kept;
  CPU_ZERO(&kept);
  for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&kept) < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &kept);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof kept, &kept), 0);
}

portacl::Status CallOnManyThreads() {
  const Tensor grad_output(Element::kFloat, {1, 64, 64, 64});
  Tensor grad_input(Element::kFloat, {1, 64, 32, 32});
  return portacl::upsample_nearest_exact_backward(View(grad_output), View(grad_input), nullptr);
}

void GrowThePoolWithoutThreads() {
  StayOnTwoProcessors();
  const BusyArena others;
  bool fired = false;
  int threads = 2;  // the pool has room for the largest number ever asked for
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(portaclSetNumThreads(++threads), PORTACL_OK);
    Injection injection(Fault::kThread, Repeat::kForEver, 0, Reach::kThread);
    const portacl::Status status = CallOnManyThreads();
    fired |= injection.End();
    EXPECT_TRUE(status.ok()) << threads << " threads: " << status.code() << " " << status.message();
  }
  EXPECT_TRUE(fired);
}

// oneTBB then makes threads for others while an arena of ours is prepared. In a separate process,
// because oneTBB reads the number of processors once, and the other tests here fork.
TEST(ThreadShortageChild, ALargerPoolThatCannotBeMadeIsDoneWithout) {
  if (PORTACL_FOREIGN_MAPPINGS) GTEST_SKIP() << "the sanitizer's threads are not replaced";
  PORTACL_IN_CHILD(Environment{}, GrowThePoolWithoutThreads());
}

size_t LimitOfOneTbb() {
  return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
}

void ShareOneTbb() {
  StayOnTwoProcessors();
  const tbb::global_control others(tbb::global_control::max_allowed_parallelism, 16);
  ASSERT_EQ(portaclSetNumThreads(2), PORTACL_OK);
  EXPECT_TRUE(CallOnManyThreads().ok());
  EXPECT_EQ(LimitOfOneTbb(), 16u);
}

// The smallest limit of a process holds for all its users of oneTBB.
TEST(ThreadsOfOthersChild, ALimitThatTheLibraryDoesNotNeedIsNotSet) {
  PORTACL_IN_CHILD(Environment{}, ShareOneTbb());
}

}  // namespace
}  // namespace portacl_test
