// The checks of resizing and of its gradients, but for those on memory.
#include "ops/upsample_checks.h"

#include <cmath>
#include <utility>

#include "ops/channels_first.h"
#include "ops/operators.h"
#include "ops/refusal.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace upsample {

Names NamesOf(const UpsampleCall& call) {
  return call.backward ? Names{"gradOutput", "gradInput"} : Names{"input", "output"};
}

std::array<double, 3> UsedScales(const UpsampleCall& call) {
  std::array<double, 3> used{};
  for (size_t axis = 0; axis < 3; ++axis) {
    const bool counts = call.scales[axis] > 0 && !call.align_corners;
    used[axis] = counts ? call.scales[axis] : 0;
  }
  return used;
}

ResampleRule RuleOf(const UpsampleCall& call, int64_t in, int64_t out, int given) {
  ResampleRule rule;
  const bool cubic = call.mode == UpsampleMode::kCubic;
  rule.mode = call.antialias
                  ? (cubic ? ResampleMode::kAntialiasedCubic : ResampleMode::kAntialiasedLinear)
                  : (cubic ? ResampleMode::kCubic : ResampleMode::kLinear);
  if (given < 0) rule.mode = ResampleMode::kLinear;  // an extent of 1 that stays as it is
  rule.in = in;
  rule.out = out;
  rule.align_corners = call.align_corners;
  rule.scale = given < 0 ? 0 : UsedScales(call)[static_cast<size_t>(given)];
  rule.in_double = call.from->dtype == base::DType::kDouble;
  return rule;
}

}  // namespace upsample

namespace {

using base::Status;
using base::TensorDesc;

const OperatorRow& RowOf(const UpsampleCall& call) {
  const bool back = call.backward;
  switch (call.mode) {
    case UpsampleMode::kNearest:
      return back ? RowOf(Op::kUpsampleNearestBackward) : RowOf(Op::kUpsampleNearest);
    case UpsampleMode::kLinear:
      return back ? RowOf(Op::kUpsampleLinearBackward) : RowOf(Op::kUpsampleLinear);
    case UpsampleMode::kCubic:
      break;
  }
  return back ? RowOf(Op::kUpsampleCubicBackward) : RowOf(Op::kUpsampleCubic);
}

// The checks of one call, a function for each group of rows of the page's table, in its order.
class Checker {
 public:
  explicit Checker(const UpsampleCall& call)
      : call_(call), names_(upsample::NamesOf(call)), refusals_(call.op, call.surface) {}

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(Nulls());
    PORTACL_RETURN_IF_ERROR(DTypes());
    PORTACL_RETURN_IF_ERROR(Shapes());
    PORTACL_RETURN_IF_ERROR(Scales());
    return Ratios();
  }

 private:
  const TensorDesc& from() const { return *call_.from; }
  const TensorDesc& to() const { return *call_.to; }

  Status Nulls() const {
    if (call_.from == nullptr) return refusals_.Refuse(Rule::kNull, "{} is null", names_.from);
    if (call_.to == nullptr) return refusals_.Refuse(Rule::kNull, "{} is null", names_.to);
    return {};
  }

  Status DTypes() const {
    const OperatorRow& row = RowOf(call_);
    PORTACL_RETURN_IF_ERROR(
        CheckDType(refusals_, row, call_.surface, names_.from, from().dtype));
    PORTACL_RETURN_IF_ERROR(CheckDType(refusals_, row, call_.surface, names_.to, to().dtype));
    if (from().dtype == to().dtype) return {};
    return refusals_.Refuse(Rule::kDType, "{} has dtype {}, but {} has {}: they must be equal",
                            names_.to, base::DTypeName(to().dtype), names_.from,
                            base::DTypeName(from().dtype));
  }

  Status Shapes() const {
    const std::pair<const char*, const TensorDesc*> both[] = {{names_.from, &from()},
                                                              {names_.to, &to()}};
    for (const auto& [name, tensor] : both) {
      if (tensor->shape.rank() == call_.spatial + 2) continue;
      constexpr const char* kLayouts[] = {"(N, C, L)", "(N, C, H, W)", "(N, C, D, H, W)"};
      return refusals_.Refuse(tensor == &from() ? Rule::kInput : Rule::kOutput,
                              "{} has shape {} of rank {}, but must be {}", name,
                              tensor->shape.ToString(), tensor->shape.rank(),
                              kLayouts[call_.spatial - 1]);
    }
    for (const auto& [name, tensor] : both) {
      for (int axis = 0; axis < call_.spatial; ++axis) {
        if (tensor->shape[axis + 2] >= 1) continue;
        return refusals_.Refuse(tensor == &from() ? Rule::kInput : Rule::kOutput,
                                "{} has shape {}, but {} must be at least 1", name,
                                tensor->shape.ToString(), AxisName(axis));
      }
    }
    for (int axis = 0; axis < 2; ++axis) {
      if (to().shape[axis] == from().shape[axis]) continue;
      return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but {} {} asks for {} = {}",
                              names_.to, to().shape.ToString(), names_.from,
                              from().shape.ToString(), axis == 0 ? "N" : "C", from().shape[axis]);
    }
    return {};
  }

  Status Scales() const {
    for (int axis = 0; axis < call_.spatial; ++axis) {
      const double scale = call_.scales[static_cast<size_t>(axis)];
      if (scale >= 0) continue;  // false for NaN too
      return refusals_.Refuse(Rule::kAttribute,
                              "scales[{}] is {}, but must be 0 (use the sizes) or positive", axis,
                              scale);
    }
    return {};
  }

  // An antialiased window as wide as the ratio: finite.
  Status Ratios() const {
    if (!call_.antialias) return {};
    for (int axis = 0; axis < call_.spatial; ++axis) {
      const TensorDesc& in = call_.backward ? to() : from();
      const TensorDesc& out = call_.backward ? from() : to();
      const ResampleRule rule =
          upsample::RuleOf(call_, in.shape[axis + 2], out.shape[axis + 2], axis);
      if (std::isfinite(rule.Ratio())) continue;
      return refusals_.Refuse(Rule::kAttribute, "scales[{}] is {}, so small that 1 / scale is infinite",
                              axis, call_.scales[static_cast<size_t>(axis)]);
    }
    return {};
  }

  const char* AxisName(int axis) const {
    constexpr const char* kNames[] = {"D", "H", "W"};
    return call_.spatial == 1 ? "L" : kNames[3 - call_.spatial + axis];
  }

  const UpsampleCall& call_;
  const upsample::Names names_;
  const Refusals refusals_;
};

}  // namespace

Status CheckUpsample(const UpsampleCall& call) {
  const runtime::FpEnvironment environment;  // of a subnormal scale or NaN the caller's differs
  return Checker(call).Run();
}

}  // namespace portacl::ops
