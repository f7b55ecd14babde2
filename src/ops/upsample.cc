// Plans of resizing: tables of each axis, kernel choice, workspace.
#include "ops/upsample.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "ops/call_log.h"
#include "ops/channels_first.h"
#include "ops/nearest_plan.h"
#include "ops/planned_kernel.h"
#include "ops/resample_axis.h"
#include "ops/resample_impls.h"
#include "ops/upsample_checks.h"
#include "ops/upsample_nearest_exact_backward_impls.h"
#include "ops/upsample_nearest_exact_impls.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;
using Call = UpsampleCall;

// "upsample_bicubic2d_aa_backward": what the log of calls and cases call it.
const char* WordOf(UpsampleMode mode, int spatial, bool antialias, bool backward) {
  if (mode == UpsampleMode::kNearest) {
    constexpr const char* kNearest[3][2] = {{"upsample_nearest1d", "upsample_nearest1d_backward"},
                                            {"upsample_nearest2d", "upsample_nearest2d_backward"},
                                            {"upsample_nearest3d", "upsample_nearest3d_backward"}};
    return kNearest[spatial - 1][backward ? 1 : 0];
  }
  constexpr const char* kWords[2][3][2][2] = {
      {{{"upsample_linear1d", "upsample_linear1d_backward"},
        {"upsample_linear1d_aa", "upsample_linear1d_aa_backward"}},
       {{"upsample_bilinear2d", "upsample_bilinear2d_backward"},
        {"upsample_bilinear2d_aa", "upsample_bilinear2d_aa_backward"}},
       {{"upsample_trilinear3d", "upsample_trilinear3d_backward"},
        {"upsample_trilinear3d_aa", "upsample_trilinear3d_aa_backward"}}},
      {{{"upsample_cubic1d", "upsample_cubic1d_backward"},
        {"upsample_cubic1d_aa", "upsample_cubic1d_aa_backward"}},
       {{"upsample_bicubic2d", "upsample_bicubic2d_backward"},
        {"upsample_bicubic2d_aa", "upsample_bicubic2d_aa_backward"}},
       {{"upsample_tricubic3d", "upsample_tricubic3d_backward"},
        {"upsample_tricubic3d_aa", "upsample_tricubic3d_aa_backward"}}}};
  return kWords[mode == UpsampleMode::kCubic ? 1 : 0][spatial - 1][antialias ? 1 : 0]
               [backward ? 1 : 0];
}

const char* FromWord(const Call& call) { return call.backward ? "gradOutput" : "self"; }

// Extents or strides (N, C, ...) as those of N, C, D, H and W.
std::array<int64_t, 5> As5D(const Dims& dims, int64_t missing) {
  const auto [n, c, h, w] = As4D(dims, missing);
  return {n, c, DepthOf(dims, missing), h, w};
}

// Linear, cubic, antialiased, in either direction.
class ResamplePlan final : public Plan {
 public:
  explicit ResamplePlan(const Call& call)
      : Plan(call.op, call.surface),
        words_{WordOf(call.mode, call.spatial, call.antialias, call.backward),
               {FromWord(call), "out"},
               fmt::format("{} alignCorners:{}", ScaleWords(call.spatial, call.scales),
                           call.align_corners ? 1 : 0)} {
    const upsample::Names names = upsample::NamesOf(call);
    AddTensor(names.from, *call.from, false, true);
    AddTensor(names.to, *call.to, true, true);
    const TensorDesc from = ChannelsFirst(*call.from);
    const TensorDesc to = ChannelsFirst(*call.to);
    params_.dtype = from.dtype;
    params_.backward = call.backward;
    params_.n = from.shape[0];
    params_.c = from.shape[1];
    params_.input_stride = As5D(from.strides, 0);
    params_.output_stride = As5D(to.strides, 0);
    const auto in = As5D(call.backward ? to.shape : from.shape, 1);
    const auto out = As5D(call.backward ? from.shape : to.shape, 1);
    for (int axis = 0; axis < 3; ++axis) {
      const int given = axis - (3 - call.spatial);  // scales are those of the axes that there are
      rules_[static_cast<size_t>(axis)] = upsample::RuleOf(
          call, in[static_cast<size_t>(axis) + 2], out[static_cast<size_t>(axis) + 2], given);
    }
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory: extents that no memory holds must not cost tables of their size.
    ResampleAxis* const axes[] = {&params_.d, &params_.h, &params_.w};
    for (size_t axis = 0; axis < 3; ++axis) {
      tables_[axis].emplace(rules_[axis], params_.backward);
      *axes[axis] = tables_[axis]->axis();
    }
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), ResampleImpls(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 4096;  // elements
    small_ = tensor(0).desc.NumElements() + tensor(1).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    ResampleParams params = params_;
    params.input = elements[0];
    params.output = elements[1];
    chosen_.Run(params, workspace);
  }

