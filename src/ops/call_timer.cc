// Writes the times of operator calls.
#include "ops/call_timer.h"

#include <fmt/format.h>

#include <chrono>
#include <new>

#include "base/log.h"

namespace portacl::ops {

CallTimer::CallTimer()
    : log_(base::LogEnabled(base::LogLevel::kDebug)),
      calls_(base::CallLogEnabled()),
      trace_(runtime::TraceEnabled()) {
  if (log_ || calls_ || trace_) begin_ = std::chrono::steady_clock::now();
}

void CallTimer::End(const char* phase, const Plan& plan, Wanted wanted,
                    const char* note) const noexcept {
  if (!log_ && !wanted.trace && !wanted.call) return;
  const runtime::TraceTime end = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::micro> time = end - begin_;
  try {
    if (wanted.call) LogCall(plan, time.count());
    if (!log_ && !wanted.trace) return;
    const std::string text = plan.Describe() + note;
    if (wanted.trace) runtime::AddTraceSpan({}, {phase, plan.op(), text, begin_, end});
    if (!log_) return;
    base::Log(base::LogLevel::kDebug, fmt::format("{} {} workspace {} B, {:.1f} us", phase, text,
                                                  plan.workspace_size(), time.count()));
  } catch (const std::bad_alloc&) {  // the call itself is over, and well
  }
}

}  // namespace portacl::ops
