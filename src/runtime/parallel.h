// The parallel loop. It runs on threads that a host program lends (an OpenMP team, a server's
// pool), or on the library's own threads: one oneTBB task_arena per process.
#ifndef PORTACL_RUNTIME_PARALLEL_H_
#define PORTACL_RUNTIME_PARALLEL_H_

#include <cstdint>
#include <string>
#include <type_traits>

struct portaclThreadPool;  // a pool that a host program lends: include/portacl/portacl.h

namespace portacl::runtime {

// Returns how many threads loops of the calling thread use, at least 1. A requested number
// (SetNumThreads, PORTACL_NUM_THREADS) comes first, then the host pool's number. Else it is the
// number of usable CPUs (affinity mask, quota; OMP_NUM_THREADS if less). It is 1 in a forked child
// of a process that has run a parallel loop.
int NumThreads();

// Requests a number of threads; 0 withdraws the request. Waits until no loop is running. Must not
// be called inside a loop's body. Returns false for numbers below 0 or above 1024.
bool SetNumThreads(int threads);

// Makes loops run on a host's pool, except on threads that called StayOnOwnThreads(). Null:
// oneTBB's threads again. Waits until no loop is running, and then no longer uses the previous
// pool. Inside a loop's body, does nothing and returns false. Throws std::bad_alloc if the fork
// handler cannot be registered.
bool SetThreadPool(const portaclThreadPool* pool);

// Keeps the calling thread's loops on oneTBB for ever. OpenMP makes a team for each calling thread;
// a thread of the library should not cost another team.
void StayOnOwnThreads();

// Names the threads on which loops of the calling thread run.
std::string ThreadPoolName();

// Makes the objects that loops need, so that loops allocate nothing. Called for every plan. Throws
// std::bad_alloc if there is no memory; then loops run on the calling thread.
void PrepareThreads();

namespace internal {
struct Loop {
  int64_t count;
  int64_t grain;
  int slots;  // 0: no slots; all threads take part
  void (*function)(void* context, int slot, int64_t begin, int64_t end);
  void* context;
};
void RunLoop(Loop loop);
void RunCall(uint64_t kind, void (*function)(void* context), void* context);
}  // namespace internal

// Calls body(begin, end) for disjoint ranges that cover [0, count), on up to NumThreads() threads.
// Returns when all calls are done; the caller sees everything they wrote. Ranges have at least
// `grain` indices, except the last. If count <= grain, the loop runs on the calling thread and uses
// no pool. Every body runs inside an FpEnvironment. The body must not throw, and must write each
// destination from one index only: then results do not depend on the ranges. A body must not wait
// for another body, because the pool decides how many run at a time. A body may call ParallelFor;
// that loop runs on its caller alone.
template <class Body>
void ParallelFor(int64_t count, int64_t grain, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  internal::RunLoop({count, grain, 0,
                     [](void* context, int /*slot*/, int64_t begin, int64_t end) {
                       (*static_cast<Plain*>(context))(begin, end);
                     },
                     const_cast<void*>(static_cast<const void*>(&body))});
}

// Calls body(slot, first, last) for ranges that make up [0, count), on at most `slots` threads at a
// time. 0 <= slot < slots, and bodies that run at the same time have different slots. `slot` is an
// index of scratch memory: a plan books `slots` pieces (usually NumThreads() while planning; the
// number may have changed since). In all loops of a call, a thread has the same slot, so its
// scratch memory is in its caches. Indices are handed out in ascending order. The first ranges
// are long, because neighbouring indices share pages and cache lines. Ranges get shorter towards
// the end, so that a late thread delays no other thread.
template <class Body>
void ParallelForRanges(int64_t count, int slots, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  internal::RunLoop({count, 1, slots < 1 ? 1 : slots,
                     [](void* context, int slot, int64_t first, int64_t last) {
                       (*static_cast<Plain*>(context))(slot, first, last);
                     },
                     const_cast<void*>(static_cast<const void*>(&body))});
}

// Like ParallelForRanges(), but calls body(slot, index) for each index.
template <class Body>
void ParallelForSlots(int64_t count, int slots, Body&& body) {
  ParallelForRanges(count, slots, [&](int slot, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) body(slot, i);
  });
}

// Calls body() once, on this thread or on a pool's thread. If the last call of the kind had several
// loops, the body's loops share one region of the pool. Then threads come and go once per call, and
// a loop waits only for threads that have taken a range. `kind` groups calls by operator and size:
// thread_policy.h decides for each kind whether calls use other threads at all. The body must not
// throw.
template <class Body>
void RunAsOneCall(uint64_t kind, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  internal::RunCall(
      kind, [](void* context) { (*static_cast<Plain*>(context))(); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_PARALLEL_H_
