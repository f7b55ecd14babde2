// Plans of grid sampling: kernel choice, tensors and workspace.
#include "ops/grid_sampler.h"

#include <utility>

#include "ops/call_log.h"
#include "ops/channels_first.h"
#include "ops/grid_sampler_backward.h"
#include "ops/kernels.h"
#include "ops/planned_kernel.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;

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
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), KernelsFor<Params>(), params_));
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

GridSamplerCall Read(const Call& call) {
  GridSamplerCall read;
  read.signature = &call.signature();
  read.op = call.op();
  read.surface = call.surface();
  read.spatial = call.axes();
  read.input = call.input(0);
  read.grid = call.input(1);
  read.output = call.output(0);
  read.interpolation = call.mode(0);
  read.padding = call.mode(1);
  read.align_corners = call.flag(0);
  read.has_workspace_size = call.has_workspace_size;
  read.has_executor = call.has_executor;
  return read;
}

}  // namespace

Status PlanCheckedGridSampler(const GridSamplerCall& call, std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  return call.spatial == 3 ? PlanAs<GridSampler3DParams>(call, plan)
                           : PlanAs<GridSampler2DParams>(call, plan);
}

Status CheckGridSampler(const Call& call) { return CheckGridSampler(Read(call)); }

Status PlanCheckedGridSampler(const Call& call, std::shared_ptr<const Plan>* plan) {
  return PlanCheckedGridSampler(Read(call), plan);
}

}  // namespace portacl::ops
