// Decides which calls are shown, and shows them.
#include "runtime/host_call.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/settings.h"
#include "runtime/guard.h"

namespace portacl::runtime {
namespace {

// Functions on the timeline: they wait, make or copy memory, or put work on streams. Phase 1 has
// its own span, "plan".
bool IsShown(std::string_view function) {
  for (const std::string_view prefix :
       {"aclrtSynchronize", "aclrtMalloc", "aclrtFree", "aclrtMemcpy", "aclrtMemset", "aclrtLaunch",
        "aclrtRecordEvent", "aclrtStreamWaitEvent", "aclmdlRIExecute", "aclopExecute",
        "aclopCompileAndExecute"}) {
    if (function.starts_with(prefix)) return true;
  }
  return function.starts_with("aclnn");
}

}  // namespace

constinit std::atomic<HostCall::Shown> HostCall::shown_{Shown::kUnknown};

void HostCall::Begin(const char* function, const char* phase) noexcept {
  try {
    log_ = base::LogEnabled(base::LogLevel::kTrace);
    guard_ = GuardEnabled();
    const bool somewhere = log_ || guard_ || *base::settings::Trace() != '\0';
    shown_.store(somewhere ? Shown::kSomewhere : Shown::kNowhere, std::memory_order_relaxed);
  } catch (...) {  // no memory for the log: the next call tries again
    return;
  }
  trace_ = TraceEnabled() && *phase == '\0' && IsShown(function);
  function_ = function;
  phase_ = phase;
  if (log_ || trace_) begin_ = std::chrono::steady_clock::now();
}

void HostCall::Show(int32_t code) const noexcept {
  const TraceTime end = std::chrono::steady_clock::now();
  try {
    const std::string failure = code != 0 ? fmt::format("returned {}", code) : std::string();
    if (trace_) AddTraceSpan({}, {"host", function_, failure, begin_, end});
    if (guard_ && code != 0) ReportRefusal(function_, code);
    if (!log_) return;
    const std::chrono::duration<double, std::micro> time = end - begin_;
    base::Log(base::LogLevel::kTrace,
              fmt::format("{}{} {}, {:.1f} us", function_, phase_, code, time.count()));
  } catch (...) {  // no line is written; the call is over
  }
}

}  // namespace portacl::runtime
