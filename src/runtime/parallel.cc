// The two pools behind parallel.h, and how a loop's ranges are handed out on either.
#include "runtime/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>

#include "portacl/portacl.h"
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

// Debian's oneTBB and a host's pool (libgomp) are not built for the thread sanitizer, which
// therefore does not see that a loop's start happens before its bodies and its end after them.
// These two say so.
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

int AskedFor() {
  return static_cast<int>(EnvironmentInteger("PORTACL_NUM_THREADS", 1, kMaxThreads, 0));
}

// The CPUs of this process, or fewer where launchers that start several processes on a machine
// (torchrun) say so: OMP_NUM_THREADS, whose first number counts in a list of levels.
int UsualThreads() {
  int threads = 1;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) threads = std::max(1, CPU_COUNT(&set));
  const int64_t openmp = std::strtoll(EnvironmentText("OMP_NUM_THREADS"), nullptr, 10);
  if (openmp >= 1 && openmp < threads) threads = static_cast<int>(openmp);
  return std::min(threads, kMaxThreads);
}

// `control` lets the arena really have `threads` threads where that is more than oneTBB allows: the
// cores. Elsewhere there is none, as the smallest of a process holds for all its users of oneTBB.
struct Arena {
  explicit Arena(int count) : threads(count), arena(count) {
    constexpr auto kLimit = tbb::global_control::max_allowed_parallelism;
    const auto wanted = static_cast<size_t>(count);
    if (wanted > tbb::global_control::active_value(kLimit)) control.emplace(kLimit, wanted);
    arena.initialize();
  }
  const int threads;
  std::optional<tbb::global_control> control;
  tbb::task_arena arena;
};

// A portaclThreadPool with room for its name. Without `run` loops stay on oneTBB.
struct HostPool {
  void* host = nullptr;
  int32_t (*num_threads)(void*) = nullptr;
  decltype(portaclThreadPool::run) run = nullptr;
  std::array<char, 160> name{};
};

// A reader-writer lock whose writers wait for the readers that are there and not for those to come:
// threads that run one loop after the other would keep them waiting for ever.
class FairLock {
 public:
  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }
  // In a child of fork(): whoever held it does not exist there.
  void Reset() { lock_ = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP; }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
};

// Constants and trivial destructors only: loops may run before and after static objects' lives.
struct State {
  FairLock mutex;  // shared: a loop is running; exclusive: something here is being changed
  std::atomic<bool> decided{false};  // whether the environment has been read
  std::atomic<int> asked{0};         // threads that somebody asked for; 0: nobody did
  std::atomic<int> usual{1};         // threads where nobody asked
  Arena* arena = nullptr;            // has room for the largest number ever prepared
  bool ready = false;                // oneTBB has made what it makes once a process
  bool broken = false;               // that has failed
  bool lent = false;                 // whether `host` counts
  HostPool host;
};
constinit State state;

constinit std::atomic<bool> watches_forks{false};
constinit std::atomic<bool> pool_used{false};
// Set in a child of fork(): the pool's threads do not exist there, so loops run on the caller.
constinit std::atomic<bool> forked{false};

// How often this thread has the state's lock, shared: by itself, or as a thread of a pool through
// the loop's caller. A thread takes it once only, so above 0 loops run in place.
constinit thread_local int shares = 0;
constinit thread_local bool own_threads_only = false;

void Name(const char* text) {
  std::snprintf(state.host.name.data(), state.host.name.size(), "%s", text);
}

// In a child of fork(), which has one thread. Another one of the parent's may have held the lock.
// An OpenMP team does not survive forks and hangs, so the host's threads are not used here even
// where no loop of ours has run on them.
void MarkForked() {
  state.mutex.Reset();
  if (pool_used.load(std::memory_order_relaxed)) {
    forked.store(true, std::memory_order_relaxed);
  } else if (state.lent && state.host.run != nullptr) {
    state.host.run = nullptr;
    Name("oneTBB, in a forked child");
  }
}

void WatchForks() {
  if (watches_forks.exchange(true)) return;
  if (pthread_atfork(nullptr, nullptr, MarkForked) == 0) return;
  watches_forks.store(false);
  throw std::bad_alloc();
}

// All that follows is called with the state's lock held, unless it says otherwise.

// The lock of whoever reads the state or runs a loop.
class SharedState {
 public:
  SharedState() {
    if (shares++ == 0) state.mutex.lock_shared();
  }
  ~SharedState() {
    if (--shares == 0) state.mutex.unlock_shared();
  }
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;
};

