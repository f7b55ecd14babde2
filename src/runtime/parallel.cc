// Runs loops and calls, either on the caller alone or in a region of a pool (oneTBB, a host's
// pool).
#include "runtime/parallel.h"

#include <fmt/format.h>
#include <pthread.h>
#include <tbb/blocked_range.h>
#include <tbb/cache_aligned_allocator.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/per_thread.h"
#include "base/settings.h"
#include "portacl/portacl.h"
#include "runtime/fp_env.h"
#include "runtime/simulation.h"
#include "runtime/team.h"
#include "runtime/thread_policy.h"
#include "runtime/trace.h"

// The thread sanitizer's build does not instrument this one file (cmake/library.cmake), so that its
// reports have no frames of oneTBB's headers. The suppressions for oneTBB match any frame, and
// would hide every race in a loop's body.
#if defined(PORTACL_TSAN)
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace portacl::runtime {
namespace {

constexpr int kMaxThreads = 1024;

// Debian's oneTBB and a host's pool (libgomp) are not built for the thread sanitizer. So it does
// not see that a region starts before its tasks and ends after them. These two functions tell it.
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

int AskedFor() { return static_cast<int>(base::settings::NumThreads(0)); }

// Returns the CPUs of this process. OMP_NUM_THREADS may ask for fewer: launchers such as torchrun
// set it when they start several processes on a machine. If it is a list, its first number counts.
int UsualThreads() {
  int threads = UsableCpus();
  const int64_t openmp = std::strtoll(base::settings::OpenMpThreads(), nullptr, 10);
  if (openmp >= 1 && openmp < threads) threads = static_cast<int>(openmp);
  return std::min(threads, kMaxThreads);
}

// oneTBB allows as many threads as there are cores. If `threads` is more, `control` raises the
// limit. Otherwise there is no `control`, because the smallest limit in a process holds for all
// users of oneTBB.
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

// A portaclThreadPool with room for its name. If `run` is null, loops stay on oneTBB.
struct HostPool {
  void* host = nullptr;
  int32_t (*num_threads)(void*) = nullptr;
  decltype(portaclThreadPool::run) run = nullptr;
  std::array<char, 160> name{};
};

// A reader-writer lock. Writers wait for present readers but not for later readers. Otherwise
// threads that run one loop after the other would keep writers waiting for ever.
class FairLock {
 public:
  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }
  // Frees the lock in a child of fork(): the thread that held it does not exist there.
  void Reset() { lock_ = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP; }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
};

// Constants with trivial destructors: loops may run before and after static objects live.
struct State {
  FairLock mutex;  // shared: a loop is running; exclusive: a member is being changed
  std::atomic<bool> decided{false};  // the environment has been read
  std::atomic<int> asked{0};         // requested number of threads; 0: no request
  std::atomic<int> usual{1};         // number of threads without a request
  std::atomic<bool> lent{false};     // `host` is in use
  std::atomic<int> prepared{1};      // number of threads that need no preparing
  Arena* arena = nullptr;            // has room for the largest number ever prepared
  bool ready = false;                // oneTBB has made its objects of the process
  bool broken = false;               // oneTBB has failed to make them
  HostPool host;
};
constinit State state;

constinit std::atomic<bool> watches_forks{false};
constinit std::atomic<bool> pool_used{false};
// Set in a child of fork(): it lacks the pool's threads, so loops run on the caller.
constinit std::atomic<bool> forked{false};

// How often this thread holds the state's lock as a reader: by itself, or (on a pool's thread) by
// the loop's caller. A thread takes the lock only once. Above 0, loops run in place.
PORTACL_STARTS_WITH_THREAD constinit thread_local int shares = 0;
PORTACL_STARTS_WITH_THREAD constinit thread_local bool own_threads_only = false;

void Name(const char* text) {
  std::snprintf(state.host.name.data(), state.host.name.size(), "%s", text);
}

// Runs in a child of fork(), which has one thread. Another thread of the parent may have held the
// lock. OpenMP teams hang after a fork. So the child does not use the host's threads, even if no
// loop of portacl has run on them.
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

// The functions below need the state's lock, unless their comments say otherwise.

// Holds the lock as a reader: to read the state, or to run a loop.
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

// Several threads may do this at a time; they read the same values.
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

bool OnHost() { return state.lent.load(std::memory_order_relaxed) && !own_threads_only; }

// Returns true if this thread's loops use the library's own threads and their number is known. Then
// OwnThreads() needs no lock, which would take much of a small plan's time.
bool KnowsOwnThreads() { return state.decided.load(std::memory_order_acquire) && !OnHost(); }

int ThreadsHere() {
  const int own = OwnThreads();
  if (!OnHost() || state.host.num_threads == nullptr) return own;
  if (state.asked.load(std::memory_order_relaxed) > 0) return own;
  const int host = state.host.num_threads(state.host.host);
  return host < 1 ? own : std::min<int>(host, kMaxThreads);
}

// A team that a pool runs: the pool calls RunTask() once for each thread of the team. The first
// call leads the team, because a pool may run all calls on one thread, in any order.
struct Region {
  Team team;
  void (*const body)(void* context);
  void* const context;
  std::atomic<bool> led{false};
};

// Not inlined, because a sanitizer's stack would show a function of oneTBB as the bodies' caller.
[[gnu::noinline]] void RunTask(void* context, int32_t index) {
  Region& region = *static_cast<Region*>(context);
  MarkAcquire(&region);
  {
    const FpEnvironment environment;
    ++shares;
    if (!region.led.exchange(true, std::memory_order_acq_rel)) {
      region.team.Lead(index, region.body, region.context);
    } else {
      region.team.Help(index);
    }
    --shares;
  }
  MarkRelease(&region);
}

void RunOnArena(tbb::task_arena& arena, int32_t threads, Region* region) {
  try {
    arena.execute([&] {
      // Isolated: a thread that waits for the end of this region must not help in another region.
      tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(
            tbb::blocked_range<int32_t>(0, threads, 1),
            [&](const tbb::blocked_range<int32_t>& tasks) {
              for (int32_t i = tasks.begin(); i < tasks.end(); ++i) RunTask(region, i);
            },
            tbb::simple_partitioner());
      });
    });
  } catch (...) {
    // oneTBB had no memory for a task, or no thread. Tasks that started are over. If none started,
    // the caller computes.
  }
}

