// Plans of resizing by nearest, linear and cubic interpolation, and of its gradients: tables of
// each axis, kernel choice, workspace. Tensors (N, C, L), (N, C, H, W) or (N, C, D, H, W); formats
// NHWC and NDHWC: C last.
#include <array>
#include <optional>

#include "ops/call.h"
#include "ops/channels_first.h"
#include "ops/kernels.h"
#include "ops/nearest_plan.h"
#include "ops/resample_axis.h"
#include "ops/resize.h"
#include "ops/select_kernel.h"
#include "ops/table_limit.h"
#include "ops/upsample_rules.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

// Extents or strides (N, C, ...) in the form N, C, D, H, W.
std::array<int64_t, 5> As5D(const Dims& dims, int64_t missing) {
  const auto [n, c, h, w] = As4D(dims, missing);
  return {n, c, DepthOf(dims, missing), h, w};
}

// Linear, cubic, antialiased, in either direction.
class ResamplePlan final : public Plan {
 public:
  explicit ResamplePlan(const Call& call) : Plan(call), rules_(upsample::RulesOf(call)) {
    if (upsample::FromTopLeft(call)) LeaveOutOfTheLog();
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    const TensorDesc from = ChannelsFirst(*call.input(0));
    const TensorDesc to = ChannelsFirst(*call.output(0));
    params_.dtype = from.dtype;
    params_.backward = upsample::IsBackward(call);
    params_.n = from.shape[0];
    params_.c = from.shape[1];
    params_.input_stride = As5D(from.strides, 0);
    params_.output_stride = As5D(to.strides, 0);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory: extents that no memory holds must not cost tables of their size.
    ResampleAxis* const axes[] = {&params_.d, &params_.h, &params_.w};
    for (size_t axis = 0; axis < 3; ++axis) {
      PORTACL_RETURN_IF_ERROR(CheckTable(*this, rules_[axis].MostTaps()));
      tables_[axis].emplace(rules_[axis], params_.backward);
      *axes[axis] = tables_[axis]->axis();
    }
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), KernelsFor<ResampleParams>(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 4096;  // elements
    small_ = tensor(0).desc.NumElements() + tensor(1).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    ResampleParams params = params_;
    params.input = elements[0];
    params.output = elements[1];
    chosen_.Run(params, workspace);
  }

 private:
  ResampleParams params_;
  const std::array<ResampleRule, 3> rules_;
  std::array<std::optional<ResampleTable>, 3> tables_;
  PlannedKernel<ResampleParams> chosen_;
};

}  // namespace

Status PlanCheckedUpsample(const Call& call, std::shared_ptr<const Plan>* plan) {
  if (resize::Is(call)) return PlanCheckedUpsample(resize::AsUpsample(call), plan);
  if (upsample::ModeOf(call) != upsample::Mode::kNearest) {
    return MakePlanOf<ResamplePlan>(plan, call);
  }
  const Nearest rule = upsample::NearestRuleOf(call);
  return PlanNearest(call,
                     {.rule = rule,
                      .backward = upsample::IsBackward(call),
                      .scales = upsample::UsedScales(call, upsample::SidesOf(call)),
                      .logged = rule == Nearest::kFloor},
                     plan);
}

}  // namespace portacl::ops
