// What may observe calls and their work: the log, the timeline, guard mode and lazy mode. In most
// processes nothing does, so calls first ask Observed().
//
// PORTACL_LAZY=1: streams run as late as a device may. Work begins only when a call waits for it or
// asks about it, and no other work begins. This is the latest order that streams and events allow.
// So a program that forgets to synchronise reads old memory, as it may on a device. In guard mode,
// unsynchronised memory holds bytes 0xFF. order.h reports calls that nothing orders.
//
// A program may notice host functions, callbacks and numbers in memory without synchronising. So
// such work begins within a tenth of a second, with all work before it.
#ifndef PORTACL_RUNTIME_OBSERVERS_H_
#define PORTACL_RUNTIME_OBSERVERS_H_

#include <atomic>
#include <cstdint>

#include "runtime/trace.h"

namespace portacl::runtime {

namespace internal {
enum class Known : uint8_t { kNothing, kOff, kOn };
extern constinit std::atomic<Known> observed;
bool FindObservers() noexcept;
bool FindLazyMode();  // defined in order.cc
}  // namespace internal

// Returns false if no observer is on. Observers are guard mode, lazy mode, the timeline, the log of
// calls, and the log at level debug or trace. Reads the environment once; then it costs one load.
// Also returns true if there is no memory to find out.
inline bool Observed() noexcept {
  return internal::observed.load(std::memory_order_relaxed) != internal::Known::kOff &&
         internal::FindObservers();
}

inline bool LazyEnabled() { return Observed() && internal::FindLazyMode(); }

// Returns true if Work::accesses is used: in guard mode and in lazy mode.
bool AccessesWanted();

// Reports a call of the C API: on the timeline's rows of host threads, in PORTACL_LOG=trace, and in
// guard mode's reports of refused calls. Made when the call begins.
class HostCall {
 public:
  // Both are static strings. `phase` is "GetWorkspaceSize" for a phase 1.
  explicit HostCall(const char* function, const char* phase = "") noexcept {
    if (Observed()) Begin(function, phase);
  }
  // Reports that the call returns `code`.
  void End(int32_t code) const noexcept {
    if (log_ || trace_ || (guard_ && code != 0)) Show(code);
  }

 private:
  void Begin(const char* function, const char* phase) noexcept;
  void Show(int32_t code) const noexcept;

  const char* function_ = nullptr;
  const char* phase_ = nullptr;
  bool log_ = false;
  bool trace_ = false;
  bool guard_ = false;
  TraceTime begin_;
};

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_OBSERVERS_H_
