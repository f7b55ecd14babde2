// Runs a job as a program for the vendor's toolkit does: aclrt memory and stream, then the two
// phases of the aclnn functions, or aclopCompileAndExecute for the graph operator.
#ifndef PORTACL_TOOLS_JOB_RUN_ACL_H_
#define PORTACL_TOOLS_JOB_RUN_ACL_H_

#include "tools/job/job.h"

namespace portacl::cli {

// Sets the profile of the process. Copies inputs to device memory and results back; only phase 2
// and the wait for the stream are timed.
RunReport RunAcl(Job& job, const RunSettings& settings);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_JOB_RUN_ACL_H_
