// Adaptive average pooling and its gradient: the plan, and the checks that other operators do not
// share. Tensors are (N, C, L), (N, C, H, W) or (N, C, D, H, W); in NHWC and NDHWC, C is last.
#include <algorithm>
#include <array>

#include "ops/adaptive_avg_pool_params.h"
#include "ops/call.h"
#include "ops/kernels.h"
#include "ops/plan.h"
#include "ops/shared_checks.h"
#include "ops/table_limit.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

bool IsPoolBackward(const Call& call) {
  return call.signature().op == Op::kAdaptiveAvgPoolBackward;
}

class AdaptiveAvgPoolChecks {
 public:
  explicit AdaptiveAvgPoolChecks(const Call& call)
      : call_(call), refusals_(call.op(), call.surface()) {}

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(SharedChecks(call_).All());
    PORTACL_RETURN_IF_ERROR(Extents(Rule::kInput, call_.input_name(0), *call_.input(0)));
    PORTACL_RETURN_IF_ERROR(Extents(Rule::kOutput, call_.output_name(0), *call_.output(0)));
    return Agreement();
  }

 private:
  Status Extents(Rule rule, const char* name, const TensorDesc& tensor) const {
    const Dims shape = ChannelsFirstShape(tensor);
    for (int axis = 2; axis < shape.rank(); ++axis) {
      if (shape[axis] >= 1) continue;
      return refusals_.Refuse(rule, "{} has shape {}, but its spatial extents must be at least 1",
                              name, tensor.shape.ToString());
    }
    return {};
  }

  // Checks the result's shape: N and C of the first tensor, extents of self or of outputSize.
  Status Agreement() const {
    const Dims given = ChannelsFirstShape(*call_.input(0));
    Dims wanted = ChannelsFirstShape(*call_.output(0));
    wanted[0] = given[0];
    wanted[1] = given[1];
    const char* also = "";
    if (const TensorDesc* const self = call_.input(1); self != nullptr) {
      also = call_.input_name(1);
      const Dims shape = ChannelsFirstShape(*self);
      for (int axis = 0; axis < shape.rank(); ++axis) wanted[axis] = shape[axis];
      if (shape[0] != given[0] || shape[1] != given[1]) {
        return refusals_.Refuse(
            Rule::kInput, "{} has shape {}, but {} has {}: N and C must be equal", also,
            self->shape.ToString(), call_.input_name(0), call_.input(0)->shape.ToString());
      }
    } else if (const auto* const size = call_.ints(0); size != nullptr) {
      also = call_.ints_name(0);
      for (int axis = 0; axis < call_.axes(); ++axis) {
        wanted[axis + 2] = (*size)[static_cast<size_t>(axis)];
      }
    }
    if (ChannelsFirstShape(*call_.output(0)) == wanted) return {};
    return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but {}{}{} ask for {} as (N, C, ...)",
                            call_.output_name(0), call_.output(0)->shape.ToString(),
                            call_.input_name(0), *also == '\0' ? "" : " and ", also,
                            wanted.ToString());
  }

  const Call& call_;
  const Refusals refusals_;
};

class AdaptiveAvgPoolPlan final : public Plan {
 public:
  explicit AdaptiveAvgPoolPlan(const Call& call) : Plan(call) {
    AddTensor(call.input_name(0), *call.input(0), false, true);
    if (call.input(1) != nullptr) AddTensor(call.input_name(1), *call.input(1), false, false);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    params_.backward = IsPoolBackward(call);
    const TensorDesc& image = params_.backward ? *call.output(0) : *call.input(0);
    const TensorDesc& pooled = params_.backward ? *call.input(0) : *call.output(0);
    const Dims shape = SetAxes(image, &params_.extents, &params_.image_stride);
    SetAxes(pooled, &params_.pooled_extents, &params_.pooled_stride);
    params_.dtype = image.dtype;
    params_.n = shape[0];
    params_.c = shape[1];
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    PORTACL_RETURN_IF_ERROR(CheckTable(*this, EntriesOf(0) + EntriesOf(1) + EntriesOf(2)));
    constexpr int64_t kSmall = 4096;  // elements
    return Choose(KernelsFor<AdaptiveAvgPoolParams>(), params_, kSmall, &chosen_);
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    AdaptiveAvgPoolParams params = params_;
    void* const from = elements[0];
    void* const to = elements[static_cast<size_t>(output(0))];
    params.image = params_.backward ? to : from;
    params.pooled = params_.backward ? from : to;
    chosen_.Run(params, workspace);
  }

 private:
  // The number of table entries of an axis: one per image element and one per pooled element.
  double EntriesOf(size_t axis) const {
    return static_cast<double>(params_.extents[axis]) +
           static_cast<double>(params_.pooled_extents[axis]);
  }

  // Sets extents and strides of d, h, w; missing axes have extent 1. Returns (N, C, ...).
  static Dims SetAxes(const TensorDesc& tensor, std::array<int64_t, 3>* extents,
                      std::array<int64_t, 5>* strides) {
    const Dims shape = ChannelsFirstShape(tensor), from = ChannelsFirstStrides(tensor);
    const int axes = shape.rank() - 2;
    extents->fill(1);
    std::copy_n(shape.data() + 2, axes, extents->end() - axes);
    std::copy_n(from.data(), 2, strides->begin());
    std::copy_n(from.data() + 2, axes, strides->end() - axes);
    return shape;
  }

  AdaptiveAvgPoolParams params_;
  PlannedKernel<AdaptiveAvgPoolParams> chosen_;
};

}  // namespace

Status CheckAdaptiveAvgPool(const Call& call) { return AdaptiveAvgPoolChecks(call).Run(); }

Status PlanCheckedAdaptiveAvgPool(const Call& call, std::shared_ptr<const Plan>* plan) {
  return MakePlanOf<AdaptiveAvgPoolPlan>(plan, call);
}

}  // namespace portacl::ops
