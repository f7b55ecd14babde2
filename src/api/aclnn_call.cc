// The common part of the two-phase functions.
#include "api/aclnn_call.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "acl/acl_base.h"
#include "aclnn/aclnn_base.h"
#include "api/shim.h"
#include "api/tensor_handles.h"
#include "ops/call_timer.h"
#include "ops/settings.h"

namespace portacl::api {
namespace {

using base::Status;

// Runtime errors of phase 2 as aclnn codes: a stream that is not one is a wrong parameter.
int32_t AclnnCodeOf(int32_t code) {
  switch (code) {
    case ACLNN_SUCCESS:
    case ACLNN_ERR_PARAM_NULLPTR:
    case ACLNN_ERR_PARAM_INVALID:
      return code;
    case ACL_ERROR_RT_INVALID_HANDLE:
      return ACLNN_ERR_PARAM_INVALID;
    default:
      return ACLNN_ERR_RUNTIME_ERROR;
  }
}

}  // namespace

template <class T>
std::shared_ptr<T> Arguments::Find(const char* name, const T* handle) {
  if (handle == nullptr) {
    null_ = true;
    return nullptr;
  }
  std::shared_ptr<T> found = Handles<T>().Find(handle);
  if (found == nullptr) {
    if (invalid_.ok()) {
      invalid_ = Status(
          ACLNN_ERR_PARAM_INVALID,
          fmt::format("{}: {} is not a live handle: destroyed, or never created", op_, name));
    }
    found = std::make_shared<T>();
  }
  alive_.push_back(found);
  return found;
}

const base::TensorDesc* Arguments::Tensor(const char* name, const aclTensor* handle) {
  const auto found = Find(name, handle);
  return found == nullptr ? nullptr : &found->desc;
}
const std::vector<int64_t>* Arguments::Ints(const char* name, const aclIntArray* handle) {
  const auto found = Find(name, handle);
  return found == nullptr ? nullptr : &found->values;
}
const std::vector<bool>* Arguments::Bools(const char* name, const aclBoolArray* handle) {
  const auto found = Find(name, handle);
  return found == nullptr ? nullptr : &found->values;
}

Status Arguments::status() const { return null_ ? Status() : invalid_; }

aclnnStatus PhaseOne(const char* op, uint64_t* workspace_size, aclOpExecutor** executor,
                     const Planner& planner) {
  if (workspace_size != nullptr) *workspace_size = 0;
  if (executor != nullptr) *executor = nullptr;
  return GuardedNn(op, [&]() -> int32_t {
    if (const Status status = ops::ProfileEnvironmentStatus(); !status.ok()) {
      return base::Report(Status(status.code(), fmt::format("{}: {}", op, status.message())));
    }
    const ops::CallTimer timer;
    std::shared_ptr<const ops::Plan> plan;
    if (const Status status = planner(&plan); !status.ok()) return base::Report(status);
    timer.Planned(*plan);
    *workspace_size = plan->workspace_size();
    *executor = Handles<aclOpExecutor>().Add(std::make_shared<aclOpExecutor>(std::move(plan)));
    return ACLNN_SUCCESS;
  });
}

aclnnStatus PhaseTwo(const char* op, void* workspace, uint64_t workspace_size,
                     aclOpExecutor* executor, aclrtStream stream) {
  return GuardedNn(op, [&]() -> int32_t {
    const auto refuse = [&](aclnnStatus code, const char* text) {
      return base::Report(Status(code, fmt::format("{}: {}", op, text)));
    };
    if (executor == nullptr) return refuse(ACLNN_ERR_PARAM_NULLPTR, "executor is null");
    const std::shared_ptr<aclOpExecutor> found = Handles<aclOpExecutor>().Find(executor);
    if (found == nullptr) {
      return refuse(ACLNN_ERR_PARAM_INVALID,
                    "executor is not a live handle: it was used (a non-repeatable executor serves "
                    "one execution), destroyed, or never created");
    }
    if (std::strcmp(found->plan().op(), op) != 0) {
      return base::Report(Status(
          ACLNN_ERR_PARAM_INVALID,
          fmt::format("{}: executor was made by {}GetWorkspaceSize", op, found->plan().op())));
    }
    const bool one_shot = !found->repeatable();
    if (one_shot && !found->ClaimOneShot()) {
      return refuse(ACLNN_ERR_PARAM_INVALID,
                    "executor is in use: a non-repeatable executor serves one execution");
    }
    const Status status = found->Enqueue(workspace, workspace_size, stream);
    if (one_shot) {
      if (status.ok()) {
        Handles<aclOpExecutor>().Take(executor);
      } else {
        found->ReturnOneShot();
      }
    }
    if (status.ok()) return ACLNN_SUCCESS;
    const std::string prefix = std::string(op) + ": ";
    const bool named = status.message().rfind(prefix, 0) == 0;
    return base::Report(
        Status(AclnnCodeOf(status.code()), named ? status.message() : prefix + status.message()));
  });
}

}  // namespace portacl::api
