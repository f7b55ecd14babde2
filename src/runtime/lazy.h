// PORTACL_LAZY=1: streams run as late as a device may. Work begins only when a call waits for it or
// asks about it, and no other work begins. This is the latest order that streams and events allow.
// So a program that forgets to synchronise reads old memory, as it may on a device. In guard mode,
// unsynchronised memory holds bytes 0xFF. order.h names the calls.
//
// A program may notice host functions, callbacks and numbers in memory without synchronising. So
// such work begins within a tenth of a second, with all work before it.
#ifndef PORTACL_RUNTIME_LAZY_H_
#define PORTACL_RUNTIME_LAZY_H_

#include <atomic>
#include <cstdint>

namespace portacl::runtime {

namespace internal {
enum class Known : uint8_t { kNothing, kOff, kOn };
extern constinit std::atomic<Known> lazy_mode;
bool FindLazyMode();
}  // namespace internal

// Reads the environment once. If the mode is off, costs one load.
inline bool LazyEnabled() {
  return internal::lazy_mode.load(std::memory_order_relaxed) != internal::Known::kOff &&
         internal::FindLazyMode();
}

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_LAZY_H_
