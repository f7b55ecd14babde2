// The log of calls (PORTACL_LOG=calls): one line of comma-separated values for each run of an
// operator, which `portacl cases from-log` reads. docs/cases.md documents the fields.
#ifndef PORTACL_OPS_CALL_LOG_H_
#define PORTACL_OPS_CALL_LOG_H_

#include "ops/plan.h"

namespace portacl::ops {

// Nothing for a plan that is not logged().
void LogCall(const Plan& plan, double microseconds);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CALL_LOG_H_
