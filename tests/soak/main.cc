// The soak test: 16 threads with a mixed load for a given time. Every result has the bits of the
// first one; after the warm-up memory does not grow; a thread that makes no progress ends the test.
//
//   portacl_soak SECONDS [SEED]
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "faults/injection.h"
#include "portacl/portacl.h"
#include "soak/load.h"

namespace portacl_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 16;
constexpr auto kPatience = std::chrono::seconds(120);  // for one step
// Destroyed handles of ten kinds wait in 16 quarantines of 64; a short warm-up does not fill all.
constexpr int64_t kMoreBlocks = 10 * 16 * 64;
constexpr int64_t kMorePages = 8192;  // 32 MiB: what heaps of threads keep

int64_t ResidentPages() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  file >> all >> resident;
  return resident;
}

struct Usage {
  int64_t blocks = LiveBlocks();
  int64_t pages = ResidentPages();
  size_t free_bytes = 0;
  Usage() {
    size_t total = 0;
    aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total);
  }
};

// What the threads and the watchdog share.
struct Shared {
  std::array<std::atomic<int64_t>, kThreads> steps{};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::vector<std::string> wrong;  // at most a few

  void Add(const std::string& what) {
    const std::lock_guard lock(mutex);
    if (wrong.size() < 20) wrong.push_back(what);
    stop = true;
  }
};

void Work(int thread, uint64_t seed, const SoakCases& cases, Shared* shared) {
  SoakThread load(thread, seed, cases);
  while (!shared->stop) {
    const std::string wrong = load.Step();
    if (!wrong.empty()) shared->Add("thread " + std::to_string(thread) + ": " + wrong);
    ++shared->steps[static_cast<size_t>(thread)];
  }
  load.End();
}

// Runs the load for a time. A thread that makes no step in kPatience ends the process.
int64_t RunLoad(std::chrono::seconds time, uint64_t seed, const SoakCases& cases, Shared* shared) {
  shared->stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(Work, i, seed, std::cref(cases), shared);
  const Clock::time_point end = Clock::now() + time;
  std::array<int64_t, kThreads> seen{};
  std::array<Clock::time_point, kThreads> moved;
  moved.fill(Clock::now());
  while (Clock::now() < end && !shared->stop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    for (size_t i = 0; i < kThreads; ++i) {
      const int64_t steps = shared->steps[i];
      if (steps != seen[i]) moved[i] = Clock::now();
      seen[i] = steps;
      if (Clock::now() - moved[i] < kPatience) continue;
      std::fprintf(stderr, "soak: thread %zu hangs\n", i);
      std::abort();  // with a core, where the system writes one
    }
  }
  shared->stop = true;
  for (std::thread& thread : threads) thread.join();
  int64_t total = 0;
  for (const auto& steps : shared->steps) total += steps;
  return total;
}

int Soak(std::chrono::seconds time, uint64_t seed) {
  setenv("PORTACL_DEVICES", "2", 1);
  portaclSetProfile("open");
  aclrtSetDevice(0);
  const SoakCases cases(seed, 300);
  Shared shared;
  RunLoad(time / 5, seed, cases, &shared);  // the warm-up
  const Usage before;
  int64_t steps = 0;
  if (shared.wrong.empty()) steps = RunLoad(time - time / 5, seed + 1000, cases, &shared);
  const Usage after;
  if (after.blocks > before.blocks + kMoreBlocks) shared.wrong.emplace_back("blocks are leaked");
  if (after.pages > before.pages + kMorePages) shared.wrong.emplace_back("memory grows");
  if (after.free_bytes != before.free_bytes) {
    shared.wrong.emplace_back("device memory stays booked");
  }
  if (testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed()) {
    shared.wrong.emplace_back("an expectation above failed");
  }
  for (const std::string& wrong : shared.wrong) std::printf("FAILED: %s\n", wrong.c_str());
  std::printf(
      "soak: seed %llu, %lld s, %d threads, %lld steps, blocks %lld to %lld, resident %lld to %lld "
      "MiB, %zu failures\n",
      static_cast<unsigned long long>(seed), static_cast<long long>(time.count()), kThreads,
      static_cast<long long>(steps), static_cast<long long>(before.blocks),
      static_cast<long long>(after.blocks), static_cast<long long>(before.pages / 256),
      static_cast<long long>(after.pages / 256), shared.wrong.size());
  return shared.wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace portacl_test

int main(int argc, char** argv) {
  const long seconds = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 0;
  if (seconds < 5) {
    std::fprintf(stderr, "usage: %s SECONDS [SEED]    (at least 5)\n", argv[0]);
    return 2;
  }
  testing::InitGoogleTest(&argc, argv);
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : portacl_test::FreshSeed();
  return portacl_test::Soak(std::chrono::seconds(seconds), seed);
}
