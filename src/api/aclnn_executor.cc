// aclnn/acl_meta.h: executors that run repeatedly, with other addresses.
#include <cstddef>
#include <memory>
#include <string>

#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"
#include "api/handles.h"
#include "api/shim.h"
#include "api/with_handle.h"
#include "base/tensor_desc.h"

using portacl::api::Destroy;
using portacl::api::GuardedNn;
using portacl::api::Handles;
using portacl::api::Invalid;
using portacl::api::Null;
using portacl::api::WithHandle;
using portacl::base::Status;

namespace {

enum class Side { kInput, kOutput, kAny };

// Sets a tensor's address without an executor. Programs do so before phase 1 and ignore the code.
aclnnStatus SetWithoutExecutor(const char* function, const aclTensor* tensor, void* addr) {
  return GuardedNn(function, [&]() -> Status {
    const auto object = Handles<aclTensor>().Find(tensor);
    if (object == nullptr) return Null("executor is null, and tensor is not a live handle");
    object->desc.data = addr;
    return Null("executor is null: only the tensor has got the address");
  });
}

aclnnStatus SetTensorAddr(const char* function, aclOpExecutor* executor, size_t index,
                          aclTensor* tensor, void* addr, Side side) {
  if (executor == nullptr) return SetWithoutExecutor(function, tensor, addr);
  return WithHandle(function, "executor", executor, [&](aclOpExecutor& found) -> Status {
    const portacl::ops::Plan& plan = found.plan();
    const size_t inputs = side == Side::kOutput ? 0 : static_cast<size_t>(plan.num_inputs());
    const size_t outputs = side == Side::kInput ? 0 : static_cast<size_t>(plan.num_outputs());
    if (index >= inputs + outputs) {
      return Invalid("index is {}, but {} has {} tensor {}", index, plan.op(), inputs + outputs,
                     side == Side::kInput    ? "inputs"
                     : side == Side::kOutput ? "outputs"
                                             : "inputs and outputs");
    }
    if (tensor == nullptr) return Null("tensor is null");
    const std::shared_ptr<aclTensor> object = Handles<aclTensor>().Find(tensor);
    if (object == nullptr) return Invalid("tensor is not a live handle");
    const int slot = index < inputs ? plan.input(static_cast<int>(index))
                                    : plan.output(static_cast<int>(index - inputs));
    const std::string difference = plan.LayoutDifference(slot, object->desc);
    if (!difference.empty()) {
      return Invalid("tensor has another layout than {} had in phase 1: {}", plan.tensor(slot).name,
                     difference);
    }
    PORTACL_RETURN_IF_ERROR(found.SetAddress(slot, addr));
    object->desc.data = addr;
    return {};
  });
}

}  // namespace

extern "C" {

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return WithHandle(__func__, "executor", executor, [](aclOpExecutor& found) -> Status {
    found.SetRepeatable();
    return {};
  });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return Destroy(__func__, "executor", executor);
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* addr) {
  return SetTensorAddr(__func__, executor, index, tensor, addr, Side::kInput);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* addr) {
  return SetTensorAddr(__func__, executor, index, tensor, addr, Side::kOutput);
}

aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* addr) {
  return SetTensorAddr(__func__, executor, index, tensor, addr, Side::kAny);
}

aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                  void* addr) {
  return SetTensorAddr(__func__, executor, index, tensor, addr, Side::kInput);
}

aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                                   void* addr) {
  return SetTensorAddr(__func__, executor, index, tensor, addr, Side::kOutput);
}

aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, const size_t index, aclTensor* tensor,
                             void* addr) {
  return SetTensorAddr(__func__, executor, index, tensor, addr, Side::kAny);
}

}  // extern "C"
