// The kernel that a plan chose, with what it planned.
#ifndef PORTACL_OPS_PLANNED_KERNEL_H_
#define PORTACL_OPS_PLANNED_KERNEL_H_

#include <cstdint>
#include <string>

#include "ops/select_kernel.h"
#include "runtime/parallel.h"

namespace portacl::ops {

template <class Params>
class PlannedKernel {
 public:
  base::Status Choose(const Refusals& refusals, const KernelList<Params>& kernels,
                      const Params& params) {
    runtime::PrepareThreads();  // a run allocates nothing
    return SelectKernel(refusals, kernels, params, &kernel_, &plan_);
  }

  // Nothing to do where Choose was not called.
  void Run(const Params& params, void* workspace) const noexcept {
    if (kernel_ == nullptr) return;
    const uintptr_t aligned =
        (reinterpret_cast<uintptr_t>(workspace) + kAlign - 1) / kAlign * kAlign;
    kernel_->run(params, plan_, reinterpret_cast<void*>(aligned));
  }

  std::string label() const { return KernelLabel(*kernel_, plan_); }

  // What the caller must bring: room to align the kernel's own workspace, wherever it starts.
  uint64_t workspace_size() const {
    return plan_.workspace_size == 0 ? 0 : plan_.workspace_size + kAlign;
  }

 private:
  static constexpr uint64_t kAlign = 64;
  const base::Kernel<Params>* kernel_ = nullptr;
  base::KernelPlan plan_;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_PLANNED_KERNEL_H_
