// Plans grid sampling and its gradients: kernel choice, tensors and workspace.
#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/grid_sampler_params.h"
#include "ops/plan.h"
#include "ops/kernels.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

// Reads the shape and the attributes from the call, its input and its grid.
template <class Shape>
Shape ShapeOf(const Call& call, const TensorDesc& input, const TensorDesc& grid) {
  constexpr int kAxes = std::is_base_of_v<GridSampler3DShape, Shape> ? 3 : 2;
  Shape shape;
  shape.dtype = input.dtype;
  const Dims from = ChannelsFirstShape(input);
  shape.n = from[0];
  shape.c = from[1];
  shape.h = from[kAxes];
  shape.w = from[kAxes + 1];
  shape.oh = grid.shape[kAxes - 1];
  shape.ow = grid.shape[kAxes];
  if constexpr (kAxes == 3) {
    shape.d = from[2];
    shape.od = grid.shape[1];
    // If the grid is empty, all extents become 0, because their products may exceed 64 bits.
    if (grid.NumElements() == 0) shape.od = shape.oh = shape.ow = 0;
  }
  shape.interpolation = static_cast<Interpolation>(call.mode(0));
  shape.padding = static_cast<Padding>(call.mode(1));
  shape.align_corners = call.flag(0);
  shape.fill = call.real(0);
  shape.replaces_outside = call.flag(1);
  shape.outside_value = call.real(1);
  return shape;
}

template <size_t kRank>
void CopyStrides(const Dims& from, std::array<int64_t, kRank>* strides) {
  std::copy_n(from.data(), kRank, strides->begin());
}

template <class Params>
class GridSamplerPlan final : public Plan {
 public:
  explicit GridSamplerPlan(const Call& call) : Plan(call) {
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.input_name(1), *call.input(1), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    params_.shape = ShapeOf<decltype(params_.shape)>(call, *call.input(0), *call.input(1));
    CopyStrides(ChannelsFirstStrides(*call.input(0)), &params_.input_stride);
    CopyStrides(call.input(1)->strides, &params_.grid_stride);
    CopyStrides(ChannelsFirstStrides(*call.output(0)), &params_.output_stride);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (tensor(2).elements == 0) return {};
    constexpr int64_t kSmall = 4096;  // elements
    PORTACL_RETURN_IF_ERROR(Choose(KernelsFor<Params>(), params_, kSmall, &chosen_));
    small_ = tensor(0).HasAtMost(kSmall) && tensor(2).HasAtMost(kSmall);
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.input = elements[0];
    params.grid = elements[1];
    params.output = elements[2];
    chosen_.Run(params, workspace);
  }

 private:
  Params params_;
  PlannedKernel<Params> chosen_;
};

template <class Params>
class GridSamplerBackwardPlan final : public Plan {
 public:
  explicit GridSamplerBackwardPlan(const Call& call) : Plan(call) {
    const TensorDesc& grad_output = *call.input(0);
    const TensorDesc& input = *call.input(1);
    const TensorDesc& grid = *call.input(2);
    params_.shape = ShapeOf<decltype(params_.shape)>(call, input, grid);
    params_.want_input_grad = IsWanted(call, 0);
    params_.want_grid_grad = IsWanted(call, 1);
    // Without gridGrad no kernel reads taps outside, so constant padding is the same as zeros.
    if (params_.shape.padding == Padding::kConstant && !ReadsImage()) {
      params_.shape.padding = Padding::kZeros;
    }
    if (AddTensor(call.input_name(0), grad_output, false, ReadsPoints()).has_elements()) {
      CopyStrides(ChannelsFirstStrides(grad_output), &params_.grad_output_stride);
    }
    if (AddTensor(call.input_name(1), input, false, ReadsImage()).has_elements()) {
      CopyStrides(ChannelsFirstStrides(input), &params_.input_stride);
    }
    if (AddTensor(call.input_name(2), grid, false, ReadsPoints()).has_elements()) {
      CopyStrides(grid.strides, &params_.grid_stride);
    }
    if (params_.want_input_grad) {
      CopyStrides(ChannelsFirstStrides(*call.output(0)), &params_.input_grad_stride);
    }
    if (params_.want_grid_grad) CopyStrides(call.output(1)->strides, &params_.grid_grad_stride);
    AddResult(call, 0, params_.want_input_grad);
    AddResult(call, 1, params_.want_grid_grad);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    const auto& s = params_.shape;
    const bool fills_input_grad = params_.want_input_grad && s.n > 0 && s.c > 0;
    const bool fills_grid_grad = params_.want_grid_grad && tensor(2).elements != 0;
    if (!fills_input_grad && !fills_grid_grad) return {};
    constexpr int64_t kSmall = 4096;  // elements
    PORTACL_RETURN_IF_ERROR(Choose(KernelsFor<Params>(), params_, kSmall, &chosen_));
    small_ =
        tensor(0).HasAtMost(kSmall) && tensor(1).HasAtMost(kSmall) && tensor(2).HasAtMost(kSmall);
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
  // gridGrad alone reads the image, and not in nearest mode, where gridGrad is 0. If a run does not
  // read an input, or the input is empty, its address may be null. Then its strides are 0, because
  // kernels step through it all the same.
  bool ReadsImage() const {
    return params_.want_grid_grad && params_.shape.interpolation != Interpolation::kNearest;
  }
  bool ReadsPoints() const { return params_.want_input_grad || ReadsImage(); }

  // Returns true if the caller wants the gradient: by the mask of the aclnn API, or by a result
  // that is not null (native API). Calls by name want both gradients.
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

Status PlanCheckedGridSampler(const Call& call, std::shared_ptr<const Plan>* plan) {
  return call.axes() == 3 ? MakePlanOf<GridSamplerPlan<GridSampler3DParams>>(plan, call)
                          : MakePlanOf<GridSamplerPlan<GridSampler2DParams>>(plan, call);
}

Status PlanCheckedGridSamplerBackward(const Call& call, std::shared_ptr<const Plan>* plan) {
  return call.axes() == 3
             ? MakePlanOf<GridSamplerBackwardPlan<GridSampler3DBackwardParams>>(plan, call)
             : MakePlanOf<GridSamplerBackwardPlan<GridSampler2DBackwardParams>>(plan, call);
}

}  // namespace portacl::ops
