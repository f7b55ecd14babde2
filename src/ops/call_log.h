// The log of calls (PORTACL_LOG=calls).
#ifndef PORTACL_OPS_CALL_LOG_H_
#define PORTACL_OPS_CALL_LOG_H_

#include "ops/plan.h"

namespace portacl::ops {

// Writes the log of calls (PORTACL_LOG=calls): one line of comma-separated values for each run of
// an operator. `portacl cases from-log` reads it; docs/cases.md documents the fields. Does nothing
// for a plan without logged().
void LogCall(const Plan& plan, double microseconds);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CALL_LOG_H_
