// Pools of threads as hosts may lend them: one thread for all, odd orders, more threads than CPUs.
// Header-only, as acl_fixture.h is.
#ifndef PORTACL_TESTS_SUPPORT_API_THREAD_POOLS_H_
#define PORTACL_TESTS_SUPPORT_API_THREAD_POOLS_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace portacl_test {

// The interface that portacl::set_thread_pool asks for, with counts of how it was used.
class LentPool {
 public:
  explicit LentPool(int threads) : threads_(threads) {}
  virtual ~LentPool() = default;

  int num_threads() {
    ++asked;
    return threads_;
  }
  void run(int count, const std::function<void(int)>& task) {
    ++loops;
    tasks += count;
    most_tasks = std::max(most_tasks.load(), count);
    Run(count, task);
  }

  std::atomic<int> asked{0};
  std::atomic<int> loops{0};
  std::atomic<int> tasks{0};
  std::atomic<int> most_tasks{0};

 protected:
  virtual void Run(int count, const std::function<void(int)>& task) = 0;

  const int threads_;
};

// Every task on the calling thread, the last one first.
class OneThreadPool final : public LentPool {
 public:
  using LentPool::LentPool;

 private:
  void Run(int count, const std::function<void(int)>& task) override {
    for (int i = count; i-- > 0;) task(i);
  }
};

// Runs tasks in an order that changes from loop to loop, each on its own thread. A few begin only
// when others are over.
class OddOrderPool final : public LentPool {
 public:
  using LentPool::LentPool;

 private:
  void Run(int count, const std::function<void(int)>& task) override {
    std::vector<int> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(static_cast<unsigned>(loops.load()));
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::thread> threads;
    for (const int i : order) {
      threads.emplace_back([&task, i] { task(i); });
      if (random() % 3 == 0) threads.back().join();
    }
    for (std::thread& thread : threads) {
      if (thread.joinable()) thread.join();
    }
  }
};

// A thread for every task at once, far more than there are CPUs.
class CrowdedPool final : public LentPool {
 public:
  using LentPool::LentPool;

 private:
  void Run(int count, const std::function<void(int)>& task) override {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([&task, i] { task(i); });
    for (std::thread& thread : threads) thread.join();
  }
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_THREAD_POOLS_H_