// Shows on the timeline the wait that made the policy keep calls on their callers.
void TraceLoss(int64_t nanoseconds, const Gain& gain, int64_t rest) noexcept {
  if (!TraceEnabled()) return;
  try {
    const auto end = std::chrono::steady_clock::now();
    const std::string text = fmt::format(
        "waited {:.1f} us for threads that saved {:.1f} us: for {:.1f} ms, calls of this kind run "
        "on their callers",
        static_cast<double>(gain.waited) / 1e3, static_cast<double>(gain.saved) / 1e3,
        static_cast<double>(rest) / 1e6);
    AddTraceSpan({}, {"threads", "waiting for threads", text,
                      end - std::chrono::nanoseconds(nanoseconds), end});
  } catch (const std::bad_alloc&) {  // the work itself is done
  }
}

// Returns true if no larger arena is needed, or none can be made.
bool HasArena(int threads) {
  return state.broken || (state.arena != nullptr && state.arena->threads >= threads);
}

// Returns true if the arena is large enough for loops of the calling thread. Takes the lock itself.
bool ArenaSuffices() {
  const SharedState shared;
  const int threads = ThreadsHere();
  return threads == 1 || HasArena(threads) || (OnHost() && state.host.run != nullptr);
}

// oneTBB loads its allocator's library when it first needs memory. If memory runs out inside that
// dlopen(), glibc ends the process. So the library is loaded together with portacl, which takes
// 0.3 ms. This does not read the number of CPUs.
bool LoadAllocator() noexcept {
  try {
    tbb::cache_aligned_allocator<char> allocator;
    allocator.deallocate(allocator.allocate(1), 1);
    return true;
  } catch (const std::bad_alloc&) {  // the first plan tries again
    return false;
  }
}
[[maybe_unused]] const bool allocator_loaded = LoadAllocator();

// Makes the objects that oneTBB makes once per process. If memory runs out meanwhile, oneTBB's
// one-time locks stay locked, and their next user would wait for ever. So the process then computes
// on the calling threads.
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

// If the system gives no thread, there is no arena, and calls run on the calling thread. (oneTBB
// may still ask for a thread for other users in this process.) Takes the lock itself.
void PrepareArena(int threads) {
  const std::unique_lock lock(state.mutex);
  if (HasArena(threads)) return;
  // The old arena goes first, because the smallest control of the process counts.
  state.prepared.store(1, std::memory_order_relaxed);
  delete state.arena;
  state.arena = nullptr;
  try {
    PrepareOneTbb();
    state.arena = new Arena(threads);
    state.prepared.store(threads, std::memory_order_release);
  } catch (const std::runtime_error&) {  // no thread; std::bad_alloc is another exception
  }
}

// For loops without a plan (copies), or if more threads are allowed now than while planning. If it
// fails, the loop runs on the existing threads. Takes the lock itself.
void TryPrepareThreads() {
  try {
    PrepareThreads();
  } catch (...) {
  }
}

}  // namespace

int NumThreads() {
  if (forked.load(std::memory_order_relaxed)) return 1;
  if (KnowsOwnThreads()) return OwnThreads();
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
  ForgetKinds();
  return true;
}

