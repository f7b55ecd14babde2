// Plans of grid sampling: kernel choice, tensors and workspace.
#include <memory>
#include <utility>

#include "ops/call.h"
#include "ops/channels_first.h"
#include "ops/grid_sampler_plan.h"
#include "ops/kernels.h"
#include "ops/plan.h"
#include "ops/select_kernel.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;

template <class Params>
class GridSamplerPlan final : public Plan {
 public:
  explicit GridSamplerPlan(const Call& call) : Plan(call) {
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.input_name(1), *call.input(1), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    const TensorDesc input = ChannelsFirst(*call.input(0));
    params_.shape = ShapeOf<decltype(params_.shape)>(call, input, *call.input(1));
    SetStrides(input, &params_.input_stride);
    SetStrides(*call.input(1), &params_.grid_stride);
    SetStrides(ChannelsFirst(*call.output(0)), &params_.output_stride);
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

 private:
  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status PlanCheckedGridSampler(const Call& call, std::shared_ptr<const Plan>* plan) {
  return call.axes() == 3 ? MakePlanOf<GridSamplerPlan<GridSampler3DParams>>(plan, call)
                          : MakePlanOf<GridSamplerPlan<GridSampler2DParams>>(plan, call);
}

}  // namespace portacl::ops
