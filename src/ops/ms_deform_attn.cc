// Multi-scale deformable attention and its gradient: checks in the order of the vendor's pages, and
// the plan.
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "ops/call.h"
#include "ops/kernels.h"
#include "ops/ms_deform_attn_params.h"
#include "ops/plan.h"
#include "ops/shared_checks.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

class MsDeformAttnChecks {
 public:
  explicit MsDeformAttnChecks(const Call& call)
      : call_(call),
        refusals_(call.op(), call.surface()),
        backward_(call.signature().op == Op::kMsDeformAttnBackward) {}

  Status Run() const {
    const SharedChecks shared(call_);
    PORTACL_RETURN_IF_ERROR(shared.Arguments());
    PORTACL_RETURN_IF_ERROR(shared.DTypes());
    PORTACL_RETURN_IF_ERROR(PointDTypes());
    PORTACL_RETURN_IF_ERROR(shared.Formats());
    PORTACL_RETURN_IF_ERROR(Ranks());
    PORTACL_RETURN_IF_ERROR(Shapes());
    return Warnings();
  }

 private:
  enum Input : size_t { kValue, kShapes, kStarts, kLocation, kWeight, kGradOutput };

  bool native() const { return call_.surface() == Surface::kNative; }
  const TensorDesc& in(Input index) const { return *call_.input(index); }

  // Locations, weights and their gradients have one dtype: value's dtype, or (native API) FLOAT
  // beside 16 bits. (A shared check compares the other tensors with value.)
  Status PointDTypes() const {
    const base::DType value = in(kValue).dtype;
    const base::DType points = in(kLocation).dtype;
    const bool sixteen_bits = value == base::DType::kFloat16 || value == base::DType::kBFloat16;
    if (points != value && !(sixteen_bits && points == base::DType::kFloat)) {
      return Refuse(call_.input_name(kLocation), in(kLocation), call_.input_name(kValue), value,
                    sixteen_bits ? "equal, or FLOAT beside 16 bits" : "equal");
    }
    PORTACL_RETURN_IF_ERROR(LikeLocation(call_.input_name(kWeight), &in(kWeight)));
    for (size_t i = 1; backward_ && i < 3; ++i) {
      PORTACL_RETURN_IF_ERROR(LikeLocation(call_.output_name(i), call_.output(i)));
    }
    return {};
  }
  Status LikeLocation(const char* name, const TensorDesc* tensor) const {
    if (tensor == nullptr || tensor->dtype == in(kLocation).dtype) return {};
    return Refuse(name, *tensor, call_.input_name(kLocation), in(kLocation).dtype, "equal");
  }
  Status Refuse(const char* name, const TensorDesc& tensor, const char* like, base::DType dtype,
                const char* must) const {
    return refusals_.Refuse(Rule::kDType, "{} has dtype {}, but {} has {}: they must be {}", name,
                            base::DTypeName(tensor.dtype), like, base::DTypeName(dtype), must);
  }

  Status Ranks() const {
    for (size_t at = 0; at < call_.size(); ++at) {
      const Parameter& parameter = call_.parameter(at);
      const auto* const tensor = std::get<const TensorDesc*>(call_.argument(at));
      // In the output and in its gradient, heads and channels may be one axis.
      const bool or_three = std::string_view(parameter.symbols) == "B,Q,M,C";
      const size_t rank = PartsOf(parameter);
      const size_t got = tensor == nullptr ? rank : static_cast<size_t>(tensor->shape.rank());
      if (got == rank || (or_three && got == 3)) continue;
      return refusals_.Refuse(Rule::kInput, "{} has shape {} of rank {}, but must have rank {}",
                              parameter.name, tensor->shape.ToString(), got,
                              or_three ? "3 or 4" : std::to_string(rank));
    }
    return {};
  }

  Status Shape(const char* name, const TensorDesc& tensor, const char* symbols,
               std::initializer_list<int64_t> extents, Rule rule = Rule::kInput) const {
    const Dims wanted(extents.begin(), static_cast<int>(extents.size()));
    if (tensor.shape == wanted) return {};
    return refusals_.Refuse(rule, "{} has shape {}, but must be {} = {}", name,
                            tensor.shape.ToString(), symbols, wanted.ToString());
  }
  Status Shape(Input index, const char* symbols, std::initializer_list<int64_t> extents) const {
    return Shape(call_.input_name(index), in(index), symbols, extents);
  }
  Status LikeOutput(const char* name, const TensorDesc& tensor, Rule rule) const {
    const Dims& value = in(kValue).shape;
    const int64_t queries = in(kLocation).shape[1];
    if (tensor.shape.rank() == 4) {
      return Shape(name, tensor, "(bs, num_queries, num_heads, channels)",
                   {value[0], queries, value[2], value[3]}, rule);
    }
    return Shape(name, tensor, "(bs, num_queries, num_heads * channels)",
                 {value[0], queries, value[2] * value[3]}, rule);
  }

