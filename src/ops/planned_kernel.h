// The kernel that a plan chose, with what it planned; the making of such plans.
#ifndef PORTACL_OPS_PLANNED_KERNEL_H_
#define PORTACL_OPS_PLANNED_KERNEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "ops/plan.h"
#include "ops/select_kernel.h"
#include "runtime/fp_env.h"
#include "runtime/parallel.h"

namespace portacl::ops {

template <class Params>
class PlannedKernel {
 public:
  base::Status Choose(const Refusals& refusals, const KernelList<Params>& kernels,
                      const Params& params) {
    runtime::PrepareThreads();  // a run allocates nothing
    return SelectKernel(refusals, kernels, params, &plan_, &label_);
  }

  // Nothing to do where Choose was not called.
  void Run(const Params& params, void* workspace) const noexcept {
    if (plan_ == nullptr) return;
    const uintptr_t aligned =
        (reinterpret_cast<uintptr_t>(workspace) + kAlign - 1) / kAlign * kAlign;
    plan_->Run(params, reinterpret_cast<void*>(aligned));
  }

  // "avx512:x2", or the name alone where the plan has no path of its own.
  const std::string& label() const { return label_; }

  // What the caller must bring: room to align the kernel's own workspace, wherever it starts.
  uint64_t workspace_size() const {
    return plan_->workspace_size() == 0 ? 0 : plan_->workspace_size() + kAlign;
  }

 private:
  static constexpr uint64_t kAlign = 64;
  std::unique_ptr<const base::KernelPlan<Params>> plan_;
  std::string label_;
};

// The plan of a checked call, from what MadePlan's constructor takes.
template <class MadePlan, class... Arguments>
base::Status MakePlanOf(std::shared_ptr<const Plan>* plan, const Arguments&... arguments) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  auto made = std::make_shared<MadePlan>(arguments...);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_PLANNED_KERNEL_H_
