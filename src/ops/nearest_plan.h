// What the plans of nearest and nearest-exact, and of their gradients, share: index tables, choice
// of the kernel.
#ifndef PORTACL_OPS_NEAREST_PLAN_H_
#define PORTACL_OPS_NEAREST_PLAN_H_

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "ops/call.h"
#include "ops/nearest_axis.h"
#include "ops/plan.h"
#include "ops/planned_kernel.h"
#include "runtime/fp_env.h"

namespace portacl::ops {

// Tensor 0 is read and tensor 1 written.
template <class Params>
class NearestPlan : public Plan {
 protected:
  explicit NearestPlan(const Call& call) : NearestPlan(call, call.scales()) {}
  NearestPlan(const Call& call, const std::array<double, 3>& scales)
      : Plan(call), scales_(scales) {}

  // `small` and `large` are the shapes of both sides as (N, C, ...).
  base::Status Choose(const base::Dims& small, const base::Dims& large,
                      const KernelList<Params>& kernels, Nearest rule = Nearest::kExact) {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory: extents that no memory holds must not cost tables of their size.
    tables_.emplace(small, large, scales_, rule);
    params_.d = tables_->d();
    params_.h = tables_->h();
    params_.w = tables_->w();
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), kernels, params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 16384;  // elements
    small_ = tensor(0).desc.NumElements() + tensor(1).desc.NumElements() <= kSmall;
    return {};
  }

  Params params_;
  PlannedKernel<Params> chosen_;

 private:
  const std::array<double, 3> scales_;
  std::optional<NearestTables> tables_;
};

// The plan of a checked call.
template <class MadePlan>
base::Status MakeNearestPlan(const Call& call, std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  auto made = std::make_shared<MadePlan>(call);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_NEAREST_PLAN_H_
