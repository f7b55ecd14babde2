// The parts that all two-phase functions share. At the end: the two-phase functions of the
// operators, made from ops/operator_list.inc. Such a function does not compile if no header of
// aclnnop/ declares it, or if a header declares it otherwise.
#include "api/aclnn_call.h"

#include <cstring>
#include <span>
#include <utility>
#include <variant>

#include "aclnn/aclnn_base.h"
#include "api/handles.h"
#include "api/shim.h"
#include "every_aclnnop.h"
#include "ops/operator_list.h"
#include "ops/recent_plans.h"

namespace portacl::api {
using base::Status;
using ops::Refusals;
using ops::Rule;

template <class T>
T* Arguments::Find(const char* name, const T* handle) {
  if (handle == nullptr) {
    null_ = true;
    return nullptr;
  }
  std::shared_ptr<T> found = Handles<T>().Find(handle);
  if (found == nullptr) {
    if (invalid_.ok()) {
      invalid_ =
          Refusals(op_, ops::Surface::kAclnn)
              .Refuse(Rule::kOther, "{} is not a live handle: destroyed, or never created", name);
    }
    found = std::make_shared<T>();
  }
  T* const object = found.get();
  std::shared_ptr<void>& kept =
      count_ < alive_.size() ? alive_[count_++] : more_alive_.emplace_back();
  kept = std::move(found);
  return object;
}

const base::TensorDesc* Arguments::Tensor(const char* name, const aclTensor* handle) {
  const auto* const found = Find(name, handle);
  return found == nullptr ? nullptr : &found->desc;
}
const std::vector<int64_t>* Arguments::Ints(const char* name, const aclIntArray* handle) {
  const auto* const found = Find(name, handle);
  return found == nullptr ? nullptr : &found->values;
}
const std::vector<float>* Arguments::Floats(const char* name, const aclFloatArray* handle) {
  const auto* const found = Find(name, handle);
  return found == nullptr ? nullptr : &found->values;
}
const std::vector<bool>* Arguments::Bools(const char* name, const aclBoolArray* handle) {
  const auto* const found = Find(name, handle);
  return found == nullptr ? nullptr : &found->values;
}

const aclScalar* Arguments::Scalar(const char* name, const aclScalar* handle) {
  return Find(name, handle);
}
const std::vector<const aclTensor*>* Arguments::Tensors(const char* name,
                                                        const aclTensorList* handle) {
  const auto* const found = Find(name, handle);
  return found == nullptr ? nullptr : &found->values;
}
const std::vector<const aclScalar*>* Arguments::Scalars(const char* name,
                                                        const aclScalarList* handle) {
  const auto* const found = Find(name, handle);
  return found == nullptr ? nullptr : &found->values;
}
std::shared_ptr<base::TensorDesc> Arguments::Result(const char* name, aclTensor* handle) {
  aclTensor* const found = Find<aclTensor>(name, handle);
  if (found == nullptr) return nullptr;
  return {more_alive_.empty() ? alive_[count_ - 1] : more_alive_.back(), &found->desc};
}

Status Arguments::TakeStatus() { return null_ ? Status() : std::move(invalid_); }

Status ArgumentReader::Plan(bool has_workspace_size, bool has_executor, ops::PlannedCall* planned) {
  call_.has_workspace_size = has_workspace_size;
  call_.has_executor = has_executor;
  if (has_workspace_size && has_executor) PORTACL_RETURN_IF_ERROR(arguments_.TakeStatus());
  Status status = ops::MakeOrReusePlan(call_, planned);
  if (status.code() != ACLNN_ERR_PARAM_INVALID || !HasOtherTensors() ||
      !PlanAten(call_.op(), std::span(given_).first(call_.size()), planned).ok()) {
    return status;
  }
  return {};
}

bool ArgumentReader::HasOtherTensors() const {
  for (size_t at = 0; at < call_.size(); ++at) {
    const ops::Parameter& parameter = call_.parameter(at);
    if (!ops::IsTensor(parameter.kind)) continue;
    const auto* const desc = std::get<const base::TensorDesc*>(call_.argument(at));
    const auto dtype = desc == nullptr ? base::DType::kFloat : desc->dtype;
    const auto rank = desc == nullptr ? 0 : static_cast<size_t>(desc->shape.rank());
    // A result of wrong rank is refused, because its rank follows from the inputs.
    const bool other_rank = rank != ops::PartsOf(parameter) && !ops::IsWritten(parameter.kind);
    if (!call_.signature().traits.dtypes.open.Has(static_cast<int32_t>(dtype)) || other_rank) {
      return true;
    }
  }
  return false;
}

aclnnStatus PhaseOne(const char* op, uint64_t* workspace_size, aclOpExecutor** executor,
                     Planner planner) {
  if (workspace_size != nullptr) *workspace_size = 0;
  if (executor != nullptr) *executor = nullptr;
  return GuardedNn(
      op,
      [&]() -> int32_t {
        const Refusals refusals(op, ops::Surface::kAclnn);
        if (const Status status = refusals.CheckProfile(); !status.ok())
          return base::Report(status);
        const ops::CallTimer timer;
        ops::PlannedCall planned;
        if (const Status status = planner(&planned); !status.ok()) return base::Report(status);
        timer.Planned(*planned.plan, planned.storages.has_value());
        const uint64_t size = planned.plan->workspace_size();
        *executor =
            Handles<aclOpExecutor>().Add(std::make_shared<aclOpExecutor>(std::move(planned)));
        *workspace_size = size;
        return ACLNN_SUCCESS;
      },
      "GetWorkspaceSize");
}

namespace {

// Claims the one run of a one-shot executor. Gives it back unless the run was enqueued.
class OneShotClaim {
 public:
  explicit OneShotClaim(ops::Executor& executor)
      : executor_(executor), claim_(executor.ClaimRun()) {}
  ~OneShotClaim() {
    if (claim_ == Claim::kGranted && !spent_) executor_.ReturnOneShot();
  }
  OneShotClaim(const OneShotClaim&) = delete;
  OneShotClaim& operator=(const OneShotClaim&) = delete;
  bool granted() const { return claim_ != Claim::kTaken; }
  // Returns true if the executor has now served its only run.
  bool Spend() {
    spent_ = true;
    return claim_ == Claim::kGranted;
  }