  CallWords Words() const override { return words_; }

 private:
  const CallWords words_;
  ResampleParams params_;
  std::array<ResampleRule, 3> rules_;
  std::array<std::optional<ResampleTable>, 3> tables_;
  PlannedKernel<ResampleParams> chosen_;
};

// Nearest: kernels of nearest-exact on tables of the other rule.
template <class Params>
class UpsampleNearestPlan final : public NearestPlan<Params> {
  static constexpr bool kBackward = requires(Params params) { params.grad_output; };

 public:
  explicit UpsampleNearestPlan(const Call& call)
      : NearestPlan<Params>(call.op, call.surface, upsample::UsedScales(call)) {
    const upsample::Names names = upsample::NamesOf(call);
    this->AddTensor(names.from, *call.from, false, true);
    this->AddTensor(names.to, *call.to, true, true);
    const TensorDesc from = ChannelsFirst(*call.from);
    const TensorDesc to = ChannelsFirst(*call.to);
    this->params_.dtype = from.dtype;
    this->params_.n = from.shape[0];
    this->params_.c = from.shape[1];
    SetStrides(from.strides, to.strides);
  }

  Status Make() {
    const Dims from = ChannelsFirst(this->tensor(0).desc).shape;
    const Dims to = ChannelsFirst(this->tensor(1).desc).shape;
    if constexpr (kBackward) {
      return this->Choose(to, from, UpsampleNearestExactBackwardImpls(), Nearest::kFloor);
    } else {
      return this->Choose(from, to, UpsampleNearestExactImpls(), Nearest::kFloor);
    }
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = this->params_;
    if constexpr (kBackward) {
      params.grad_output = elements[0];
      params.grad_input = elements[1];
    } else {
      params.input = elements[0];
      params.output = elements[1];
    }
    this->chosen_.Run(params, workspace);
  }

  CallWords Words() const override {
    constexpr auto kMode = UpsampleMode::kNearest;
    return this->WordsOf({WordOf(kMode, 1, false, kBackward), WordOf(kMode, 2, false, kBackward),
                          WordOf(kMode, 3, false, kBackward)},
                         kBackward ? "gradOutput" : "self", "out");
  }

 private:
  void SetStrides(const Dims& from, const Dims& to) {
    Params& p = this->params_;
    if constexpr (kBackward) {
      p.grad_output_stride = As4D(from, 0);
      p.grad_input_stride = As4D(to, 0);
      p.grad_output_depth_stride = DepthOf(from, 0);
      p.grad_input_depth_stride = DepthOf(to, 0);
    } else {
      p.input_stride = As4D(from, 0);
      p.output_stride = As4D(to, 0);
      p.input_depth_stride = DepthOf(from, 0);
      p.output_depth_stride = DepthOf(to, 0);
    }
  }
};

}  // namespace

Status PlanUpsample(const Call& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(CheckUpsample(call));
  return PlanCheckedUpsample(call, plan);
}

Status PlanCheckedUpsample(const Call& call, std::shared_ptr<const Plan>* plan) {
  if (call.mode != UpsampleMode::kNearest) return MakeNearestPlan<ResamplePlan>(call, plan);
  if (call.backward) {
    return MakeNearestPlan<UpsampleNearestPlan<UpsampleNearestExactBackwardParams>>(call, plan);
  }
  return MakeNearestPlan<UpsampleNearestPlan<UpsampleNearestExactParams>>(call, plan);
}

}  // namespace portacl::ops
