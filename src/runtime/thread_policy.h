// Decides how many threads calls get. A process gets the CPUs of its affinity mask, or fewer if
// control groups limit its time. On a busy machine, a call may get no other thread. Plans decide
// which work is too small for threads at all ("small", "grain").
//
// Results do not depend on the number of threads, so the runtime may choose it call by call. On an
// idle machine, several threads pay for every call that is worth a loop. Beside busy processes they
// may not. A region of the pool is over only when its last thread has got a CPU again, even if no
// work was left for that thread. This can take a time slice of the scheduler (some milliseconds).
// So each call on several threads reports a cost and a saving:
//
// waited  idle time of the caller: until the pool called it, for ranges that others had taken,
//           until the pool let it go;
// saved   the time that the others' ranges would have taken the caller, at its own speed.
//
// A kind of calls is a kernel with tensors of about one size. If a call waits longer than it saves,
// the next calls of its kind run on their callers alone, for kPatience times the lost time. Then
// one call uses several threads again. So trying costs at most 1/kPatience of the time, for any
// length of time slices, and an idle machine is noticed soon.
//
// One long wait proves nothing, because every machine has such waits. A loss is ignored, unless a
// second loss of its size follows before the calls between have gained half of it.
#ifndef PORTACL_RUNTIME_THREAD_POLICY_H_
#define PORTACL_RUNTIME_THREAD_POLICY_H_

#include <atomic>
#include <cstdint>

namespace portacl::runtime {

// ---- the CPUs of the process --------------------------------------------------------------------

// Returns the CPU time that control groups allow this process, in CPUs: 1.5 for 150 of each 100 ms;
// 0 if they set no limit. Takes the smallest limit of the process's group and all groups above it,
// in both versions of control groups (cpu.max; cpu.cfs_quota_us). `root` is put before /proc and
// /sys, for tests with another tree. Allocates nothing.
double CpuQuota(const char* root = "");

// Rounds a quota to the nearest number of CPUs, at least 1. With a quota of 1.2, a second thread
// would use up the time early in each period, and the process would then stand still. That costs
// more time than the second thread saves. With 1.7, one thread would leave too much time unused.
int WholeCpus(double quota);

// The CPUs of the affinity mask, or the quota if it is less; at least 1.
int UsableCpus();

// ---- calls on a busy machine --------------------------------------------------------------------

// The record of a kind of calls. Several threads write it without a lock. A lost write may cost
// time, but changes no result.
class alignas(64) CallKind {
 public:
  static constexpr int64_t kPatience = 16;
  static constexpr int64_t kMostLoss = 100'000'000;  // 100 ms; a longer wait: a stopped process

  // Returns true if the next call should run on its caller alone.
  bool Alone() const { return rest_.load(std::memory_order_relaxed) > 0; }
  void RanAlone(int64_t nanoseconds);
  // Returns for how many nanoseconds the next calls should run alone; 0: they share.
  int64_t Shared(int64_t waited, int64_t saved);

  // How many loops the newest call shared, or would have. Several are worth one region for all.
  int loops() const { return loops_.load(std::memory_order_relaxed); }
  void SetLoops(int loops) { loops_.store(loops, std::memory_order_relaxed); }

 private:
  friend CallKind& KindOf(uint64_t key);
  friend void ForgetKinds();
  void Become(uint64_t key);
  std::atomic<uint64_t> key_{0};  // 0: no kind
  std::atomic<int> loops_{0};
  std::atomic<int64_t> debt_{0};  // losses without gains to balance them
  std::atomic<int64_t> rest_{0};  // how long calls still run alone
};

// Returns the kind with this key. There are few places: another kind may take this kind's place.
CallKind& KindOf(uint64_t key);
// Call it when the threads change, because other threads may behave differently.
void ForgetKinds();

// Returns false with PORTACL_ADAPT_THREADS=0: then every call uses its threads (RunRegion() of
// parallel.cc).
bool AdaptsThreads();

// Counts since the start of the process, for portaclGetInfo.
struct SharingCounts {
  int64_t shared = 0;  // calls that entered a pool
  int64_t alone = 0;   // calls that the policy kept on their callers
  int64_t lost = 0;    // shared calls that waited for more than they saved
};
SharingCounts CountsOfSharing();

// Nanoseconds of a clock that never goes back. Tests set their own clock; null: the system's clock.
int64_t PolicyClock();
void SetPolicyClock(int64_t (*clock)());

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_THREAD_POLICY_H_
