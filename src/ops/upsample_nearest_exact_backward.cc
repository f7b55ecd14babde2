// Plans of nearest-exact backward: index tables, kernel choice, workspace.
#include "ops/upsample_nearest_exact_backward.h"

#include "ops/kernels.h"
#include "ops/nearest_axis.h"
#include "ops/nearest_plan.h"
#include "ops/upsample_nearest_exact_backward_params.h"
#include "ops/upsample_nearest_exact_checks.h"

namespace portacl::ops {
namespace {

using base::Status;
using Params = UpsampleNearestExactBackwardParams;

class UpsampleNearestExactBackwardPlan final : public NearestPlan<Params> {
 public:
  explicit UpsampleNearestExactBackwardPlan(const UpsampleNearestExactBackwardCall& call)
      : NearestPlan(call.op, call.surface, call.scales) {
    const nearest::BackwardNames names = nearest::NamesOf(call);
    AddTensor(names.grad_output, *call.grad_output, false, true);
    AddTensor(names.grad_input, *call.grad_input, true, true);
    params_.dtype = call.grad_output->dtype;
    params_.n = call.grad_output->shape[0];
    params_.c = call.grad_output->shape[1];
    params_.grad_output_stride = As4D(call.grad_output->strides, 0);
    params_.grad_input_stride = As4D(call.grad_input->strides, 0);
    params_.grad_output_depth_stride = DepthOf(call.grad_output->strides, 0);
    params_.grad_input_depth_stride = DepthOf(call.grad_input->strides, 0);
  }

  Status Make() { return Choose(tensor(1).desc.shape, tensor(0).desc.shape, KernelsFor<Params>()); }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.grad_output = elements[0];
    params.grad_input = elements[1];
    chosen_.Run(params, workspace);
  }

  CallWords Words() const override {
    return WordsOf({"upsample_nearest_exact1d_backward", "upsample_nearest_exact2d_backward",
                    "upsample_nearest_exact3d_backward"},
                   "gradOutput", "out");
  }
};

UpsampleNearestExactBackwardCall Read(const Call& call) {
  UpsampleNearestExactBackwardCall read;
  read.signature = &call.signature();
  read.op = call.op();
  read.surface = call.surface();
  read.spatial = call.axes();
  read.grad_output = call.input(0);
  read.grad_input = call.output(0);
  read.output_size = call.ints(0);
  read.input_size = call.ints(1);
  read.scales = call.scales();
  read.has_workspace_size = call.has_workspace_size;
  read.has_executor = call.has_executor;
  return read;
}

}  // namespace

Status PlanCheckedUpsampleNearestExactBackward(const UpsampleNearestExactBackwardCall& call,
                                               std::shared_ptr<const Plan>* plan) {
  return MakeNearestPlan<UpsampleNearestExactBackwardPlan>(call, plan);
}

Status CheckUpsampleNearestExactBackward(const Call& call) {
  return CheckUpsampleNearestExactBackward(Read(call));
}

Status PlanCheckedUpsampleNearestExactBackward(const Call& call,
                                               std::shared_ptr<const Plan>* plan) {
  return PlanCheckedUpsampleNearestExactBackward(Read(call), plan);
}

}  // namespace portacl::ops