  // Checks the shapes of locations and weights.
  Status Points(int64_t levels) const {
    const Dims& value = in(kValue).shape;
    const Dims& got = in(kLocation).shape;
    if (!native()) {
      PORTACL_RETURN_IF_ERROR(Shape(kLocation,
                                    "(bs, num_queries, num_heads, num_levels, num_points, 2)",
                                    {value[0], got[1], value[2], levels, got[4], 2}));
      return Shape(kWeight, "(bs, num_queries, num_heads, num_levels, num_points)",
                   {value[0], got[1], value[2], levels, got[4]});
    }
    PORTACL_RETURN_IF_ERROR(
        Shape(kLocation, "(B, Q, M, L * P, 2)", {value[0], got[1], value[2], got[3], 2}));
    if (levels == 0 ? got[3] != 0 : got[3] % levels != 0) {
      return refusals_.Refuse(Rule::kInput,
                              "{} has shape {}, but its {} points must be as many for each of {} "
                              "levels",
                              call_.input_name(kLocation), got.ToString(), got[3], levels);
    }
    return Shape(kWeight, "(B, Q, M, L * P)", {value[0], got[1], value[2], got[3]});
  }

  Status Shapes() const {
    const int64_t levels = in(kShapes).shape[0];
    PORTACL_RETURN_IF_ERROR(Shape(kShapes, "(num_levels, 2)", {levels, 2}));
    PORTACL_RETURN_IF_ERROR(Shape(kStarts, "(num_levels)", {levels}));
    PORTACL_RETURN_IF_ERROR(Points(levels));
    if (!backward_) return LikeOutput(call_.output_name(0), *call_.output(0), Rule::kOutput);
    PORTACL_RETURN_IF_ERROR(
        LikeOutput(call_.input_name(kGradOutput), in(kGradOutput), Rule::kInput));
    static constexpr std::array<Input, 3> kLike = {kValue, kLocation, kWeight};
    for (size_t i = 0; i < 3; ++i) {
      const TensorDesc* const grad = call_.output(i);
      if (grad == nullptr || grad->shape == in(kLike[i]).shape) continue;
      return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but must be like {}: {}",
                              call_.output_name(i), grad->shape.ToString(),
                              call_.input_name(kLike[i]), in(kLike[i]).shape.ToString());
    }
    return {};
  }

  // Warns of arguments that portacl accepts although the vendor's pages do not list them.
  Status Warnings() const {
    if (native()) return {};
    for (size_t at = 0; at < call_.size(); ++at) {
      if (!IsTensor(call_.parameter(at).kind)) continue;
      const auto* const tensor = std::get<const TensorDesc*>(call_.argument(at));
      if (tensor == nullptr || tensor->format == base::Format::kND) continue;
      return refusals_.Warn(
          Rule::kFormat, fmt::format("{} has format {}, but the page lists ND",
                                     call_.parameter(at).name, base::FormatName(tensor->format)));
    }
    const Dims& location = in(kLocation).shape;
    if (in(kValue).shape[1] > 0 && location[3] > 0 && location[4] > 0) return {};
    return refusals_.Warn(Rule::kInput,
                          fmt::format("{} has shape {} and {} {}: there is nothing to sample",
                                      call_.input_name(kValue), in(kValue).shape.ToString(),
                                      call_.input_name(kLocation), location.ToString()));
  }

  const Call& call_;
  const Refusals refusals_;
  const bool backward_;
};

