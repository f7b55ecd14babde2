// The list of the library's locks, and the handlers of fork().
#include "base/fork.h"

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/per_thread.h"

namespace portacl::base {
namespace internal {

// All members are constant-initialised, because locks enlist while other static objects are made.
struct ForkLocks {
  static constexpr size_t kRanks = static_cast<size_t>(LockRank::kLog) + 1;
  static constexpr size_t kMaxActions = 8;
  using Heads = std::array<ForkLock*, kRanks>;

  // Guards the members below. It is the innermost lock: a thread that holds any other lock may make
  // an object. A maker (the function that makes an object) takes only locks that it made itself.
  static inline std::mutex creation;
  PORTACL_STARTS_WITH_THREAD static inline thread_local int creation_depth = 0;
  // Locks by rank. A running maker's locks are in `made`: a failed maker destroys them.
  static inline Heads heads{};
  static inline Heads made{};
  static inline Heads taken{};  // the locks that the current fork() holds
  static inline std::array<void (*)(), kMaxActions> actions{};
  static inline size_t num_actions = 0;

  template <class Function>
  static void ForEach(const Heads& lists, Function function) {
    for (ForkLock* lock : lists) {
      for (; lock != nullptr; lock = lock->next_) function(lock);
    }
  }

  static void ListWhatIsMade() {
    for (size_t rank = 0; rank < kRanks; ++rank) {
      ForkLock** end = &made[rank];
      while (*end != nullptr) end = &(*end)->next_;
      *end = heads[rank];
      heads[rank] = std::exchange(made[rank], nullptr);
    }
  }

  static bool TakeOut(Heads& lists, ForkLock* lock) {
    ForkLock** link = &lists[static_cast<size_t>(lock->rank_)];
    while (*link != nullptr && *link != lock) link = &(*link)->next_;
    if (*link == nullptr) return false;
    *link = lock->next_;
    return true;
  }

  static Heads Listed() {
    const std::lock_guard makers_are_done(creation);
    return heads;
  }

  static void BeforeFork() {
    while (true) {
      const Heads wanted = Listed();
      ForEach(wanted, [](ForkLock* lock) { lock->LockForFork(); });
      if (creation.try_lock()) {  // does not wait for a maker, which may want a lock held here
        if (heads == wanted) {
          taken = wanted;
          return;
        }
        creation.unlock();  // a new object was made meanwhile: its lock may be in use
      }
      ForEach(wanted, [](ForkLock* lock) { lock->UnlockInParent(); });
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
  // Registered while the library is loaded, because memory is available then.
  static inline const int registered =
      pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
#endif
};

CreationLock::CreationLock() noexcept {
  if (ForkLocks::creation_depth++ == 0) ForkLocks::creation.lock();
}
CreationLock::~CreationLock() {
  if (ForkLocks::creation_depth == 1) ForkLocks::ListWhatIsMade();
  if (--ForkLocks::creation_depth == 0) ForkLocks::creation.unlock();
}

void ForkLock::Enlist() noexcept {
  const CreationLock lock;
  next_ = std::exchange(ForkLocks::made[static_cast<size_t>(rank_)], this);
}

void ForkLock::Delist() noexcept {
  const CreationLock lock;
  if (!ForkLocks::TakeOut(ForkLocks::made, this)) ForkLocks::TakeOut(ForkLocks::heads, this);
}

}  // namespace internal

void RunInForkedChildren(void (*action)()) {
  using internal::ForkLocks;
  const internal::CreationLock lock;
  if (ForkLocks::num_actions == ForkLocks::kMaxActions) std::abort();  // raise kMaxActions
  ForkLocks::actions[ForkLocks::num_actions++] = action;
}

}  // namespace portacl::base
