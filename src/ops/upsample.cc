// Plans resizing by nearest, linear, cubic and Lanczos interpolation, and its gradients: tables of
// each axis, kernel choice, workspace. Tensors are (N, C, L), (N, C, H, W) or (N, C, D, H, W); in
// formats NHWC and NDHWC, C is last.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "ops/call.h"
#include "ops/kernels.h"
#include "ops/nearest_axis.h"
#include "ops/plan.h"
#include "ops/resample_axis.h"
#include "ops/resize.h"
#include "ops/table_limit.h"
#include "ops/upsample_nearest_exact_params.h"
#include "ops/upsample_rules.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;

// The arguments of a checked call, except its tensors.
struct NearestCall {
  Nearest rule = Nearest::kExact;
  bool backward = false;
  std::array<double, 3> scales{};  // 0 if the extents decide
  bool logged = true;              // the log of calls names the operator's aclnn function
};

// Returns extents or strides (N, C, ...) as N, C, D, H, W.
std::array<int64_t, 5> As5D(const Dims& dims, int64_t missing) {
  const auto [n, c, h, w] = As4D(dims, missing);
  return {n, c, DepthOf(dims, missing), h, w};
}

// Plans linear, cubic and antialiased resizing in either direction, and nearest for bytes.
class ResamplePlan final : public Plan {
 public:
  ResamplePlan(const Call& call, const NearestCall& nearest) : ResamplePlan(call) {
    nearest_ = nearest;
    if (!nearest.logged) LeaveOutOfTheLog();
  }
  explicit ResamplePlan(const Call& call) : Plan(call), rules_(upsample::RulesOf(call)) {
    if (rules_[2].from_top_left) LeaveOutOfTheLog();
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    const Dims from = ChannelsFirstShape(*call.input(0));
    params_.dtype = call.input(0)->dtype;
    backward_ = params_.backward = upsample::IsBackward(call);
    params_.n = from[0];
    params_.c = from[1];
    params_.input_stride = As5D(ChannelsFirstStrides(*call.input(0)), 0);
    params_.output_stride = As5D(ChannelsFirstStrides(*call.output(0)), 0);
    axes_ = call.axes();
    if (upsample::PillowRelease(call) >= 13) params_.backward = PillowBeginsWithH();
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory, because extents above memory's size must not make tables.
    std::array<size_t, 4> ends{};  // where each table ends, in bytes
    for (size_t axis = 0; axis < 3; ++axis) {
      const ResampleRule& rule = rules_[axis];
      PORTACL_RETURN_IF_ERROR(CheckTable(*this, rule.MostTaps()));
      ends[axis + 1] = ends[axis] + (nearest_ ? 0 : ResampleTable::Bytes(rule, backward_));
    }
    MakeTables(ends);
    const KernelList<ResampleParams>& kernels = KernelsFor<ResampleParams>();
    constexpr int64_t kSmall = 4096;  // elements
    if (params_.dtype != base::DType::kUInt8 || device() == cuda::kCpu) {
      return Choose(kernels, params_, kSmall, &chosen_);
    }
    // The GPU has no kernel for bytes: only the reference is offered, and the call is refused.
    return Choose(KernelList<ResampleParams>{kernels.back()}, params_, kSmall, &chosen_);
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    ResampleParams params = params_;
    params.input = elements[0];
    params.output = elements[1];
    chosen_.Run(params, workspace);
  }

 private:
  // One allocation for all tables, because it costs as much as a small table.
  void MakeTables(const std::array<size_t, 4>& ends) {
    if (ends[3] > 0) tables_memory_ = std::make_unique_for_overwrite<std::byte[]>(ends[3]);
    ResampleAxis* const axes[] = {&params_.d, &params_.h, &params_.w};
    const size_t missing = 3 - static_cast<size_t>(axes_);
    for (size_t axis = 0; axis < 3; ++axis) {
      const ResampleRule& rule = rules_[axis];
      if (nearest_) {
        const double scale = axis < missing ? 0 : nearest_->scales[axis - missing];
        tables_[axis].emplace(NearestIndexRule(rule.in, rule.out, scale, nearest_->rule), rule.in,
                              rule.out);
      } else {
        tables_[axis].emplace(rule, backward_, tables_memory_.get() + ends[axis]);
      }
      *axes[axis] = tables_[axis]->axis();
    }
  }

