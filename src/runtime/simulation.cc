// Computes the time of threads that do not exist.
#include "runtime/simulation.h"

#if defined(PORTACL_SIMULATION)

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "runtime/parallel.h"

// Sets two costs of the simulation in nanoseconds. `entry`: until a pool's thread is in the region.
// `wait`: until the caller knows that a loop's last range is done. on = 0 ends the simulation.
extern "C" __attribute__((visibility("default"))) void portaclSimulate(int on, double entry,
                                                                       double wait);
// Measures the same costs with this machine's threads. Needs PORTACL_ADAPT_THREADS=0.
extern "C" __attribute__((visibility("default"))) void portaclMeasureThreads(double* entry,
                                                                             double* wait);
// Reports on the calls since the last report. `faster`: nanoseconds of this thread's CPU time that
// simulated threads would have saved. `loops`: the number of loops.
extern "C" __attribute__((visibility("default"))) void portaclSimulated(double* faster, int* loops);

namespace portacl::runtime {
namespace {

struct Settings {
  bool on = false;
  double entry = 0;
  double wait = 0;
};
Settings settings;

// The region of the calling thread; there is only one.
struct Region {
  int threads = 0;
  double elapsed = 0;  // simulated time of its loops so far
};
Region* region = nullptr;
double faster = 0;
int loops = 0;

// Measures CPU time, so that other processes on the machine do not count.
double Now() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double CostOfAsking() {
  double least = 1e9;
  for (int i = 0; i < 100; ++i) {
    const double first = Now();
    least = std::min(least, Now() - first);
  }
  return least;
}

// Hands out a loop's parts to simulated threads, as a team does to real threads.
class Simulation {
 public:
  Simulation(const internal::Loop& loop, const Region& of)
      : loop_(loop),
        parts_(loop.count, loop.grain, loop.slots, of.threads),
        next_(static_cast<size_t>(parts_.parts)),
        clocks_(static_cast<size_t>(parts_.takers), std::max(0.0, settings.entry - of.elapsed)) {
    for (int32_t i = 0; i < parts_.parts; ++i) {
      next_[static_cast<size_t>(i)] = static_cast<uint32_t>(parts_.BeginOf(i));
    }
    clocks_[0] = 0;  // the caller needs no entry
  }

  // Runs the loop. Returns the simulated time at which the last thread ends.
  double Run() {
    static const double asking = CostOfAsking();
    double last = 0;
    for (;;) {
      const auto first = std::min_element(clocks_.begin(), clocks_.end());
      const double begin = Now();
      if (!RunRange(static_cast<int32_t>(first - clocks_.begin()))) return last;
      *first += std::max(0.0, Now() - begin - asking);
      last = std::max(last, *first);
    }
  }

 private:
  bool RunRange(int32_t thread) {
    for (int32_t k = 0; k < parts_.parts; ++k) {
      const int32_t part = (thread % parts_.parts + k) % parts_.parts;
      uint32_t& next = next_[static_cast<size_t>(part)];
      const auto end = static_cast<uint32_t>(parts_.BeginOf(part + 1));
      if (next >= end) continue;
      const uint32_t first = std::exchange(next, parts_.EndOfRange(next, end));
      loop_.function(loop_.context, thread, first * parts_.unit, parts_.IndexOf(next));
      return true;
    }
    return false;
  }

  const internal::Loop& loop_;
  const LoopParts parts_;
  std::vector<uint32_t> next_;
  std::vector<double> clocks_;
};

// Returns the nanoseconds of a region of loops. The two bodies of each loop wait for each other.
double RegionOf(int num_loops) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  RunAsOneCall(static_cast<uint64_t>(num_loops), [&] {
    for (int i = 0; i < num_loops; ++i) {
      std::atomic<int> here{0};
      ParallelFor(2, 1, [&](int64_t first, int64_t last) {
        here += static_cast<int>(last - first);
        // Gives up after a while, because the other body may not run on a busy machine.
        for (int turn = 0; here.load() < 2 && turn < 1'000'000; ++turn) {
        }
      });
    }
  });
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

double FastestRegionOf(int num_loops) {
  double least = 1e12;
  for (int i = 0; i < 300; ++i) least = std::min(least, RegionOf(num_loops));
  return least;
}

}  // namespace

bool Simulates() { return settings.on; }

void SimulateRegion(int threads, void (*body)(void*), void* context) {
  Region one = {threads};
  Region* const outer = std::exchange(region, &one);
  body(context);
  region = outer;
}

bool RunSimulated(const internal::Loop& loop) {
  Region* const of = std::exchange(region, nullptr);  // loops inside bodies run on their caller
  if (of == nullptr) return false;
  const double begin = Now();
  const double simulated = Simulation(loop, *of).Run() + settings.wait;
  faster += Now() - begin - simulated;
  of->elapsed += simulated;
  ++loops;
  region = of;
  return true;
}

}  // namespace portacl::runtime

void portaclSimulate(int on, double entry, double wait) {
  portacl::runtime::settings = {on != 0, entry, wait};
}

void portaclMeasureThreads(double* entry, double* wait) {
  using portacl::runtime::FastestRegionOf;
  constexpr int kLoops = 102;
  const double few = FastestRegionOf(2);
  *wait = (FastestRegionOf(kLoops) - few) / (kLoops - 2);
  *entry = few - 2 * *wait;
}

void portaclSimulated(double* faster, int* loops) {
  *faster = std::exchange(portacl::runtime::faster, 0);
  *loops = std::exchange(portacl::runtime::loops, 0);
}

#endif  // PORTACL_SIMULATION
