// Reports calls of the C API: on the timeline's rows of host threads, in PORTACL_LOG=trace, and in
// guard mode's reports of refused calls.
#ifndef PORTACL_RUNTIME_HOST_CALL_H_
#define PORTACL_RUNTIME_HOST_CALL_H_

#include <atomic>
#include <cstdint>

#include "runtime/trace.h"

namespace portacl::runtime {

// Made when a call begins. If calls are shown nowhere, it costs one load.
class HostCall {
 public:
  // Both are static strings. `phase` is "GetWorkspaceSize" for a phase 1.
  explicit HostCall(const char* function, const char* phase = "") noexcept {
    if (shown_.load(std::memory_order_relaxed) != Shown::kNowhere) Begin(function, phase);
  }
  // Reports that the call returns `code`.
  void End(int32_t code) const noexcept {
    if (log_ || trace_ || (guard_ && code != 0)) Show(code);
  }

 private:
  enum class Shown : uint8_t { kUnknown, kNowhere, kSomewhere };

  void Begin(const char* function, const char* phase) noexcept;
  void Show(int32_t code) const noexcept;

  static constinit std::atomic<Shown> shown_;

  const char* function_ = nullptr;
  const char* phase_ = nullptr;
  bool log_ = false;
  bool trace_ = false;
  bool guard_ = false;
  TraceTime begin_;
};

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_HOST_CALL_H_
