// Refuses a workspace that is missing or smaller than planned.
#ifndef PORTACL_OPS_WORKSPACE_CHECK_H_
#define PORTACL_OPS_WORKSPACE_CHECK_H_

#include <cstdint>

#include "base/status.h"
#include "ops/plan.h"

namespace portacl::ops {

base::Status CheckWorkspaceSize(const Plan& plan, uint64_t workspace_size);

// Also asks the runtime, if it allocated the memory, how much is left behind `workspace`.
base::Status CheckWorkspace(const Plan& plan, const void* workspace, uint64_t workspace_size);

// For APIs that allocate the workspace: null if they could not.
base::Status CheckOwnWorkspace(const Plan& plan, const void* workspace);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_WORKSPACE_CHECK_H_