// Threads that may do the same at a time read the same.
void ReadEnvironment() {
  if (state.decided.load(std::memory_order_acquire)) return;
  state.asked.store(AskedFor(), std::memory_order_relaxed);
  state.usual.store(UsualThreads(), std::memory_order_relaxed);
  state.decided.store(true, std::memory_order_release);
}

int OwnThreads() {
  ReadEnvironment();
  const int asked = state.asked.load(std::memory_order_relaxed);
  return asked > 0 ? asked : state.usual.load(std::memory_order_relaxed);
}

bool OnHost() { return state.lent && !own_threads_only; }

int ThreadsHere() {
  const int own = OwnThreads();
  if (!OnHost() || state.host.num_threads == nullptr) return own;
  if (state.asked.load(std::memory_order_relaxed) > 0) return own;
  const int host = state.host.num_threads(state.host.host);
  return host < 1 ? own : std::min<int>(host, kMaxThreads);
}

// A running loop. Each task begins in a part of its own: where tasks stay on their threads, as
// those of OpenMP do, these find in their caches what they had in the loop before, and others'
// loops over the same tensors. Then it helps the tasks after it. Ranges get shorter towards the end
// of a part, so that a late thread keeps nobody waiting.
class Loop {
 public:
  Loop(int64_t count, int64_t grain, int32_t num_tasks, internal::RangeFunction body, void* of_body)
      : tasks(num_tasks),
        function(body),
        context(of_body),
        count_(count),
        grain_(grain),
        num_parts_(std::min(num_tasks, kMaxParts)) {
    for (int32_t i = 0; i < num_parts_; ++i) {
      parts_[static_cast<size_t>(i)].next.store(BeginOf(i), std::memory_order_relaxed);
    }
  }

  // The next range for task 0, 1, ...; false: there is none.
  bool Take(int32_t task, int64_t* first, int64_t* last) {
    for (int32_t k = 0; k < num_parts_; ++k) {
      const int32_t part = (task % num_parts_ + k) % num_parts_;
      if (TakeFrom(part, first, last)) return true;
    }
    return false;
  }

  const int32_t tasks;
  const internal::RangeFunction function;
  void* const context;

 private:
  static constexpr int32_t kMaxParts = 16;
  struct alignas(64) Part {  // a cache line
    std::atomic<int64_t> next{0};
  };

  // Without an overflow: a product of the two might have one.
  int64_t BeginOf(int32_t part) const {
    return count_ / num_parts_ * part + std::min<int64_t>(part, count_ % num_parts_);
  }

  bool TakeFrom(int32_t part, int64_t* first, int64_t* last) {
    std::atomic<int64_t>& next = parts_[static_cast<size_t>(part)].next;
    const int64_t end = BeginOf(part + 1);
    *first = next.load(std::memory_order_relaxed);
    while (*first < end) {
      *last = std::min(end, *first + std::max(grain_, (end - *first) / 4));
      if (next.compare_exchange_weak(*first, *last, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  const int64_t count_;
  const int64_t grain_;
  const int32_t num_parts_;
  std::array<Part, kMaxParts> parts_;
};

// A pool calls it once for each task. Not inlined: in a sanitizer's stack, the bodies' caller would
// be a function of oneTBB's.
[[gnu::noinline]] void RunTask(void* context, int32_t index) {
  Loop& loop = *static_cast<Loop*>(context);
  MarkAcquire(&loop);
  {
    const FpEnvironment environment;
    ++shares;
    for (int64_t first = 0, last = 0; loop.Take(index, &first, &last);) {
      loop.function(loop.context, first, last);
    }
    --shares;
  }
  MarkRelease(&loop);
}

void RunOnArena(tbb::task_arena& arena, Loop* loop) {
  try {
    arena.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<int32_t>(0, loop->tasks, 1),
          [&](const tbb::blocked_range<int32_t>& tasks) {
            for (int32_t i = tasks.begin(); i < tasks.end(); ++i) RunTask(loop, i);
          },
          tbb::simple_partitioner());
    });
  } catch (...) {
    // oneTBB had no memory for a task, or no thread: the tasks that did start are over, and the
    // caller computes what they have left.
  }
}

void RunHere(int64_t count, internal::RangeFunction function, void* context) {
  const FpEnvironment environment;
  function(context, 0, count);
}

// Whether loops of the calling thread find an arena that is large enough. Takes the lock itself.
bool ArenaSuffices() {
  const SharedState shared;
  const int threads = ThreadsHere();
  return threads == 1 || state.broken || (OnHost() && state.host.run != nullptr) ||
         (state.arena != nullptr && state.arena->threads >= threads);
}

// What oneTBB makes once a process. Where memory fails in it, its one-time locks stay locked, and
// whoever comes next waits for ever: such a process computes on its calling threads from then on.
void PrepareOneTbb() {
  if (state.ready) return;
  state.broken = true;
  tbb::task_arena first(1);
  first.initialize();
  first.execute([] {
    tbb::parallel_for(tbb::blocked_range<int>(0, 2, 1), [](const tbb::blocked_range<int>&) {});
  });
  state.broken = false;
  state.ready = true;
}

// Without an arena, and so on the calling thread, where the system gives no thread: oneTBB may ask
// for one then, because others of its users in this process want it. Takes the lock itself.
void PrepareArena(int threads) {
  {
    const SharedState shared;
    if (state.broken || (state.arena != nullptr && state.arena->threads >= threads)) return;
  }
  const std::unique_lock lock(state.mutex);
  if (state.broken || (state.arena != nullptr && state.arena->threads >= threads)) return;
  // First away with the old one: the smallest control of the process counts.
  delete state.arena;
  state.arena = nullptr;
  try {
    PrepareOneTbb();
    state.arena = new Arena(threads);
  } catch (const std::runtime_error&) {  // no thread; std::bad_alloc is another one
  }
}

// For loops that no plan has prepared (copies), or whose thread has been given more since. Where
// it fails, the loop runs with what there is. Takes the lock itself.
void TryPrepareThreads() {
  try {
    PrepareThreads();
  } catch (...) {
  }
}

}  // namespace

