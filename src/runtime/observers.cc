// Finds the observers, and shows calls to them.
#include "runtime/observers.h"

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

constinit std::atomic<internal::Known> internal::observed{Known::kNothing};

bool internal::FindObservers() noexcept {
  if (observed.load() == Known::kNothing) {
    try {
      const bool found = base::LogEnabled(base::LogLevel::kDebug) || base::CallLogEnabled() ||
                         *base::settings::Trace() != '\0' || GuardEnabled() || FindLazyMode();
      observed.store(found ? Known::kOn : Known::kOff);
    } catch (...) {  // no memory for the log: the next call tries again
      return true;
    }
  }
  return observed.load() == Known::kOn;
}

bool AccessesWanted() { return Observed() && (LazyEnabled() || GuardEnabled()); }

void HostCall::Begin(const char* function, const char* phase) noexcept {
  try {
    log_ = base::LogEnabled(base::LogLevel::kTrace);
    guard_ = GuardEnabled();
  } catch (...) {  // no memory for the log
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
