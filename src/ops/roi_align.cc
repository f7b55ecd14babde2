// RoiAlign and its gradient: checks in the order of the vendor's pages, and the plan.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/dispatch.h"
#include "ops/call.h"
#include "ops/kernels.h"
#include "ops/plan.h"
#include "ops/roi_align_params.h"
#include "ops/shared_checks.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

bool IsRoiBackward(const Call& call) {
  const Op op = call.signature().op;
  return op == Op::kRoiAlignBackward || op == Op::kRoiAlignRotatedBackward;
}
bool IsRotated(const Call& call) {
  const Op op = call.signature().op;
  return op == Op::kRoiAlignRotated || op == Op::kRoiAlignRotatedBackward;
}

// For graph types: rotated rois are the columns of a (6, K) tensor, and C is always last.
bool IsTransposed(const Call& call) {
  return PartOf(call.parameter(call.signature().PositionOf(Form::kRead, 1)), 1) == "K";
}

TensorDesc Upright(const Call& call, TensorDesc tensor) {
  if (IsTransposed(call)) tensor.format = base::Format::kNHWC;
  return ChannelsFirst(tensor);
}
TensorDesc Rows(const Call& call, TensorDesc boxes) {
  if (!IsTransposed(call)) return boxes;
  std::swap(boxes.shape[0], boxes.shape[1]);
  std::swap(boxes.strides[0], boxes.strides[1]);
  return boxes;
}

// The tensors of a call by their meaning, as (N, C, H, W); boxes are (K, ...).
struct Tensors {
  explicit Tensors(const Call& call)
      : pooled(Upright(call, IsRoiBackward(call) ? *call.input(0) : *call.output(0))),
        image(Upright(call, IsRoiBackward(call) ? *call.output(0) : *call.input(0))),
        boxes(Rows(call, *call.input(1))),
        indices(IsRoiBackward(call) ? nullptr : call.input(2)),
        values(IsRoiBackward(call) ? call.input(2) : nullptr) {}
  TensorDesc pooled;
  TensorDesc image;
  TensorDesc boxes;
  const TensorDesc* indices;  // null: the box has the image's number
  const TensorDesc* values;   // the image, for gradients of maxima
};

class RoiAlignChecks {
 public:
  explicit RoiAlignChecks(const Call& call)
      : call_(call), refusals_(call.op(), call.surface()), backward_(IsRoiBackward(call)) {}

  Status Run() const {
    const SharedChecks shared(call_);
    PORTACL_RETURN_IF_ERROR(shared.Tensors());
    PORTACL_RETURN_IF_ERROR(shared.Formats());
    PORTACL_RETURN_IF_ERROR(Numbers());
    PORTACL_RETURN_IF_ERROR(shared.Lists());
    return Shapes();
  }

 private:
  enum Integer : size_t { kPooledHeight, kPooledWidth, kSamples, kEndMode };

  const char* image_name() const { return backward_ ? call_.output_name(0) : call_.input_name(0); }
  const char* pooled_name() const { return backward_ ? call_.input_name(0) : call_.output_name(0); }
  Rule ImageRule() const { return backward_ ? Rule::kOutput : Rule::kInput; }
  Rule PooledRule() const { return backward_ ? Rule::kInput : Rule::kOutput; }

