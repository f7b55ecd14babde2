// Plans of nearest-exact upsampling: index tables, kernel choice, workspace.
#include "ops/upsample_nearest_exact.h"

#include "ops/channels_first.h"
#include "ops/nearest_axis.h"
#include "ops/nearest_plan.h"
#include "ops/upsample_nearest_exact_checks.h"
#include "ops/upsample_nearest_exact_impls.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;
using Call = UpsampleNearestExactCall;
using Params = UpsampleNearestExactParams;

class UpsampleNearestExactPlan final : public NearestPlan<Params> {
 public:
  explicit UpsampleNearestExactPlan(const Call& call)
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
                  UpsampleNearestExactImpls());
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

}  // namespace

Status PlanUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(CheckUpsampleNearestExact(call));
  return PlanCheckedUpsampleNearestExact(call, plan);
}

Status PlanCheckedUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  return MakeNearestPlan<UpsampleNearestExactPlan>(call, plan);
}

}  // namespace portacl::ops
