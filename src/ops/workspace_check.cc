// Refuses a workspace that is missing or smaller than planned.
#include "ops/workspace_check.h"

#include "runtime/memory.h"

namespace portacl::ops {

using base::Status;

Status CheckWorkspaceSize(const Plan& plan, uint64_t workspace_size) {
  if (workspace_size >= plan.workspace_size()) return {};
  return plan.refusals().Refuse(Rule::kOther, "workspaceSize is {}, but {} bytes were planned",
                                workspace_size, plan.workspace_size());
}

Status CheckWorkspace(const Plan& plan, const void* workspace, uint64_t workspace_size) {
  const Refusals& refusals = plan.refusals();
  const uint64_t planned = plan.workspace_size();
  if (workspace == nullptr && planned > 0) {
    return refusals.Refuse(Rule::kNull, "workspace is null, but {} bytes were planned", planned);
  }
  PORTACL_RETURN_IF_ERROR(CheckWorkspaceSize(plan, workspace_size));
  runtime::AllocationInfo allocation;
  if (planned == 0 || !runtime::FindAllocation(workspace, &allocation)) return {};
  const auto before = static_cast<uint64_t>(static_cast<const char*>(workspace) -
                                            static_cast<const char*>(allocation.base));
  if (allocation.size - before >= planned) return {};
  return refusals.Refuse(
      Rule::kOther,
      "workspace has {} bytes left in its allocation of {} bytes, but {} were planned",
      allocation.size - before, allocation.size, planned);
}

Status CheckOwnWorkspace(const Plan& plan, const void* workspace) {
  if (workspace != nullptr || plan.workspace_size() == 0) return {};
  return plan.refusals().Refuse(Rule::kNoMemory, "no memory for a workspace of {} bytes",
                                plan.workspace_size());
}

}  // namespace portacl::ops
