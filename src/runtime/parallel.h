// The parallel loop. It runs on threads that a host lends (an OpenMP team, a server's pool) or on
// the library's own: one oneTBB task_arena for the process.
#ifndef PORTACL_RUNTIME_PARALLEL_H_
#define PORTACL_RUNTIME_PARALLEL_H_

#include <cstdint>
#include <string>
#include <type_traits>

struct portaclThreadPool;  // what a host lends: include/portacl/portacl.h

namespace portacl::runtime {

// Threads that a loop of the calling thread uses, at least 1. A requested number (SetNumThreads,
// PORTACL_NUM_THREADS) comes first, then the host's number. Last come the CPUs that this process
// may use (affinity mask and quota; OMP_NUM_THREADS if less). In a forked child of a process that
// has run a parallel loop: 1.
int NumThreads();

// Requests a number of threads; 0 withdraws the request. Waits until no loop is running. Must not
// be called from inside a loop's body. Returns false for negative or absurd (> 1024) numbers.
bool SetNumThreads(int threads);

// Runs loops on a host's threads, except loops of threads that called StayOnOwnThreads(). Null: on
// oneTBB's threads again. Waits until no loop is running; the previous pool is not used after that.
// Returns false, and does nothing, inside a loop's body. Throws std::bad_alloc if the system has no
// room for its fork handler.
bool SetThreadPool(const portaclThreadPool* pool);

// The calling thread's loops stay on oneTBB for the rest of its life. OpenMP makes a team for each
// calling thread; a thread of the library should not make one more.
void StayOnOwnThreads();

// Which threads loops of the calling thread run on, in words.
std::string ThreadPoolName();

// Makes the objects that loops need, so that loops allocate nothing: called for every plan. Throws
// std::bad_alloc if there is no memory; loops then run on the calling thread.
void PrepareThreads();

namespace internal {
struct Loop {
  int64_t count;
  int64_t grain;
  int slots;  // 0: as many threads as there are, and their slots say nothing
  void (*function)(void* context, int slot, int64_t begin, int64_t end);
  void* context;
};
void RunLoop(Loop loop);
void RunCall(uint64_t kind, void (*function)(void* context), void* context);
}  // namespace internal

// Calls body(begin, end) for disjoint ranges that cover [0, count), on up to NumThreads() threads,
// and returns when all are done. Everything the bodies wrote is then visible to the caller. Ranges
// have at least `grain` indices (but the last one); count <= grain runs on the calling thread,
// without touching a pool. Every body runs inside an FpEnvironment. The body must not throw, and
// must write each destination from one index only: then results do not depend on the split. It must
// not wait for another body: the pool decides how many run at a time. Bodies may call ParallelFor;
// such a loop runs on its caller alone.
template <class Body>
void ParallelFor(int64_t count, int64_t grain, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  internal::RunLoop({count, grain, 0,
                     [](void* context, int /*slot*/, int64_t begin, int64_t end) {
                       (*static_cast<Plain*>(context))(begin, end);
                     },
                     const_cast<void*>(static_cast<const void*>(&body))});
}

// Runs body(slot, first, last) for ranges that make up [0, count), on at most `slots` threads at a
// time. 0 <= slot < slots, and no two bodies that run at the same time have the same slot. `slot`
// is an index of scratch memory: a plan books `slots` pieces (usually NumThreads() at planning
// time; the number may have changed since). In all loops of a call a thread has the same slot, so
// its scratch memory is in its caches. Indices are handed out in ascending order. Ranges are long
// at first and get shorter towards the end: neighbours share pages and cache lines, and two threads
// should not compete for these.
template <class Body>
void ParallelForRanges(int64_t count, int slots, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  internal::RunLoop({count, 1, slots < 1 ? 1 : slots,
                     [](void* context, int slot, int64_t first, int64_t last) {
                       (*static_cast<Plain*>(context))(slot, first, last);
                     },
                     const_cast<void*>(static_cast<const void*>(&body))});
}

// The same for body(slot, index), one index after the other.
template <class Body>
void ParallelForSlots(int64_t count, int slots, Body&& body) {
  ParallelForRanges(count, slots, [&](int slot, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) body(slot, i);
  });
}

// Calls body() once, on this thread or on one of the pool's. Its loops share one
// region of the pool if the last call of the kind had several loops. Then threads come and go once
// a call, and a loop waits only for threads that have taken a range. `kind` groups calls by
// operator and size: thread_policy.h decides for each kind whether calls use other threads at all.
// The body must not throw.
template <class Body>
void RunAsOneCall(uint64_t kind, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  internal::RunCall(
      kind, [](void* context) { (*static_cast<Plain*>(context))(); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_PARALLEL_H_