  Status Numbers() const {
    if (call_.mode(0) < 0 || (*call_.mode_name(0) != '\0' && call_.mode_word(0, Mode()).empty())) {
      return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must be {}", call_.mode_name(0),
                              GivenMode(), ModeChoices());
    }
    for (const Integer size : {kPooledHeight, kPooledWidth}) {
      if (call_.integer(size) >= 1) continue;
      return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must be at least 1",
                              call_.integer_name(size), call_.integer(size));
    }
    if (!(std::isfinite(call_.real(0)) && call_.real(0) > 0)) {
      return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must be above 0 and finite",
                              call_.real_name(0), call_.real(0));
    }
    constexpr int64_t kMostSamples = 65536;
    PORTACL_RETURN_IF_ERROR(AtMost(kSamples, kMostSamples));
    constexpr int64_t kLastEndMode = 3;
    return AtMost(kEndMode, kLastEndMode);
  }

  size_t Mode() const { return static_cast<size_t>(call_.mode(0)); }
  std::string GivenMode() const {
    const char* const word = call_.word(0);
    return word != nullptr ? fmt::format("\"{}\"", word) : fmt::format("{}", call_.mode(0));
  }
  std::string ModeChoices() const {
    std::string choices;
    for (size_t i = 0; !call_.mode_word(0, i).empty(); ++i) {
      choices += fmt::format("{}{}", i == 0 ? "" : " or ", call_.mode_word(0, i));
    }
    return choices;
  }

  Status AtMost(Integer index, int64_t most) const {
    const int64_t value = call_.integer(index);
    if (value >= 0 && value <= most) return {};
    return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must be at least 0 and at most {}",
                            call_.integer_name(index), value, most);
  }

  Status Shapes() const {
    const Tensors t(call_);
    const Dims& image = t.image.shape;
    if (image[0] < 1 || image[2] < 1 || image[3] < 1) {
      return refusals_.Refuse(ImageRule(), "{} has shape {}, but N, H and W must be at least 1",
                              image_name(), image.ToString());
    }
    const int64_t columns = IsRotated(call_) ? 6 : t.indices == nullptr ? 5 : 4;
    if (t.boxes.shape[1] != columns) {
      return refusals_.Refuse(
          Rule::kInput, "{} has shape {}, but must be {}", call_.input_name(1),
          call_.input(1)->shape.ToString(),
          IsTransposed(call_) ? fmt::format("({}, K)", columns) : fmt::format("(K, {})", columns));
    }
    const int64_t rois = t.boxes.shape[0];
    if (t.indices != nullptr && t.indices->shape[0] != rois) {
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but {} has {} rois",
                              call_.input_name(2), t.indices->shape.ToString(), call_.input_name(1),
                              rois);
    }
    PORTACL_RETURN_IF_ERROR(Pooled(t, {rois, image[1], 0, 0}));
    PORTACL_RETURN_IF_ERROR(Values(t));
    return InputShape(t.image);
  }

  Status Pooled(const Tensors& t, std::array<int64_t, 4> wanted) const {
    const Dims& pooled = t.pooled.shape;
    wanted[2] = call_.integer(kPooledHeight);
    wanted[3] = call_.integer(kPooledWidth);
    const bool turned = IsTransposed(call_) && backward_;
    if (turned && (wanted[2] != pooled[2] || wanted[3] != pooled[3])) {
      PORTACL_RETURN_IF_ERROR(refusals_.Warn(
          Rule::kAttribute,
          fmt::format("{} and {} are {} and {}, but {} has {} and {} bins: they count",
                      call_.integer_name(kPooledHeight), call_.integer_name(kPooledWidth),
                      wanted[2], wanted[3], pooled_name(), pooled[2], pooled[3])));
      wanted[2] = std::max<int64_t>(pooled[2], 1);
      wanted[3] = std::max<int64_t>(pooled[3], 1);
    }
    const Dims dims(wanted.data(), 4);
    if (pooled == dims) return {};
    return refusals_.Refuse(PooledRule(), "{} has shape {}, but must be {}", pooled_name(),
                            pooled.ToString(), dims.ToString());
  }

  // Checks the image that the gradient of a maximum reads.
  Status Values(const Tensors& t) const {
    if (!backward_ || call_.mode(0) == 0) return {};
    if (t.values == nullptr) {
      return refusals_.Refuse(Rule::kNull, "{} is null, but the gradient of {} depends on it",
                              call_.input_name(2), call_.mode_word(0, Mode()));
    }
    if (t.values->shape == t.image.shape) return {};
    return refusals_.Refuse(Rule::kInput, "{} has shape {}, but {} has {}: they must be equal",
                            call_.input_name(2), t.values->shape.ToString(), image_name(),
                            t.image.shape.ToString());
  }

  Status InputShape(const TensorDesc& image) const {
    const auto* const size = call_.ints(0);
    if (size == nullptr) return {};
    const Dims given(size->data(), 4);
    const Dims shape = IsTransposed(call_) ? ChannelsFirst(given) : given;
    if (shape == image.shape) return {};
    return refusals_.Refuse(Rule::kAttribute, "{} is {}, but {} has shape {}", call_.ints_name(0),
                            given.ToString(), image_name(), call_.output(0)->shape.ToString());
  }

  const Call& call_;
  const Refusals refusals_;
  const bool backward_;
};

