// Rules on workspaces, and rules that hold for every output, for plans of several calls too. Plan
// has the other rules on memory.
#ifndef PORTACL_OPS_MEMORY_RULES_H_
#define PORTACL_OPS_MEMORY_RULES_H_

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/plan.h"
#include "ops/refusal.h"

namespace portacl::ops {

// Each element of the output called `name` has a place of its own.
base::Status CheckOwnPlaces(const Refusals& refusals, const char* name,
                            const base::TensorDesc& output);

// The output called `name` overlaps `other`.
base::Status OverlapError(const Refusals& refusals, const char* name, const std::string& other);

// Refuses a workspace that is smaller than planned.
base::Status CheckWorkspaceSize(const Plan& plan, uint64_t workspace_size);

// Also asks the runtime, if it allocated the memory, how much is left behind `workspace`.
base::Status CheckWorkspace(const Plan& plan, const void* workspace, uint64_t workspace_size);

// For APIs that allocate the workspace: null if they could not.
base::Status CheckOwnWorkspace(const Plan& plan, const void* workspace);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_MEMORY_RULES_H_
