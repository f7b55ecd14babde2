// Plans of the grid sampler's gradients: kernel choice, tensors and workspace.
#include "ops/grid_sampler_backward.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ops/call_log.h"
#include "ops/channels_first.h"
#include "ops/grid_sampler_checks.h"
#include "ops/kernels.h"
#include "ops/planned_kernel.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;

template <class Params>
class GridSamplerBackwardPlan final : public Plan {
 public:
  explicit GridSamplerBackwardPlan(const GridSamplerBackwardCall& call)
      : Plan(call.op, call.surface) {
    const TensorDesc input = ChannelsFirst(*call.input);
    params_.shape = ShapeOf<decltype(params_.shape)>(input, *call.grid, call.interpolation,
                                                     call.padding, call.align_corners);
    const auto wanted = [&](size_t at, const TensorDesc* gradient) -> bool {
      return call.output_mask != nullptr ? (*call.output_mask)[at] : gradient != nullptr;
    };
    params_.want_input_grad = wanted(0, call.input_grad);
    params_.want_grid_grad = wanted(1, call.grid_grad);
    if (ReadsImage() && input.NumElements() > 0) SetStrides(input, &params_.input_stride);
    if (ReadsPoints() && call.grad_output->NumElements() > 0) {
      SetStrides(ChannelsFirst(*call.grad_output), &params_.grad_output_stride);
    }
    if (ReadsPoints() && call.grid->NumElements() > 0) {
      SetStrides(*call.grid, &params_.grid_stride);
    }
    if (params_.want_input_grad) {
      SetStrides(ChannelsFirst(*call.input_grad), &params_.input_grad_stride);
    }
    if (params_.want_grid_grad) SetStrides(*call.grid_grad, &params_.grid_grad_stride);
    AddTensors(call);
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

  CallWords Words() const override {
    const auto& s = params_.shape;
    return {
        kVolume<Params> ? "grid_sampler_3d_backward" : "grid_sampler_2d_backward",
        {"gradOutput", "input", "grid", "inputGrad", "gridGrad"},
        fmt::format("{} outputMask:{}x{}", ModeWords(s.interpolation, s.padding, s.align_corners),
                    params_.want_input_grad ? 1 : 0, params_.want_grid_grad ? 1 : 0)};
  }

 private:
  // Nearest has gridGrad 0 whatever the inputs hold, and only gridGrad needs the image. A run may
  // have no address of an input that it does not read or that is empty: its strides are 0 then, by
  // which kernels step from it all the same.
  bool ReadsImage() const {
    return params_.want_grid_grad && params_.shape.interpolation != Interpolation::kNearest;
  }
  bool ReadsPoints() const { return params_.want_input_grad || ReadsImage(); }

  void AddTensors(const GridSamplerBackwardCall& call) {
    const GridSamplerNames names = GridSamplerNamesOf(call);
    const TensorDesc none;
    AddTensor(names.grad_output, *call.grad_output, false, ReadsPoints());
    AddTensor(names.input, *call.input, false, ReadsImage());
    AddTensor(names.grid, *call.grid, false, ReadsPoints());
    AddTensor(names.input_grad, call.input_grad != nullptr ? *call.input_grad : none, true,
              params_.want_input_grad);
    AddTensor(names.grid_grad, call.grid_grad != nullptr ? *call.grid_grad : none, true,
              params_.want_grid_grad);
  }

  Params params_;
  PlannedKernel<Params> chosen_;
};

template <class Params>
Status PlanAs(const GridSamplerBackwardCall& call, std::shared_ptr<const Plan>* plan) {
  auto made = std::make_shared<GridSamplerBackwardPlan<Params>>(call);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

GridSamplerBackwardCall Read(const Call& call) {
  GridSamplerBackwardCall read;
  read.signature = &call.signature();
  read.op = call.op();
  read.surface = call.surface();
  read.spatial = call.axes();
  read.grad_output = call.input(0);
  read.input = call.input(1);
  read.grid = call.input(2);
  read.interpolation = call.mode(0);
  read.padding = call.mode(1);
  read.align_corners = call.flag(0);
  read.output_mask = call.bools(0);
  read.input_grad = call.output(0);
  read.grid_grad = call.output(1);
  read.has_workspace_size = call.has_workspace_size;
  read.has_executor = call.has_executor;
  return read;
}

}  // namespace

Status PlanCheckedGridSamplerBackward(const GridSamplerBackwardCall& call,
                                      std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  return call.spatial == 3 ? PlanAs<GridSampler3DBackwardParams>(call, plan)
                           : PlanAs<GridSampler2DBackwardParams>(call, plan);
}

Status CheckGridSamplerBackward(const Call& call) { return CheckGridSamplerBackward(Read(call)); }

Status PlanCheckedGridSamplerBackward(const Call& call, std::shared_ptr<const Plan>* plan) {
  return PlanCheckedGridSamplerBackward(Read(call), plan);
}

}  // namespace portacl::ops
