// Plans of nearest-exact upsampling: index tables, kernel choice, workspace.
#include "ops/upsample_nearest_exact.h"

#include <optional>
#include <utility>
#include <vector>

#include "ops/call_log.h"
#include "ops/channels_first.h"
#include "ops/nearest_axis.h"
#include "ops/planned_kernel.h"
#include "ops/upsample_nearest_exact_checks.h"
#include "ops/upsample_nearest_exact_impls.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;
using Call = UpsampleNearestExactCall;
using Params = UpsampleNearestExactParams;

class UpsampleNearestExactPlan final : public Plan {
 public:
  explicit UpsampleNearestExactPlan(const Call& call)
      : Plan(call.op, call.surface), scales_(call.scales) {
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
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory: extents that no memory holds must not cost tables of their size.
    tables_.emplace(ChannelsFirst(tensor(0).desc).shape, ChannelsFirst(tensor(1).desc).shape,
                    scales_);
    params_.d = tables_->d();
    params_.h = tables_->h();
    params_.w = tables_->w();
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), UpsampleNearestExactImpls(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 16384;  // elements
    small_ = tensor(0).desc.NumElements() + tensor(1).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.input = elements[0];
    params.output = elements[1];
    chosen_.Run(params, workspace);
  }

  CallWords Words() const override {
    constexpr const char* kNames[] = {"upsample_nearest_exact1d", "upsample_nearest_exact2d",
                                      "upsample_nearest_exact3d"};
    const int spatial = tensor(0).desc.shape.rank() - 2;
    return {kNames[spatial - 1], {"self", "out"}, ScaleWords(spatial, scales_)};
  }

 private:
  const std::array<double, 3> scales_;
  std::optional<NearestTables> tables_;
  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status PlanUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(CheckUpsampleNearestExact(call));
  return PlanCheckedUpsampleNearestExact(call, plan);
}

Status PlanCheckedUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  auto made = std::make_shared<UpsampleNearestExactPlan>(call);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops
