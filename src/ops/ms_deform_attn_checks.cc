// The checks of multi-scale deformable attention and its gradient, except the checks on memory.
#include <array>
#include <initializer_list>
#include <string>

#include "ops/call.h"
#include "ops/refusal.h"
#include "ops/shared_checks.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

class Checker {
 public:
  explicit Checker(const Call& call)
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

  // All tensors of points have one dtype: that of value or, in the native API, FLOAT beside 16
  // bits. (A shared check compares the other tensors with value.)
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

  Status Rank(const char* name, const TensorDesc* tensor, int rank, bool or_three = false) const {
    if (tensor == nullptr) return {};
    const int got = tensor->shape.rank();
    if (got == rank || (or_three && got == 3)) return {};
    return refusals_.Refuse(Rule::kInput, "{} has shape {} of rank {}, but must have rank {}", name,
                            tensor->shape.ToString(), got,
                            or_three ? "3 or 4" : std::to_string(rank));
  }
  Status Ranks() const {
    const int points = native() ? 4 : 5;  // axes of weights; locations have one more
    const std::array<int, 6> of_inputs = {4, 2, 1, points + 1, points, 4};
    const std::array<int, 3> of_grads = {4, points + 1, points};
    for (size_t i = 0; i < (backward_ ? 6U : 5U); ++i) {
      PORTACL_RETURN_IF_ERROR(
          Rank(call_.input_name(i), call_.input(i), of_inputs[i], i == kGradOutput));
    }
    if (!backward_) return Rank(call_.output_name(0), call_.output(0), 4, true);
    for (size_t i = 0; i < 3; ++i) {
      PORTACL_RETURN_IF_ERROR(Rank(call_.output_name(i), call_.output(i), of_grads[i]));
    }
    return {};
  }

  Status Shape(Rule rule, const char* name, const TensorDesc* tensor, const char* symbols,
               std::initializer_list<int64_t> extents) const {
    if (tensor == nullptr) return {};
    const Dims wanted(extents.begin(), static_cast<int>(extents.size()));
    if (tensor->shape == wanted) return {};
    return refusals_.Refuse(rule, "{} has shape {}, but must be {} = {}", name,
                            tensor->shape.ToString(), symbols, wanted.ToString());
  }
  // For the output and its gradient: heads and channels are one axis or two.
  Status LikeOutput(Rule rule, const char* name, const TensorDesc& tensor) const {
    const Dims& value = in(kValue).shape;
    const int64_t queries = in(kLocation).shape[1];
    if (tensor.shape.rank() == 4) {
      return Shape(rule, name, &tensor, "(bs, num_queries, num_heads, channels)",
                   {value[0], queries, value[2], value[3]});
    }
    return Shape(rule, name, &tensor, "(bs, num_queries, num_heads * channels)",
                 {value[0], queries, value[2] * value[3]});
  }

  // Locations and weights.
  Status Points(int64_t levels) const {
    const Dims& value = in(kValue).shape;
    const Dims& got = in(kLocation).shape;
    const char* const locations = call_.input_name(kLocation);
    const char* const weights = call_.input_name(kWeight);
    if (!native()) {
      PORTACL_RETURN_IF_ERROR(Shape(Rule::kInput, locations, &in(kLocation),
                                    "(bs, num_queries, num_heads, num_levels, num_points, 2)",
                                    {value[0], got[1], value[2], levels, got[4], 2}));
      return Shape(Rule::kInput, weights, &in(kWeight),
                   "(bs, num_queries, num_heads, num_levels, num_points)",
                   {value[0], got[1], value[2], levels, got[4]});
    }
    PORTACL_RETURN_IF_ERROR(Shape(Rule::kInput, locations, &in(kLocation), "(B, Q, M, L * P, 2)",
                                  {value[0], got[1], value[2], got[3], 2}));
    if (levels == 0 ? got[3] != 0 : got[3] % levels != 0) {
      return refusals_.Refuse(Rule::kInput,
                              "{} has shape {}, but its {} points must be as many for each of {} "
                              "levels",
                              locations, got.ToString(), got[3], levels);
    }
    return Shape(Rule::kInput, weights, &in(kWeight), "(B, Q, M, L * P)",
                 {value[0], got[1], value[2], got[3]});
  }

  Status Shapes() const {
    const int64_t levels = in(kShapes).shape[0];
    const auto name = [&](Input index) { return call_.input_name(index); };
    PORTACL_RETURN_IF_ERROR(
        Shape(Rule::kInput, name(kShapes), &in(kShapes), "(num_levels, 2)", {levels, 2}));
    PORTACL_RETURN_IF_ERROR(
        Shape(Rule::kInput, name(kStarts), &in(kStarts), "(num_levels)", {levels}));
    PORTACL_RETURN_IF_ERROR(Points(levels));
    if (!backward_) return LikeOutput(Rule::kOutput, call_.output_name(0), *call_.output(0));
    PORTACL_RETURN_IF_ERROR(LikeOutput(Rule::kInput, name(kGradOutput), in(kGradOutput)));
    static constexpr std::array<Input, 3> kLike = {kValue, kLocation, kWeight};
    for (size_t i = 0; i < 3; ++i) {
      const TensorDesc* const grad = call_.output(i);
      if (grad == nullptr || grad->shape == in(kLike[i]).shape) continue;
      return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but must be like {}: {}",
                              call_.output_name(i), grad->shape.ToString(), name(kLike[i]),
                              in(kLike[i]).shape.ToString());
    }
    return {};
  }

  // Warns of arguments that portacl takes although the pages do not list them.
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

}  // namespace

Status CheckMsDeformAttn(const Call& call) { return Checker(call).Run(); }

}  // namespace portacl::ops
