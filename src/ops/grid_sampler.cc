// Plans of grid sampling: kernel choice, tensors and workspace.
#include "ops/grid_sampler.h"

#include <utility>

#include "ops/call_log.h"
#include "ops/channels_first.h"
#include "ops/grid_sampler_2d_impls.h"
#include "ops/grid_sampler_3d_impls.h"
#include "ops/grid_sampler_backward.h"
#include "ops/planned_kernel.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;
const auto& ImplsFor(const GridSampler2DParams&) { return GridSampler2DImpls(); }
const auto& ImplsFor(const GridSampler3DParams&) { return GridSampler3DImpls(); }

template <class Params>
class GridSamplerPlan final : public Plan {
 public:
  explicit GridSamplerPlan(const GridSamplerCall& call) : Plan(call.op, call.surface) {
    const bool graph = call.surface == Surface::kGraph;
    const bool native = call.surface == Surface::kNative;
    AddTensor(graph ? "x" : "input", *call.input, false, true);
    AddTensor("grid", *call.grid, false, true);
    AddTensor(graph ? "y" : (native ? "output" : "out"), *call.output, true, true);
    const TensorDesc input = ChannelsFirst(*call.input);
    params_.shape = ShapeOf<decltype(params_.shape)>(input, *call.grid, call.interpolation,
                                                     call.padding, call.align_corners);
    SetStrides(input, &params_.input_stride);
    SetStrides(*call.grid, &params_.grid_stride);
    SetStrides(ChannelsFirst(*call.output), &params_.output_stride);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (tensor(2).desc.NumElements() == 0) return {};
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), ImplsFor(params_), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 4096;  // elements
    small_ = tensor(0).desc.NumElements() <= kSmall && tensor(2).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.input = elements[0];
    params.grid = elements[1];
    params.output = elements[2];
    chosen_.Run(params, workspace);
  }

  CallWords Words() const override {
    const auto& s = params_.shape;
    return {kVolume<Params> ? "grid_sampler_3d" : "grid_sampler_2d",
            {"input", "grid", "out"},
            ModeWords(s.interpolation, s.padding, s.align_corners)};
  }

 private:
  Params params_;
  PlannedKernel<Params> chosen_;
};

template <class Params>
Status PlanAs(const GridSamplerCall& call, std::shared_ptr<const Plan>* plan) {
  auto made = std::make_shared<GridSamplerPlan<Params>>(call);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace

Status PlanGridSampler(const GridSamplerCall& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(CheckGridSampler(call));
  return PlanCheckedGridSampler(call, plan);
}

Status PlanCheckedGridSampler(const GridSamplerCall& call, std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  return call.spatial == 3 ? PlanAs<GridSampler3DParams>(call, plan)
                           : PlanAs<GridSampler2DParams>(call, plan);
}

}  // namespace portacl::ops