class MsDeformAttnPlan final : public Plan {
 public:
  explicit MsDeformAttnPlan(const Call& call) : Plan(call) {
    const TensorDesc& value = *call.input(0);
    const TensorDesc& location = *call.input(3);
    params_.backward = call.signature().op == Op::kMsDeformAttnBackward;
    params_.dtype = value.dtype;
    params_.point_dtype = location.dtype;
    params_.batch = value.shape[0];
    params_.keys = value.shape[1];
    params_.heads = value.shape[2];
    params_.channels = value.shape[3];
    params_.queries = location.shape[1];
    params_.levels = call.input(1)->shape[0];
    // The native API has the points of all levels on one axis.
    params_.points = location.shape.rank() == 6
                         ? location.shape[4]
                         : location.shape[3] / std::max<int64_t>(1, params_.levels);
    params_.shapes_dtype = call.input(1)->dtype;
    params_.starts_dtype = call.input(2)->dtype;
    params_.value.Describe(value);
    params_.shapes.Describe(*call.input(1));
    params_.starts.Describe(*call.input(2));
    Describe(location, 3, params_.points, &params_.location);
    Describe(*call.input(4), 3, params_.points, &params_.weight);
    // aclnn's output has heads and channels on one axis.
    const TensorDesc& output = params_.backward ? *call.input(kOutput) : *call.output(0);
    Describe(output, 2, params_.channels, &params_.output);
    const auto describe = [&](size_t index, auto* tensor) {
      const TensorDesc* const grad = call.output(index);
      if (grad == nullptr || grad->NumElements() == 0) return;
      Describe(*grad, 3, params_.points, tensor);
    };
    AddTensors(call);
    if (!params_.backward) return;
    describe(0, &params_.value_grad);
    describe(1, &params_.location_grad);
    describe(2, &params_.weight_grad);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (WritesNothing()) return {};
    constexpr int64_t kMostLevels = int64_t{1} << 24;  // each run reads all of them
    if (params_.levels > kMostLevels) {
      return refusals().Refuse(Rule::kNoKernel, "{} has {} levels, wanted at most {}",
                               tensor(1).name, params_.levels, kMostLevels);
    }
    constexpr int64_t kSmall = 4096;  // elements
    PORTACL_RETURN_IF_ERROR(Choose(KernelsFor<Params>(), params_, kSmall, &chosen_));
    small_ = HasAtMost(kSmall);
    return {};
  }

  Status CheckContents(const Elements& elements) const override {
    if (params_.keys == 0) return {};
    const Params params = At(elements);
    for (int64_t l = 0; l < params.levels; ++l) {
      const MsDeformAttnLevel level = params.GivenLevel(l);
      if (params.Fits(level)) continue;
      const auto text = [&] {
        return fmt::format("{} gives level {} {} x {} pixels, and {} key {}, but {} has {} keys",
                           tensor(1).name, l, level.height, level.width, tensor(2).name,
                           level.start, tensor(0).name, params_.keys);
      };
      return RefuseContents(text, ": the level contributes nothing");
    }
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    if (kernel_ != "none") chosen_.Run(At(elements), workspace);
  }

 private:
  using Params = MsDeformAttnParams;
  static constexpr size_t kOutput = 5;  // the output's index, or gradOutput's

  Params At(const Elements& elements) const {
    Params params = params_;
    params.value.data = elements[0];
    params.shapes.data = elements[1];
    params.starts.data = elements[2];
    params.location.data = elements[3];
    params.weight.data = elements[4];
    params.output.data = elements[kOutput];
    if (!params.backward) return params;
    params.value_grad.data = elements[6];
    params.location_grad.data = elements[7];
    params.weight_grad.data = elements[8];
    return params;
  }

  // If the call has axis `axis` and the one behind it (extent `inner`) as one axis, splits that
  // axis.
  template <class Tensor>
  static void Describe(TensorDesc desc, int axis, int64_t inner, Tensor* tensor) {
    base::Dims& s = desc.strides;
    if (desc.NumElements() != 0 && s.rank() + 1 == static_cast<int>(tensor->stride.size())) {
      std::array<int64_t, 6> split{};
      const auto behind = std::copy_n(s.data(), axis + 1, split.begin());
      std::copy(s.data() + axis, s.data() + s.rank(), behind);
      *(behind - 1) *= inner;
      s = Dims(split.data(), s.rank() + 1);
    }
    tensor->Describe(desc);
  }

  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status CheckMsDeformAttn(const Call& call) { return MsDeformAttnChecks(call).Run(); }

Status PlanCheckedMsDeformAttn(const Call& call, std::shared_ptr<const Plan>* plan) {
  return MakePlanOf<MsDeformAttnPlan>(plan, call);
}

}  // namespace portacl::ops
