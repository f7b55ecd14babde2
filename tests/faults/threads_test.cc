// What runs where the system gives no more threads.
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <thread>

#include "faults/injection.h"
#include "portacl/portacl.h"
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

// oneTBB then makes threads for others while an arena of ours is prepared.
TEST(ThreadShortage, ALargerPoolThatCannotBeMadeIsDoneWithout) {
  if (PORTACL_FOREIGN_MAPPINGS) GTEST_SKIP() << "the sanitizer's threads are not replaced";
  const Tensor grad_output(Element::kFloat, {1, 64, 64, 64});
  Tensor grad_input(Element::kFloat, {1, 64, 32, 32});
  const BusyArena others;
  bool fired = false;
  static int threads = 2;  // the pool has room for the largest number ever asked for
  for (int i = 0; i < 30; ++i) {
    ASSERT_LT(++threads, 1024);
    ASSERT_EQ(portaclSetNumThreads(threads), PORTACL_OK);
    Injection injection(Fault::kThread, Repeat::kForEver, 0, Reach::kThread);
    const portacl::Status status =
        portacl::upsample_nearest_exact_backward(View(grad_output), View(grad_input), nullptr);
    fired |= injection.End();
    EXPECT_TRUE(status.ok()) << threads << " threads: " << status.code() << " " << status.message();
  }
  EXPECT_TRUE(fired);
  EXPECT_EQ(portaclSetNumThreads(0), PORTACL_OK);
}

}  // namespace
}  // namespace portacl_test
