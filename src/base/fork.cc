// The list of locks and the handlers of fork().
#include "base/fork.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include "base/per_thread.h"

namespace portacl::base {
namespace internal {

// All state is constant-initialised: locks enlist while other static objects are made.
struct ForkLocks {
  static constexpr size_t kRanks = static_cast<size_t>(LockRank::kLog) + 1;
  static constexpr size_t kMaxActions = 8;
  using Heads = std::array<ForkLock*, kRanks>;

  // Innermost: a thread that holds any other lock may make an object, and its maker takes none but
  // those it has made itself.
  static inline std::mutex creation;
  PORTACL_STARTS_WITH_THREAD static inline thread_local int creation_depth = 0;
  // Locks enlist at the head of their rank's list without waiting for anyone.
  static inline std::array<std::atomic<ForkLock*>, kRanks> heads{};
  static inline Heads taken{};  // by the fork() that runs
  static inline std::array<void (*)(), kMaxActions> actions{};
  static inline size_t num_actions = 0;

  static std::atomic<ForkLock*>& HeadOf(LockRank rank) { return heads[static_cast<size_t>(rank)]; }

  static Heads Snapshot() {
    Heads now;
    for (size_t rank = 0; rank < kRanks; ++rank) now[rank] = heads[rank].load();
    return now;
  }

  template <class Function>
  static void ForEach(const Heads& lists, Function function) {
    for (ForkLock* lock : lists) {
      for (; lock != nullptr; lock = lock->next_) function(lock);
    }
  }

  static void BeforeFork() {
    while (true) {
      const Heads wanted = Snapshot();
      ForEach(wanted, [](ForkLock* lock) { lock->LockForFork(); });
      if (creation.try_lock()) {  // a maker that has it may wait for a lock that is taken here
        if (Snapshot() == wanted) {
          taken = wanted;
          return;
        }
        creation.unlock();  // an object was made meanwhile, whose lock may be in use
      }
      ForEach(wanted, [](ForkLock* lock) { lock->UnlockInParent(); });
      std::this_thread::yield();
    }
  }

  static void AfterForkInParent() {
    const Heads mine = taken;
    creation.unlock();
    ForEach(mine, [](ForkLock* lock) { lock->UnlockInParent(); });
  }

  static void AfterForkInChild() {
    for (size_t i = 0; i < num_actions; ++i) actions[i]();
    ForEach(taken, [](ForkLock* lock) { lock->RenewInChild(); });
    new (&creation) std::mutex;
  }

#if !defined(__SANITIZE_THREAD__)  // it follows 64 locks of a thread at most, and no such forks
  // When the library is loaded, where memory for the registration can be counted on.
  static inline const int registered =
      pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
#endif
};

CreationLock::CreationLock() noexcept {
  if (ForkLocks::creation_depth++ == 0) ForkLocks::creation.lock();
}
CreationLock::~CreationLock() {
  if (--ForkLocks::creation_depth == 0) ForkLocks::creation.unlock();
}

void ForkLock::Enlist() noexcept {
  std::atomic<ForkLock*>& head = ForkLocks::HeadOf(rank_);
  next_ = head.load();
  while (!head.compare_exchange_weak(next_, this)) {
  }
}

void ForkLock::Delist() noexcept {
  const CreationLock others_that_delist;
  ForkLock* expected = this;
  if (ForkLocks::HeadOf(rank_).compare_exchange_strong(expected, next_)) return;
  for (ForkLock* lock = expected; lock != nullptr; lock = lock->next_) {
    if (lock->next_ == this) {
      lock->next_ = next_;
      return;
    }
  }
}

}  // namespace internal

void RunInForkedChildren(void (*action)()) {
  using internal::ForkLocks;
  const internal::CreationLock lock;
  if (ForkLocks::num_actions == ForkLocks::kMaxActions) std::abort();  // raise kMaxActions
  ForkLocks::actions[ForkLocks::num_actions++] = action;
}

}  // namespace portacl::base
