// The arena behind parallel.h.
#include "runtime/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "runtime/environment.h"
#include "runtime/fp_env.h"

// The thread sanitizer's build compiles this file alone without instrumentation (see
// cmake/library.cmake), so that its reports have no frame of oneTBB's headers: the suppressions for
// oneTBB match any frame, and would hide every race of a loop's body.
#if defined(PORTACL_TSAN)
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace portacl::runtime {
namespace {

constexpr int kMaxThreads = 1024;

// Debian's oneTBB is not built for the thread sanitizer, which therefore does not see that a loop's
// start happens before its bodies and its end after them. These two say so.
inline void MarkRelease([[maybe_unused]] void* address) {
#if defined(PORTACL_TSAN)
  __tsan_release(address);
#endif
}
inline void MarkAcquire([[maybe_unused]] void* address) {
#if defined(PORTACL_TSAN)
  __tsan_acquire(address);
#endif
}

int DefaultThreads() {
  const int64_t wanted = EnvironmentInteger("PORTACL_NUM_THREADS", 1, kMaxThreads, 0);
  if (wanted > 0) return static_cast<int>(wanted);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    const int cpus = CPU_COUNT(&set);
    if (cpus >= 1) return cpus < kMaxThreads ? cpus : kMaxThreads;
  }
  return 1;
}

// `control` lets the arena really have `threads` threads where that is more than the cores.
struct Arena {
  explicit Arena(int threads)
      : control(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(threads)),
        arena(threads) {}
  tbb::global_control control;
  tbb::task_arena arena;
};

struct State {
  std::shared_mutex mutex;      // shared: a loop is running; exclusive: the arena is being changed
  std::atomic<int> threads{0};  // 0: not decided yet
  std::atomic<Arena*> arena{nullptr};  // made by the first loop that needs it
};

// Leaked on purpose: loops may run while static objects are destroyed.
State& GetState() {
  static State* const state = new State;
  return *state;
}

std::atomic<bool> arena_used{false};
// Set in a child of fork(): oneTBB's threads do not exist there, so loops run on the caller.
std::atomic<bool> forked{false};

thread_local int loop_depth = 0;

void MarkForked() {
  if (arena_used.load(std::memory_order_relaxed)) forked.store(true, std::memory_order_relaxed);
}

int DecideThreads(State& state) {
  int threads = state.threads.load(std::memory_order_relaxed);
  if (threads == 0) {
    const int wanted = DefaultThreads();
    state.threads.compare_exchange_strong(threads, wanted, std::memory_order_relaxed);
    threads = state.threads.load(std::memory_order_relaxed);
  }
  return threads;
}

// Called with the state's lock held, shared.
Arena& GetArena(State& state) {
  if (Arena* arena = state.arena.load(std::memory_order_acquire)) return *arena;
  static std::mutex creation;
  const std::lock_guard guard(creation);
  if (Arena* arena = state.arena.load(std::memory_order_acquire)) return *arena;
  static const int registered = pthread_atfork(nullptr, nullptr, MarkForked);
  static_cast<void>(registered);
  auto* arena = new Arena(state.threads.load(std::memory_order_relaxed));
  state.arena.store(arena, std::memory_order_release);
  arena_used.store(true, std::memory_order_relaxed);
  return *arena;
}

// The bodies' caller for a sanitizer's stack; inlined, it would be a function of oneTBB's.
[[gnu::noinline]] void RunPart(internal::RangeFunction function, void* context, int64_t begin,
                               int64_t end) {
  const FpEnvironment environment;
  function(context, begin, end);
}

void RunSerially(int64_t count, internal::RangeFunction function, void* context) {
  RunPart(function, context, 0, count);
}

}  // namespace

int NumThreads() {
  if (forked.load(std::memory_order_relaxed)) return 1;
  return DecideThreads(GetState());
}

bool SetNumThreads(int threads) {
  if (threads < 0 || threads > kMaxThreads) return false;
  if (forked.load(std::memory_order_relaxed)) return true;  // stays at one thread
  State& state = GetState();
  const std::unique_lock lock(state.mutex);
  const int wanted = threads == 0 ? DefaultThreads() : threads;
  if (wanted != state.threads.load(std::memory_order_relaxed)) {
    delete state.arena.exchange(nullptr, std::memory_order_relaxed);
    state.threads.store(wanted, std::memory_order_relaxed);
  }
  return true;
}

void internal::ParallelForRange(int64_t count, int64_t grain, RangeFunction function,
                                void* context) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  if (count <= grain || forked.load(std::memory_order_relaxed)) {
    RunSerially(count, function, context);
    return;
  }
  State& state = GetState();
  if (DecideThreads(state) == 1) {
    RunSerially(count, function, context);
    return;
  }
  // A nested loop already holds the lock through its parent.
  std::shared_lock<std::shared_mutex> lock(state.mutex, std::defer_lock);
  if (loop_depth == 0) lock.lock();
  Arena& arena = GetArena(state);
  char join = 0;  // an address of this call's own for the sanitizer's marks
  MarkRelease(&join);
  arena.arena.execute([&] {
    const tbb::blocked_range<int64_t> range(0, count, static_cast<size_t>(grain));
    tbb::parallel_for(range, [&](const tbb::blocked_range<int64_t>& part) {
      MarkAcquire(&join);
      ++loop_depth;
      RunPart(function, context, part.begin(), part.end());
      --loop_depth;
      MarkRelease(&join);
    });
  });
  MarkAcquire(&join);
}

}  // namespace portacl::runtime
