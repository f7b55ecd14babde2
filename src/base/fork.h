// Lets a child of fork() use the library, even if other threads of the parent were inside it. The
// child finds no data half changed, and no lock held by a thread that does not exist there.
#ifndef PORTACL_BASE_FORK_H_
#define PORTACL_BASE_FORK_H_

#include <atomic>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <type_traits>

namespace portacl::base {

// The order in which a thread may take the library's long-lived locks, outermost first. fork()
// takes all of them in this order. No thread holds two locks of one rank.
enum class LockRank {
  kLife,
  kLeaks,
  kRuntime,
  kHandles,
  kMemory,
  kGuard,
  kPool,
  kSettings,
  kTrace,
  kPendingHost,
  kLog,
};

namespace internal {

// An element of the list of locks that fork() takes.
class ForkLock {
 public:
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;

  virtual void LockForFork() = 0;
  virtual void UnlockInParent() = 0;
  virtual void RenewInChild() = 0;

 protected:
  explicit ForkLock(LockRank rank) : rank_(rank) {}
  virtual ~ForkLock() = default;
  void Enlist() noexcept;
  // Removes the lock of a maker that failed; other locks live for ever. Not during a fork().
  void Delist() noexcept;

 private:
  friend struct ForkLocks;
  const LockRank rank_;
  ForkLock* next_ = nullptr;
};

// A thread holds it while it makes an object or a value at the first use, and while it changes data
// that fork() reads. The thread that holds it may take it again.
class CreationLock {
 public:
  CreationLock() noexcept;
  ~CreationLock();
  CreationLock(const CreationLock&) = delete;
  CreationLock& operator=(const CreationLock&) = delete;
};

}  // namespace internal

// A std::mutex or std::shared_mutex that is free in a child of fork(). The child finds the guarded
// data as the last owner left them.
template <class Mutex>
class ForkSafe final : public Mutex, private internal::ForkLock {
 public:
  explicit ForkSafe(LockRank rank) : ForkLock(rank) { Enlist(); }
  ~ForkSafe() override { Delist(); }

 private:
  void LockForFork() override { this->lock(); }
  void UnlockInParent() override { this->unlock(); }
  // The child's thread may not unlock a lock that another thread of the parent took: it renews it.
  void RenewInChild() override { new (static_cast<Mutex*>(this)) Mutex; }
};

// An object that is made at its first use and never destroyed, because threads and handlers use it
// while static objects are destroyed. Unlike a static local variable, it is never half made in a
// child of fork(). Must have static storage duration.
template <class T>
class Immortal {
 public:
  constexpr Immortal() = default;

  // Returns the object. At the first use make() returns a new T*; it may throw. make() takes no
  // ForkSafe locks except locks that it has made, and waits for no other thread.
  template <class Make>
  T& Get(Make&& make) {
    if (T* const made = object_.load(std::memory_order_acquire)) return *made;
    return FirstGet(make);
  }
  T& Get() {
    return Get([] { return new T; });
  }

  // Returns the object, or null if it has not been made.
  T* Find() const { return object_.load(std::memory_order_acquire); }

  // Makes the next use make a new object. The old object stays valid for threads that use it.
  void Forget() { object_.store(nullptr, std::memory_order_release); }

 private:
  // Not inlined, because its stack frame would slow down every later use.
  template <class Make>
  [[gnu::noinline]] T& FirstGet(Make& make) {
    const internal::CreationLock lock;
    if (T* const made = object_.load(std::memory_order_relaxed)) return *made;
    T* const made = make();
    object_.store(made, std::memory_order_release);
    return *made;
  }

  std::atomic<T*> object_{nullptr};
};

// A plain value that is computed at its first use. Like Immortal, but it contains the value, so the
// first use allocates nothing. Must have static storage duration.
template <class T>
class Once {
 public:
  constexpr Once() = default;

  // Returns the value. At the first use find() computes it and may throw. The rules of Immortal's
  // make() apply to find(). It must not ask for this value.
  template <class Find>
  const T& Get(Find&& find) {
    return IsFound() ? value_ : FirstGet(find);
  }

  bool IsFound() const { return is_found_.load(std::memory_order_acquire); }

 private:
  // Not inlined, for the same reason as in Immortal.
  template <class Find>
  [[gnu::noinline]] const T& FirstGet(Find& find) {
    const internal::CreationLock lock;
    if (is_found_.load(std::memory_order_relaxed)) return value_;
    value_ = find();
    is_found_.store(true, std::memory_order_release);
    return value_;
  }

  T value_{};
  std::atomic<bool> is_found_{false};
};

// Registers an action that the child of each fork() runs first, while it holds the library's locks.
// There is room for a few actions.
void RunInForkedChildren(void (*action)());

}  // namespace portacl::base

#endif  // PORTACL_BASE_FORK_H_
