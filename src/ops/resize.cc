// The checks of aclnnResize, and the equal call of another function.
#include "ops/resize.h"

#include <array>
#include <cmath>
#include <string_view>

#include "ops/settings.h"
#include "ops/shared_checks.h"

namespace portacl::ops::resize {
namespace {

using base::Status;
using base::TensorDesc;

constexpr std::string_view kBilinear = "bilinear";
constexpr size_t kAxes = 4;

// Returns the positions of N, C, H and W in a tensor's shape and in the scales.
std::array<int, kAxes> AxesOf(const TensorDesc& tensor) {
  if (tensor.format == base::Format::kNHWC) return {0, 3, 1, 2};
  return {0, 1, 2, 3};
}

// Returns how many outputs the vendor's page gives for `in` elements. May be NaN or infinite.
double Resized(int64_t in, float scale) {
  return std::floor(static_cast<double>(in) * static_cast<double>(scale));
}

class AclnnResizeChecker {
 public:
  explicit AclnnResizeChecker(const Call& call)
      : call_(call), refusals_(call.op(), call.surface()) {}

  Status Run() const {
    const SharedChecks shared(call_);
    PORTACL_RETURN_IF_ERROR(shared.Arguments());
    PORTACL_RETURN_IF_ERROR(Mode());
    PORTACL_RETURN_IF_ERROR(shared.DTypes());
    PORTACL_RETURN_IF_ERROR(shared.Formats());
    PORTACL_RETURN_IF_ERROR(shared.Ranks());
    PORTACL_RETURN_IF_ERROR(Extents());
    return Scales();
  }

 private:
  const TensorDesc& self() const { return *call_.input(0); }
  const TensorDesc& out() const { return *call_.output(0); }
  const std::vector<float>& scales() const { return *call_.floats(0); }

  Status Mode() const {
    const std::string_view mode = call_.word(0);
    if (mode == "nearest" || mode == kBilinear) return {};
    return refusals_.Refuse(Rule::kAttribute, "mode is \"{}\", but must be nearest or bilinear",
                            mode);
  }

  Status Extents() const {
    static constexpr const char* kNames[] = {"N", "C", "H", "W"};
    const bool empty = CurrentProfile() == Profile::kOpen;
    for (size_t at = 0; at < kAxes; ++at) {
      const int axis = AxesOf(self())[at];
      const int64_t least = at < 2 && empty ? 0 : 1;
      for (const auto& [name, desc] : {std::pair("self", &self()), std::pair("out", &out())}) {
        if (desc->shape[axis] >= least) continue;
        return refusals_.Refuse(desc == &self() ? Rule::kInput : Rule::kOutput,
                                "{} has shape {}, but {} must be at least {}", name,
                                desc->shape.ToString(), kNames[at], least);
      }
      if (scales().size() != kAxes) continue;  // Scales() refuses the list later
      const float scale = scales()[static_cast<size_t>(axis)];
      const double wanted = Resized(self().shape[axis], scale);
      if (wanted == static_cast<double>(out().shape[axis])) continue;
      return refusals_.Refuse(
          Rule::kOutput, "out has shape {}, but self {} with scales[{}] = {} asks for {} = {}",
          out().shape.ToString(), self().shape.ToString(), axis, scale, kNames[at], wanted);
    }
    return {};
  }

  Status Scales() const {
    if (scales().size() != kAxes) {
      return refusals_.Refuse(Rule::kAttribute, "scales has {} elements, but must have {}",
                              scales().size(), kAxes);
    }
    for (const size_t at : {0, 1}) {
      const auto axis = static_cast<size_t>(AxesOf(self())[at]);
      if (scales()[axis] == 1) continue;
      return refusals_.Refuse(Rule::kAttribute, "scales[{}] is {}, but must be 1, since {} stays",
                              axis, scales()[axis], at == 0 ? "N" : "C");
    }
    return {};
  }

  const Call& call_;
  const Refusals refusals_;
};

}  // namespace

bool Is(const Call& call) { return &call.signature() == &signatures::aclnnResize; }

Status Check(const Call& call) { return AclnnResizeChecker(call).Run(); }

Call AsUpsample(const Call& call) {
  const bool bilinear = call.word(0) == kBilinear;
  const Signature& function =
      bilinear ? signatures::aclnnUpsampleBilinear2d : signatures::aclnnUpsampleNearest2dV2;
  const auto axes = AxesOf(*call.input(0));
  Call made(function, call.surface(), call.op());
  made.Add(call.input(0));
  made.Add(static_cast<const std::vector<int64_t>*>(nullptr));  // null: out's extents count
  if (bilinear) made.Add(int64_t{0});
  for (const size_t at : {2, 3}) {
    made.Add(static_cast<double>((*call.floats(0))[static_cast<size_t>(axes[at])]));
  }
  made.Add(call.output(0));
  return made;
}

}  // namespace portacl::ops::resize
