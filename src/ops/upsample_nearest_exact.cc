// Plans of nearest-exact upsampling: index tables, kernel choice, workspace.
#include "ops/upsample_nearest_exact.h"

#include "ops/channels_first.h"
#include "ops/kernels.h"
#include "ops/nearest_axis.h"
#include "ops/nearest_plan.h"
#include "ops/upsample_nearest_exact_checks.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;
using Params = UpsampleNearestExactParams;

class UpsampleNearestExactPlan final : public NearestPlan<Params> {
 public:
  explicit UpsampleNearestExactPlan(const UpsampleNearestExactCall& call)
      : NearestPlan(call.op, call.surface, call.scales) {
    const bool native = call.surface == Surface::kNative;
    const TensorDesc input = ChannelsFirst(*call.input);
    const TensorDesc output = ChannelsFirst(*call.output);
    AddTensor(native ? "input" : nearest::NamesOf(call).input, *call.input, false, true);
    AddTensor(native ? "output" : nearest::NamesOf(call).output, *call.output, true, true);
    params_.dtype = input.dtype;
    params_.n = input.shape[0];
    params_.c = input.shape[1];
    params_.input_stride = As4D(input.strides, 0);
    params_.output_stride = As4D(output.strides, 0);
    params_.input_depth_stride = DepthOf(input.strides, 0);
    params_.output_depth_stride = DepthOf(output.strides, 0);
  }

  Status Make() {
    return Choose(ChannelsFirst(tensor(0).desc).shape, ChannelsFirst(tensor(1).desc).shape,
                  KernelsFor<Params>());
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.input = elements[0];
    params.output = elements[1];
    chosen_.Run(params, workspace);
  }

  CallWords Words() const override {
    return WordsOf(
        {"upsample_nearest_exact1d", "upsample_nearest_exact2d", "upsample_nearest_exact3d"},
        "self", "out");
  }
};

UpsampleNearestExactCall Read(const Call& call) {
  UpsampleNearestExactCall read;
  read.signature = &call.signature();
  read.op = call.op();
  read.surface = call.surface();
  read.spatial = call.axes();
  read.input = call.input(0);
  read.output = call.output(0);
  read.output_size = call.ints(0);
  read.scales = call.scales();
  read.has_workspace_size = call.has_workspace_size;
  read.has_executor = call.has_executor;
  return read;
}

}  // namespace

Status PlanCheckedUpsampleNearestExact(const UpsampleNearestExactCall& call,
                                       std::shared_ptr<const Plan>* plan) {
  return MakeNearestPlan<UpsampleNearestExactPlan>(call, plan);
}

Status CheckUpsampleNearestExact(const Call& call) { return CheckUpsampleNearestExact(Read(call)); }

Status PlanCheckedUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  return PlanCheckedUpsampleNearestExact(Read(call), plan);
}

}  // namespace portacl::ops