  // Returns true if Pillow 13 begins with H: its first axis leaves less work for the other axis.
  bool PillowBeginsWithH() const {
    const ResampleRule& h = rules_[1];
    const ResampleRule& w = rules_[2];
    return h.out < h.in && h.in - h.out > 2 * (w.in - w.out);
  }

  bool backward_ = false;
  int axes_ = 0;
  std::optional<NearestCall> nearest_;
  ResampleParams params_;
  const std::array<ResampleRule, 3> rules_;
  std::unique_ptr<std::byte[]> tables_memory_;
  std::array<std::optional<ResampleTable>, 3> tables_;
  PlannedKernel<ResampleParams> chosen_;
};

// ---- nearest ------------------------------------------------------------------------------------

template <class Params>
class NearestPlan final : public Plan {
 public:
  NearestPlan(const Call& call, const NearestCall& wanted) : Plan(call), wanted_(wanted) {
    if (!wanted.logged) LeaveOutOfTheLog();
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    const Dims shape = ChannelsFirstShape(*call.input(0));
    const Dims from = ChannelsFirstStrides(*call.input(0));
    const Dims to = ChannelsFirstStrides(*call.output(0));
    params_.dtype = call.input(0)->dtype;
    params_.n = shape[0];
    params_.c = shape[1];
    params_.from_stride = As4D(from, 0);
    params_.to_stride = As4D(to, 0);
    params_.from_depth_stride = DepthOf(from, 0);
    params_.to_depth_stride = DepthOf(to, 0);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory, because extents above memory's size must not make tables.
    const Dims small = ShapeOf(wanted_.backward ? 1 : 0);
    for (int axis = 2; axis < small.rank(); ++axis) {
      PORTACL_RETURN_IF_ERROR(CheckTable(*this, static_cast<double>(small[axis])));
    }
    tables_.emplace(small, ShapeOf(wanted_.backward ? 0 : 1), wanted_.scales, wanted_.rule);
    params_.d = tables_->d();
    params_.h = tables_->h();
    params_.w = tables_->w();
    constexpr int64_t kSmall = 16384;  // elements
    return Choose(KernelsFor<Params>(), params_, kSmall, &chosen_);
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.from = elements[0];
    params.to = elements[1];
    chosen_.Run(params, workspace);
  }

 private:
  Dims ShapeOf(int index) const { return ChannelsFirstShape(tensor(index).desc); }

  const NearestCall wanted_;
  Params params_;
  std::optional<NearestTables> tables_;
  PlannedKernel<Params> chosen_;
};

Status PlanNearest(const Call& call, const NearestCall& wanted, std::shared_ptr<const Plan>* plan) {
  if (call.input(0)->dtype == base::DType::kUInt8)
    return MakePlanOf<ResamplePlan>(plan, call, wanted);
  return wanted.backward
             ? MakePlanOf<NearestPlan<UpsampleNearestExactBackwardParams>>(plan, call, wanted)
             : MakePlanOf<NearestPlan<UpsampleNearestExactParams>>(plan, call, wanted);
}

}  // namespace

Status PlanCheckedUpsample(const Call& call, std::shared_ptr<const Plan>* plan) {
  if (resize::Is(call)) return PlanCheckedUpsample(resize::AsUpsample(call), plan);
  if (upsample::ModeOf(call) != upsample::Mode::kNearest) {
    return MakePlanOf<ResamplePlan>(plan, call);
  }
  const Nearest rule = upsample::NearestRuleOf(call);
  return PlanNearest(call,
                     {.rule = rule,
                      .backward = upsample::IsBackward(call),
                      .scales = upsample::UsedScales(call, upsample::SidesOf(call)),
                      .logged = rule == Nearest::kFloor},
                     plan);
}

Status PlanCheckedUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  return PlanNearest(call, {.scales = call.scales()}, plan);
}

Status PlanCheckedUpsampleNearestExactBackward(const Call& call,
                                               std::shared_ptr<const Plan>* plan) {
  return PlanNearest(call, {.backward = true, .scales = call.scales()}, plan);
}

}  // namespace portacl::ops
