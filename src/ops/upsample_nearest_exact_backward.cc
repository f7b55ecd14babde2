// Plans of nearest-exact backward: index tables, kernel choice, workspace.
#include "ops/upsample_nearest_exact_backward.h"

#include <optional>
#include <utility>

#include "ops/call_log.h"
#include "ops/nearest_axis.h"
#include "ops/planned_kernel.h"
#include "ops/upsample_nearest_exact_backward_impls.h"
#include "ops/upsample_nearest_exact_checks.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Status;
using Call = UpsampleNearestExactBackwardCall;
using Params = UpsampleNearestExactBackwardParams;

class UpsampleNearestExactBackwardPlan final : public Plan {
 public:
  explicit UpsampleNearestExactBackwardPlan(const Call& call)
      : Plan(call.op, call.surface), scales_(call.scales) {
    const nearest::BackwardNames names = nearest::NamesOf(call);
    AddTensor(names.grad_output, *call.grad_output, false, true);
    AddTensor(names.grad_input, *call.grad_input, true, true);
    params_.dtype = call.grad_output->dtype;
    params_.n = call.grad_output->shape[0];
    params_.c = call.grad_output->shape[1];
    params_.grad_output_stride = As4D(call.grad_output->strides, 0);
    params_.grad_input_stride = As4D(call.grad_input->strides, 0);
    params_.grad_output_depth_stride = DepthOf(call.grad_output->strides, 0);
    params_.grad_input_depth_stride = DepthOf(call.grad_input->strides, 0);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory: extents that no memory holds must not cost tables of their size.
    tables_.emplace(tensor(1).desc.shape, tensor(0).desc.shape, scales_);
    params_.d = tables_->d();
    params_.h = tables_->h();
    params_.w = tables_->w();
    PORTACL_RETURN_IF_ERROR(
        chosen_.Choose(refusals(), UpsampleNearestExactBackwardImpls(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 16384;  // elements
    small_ = tensor(0).desc.NumElements() + tensor(1).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.grad_output = elements[0];
    params.grad_input = elements[1];
    chosen_.Run(params, workspace);
  }

  CallWords Words() const override {
    constexpr const char* kNames[] = {"upsample_nearest_exact1d_backward",
                                      "upsample_nearest_exact2d_backward",
                                      "upsample_nearest_exact3d_backward"};
    const int spatial = tensor(0).desc.shape.rank() - 2;
    return {kNames[spatial - 1], {"gradOutput", "out"}, ScaleWords(spatial, scales_)};
  }

 private:
  const std::array<double, 3> scales_;
  std::optional<NearestTables> tables_;
  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status PlanUpsampleNearestExactBackward(const Call& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(CheckUpsampleNearestExactBackward(call));
  return PlanCheckedUpsampleNearestExactBackward(call, plan);
}

Status PlanCheckedUpsampleNearestExactBackward(const Call& call,
                                               std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  auto made = std::make_shared<UpsampleNearestExactBackwardPlan>(call);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops
