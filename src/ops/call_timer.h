// Measures the phases of operator calls for the log (level debug), for the log of calls and for the
// timeline (PORTACL_TRACE).
#ifndef PORTACL_OPS_CALL_TIMER_H_
#define PORTACL_OPS_CALL_TIMER_H_

#include "ops/plan.h"
#include "runtime/observers.h"
#include "runtime/trace.h"

namespace portacl::ops {

// Constructed at the beginning of a phase; gets the plan at the end.
class CallTimer {
 public:
  CallTimer() {
    if (runtime::Observed()) Begin();
  }
  // Reports phase 1 on the calling thread's row of the timeline. `kept`: the plan was made before.
  void Planned(const Plan& plan, bool kept = false) const {
    End("plan", plan, {.trace = trace_}, kept ? " (kept)" : "");
  }
  void Ran(const Plan& plan) const { End("kernel", plan, {.trace = trace_, .call = calls_}); }
  // Reports phase 2. The runtime itself writes phase 2 into the timeline, on the stream's row.
  void RanOnStream(const Plan& plan) const { End("kernel", plan, {.call = calls_}); }

 private:
  // Reports that this phase makes besides the debug log.
  struct Wanted {
    bool trace = false, call = false;
  };
  void Begin();
  void End(const char* phase, const Plan& plan, Wanted wanted,
           const char* note = "") const noexcept;

  bool log_ = false;
  bool calls_ = false;
  bool trace_ = false;
  runtime::TraceTime begin_;
};

// Writes the log of calls (PORTACL_LOG=calls): one line of comma-separated values for each run of
// an operator. `portacl cases from-log` reads it; docs/cases.md documents the fields. Does nothing
// for a plan without logged().
void LogCall(const Plan& plan, double microseconds);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CALL_TIMER_H_
