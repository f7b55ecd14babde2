// Times the phases of operator calls for the log (level debug) and the timeline (PORTACL_TRACE).
#ifndef PORTACL_OPS_CALL_TIMER_H_
#define PORTACL_OPS_CALL_TIMER_H_

#include "ops/plan.h"
#include "runtime/trace.h"

namespace portacl::ops {

// Made where a phase begins and told of its plan where it ends; no more than two tests of a flag
// where neither the log nor the timeline is wanted.
class CallTimer {
 public:
  CallTimer();
  // On the calling thread's row of the timeline.
  void Planned(const Plan& plan) const { End("plan", plan, true); }
  void Ran(const Plan& plan) const { End("kernel", plan, true); }
  // The stream has put the run on its own row.
  void RanOnStream(const Plan& plan) const { End("kernel", plan, false); }

 private:
  void End(const char* phase, const Plan& plan, bool trace) const noexcept;

  const bool log_;
  const bool trace_;
  runtime::TraceTime begin_;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CALL_TIMER_H_
