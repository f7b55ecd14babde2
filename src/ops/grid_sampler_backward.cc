// Plans of the grid sampler's gradients: kernel choice, tensors and workspace.
#include <array>
#include <memory>
#include <utility>

#include "ops/call.h"
#include "ops/channels_first.h"
#include "ops/grid_sampler_2d_backward_params.h"
#include "ops/grid_sampler_plan.h"
#include "ops/kernels.h"
#include "ops/plan.h"
#include "ops/select_kernel.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;

template <class Params>
class GridSamplerBackwardPlan final : public Plan {
 public:
  explicit GridSamplerBackwardPlan(const Call& call) : Plan(call) {
    const TensorDesc& grad_output = *call.input(0);
    const TensorDesc input = ChannelsFirst(*call.input(1));
    const TensorDesc& grid = *call.input(2);
    params_.shape = ShapeOf<decltype(params_.shape)>(call, input, grid);
    params_.want_input_grad = IsWanted(call, 0);
    params_.want_grid_grad = IsWanted(call, 1);
    // Only gridGrad reads taps outside.
    if (params_.shape.padding == Padding::kConstant && !ReadsImage()) {
      params_.shape.padding = Padding::kZeros;
    }
    if (ReadsImage() && input.NumElements() > 0) SetStrides(input, &params_.input_stride);
    if (ReadsPoints() && grad_output.NumElements() > 0) {
      SetStrides(ChannelsFirst(grad_output), &params_.grad_output_stride);
    }
    if (ReadsPoints() && grid.NumElements() > 0) SetStrides(grid, &params_.grid_stride);
    if (params_.want_input_grad) {
      SetStrides(ChannelsFirst(*call.output(0)), &params_.input_grad_stride);
    }
    if (params_.want_grid_grad) SetStrides(*call.output(1), &params_.grid_grad_stride);
    AddTensor(call.input_name(0), grad_output, false, ReadsPoints());
    AddTensor(call.input_name(1), *call.input(1), false, ReadsImage());
    AddTensor(call.input_name(2), grid, false, ReadsPoints());
    AddResult(call, 0, params_.want_input_grad);
    AddResult(call, 1, params_.want_grid_grad);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    const auto& s = params_.shape;
    const bool fills_input_grad = params_.want_input_grad && s.n > 0 && s.c > 0;
    const bool fills_grid_grad = params_.want_grid_grad && tensor(2).desc.NumElements() > 0;
    if (!fills_input_grad && !fills_grid_grad) return {};
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), KernelsFor<Params>(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 4096;  // elements
    small_ = tensor(0).desc.NumElements() <= kSmall && tensor(1).desc.NumElements() <= kSmall &&
             tensor(2).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.grad_output = elements[0];
    params.input = elements[1];
    params.grid = elements[2];
    params.input_grad = elements[3];
    params.grid_grad = elements[4];
    chosen_.Run(params, workspace);
  }

 private:
  // Nearest has gridGrad 0 whatever the inputs hold, and only gridGrad needs the image. A run may
  // have no address of an input that it does not read or that is empty. Its strides are 0 then, by
  // which kernels step from it all the same.
  bool ReadsImage() const {
    return params_.want_grid_grad && params_.shape.interpolation != Interpolation::kNearest;
  }
  bool ReadsPoints() const { return params_.want_input_grad || ReadsImage(); }

  // The aclnn API has a mask; the native one passes null for a gradient that is not wanted, and by
  // name both are.
  static bool IsWanted(const Call& call, size_t gradient) {
    const std::vector<bool>* const mask = call.bools(0);
    return mask != nullptr ? (*mask)[gradient] : call.output(gradient) != nullptr;
  }

  void AddResult(const Call& call, size_t gradient, bool wanted) {
    const TensorDesc* const given = call.output(gradient);
    AddTensor(call.output_name(gradient), given != nullptr ? *given : TensorDesc(), true, wanted);
  }

  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status PlanCheckedGridSamplerBackward(const Call& call, std::shared_ptr<const Plan>* plan) {
  return call.axes() == 3
             ? MakePlanOf<GridSamplerBackwardPlan<GridSampler3DBackwardParams>>(plan, call)
             : MakePlanOf<GridSamplerBackwardPlan<GridSampler2DBackwardParams>>(plan, call);
}

}  // namespace portacl::ops
