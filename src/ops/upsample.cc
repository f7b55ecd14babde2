// Plans of resizing by nearest, linear and cubic interpolation, and of its gradients: tables of
// each axis, kernel choice, workspace. Tensors (N, C, L), (N, C, H, W) or (N, C, D, H, W); formats
// NHWC and NDHWC: C last.
#include <array>
#include <optional>

#include "ops/call.h"
#include "ops/channels_first.h"
#include "ops/kernels.h"
#include "ops/nearest_plan.h"
#include "ops/planned_kernel.h"
#include "ops/resample_axis.h"
#include "ops/upsample_nearest_exact_backward_params.h"
#include "ops/upsample_nearest_exact_params.h"
#include "ops/upsample_rules.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

// Extents or strides (N, C, ...) as those of N, C, D, H and W.
std::array<int64_t, 5> As5D(const Dims& dims, int64_t missing) {
  const auto [n, c, h, w] = As4D(dims, missing);
  return {n, c, DepthOf(dims, missing), h, w};
}

// Linear, cubic, antialiased, in either direction.
class ResamplePlan final : public Plan {
 public:
  explicit ResamplePlan(const Call& call) : Plan(call) {
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
    for (int axis = 0; axis < 3; ++axis) {
      rules_[static_cast<size_t>(axis)] = upsample::RuleOf(call, axis - (3 - call.axes()));
    }
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory: extents that no memory holds must not cost tables of their size.
    ResampleAxis* const axes[] = {&params_.d, &params_.h, &params_.w};
    for (size_t axis = 0; axis < 3; ++axis) {
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
  std::array<ResampleRule, 3> rules_;
  std::array<std::optional<ResampleTable>, 3> tables_;
  PlannedKernel<ResampleParams> chosen_;
};

// Nearest: kernels of nearest-exact on tables of the other rule.
class UpsampleNearestPlan final : public NearestPlan<UpsampleNearestExactParams> {
 public:
  explicit UpsampleNearestPlan(const Call& call) : NearestPlan(call, upsample::UsedScales(call)) {
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    const TensorDesc input = ChannelsFirst(*call.input(0));
    const TensorDesc output = ChannelsFirst(*call.output(0));
    params_.dtype = input.dtype;
    params_.n = input.shape[0];
    params_.c = input.shape[1];
    params_.input_stride = As4D(input.strides, 0);
    params_.output_stride = As4D(output.strides, 0);
    params_.input_depth_stride = DepthOf(input.strides, 0);
    params_.output_depth_stride = DepthOf(output.strides, 0);
  }

  Status Make() {
    const auto& kernels = KernelsFor<UpsampleNearestExactParams>();
    // The reference alone copies bytes.
    const bool bytes = params_.dtype == base::DType::kUInt8;
    return Choose(ChannelsFirst(tensor(0).desc).shape, ChannelsFirst(tensor(1).desc).shape,
                  bytes ? KernelList<UpsampleNearestExactParams>{kernels.back()} : kernels,
                  Nearest::kFloor);
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    UpsampleNearestExactParams params = params_;
    params.input = elements[0];
    params.output = elements[1];
    chosen_.Run(params, workspace);
  }
};

class UpsampleNearestBackwardPlan final : public NearestPlan<UpsampleNearestExactBackwardParams> {
 public:
  explicit UpsampleNearestBackwardPlan(const Call& call)
      : NearestPlan(call, upsample::UsedScales(call)) {
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    const TensorDesc grad_output = ChannelsFirst(*call.input(0));
    const TensorDesc grad_input = ChannelsFirst(*call.output(0));
    params_.dtype = grad_output.dtype;
    params_.n = grad_output.shape[0];
    params_.c = grad_output.shape[1];
    params_.grad_output_stride = As4D(grad_output.strides, 0);
    params_.grad_input_stride = As4D(grad_input.strides, 0);
    params_.grad_output_depth_stride = DepthOf(grad_output.strides, 0);
    params_.grad_input_depth_stride = DepthOf(grad_input.strides, 0);
  }

  Status Make() {
    return Choose(ChannelsFirst(tensor(1).desc).shape, ChannelsFirst(tensor(0).desc).shape,
                  KernelsFor<UpsampleNearestExactBackwardParams>(), Nearest::kFloor);
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    UpsampleNearestExactBackwardParams params = params_;
    params.grad_output = elements[0];
    params.grad_input = elements[1];
    chosen_.Run(params, workspace);
  }
};

}  // namespace

Status PlanCheckedUpsample(const Call& call, std::shared_ptr<const Plan>* plan) {
  if (upsample::ModeOf(call) != upsample::Mode::kNearest) {
    return MakeNearestPlan<ResamplePlan>(call, plan);
  }
  return upsample::IsBackward(call) ? MakeNearestPlan<UpsampleNearestBackwardPlan>(call, plan)
                                    : MakeNearestPlan<UpsampleNearestPlan>(call, plan);
}

}  // namespace portacl::ops
