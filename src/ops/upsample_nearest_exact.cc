// Plans of nearest-exact upsampling: output[n, c, o] = input[n, c, src(o)] with the index rule of
// the backward function. Tensors (N, C, L), (N, C, H, W) or (N, C, D, H, W); format NHWC: (N, H, W,
// C).
#include "ops/call.h"
#include "ops/channels_first.h"
#include "ops/kernels.h"
#include "ops/nearest_axis.h"
#include "ops/nearest_plan.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;
using Params = UpsampleNearestExactParams;

class UpsampleNearestExactPlan final : public NearestPlan<Params> {
 public:
  explicit UpsampleNearestExactPlan(const Call& call) : NearestPlan(call) {
    const TensorDesc input = ChannelsFirst(*call.input(0));
    const TensorDesc output = ChannelsFirst(*call.output(0));
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
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
};

}  // namespace

Status PlanCheckedUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  return MakeNearestPlan<UpsampleNearestExactPlan>(call, plan);
}

}  // namespace portacl::ops
