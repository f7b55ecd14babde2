// Writes the times of operator calls.
#include "ops/call_timer.h"

#include <fmt/format.h>

#include <chrono>
#include <new>

#include "base/log.h"

namespace portacl::ops {

CallTimer::CallTimer()
    : log_(base::LogEnabled(base::LogLevel::kDebug)), trace_(runtime::TraceEnabled()) {
  if (log_ || trace_) begin_ = std::chrono::steady_clock::now();
}

void CallTimer::End(const char* phase, const Plan& plan, bool trace) const noexcept {
  if (!log_ && !(trace && trace_)) return;
  const runtime::TraceTime end = std::chrono::steady_clock::now();
  try {
    const std::string text = plan.Describe();
    if (trace && trace_) runtime::AddTraceSpan({}, {phase, plan.op(), text, begin_, end});
    if (!log_) return;
    const std::chrono::duration<double, std::micro> time = end - begin_;
    base::Log(base::LogLevel::kDebug, fmt::format("{} {} workspace {} B, {:.1f} us", phase, text,
                                                  plan.workspace_size(), time.count()));
  } catch (const std::bad_alloc&) {  // the call itself is over, and well
  }
}

}  // namespace portacl::ops
