// A plain value that is found out at its first use.
#ifndef PORTACL_BASE_ONCE_H_
#define PORTACL_BASE_ONCE_H_

#include <atomic>

#include "base/fork.h"

namespace portacl::base {

// As Immortal, with the value in itself: the first use allocates nothing. Make one of static
// storage duration.
template <class T>
class Once {
 public:
  constexpr Once() = default;

  // The value; find() returns it, may throw, and is under the conditions of Immortal's make(). It
  // does not ask for this value.
  template <class Find>
  const T& Get(Find&& find) {
    if (is_found_.load(std::memory_order_acquire)) return value_;
    const internal::CreationLock lock;
    if (is_found_.load(std::memory_order_relaxed)) return value_;
    value_ = find();
    is_found_.store(true, std::memory_order_release);
    return value_;
  }

  bool IsFound() const { return is_found_.load(std::memory_order_acquire); }

 private:
  T value_{};
  std::atomic<bool> is_found_{false};
};

}  // namespace portacl::base

#endif  // PORTACL_BASE_ONCE_H_