bool SetThreadPool(const portaclThreadPool* pool) {
  if (shares > 0) return false;
  WatchForks();
  const std::unique_lock lock(state.mutex);
  state.lent = pool != nullptr;
  state.host = {};
  ForgetKinds();
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
  if (KnowsOwnThreads() && OwnThreads() <= state.prepared.load(std::memory_order_acquire)) return;
  int threads = 0;
  {
    const SharedState shared;
    // Includes the library's own threads, because a plan made here may run on a stream's thread.
    threads = std::max(ThreadsHere(), OwnThreads());
    if (threads == 1 || (watches_forks.load() && HasArena(threads))) return;
  }
  WatchForks();
  PrepareArena(threads);
}

// ---- loops and calls ----------------------------------------------------------------------------

namespace {

// Returns true if loops run on their caller alone: the calling thread is inside a region, or the
// process is a forked child of a process that has had a region.
bool RunsInPlace() { return shares > 0 || forked.load(std::memory_order_relaxed); }

// Calls body(context). Its loops (Team::RunOnLed) have up to `most_threads` threads, but one thread
// if there is no pool or the policy says so. Not to be called if RunsInPlace().
void RunRegion(CallKind* kind, int64_t most_threads, void (*body)(void*), void* context) {
  if (!ArenaSuffices()) TryPrepareThreads();
  const SharedState shared;
  const auto threads = static_cast<int>(std::min<int64_t>(ThreadsHere(), most_threads));
  const bool on_host = OnHost() && state.host.run != nullptr;
  const FpEnvironment environment;
  if (Simulates()) return SimulateRegion(threads, body, context);
  if (threads < 2 || (!on_host && state.arena == nullptr)) return body(context);
  const bool adapts = AdaptsThreads();
  const int64_t begin = adapts ? PolicyClock() : 0;
  if (adapts && kind->Alone()) {
    body(context);
    kind->RanAlone(PolicyClock() - begin);
    return;
  }
  Region region = {Team(threads, adapts), body, context};
  MarkRelease(&region);
  pool_used.store(true, std::memory_order_relaxed);
  if (on_host) {
    state.host.run(state.host.host, threads, RunTask, &region);
  } else {
    RunOnArena(state.arena->arena, threads, &region);
  }
  MarkAcquire(&region);
  if (!region.led.load(std::memory_order_relaxed)) RunTask(&region, 0);
  if (!adapts) return;
  const int64_t end = PolicyClock();
  const Gain gain = region.team.GainWithin(begin, end);
  const int64_t rest = kind->Shared(gain.waited, gain.saved);
  if (rest > 0) TraceLoss(end - begin, gain, rest);
}

// A call without a region: each of its loops has its own region.
struct OpenCall {
  CallKind* kind = nullptr;
  int loops = 0;
};
PORTACL_STARTS_WITH_THREAD constinit thread_local OpenCall* open_call = nullptr;

uint64_t KeyOfLoop(const internal::Loop& loop) {
  const auto size = static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(loop.count)));
  return reinterpret_cast<uintptr_t>(loop.function) * 64 + size;
}

void RunInPlace(const internal::Loop& loop) {
  const FpEnvironment environment;
  loop.function(loop.context, 0, 0, loop.count);
}

}  // namespace

void internal::RunLoop(Loop loop) {
  if (loop.count <= 0) return;
  loop.grain = std::max<int64_t>(1, loop.grain);
  if (loop.count <= loop.grain || loop.slots == 1) return RunInPlace(loop);
  if (Team::RunOnLed(loop) || RunSimulated(loop)) return;
  if (RunsInPlace()) return RunInPlace(loop);
  OpenCall* const call = open_call;
  if (call != nullptr) ++call->loops;
  CallKind* const kind = call != nullptr ? call->kind : &KindOf(KeyOfLoop(loop));
  const auto body = [](void* of_loop) {
    const Loop& only = *static_cast<Loop*>(of_loop);
    if (!Team::RunOnLed(only) && !RunSimulated(only)) RunInPlace(only);
  };
  int64_t most_threads = (loop.count - 1) / loop.grain + 1;
  if (loop.slots > 0) most_threads = std::min<int64_t>(most_threads, loop.slots);
  RunRegion(kind, most_threads, body, &loop);
}

void internal::RunCall(uint64_t kind, void (*function)(void* context), void* context) {
  if (RunsInPlace()) return function(context);
  CallKind& known = KindOf(kind);
  if (known.loops() > 1) {
    return RunRegion(&known, std::numeric_limits<int64_t>::max(), function, context);
  }
  OpenCall call = {&known};
  OpenCall* const outer = std::exchange(open_call, &call);
  function(context);
  open_call = outer;
  known.SetLoops(call.loops);
}

}  // namespace portacl::runtime