int NumThreads() {
  if (forked.load(std::memory_order_relaxed)) return 1;
  const SharedState shared;
  return ThreadsHere();
}

bool SetNumThreads(int threads) {
  if (threads < 0 || threads > kMaxThreads) return false;
  if (forked.load(std::memory_order_relaxed)) return true;  // stays at one thread
  const std::unique_lock lock(state.mutex);
  state.asked.store(threads == 0 ? AskedFor() : threads, std::memory_order_relaxed);
  state.usual.store(UsualThreads(), std::memory_order_relaxed);
  state.decided.store(true, std::memory_order_release);
  return true;
}

bool SetThreadPool(const portaclThreadPool* pool) {
  if (shares > 0) return false;
  WatchForks();
  const std::unique_lock lock(state.mutex);
  state.lent = pool != nullptr;
  state.host = {};
  if (pool == nullptr) return true;
  state.host.host = pool->host;
  state.host.num_threads = pool->numThreads;
  state.host.run = pool->run;
  Name(pool->name == nullptr ? "the host's" : pool->name);
  return true;
}

void StayOnOwnThreads() { own_threads_only = true; }

std::string ThreadPoolName() {
  if (forked.load(std::memory_order_relaxed)) return "the calling thread, in a forked child";
  const SharedState shared;
  return OnHost() ? state.host.name.data() : "oneTBB";
}

void PrepareThreads() {
  if (forked.load(std::memory_order_relaxed) || shares > 0) return;
  int threads = 0;
  {
    const SharedState shared;
    // Also for the library's own threads: a plan made here may run on a stream's thread.
    threads = std::max(ThreadsHere(), OwnThreads());
  }
  if (threads == 1) return;
  WatchForks();
  PrepareArena(threads);
}

void internal::ParallelForRange(int64_t count, int64_t grain, RangeFunction function,
                                void* context) {
  if (count <= 0) return;
  if (grain < 1) grain = 1;
  if (count <= grain || shares > 0 || forked.load(std::memory_order_relaxed)) {
    RunHere(count, function, context);
    return;
  }
  if (!ArenaSuffices()) TryPrepareThreads();
  const SharedState shared;
  const auto ranges = static_cast<int>(std::min<int64_t>(kMaxThreads, (count - 1) / grain + 1));
  Loop loop(count, grain, std::min(ThreadsHere(), ranges), function, context);
  if (loop.tasks > 1) {
    MarkRelease(&loop);
    pool_used.store(true, std::memory_order_relaxed);
    if (OnHost() && state.host.run != nullptr) {
      state.host.run(state.host.host, loop.tasks, RunTask, &loop);
    } else if (state.arena != nullptr) {
      RunOnArena(state.arena->arena, &loop);
    }
    MarkAcquire(&loop);
  }
  RunTask(&loop, 0);  // what no thread of a pool has taken
}

}  // namespace portacl::runtime
