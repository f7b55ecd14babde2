// Plans of nearest resizing and of its gradient: index tables, kernel choice, workspace. Tensors
// (N, C, L), (N, C, H, W) or (N, C, D, H, W); formats NHWC and NDHWC: C last.
#include "ops/nearest_plan.h"

#include <cstdint>
#include <optional>
#include <type_traits>

#include "ops/channels_first.h"
#include "ops/kernels.h"
#include "ops/select_kernel.h"
#include "ops/table_limit.h"
#include "ops/upsample_nearest_exact_backward_params.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ops {
namespace {

using base::Status;

// The names of the read and the written tensor in either direction's parameters.
struct Ends {
  const void*& from;
  void*& to;
  std::array<int64_t, 4>& from_stride;
  std::array<int64_t, 4>& to_stride;
  int64_t& from_depth_stride;
  int64_t& to_depth_stride;
};
Ends EndsOf(UpsampleNearestExactParams& p) {
  return {p.input,
          p.output,
          p.input_stride,
          p.output_stride,
          p.input_depth_stride,
          p.output_depth_stride};
}
Ends EndsOf(UpsampleNearestExactBackwardParams& p) {
  return {p.grad_output,
          p.grad_input,
          p.grad_output_stride,
          p.grad_input_stride,
          p.grad_output_depth_stride,
          p.grad_input_depth_stride};
}

template <class Params>
class NearestPlan final : public Plan {
 public:
  NearestPlan(const Call& call, const NearestCall& wanted) : Plan(call), wanted_(wanted) {
    if (!wanted.logged) LeaveOutOfTheLog();
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    const base::Dims shape = ChannelsFirstShape(*call.input(0));
    const base::Dims from = ChannelsFirstStrides(*call.input(0));
    const base::Dims to = ChannelsFirstStrides(*call.output(0));
    params_.dtype = call.input(0)->dtype;
    params_.n = shape[0];
    params_.c = shape[1];
    const Ends ends = EndsOf(params_);
    ends.from_stride = As4D(from, 0);
    ends.to_stride = As4D(to, 0);
    ends.from_depth_stride = DepthOf(from, 0);
    ends.to_depth_stride = DepthOf(to, 0);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory: extents that no memory holds must not cost tables of their size.
    const base::Dims small = ShapeOf(wanted_.backward ? 1 : 0);
    for (int axis = 2; axis < small.rank(); ++axis) {
      PORTACL_RETURN_IF_ERROR(CheckTable(*this, static_cast<double>(small[axis])));
    }
    tables_.emplace(small, ShapeOf(wanted_.backward ? 0 : 1), wanted_.scales, wanted_.rule);
    params_.d = tables_->d();
    params_.h = tables_->h();
    params_.w = tables_->w();
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), KernelsFor<Params>(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 16384;  // elements
    small_ = tensor(0).desc.NumElements() + tensor(1).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    const Ends ends = EndsOf(params);
    ends.from = elements[0];
    ends.to = elements[1];
    chosen_.Run(params, workspace);
  }

 private:
  base::Dims ShapeOf(int index) const { return ChannelsFirstShape(tensor(index).desc); }

  const NearestCall wanted_;
  Params params_;
  std::optional<NearestTables> tables_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status PlanNearest(const Call& call, const NearestCall& wanted, std::shared_ptr<const Plan>* plan) {
  if (call.input(0)->dtype == base::DType::kUInt8) return PlanNearestOfBytes(call, wanted, plan);
  return wanted.backward
             ? MakePlanOf<NearestPlan<UpsampleNearestExactBackwardParams>>(plan, call, wanted)
             : MakePlanOf<NearestPlan<UpsampleNearestExactParams>>(plan, call, wanted);
}

Status PlanCheckedUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  return PlanNearest(call, {.scales = call.scales()}, plan);
}

Status PlanCheckedUpsampleNearestExactBackward(const Call& call,
                                               std::shared_ptr<const Plan>* plan) {
  return PlanNearest(call, {.backward = true, .scales = call.scales()}, plan);
}

}  // namespace portacl::ops