 private:
  using Claim = ops::Executor::Claim;
  ops::Executor& executor_;
  const Claim claim_;
  bool spent_ = false;
};

// Finds the executor that phase 2 got. Refuses a handle that is not live or of another operator.
Status FindExecutor(const Refusals& refusals, const aclOpExecutor* handle,
                    std::shared_ptr<aclOpExecutor>* found) {
  if (handle == nullptr) return refusals.Refuse(Rule::kNull, "executor is null");
  *found = Handles<aclOpExecutor>().Find(handle);
  if (*found == nullptr) {
    return refusals.Refuse(Rule::kOther,
                           "executor is not a live handle: it was used (a non-repeatable executor "
                           "serves one execution), destroyed, or never created");
  }
  const char* const maker = (*found)->plan().op();
  if (maker == refusals.op() || std::strcmp(maker, refusals.op()) == 0) return {};
  return refusals.Refuse(Rule::kOther, "executor was made by {}GetWorkspaceSize", maker);
}

}  // namespace

aclnnStatus PhaseTwo(const char* op, void* workspace, uint64_t workspace_size,
                     aclOpExecutor* executor, aclrtStream stream) {
  return GuardedNn(op, [&]() -> int32_t {
    const Refusals refusals(op, ops::Surface::kAclnn);
    std::shared_ptr<aclOpExecutor> found;
    if (const Status status = FindExecutor(refusals, executor, &found); !status.ok()) {
      return base::Report(status);
    }
    OneShotClaim claim(*found);
    if (!claim.granted()) {
      return base::Report(refusals.Refuse(
          Rule::kOther, "executor is in use: a non-repeatable executor serves one execution"));
    }
    const Status status = found->Enqueue(workspace, workspace_size, stream);
    if (status.ok() && claim.Spend()) Handles<aclOpExecutor>().Take(executor);
    return base::Report(status);
  });
}

}  // namespace portacl::api

namespace {

// A parameter's type by its kind.
#define PORTACL_KIND(Kind, form, aclnn, native) using Kind = aclnn;
PORTACL_KINDS(PORTACL_KIND)

}  // namespace

extern "C" {

#define PORTACL_DECLARE(Kind, name, ...) Kind name,
#define PORTACL_READ(Kind, name, ...) reader.Add(name);

#define PORTACL_ACLNN(function, Name, case_name, traits, ...)                                  \
  static_assert(sizeof(&function##GetWorkspaceSize) == sizeof(&function));                     \
  aclnnStatus function##GetWorkspaceSize(PORTACL_FOR_EACH(PORTACL_DECLARE, __VA_ARGS__)        \
                                             uint64_t* workspaceSize,                          \
                                         aclOpExecutor** executor) {                           \
    return portacl::api::PhaseOne(portacl::ops::signatures::function, workspaceSize, executor, \
                                  [&](portacl::api::ArgumentReader& reader) {                  \
                                    PORTACL_FOR_EACH(PORTACL_READ, __VA_ARGS__)                \
                                  });                                                          \
  }                                                                                            \
  aclnnStatus function(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,       \
                       aclrtStream stream) {                                                   \
    return portacl::api::PhaseTwo(#function, workspace, workspaceSize, executor, stream);      \
  }
#include "ops/operator_list.inc"

}  // extern "C"
