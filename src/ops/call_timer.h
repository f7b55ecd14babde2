// Times the phases of operator calls for the log (level debug, and its lines of calls) and the
// timeline (PORTACL_TRACE).
#ifndef PORTACL_OPS_CALL_TIMER_H_
#define PORTACL_OPS_CALL_TIMER_H_

#include "ops/plan.h"
#include "runtime/trace.h"

namespace portacl::ops {

// Constructed at the beginning of a phase; gets the plan at its end. If neither a log nor the
// timeline is wanted, it costs at most three tests of a flag.
class CallTimer {
 public:
  CallTimer();
  // On the calling thread's row of the timeline. `kept`: the plan of an equal call.
  void Planned(const Plan& plan, bool kept = false) const {
    End("plan", plan, {.trace = trace_}, kept ? " (kept)" : "");
  }
  void Ran(const Plan& plan) const { End("kernel", plan, {.trace = trace_, .call = calls_}); }
  // The stream has put the run on its own row.
  void RanOnStream(const Plan& plan) const { End("kernel", plan, {.call = calls_}); }

 private:
  // The wanted reports beside the debug log.
  struct Wanted {
    bool trace = false, call = false;
  };
  void End(const char* phase, const Plan& plan, Wanted wanted,
           const char* note = "") const noexcept;

  const bool log_;
  const bool calls_;
  const bool trace_;
  runtime::TraceTime begin_;
};

// The log of calls (PORTACL_LOG=calls): one line of comma-separated values for each run of an
// operator, which `portacl cases from-log` reads. docs/cases.md documents the fields. Nothing for a
// plan that is not logged().
void LogCall(const Plan& plan, double microseconds);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CALL_TIMER_H_