class RoiAlignPlan final : public Plan {
 public:
  explicit RoiAlignPlan(const Call& call) : Plan(call) {
    params_.backward = IsRoiBackward(call);
    params_.rotated = IsRotated(call);
    SetNumbers(call);
    const bool maximum = params_.mode != RoiAlignMode::kAverage;
    const Tensors t(call);
    SetTensors(t);
    if (params_.backward && maximum) params_.values.Describe(*t.values);
    const size_t inputs = t.indices != nullptr || params_.values.has ? 3 : 2;
    for (size_t i = 0; i < inputs; ++i) {
      AddTensor(call.input_name(i), *call.input(i), false, true);
    }
    AddTensor(call.output_name(0), *call.output(0), true, true);
    // The aclnn function in the log has boxes of 5 columns, and neither modes nor included ends.
    if (t.indices != nullptr || maximum || params_.includes_ends) LeaveOutOfTheLog();
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (tensor(output(0)).elements == 0) return {};
    constexpr int64_t kSmall = 1024;  // elements
    return Choose(KernelsFor<Params>(), params_, kSmall, &chosen_);
  }

  Status CheckContents(const Elements& elements) const override {
    if (kernel_ == "none") return {};
    const Params params = At(elements);
    for (int64_t n = 0; n < params.rois; ++n) {
      const bool named = base::DispatchFloating(params.dtype, [&](auto tag) {
        return RoiImage<typename decltype(tag)::type>(params, n) >= 0;
      });
      if (named) continue;
      const auto text = [&] {
        const bool listed = params.indices.has;
        const double image =
            listed ? static_cast<double>(IndexAt(params.indices, params.index_dtype, n))
                   : base::DispatchFloating(params.dtype, [&](auto tag) {
                       using T = typename decltype(tag)::type;
                       return static_cast<double>(RoiColumn<T>(params, n, 0));
                     });
        return fmt::format("{} gives roi {} image {:.10g}, wanted one in [0, {})",
                           tensor(listed ? 2 : 1).name, n, image, params.images);
      };
      return RefuseContents(text, ": the roi contributes nothing");
    }
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    if (kernel_ != "none") chosen_.Run(At(elements), workspace);
  }

 private:
  using Params = RoiAlignParams;

  Params At(const Elements& elements) const {
    const auto at = [&](int index) { return elements[static_cast<size_t>(index)]; };
    Params params = params_;
    params.boxes.data = at(1);
    if (params.indices.has) params.indices.data = at(2);
    params.image.data = params_.backward ? at(output(0)) : at(0);
    params.pooled.data = params_.backward ? at(0) : at(output(0));
    if (params.values.has) params.values.data = at(2);
    return params;
  }

  void SetTensors(const Tensors& t) {
    params_.dtype = t.image.dtype;
    params_.images = t.image.shape[0];
    params_.channels = t.image.shape[1];
    params_.height = t.image.shape[2];
    params_.width = t.image.shape[3];
    params_.rois = t.pooled.shape[0];
    params_.pooled_height = t.pooled.shape[2];
    params_.pooled_width = t.pooled.shape[3];
    params_.image.Describe(t.image);
    params_.pooled.Describe(t.pooled);
    params_.boxes.Describe(t.boxes);
    if (t.indices == nullptr) return;
    params_.indices.Describe(*t.indices);
    params_.index_dtype = t.indices->dtype;
  }

  void SetNumbers(const Call& call) {
    params_.mode = static_cast<RoiAlignMode>(call.mode(0));
    params_.scale = call.real(0);
    params_.samples = call.integer(2);
    params_.aligned = call.flag(0);
    params_.clockwise = call.flag(1);
    if (*call.integer_name(3) == '\0') return;
    // roi_end_mode 0 and 1: not aligned; 1 includes the ends. 2 and 3: aligned.
    params_.includes_ends = call.integer(3) == 1;
    params_.aligned = call.integer(3) >= 2;
  }

  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status CheckRoiAlign(const Call& call) { return RoiAlignChecks(call).Run(); }

Status PlanCheckedRoiAlign(const Call& call, std::shared_ptr<const Plan>* plan) {
  return MakePlanOf<RoiAlignPlan>(plan, call);
}

}  // namespace portacl::ops
