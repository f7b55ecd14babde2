// Plans of nearest-exact backward: index tables, kernel choice, workspace.
#include "ops/call.h"
#include "ops/kernels.h"
#include "ops/nearest_axis.h"
#include "ops/nearest_plan.h"
#include "ops/upsample_nearest_exact_backward_params.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;
using Params = UpsampleNearestExactBackwardParams;

class UpsampleNearestExactBackwardPlan final : public NearestPlan<Params> {
 public:
  explicit UpsampleNearestExactBackwardPlan(const Call& call) : NearestPlan(call) {
    const TensorDesc& grad_output = *call.input(0);
    const TensorDesc& grad_input = *call.output(0);
    AddTensor(call.input_name(0), grad_output, false, true);
    AddTensor(call.output_name(0), grad_input, true, true);
    params_.dtype = grad_output.dtype;
    params_.n = grad_output.shape[0];
    params_.c = grad_output.shape[1];
    params_.grad_output_stride = As4D(grad_output.strides, 0);
    params_.grad_input_stride = As4D(grad_input.strides, 0);
    params_.grad_output_depth_stride = DepthOf(grad_output.strides, 0);
    params_.grad_input_depth_stride = DepthOf(grad_input.strides, 0);
  }

  Status Make() { return Choose(tensor(1).desc.shape, tensor(0).desc.shape, KernelsFor<Params>()); }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.grad_output = elements[0];
    params.grad_input = elements[1];
    chosen_.Run(params, workspace);
  }
};

}  // namespace

Status PlanCheckedUpsampleNearestExactBackward(const Call& call,
                                               std::shared_ptr<const Plan>* plan) {
  return MakeNearestPlan<UpsampleNearestExactBackwardPlan>(call, plan);
}

}  // namespace portacl::ops
