// Runs a job through the native C++ API (portacl/portacl.h).
#ifndef PORTACL_TOOLS_JOB_RUN_NATIVE_H_
#define PORTACL_TOOLS_JOB_RUN_NATIVE_H_

#include "tools/job/job.h"

namespace portacl::cli {

RunReport RunNative(const Job& job, const RunSettings& settings);

// The plan of a job: every check is made, nothing runs. Throws as RunNative.
Plan MakePlan(const Job& job);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_JOB_RUN_NATIVE_H_
