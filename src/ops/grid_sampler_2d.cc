// Checks and kernel choice of grid sampling.
#include "ops/grid_sampler_2d.h"

#include <utility>

#include "ops/grid_sampler_2d_backward.h"
#include "ops/grid_sampler_2d_impls.h"
#include "ops/planned_kernel.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;
using Params = GridSampler2DParams;

class GridSampler2DPlan final : public Plan {
 public:
  explicit GridSampler2DPlan(const GridSampler2DCall& call) : Plan(call.op, call.surface) {
    const bool graph = call.surface == Surface::kGraph;
    const bool native = call.surface == Surface::kNative;
    AddTensor(graph ? "x" : "input", *call.input, false, true);
    AddTensor("grid", *call.grid, false, true);
    AddTensor(graph ? "y" : (native ? "output" : "out"), *call.output, true, true);
    params_.shape =
        ShapeOf(*call.input, *call.grid, call.interpolation, call.padding, call.align_corners);
    params_.input_stride = Strides4D(*call.input);
    params_.grid_stride = Strides4D(*call.grid);
    params_.output_stride = Strides4D(*call.output);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (tensor(2).desc.NumElements() == 0) return {};
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), GridSampler2DImpls(), params_));
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

 private:
  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status CheckGridSampler2D(const GridSampler2DCall& call) {
  GridSampler2DBackwardCall backward;
  backward.op = call.op;
  backward.surface = call.surface;
  backward.grad_output = call.output;
  backward.input = call.input;
  backward.grid = call.grid;
  backward.interpolation = call.interpolation;
  backward.padding = call.padding;
  backward.align_corners = call.align_corners;
  backward.has_workspace_size = call.has_workspace_size;
  backward.has_executor = call.has_executor;
  backward.forward = true;
  return CheckGridSampler2DBackward(backward);
}

Status PlanGridSampler2D(const GridSampler2DCall& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(CheckGridSampler2D(call));
  return PlanCheckedGridSampler2D(call, plan);
}

Status PlanCheckedGridSampler2D(const GridSampler2DCall& call, std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  auto made = std::make_shared<GridSampler2DPlan>(call);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops
