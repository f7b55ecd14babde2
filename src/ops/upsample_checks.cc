// The checks of resizing and its gradients, except the checks on memory. Shared checks of all
// operators run at their places among these checks.
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "ops/call.h"
#include "ops/resize.h"
#include "ops/settings.h"
#include "ops/shared_checks.h"
#include "ops/upsample_rules.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;
using upsample::PageRules;
using upsample::Sides;

// What all checks of resizing share.
class ResizeChecks {
 protected:
  explicit ResizeChecks(const Call& call)
      : call_(call),
        scales_(call.scales()),
        shared_(call),
        refusals_(call.op(), call.surface()),
        from_(call.input(0)),
        to_(call.output(0)) {}

  bool sized() const { return call_.surface() != Surface::kNative; }
  const TensorDesc& from() const { return *from_; }
  const TensorDesc& to() const { return *to_; }
  const char* from_name() const { return call_.input_name(0); }
  const char* to_name() const { return call_.output_name(0); }

  // Returns the name of a spatial axis: "L"; "H" or "W"; "D", "H" or "W" (one, two or three axes).
  const char* AxisName(int axis) const {
    constexpr const char* kNames[] = {"D", "H", "W"};
    return call_.axes() == 1 ? "L" : kNames[3 - call_.axes() + axis];
  }
  std::string ScaleName(int axis) const { return call_.scale_name(static_cast<size_t>(axis)); }

  // Checks the scales. `negative`: negative scales are allowed and count as not given.
  Status Scales(bool negative) const {
    for (int axis = 0; axis < call_.axes(); ++axis) {
      const double scale = scales_[static_cast<size_t>(axis)];
      // Not `scale >= 0 || (negative && scale < 0)`: GCC 12 takes NaN for less than 0 there.
      if (negative ? !std::isnan(scale) : scale >= 0) continue;
      return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must be {}", ScaleName(axis), scale,
                              negative ? "a number" : "0 (use the sizes) or positive");
    }
    return {};
  }

  // Refuses a tensor without elements along axis `axis` of (N, C, ...).
  Status RefuseEmpty(Rule rule, const char* name, const TensorDesc& tensor, int axis) const {
    return refusals_.Refuse(rule, "{} has shape {}, but {} must be at least 1", name,
                            tensor.shape.ToString(),
                            axis == 0   ? "N"
                            : axis == 1 ? "C"
                                        : AxisName(axis - 2));
  }

  // Checks that a tensor of extents `shape` has the N and C of `other`. Messages show `said`.
  Status SameBatch(const char* name, const Dims& shape, const Dims& said, const char* other_name,
                   const Dims& other, const Dims& other_said) const {
    for (int axis = 0; axis < 2; ++axis) {
      if (shape[axis] == other[axis]) continue;
      return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but {} {} asks for {} = {}", name,
                              said.ToString(), other_name, other_said.ToString(),
                              axis == 0 ? "N" : "C", other[axis]);
    }
    return {};
  }

  Status WarnBeyondPage(const upsample::PageLimits& limits, const Dims& in, const Dims& out,
                        bool backward) const {
    std::string beyond = upsample::BeyondPage(limits, in, out, backward, from().dtype);
    return beyond.empty() ? Status() : refusals_.Warn(Rule::kInput, std::move(beyond));
  }

  const Call& call_;
  const std::array<double, 3> scales_;
  const SharedChecks shared_;
  const Refusals refusals_;

 private:
  const TensorDesc* from_;
  const TensorDesc* to_;
};

// Checks nearest, linear, cubic and Lanczos: one function per group of rows of the page's table, in
// the table's order.
class UpsampleChecker : ResizeChecks {
 public:
  explicit UpsampleChecker(const Call& call)
      : ResizeChecks(call),
        rules_(upsample::PageRulesOf(call)),
        backward_(upsample::IsBackward(call)) {}

  Status Run() {
    PORTACL_RETURN_IF_ERROR(shared_.All());
    sides_ = upsample::SidesOf(call_);
    PORTACL_RETURN_IF_ERROR(DTypesOfThePage());
    PORTACL_RETURN_IF_ERROR(ScaleList());
    PORTACL_RETURN_IF_ERROR(Scales(rules_.negative_scales));
    PORTACL_RETURN_IF_ERROR(Centers());
    PORTACL_RETURN_IF_ERROR(Corners());
    PORTACL_RETURN_IF_ERROR(Pillow());
    PORTACL_RETURN_IF_ERROR(Extents());
    PORTACL_RETURN_IF_ERROR(Agreement());
    PORTACL_RETURN_IF_ERROR(Ratios());
    return Warnings();
  }

 private:
  Status DTypesOfThePage() const {
    const base::DType dtype = from().dtype;
    if (rules_.double_channels_last && dtype == base::DType::kDouble &&
        from().format != base::Format::kNHWC) {
      return refusals_.Refuse(Rule::kDType, "{} has dtype DOUBLE and format {}, but must be NHWC",
                              from_name(), base::FormatName(from().format));
    }
    if (rules_.bf16_same_extent && dtype == base::DType::kBFloat16 &&
        sides_.in[2] != sides_.out[2]) {
      return refusals_.Refuse(Rule::kDType,
                              "{} has dtype BF16, but L is {} and becomes {}: they must be equal",
                              from_name(), sides_.out[2], sides_.in[2]);
    }
    return {};
  }

  Status ScaleList() const {
    const auto* const listed = call_.floats(0);
    const auto axes = static_cast<size_t>(call_.axes());
    if (listed == nullptr || listed->empty() || listed->size() == axes) return {};
    return refusals_.Refuse(Rule::kAttribute, "scales has {} elements, but must have {} or none",
                            listed->size(), axes);
  }

  Status Centers() const {
    if (!upsample::AlignCorners(call_) || !upsample::HalfPixelCenters(call_)) return {};
    return refusals_.Refuse(Rule::kAttribute, "{} and {} are both true, but one at most may be",
                            call_.flag_name(0), call_.flag_name(2));
  }

  Status Corners() const {
    if (!upsample::AlignCorners(call_) || upsample::ModeOf(call_) != upsample::Mode::kLanczos) {
      return {};
    }
    return refusals_.Refuse(Rule::kAttribute,
                            "{} is true, but must be false: Lanczos has no corners",
                            call_.flag_name(0));
  }

  Status Pillow() const {
    if (upsample::PillowRelease(call_) == 0) return {};
    if (from().dtype != base::DType::kUInt8 || call_.axes() != 2 || backward_) {
      return refusals_.Refuse(Rule::kDType,
                              "{} is {}, but Pillow's bits are for images (N, C, H, W) of UINT8",
                              call_.flag_name(1), call_.flag_value(1));
    }
    if (!upsample::AlignCorners(call_)) return {};
    return refusals_.Refuse(Rule::kAttribute, "{} is {} and {} is true, which Pillow has not",
                            call_.flag_name(1), call_.flag_value(1), call_.flag_name(0));
  }

  Status Extents() const {
    for (const TensorDesc* const tensor : {&from(), &to()}) {
      const bool read = tensor == &from();
      const Dims& shape = backward_ == read ? sides_.out : sides_.in;
      for (int axis = 0; axis < call_.axes() + 2; ++axis) {
        if (shape[axis] >= (axis < 2 && rules_.empty ? 0 : 1)) continue;
        return RefuseEmpty(read ? Rule::kInput : Rule::kOutput, read ? from_name() : to_name(),
                           *tensor, axis);
      }
    }
    return {};
  }

  // Checks that the read tensor has N and C of inputSize and, if it is a gradient, the extents of
  // outputSize. The written tensor must have the same N and C, and the extents of the other list.
  Status Agreement() const {
    const std::vector<int64_t>* const output_size = sized() ? call_.ints(0) : nullptr;
    const Dims input_size = InputSize();
    const int others = input_size.rank() - call_.axes();  // N and C, if the list has them
    if (others > 0) PORTACL_RETURN_IF_ERROR(Batch(input_size));
    const auto output_name = [this] { return call_.ints_name(0); };
    if (backward_ && output_size != nullptr) {
      PORTACL_RETURN_IF_ERROR(
          Fits(output_size->data(), output_name, sides_.out, from_name(), from(), Rule::kInput));
    }
    const Dims& read = backward_ ? sides_.out : sides_.in;
    const Dims& written = backward_ ? sides_.in : sides_.out;
    PORTACL_RETURN_IF_ERROR(
        SameBatch(to_name(), written, to().shape, from_name(), read, from().shape));
    if (const TensorDesc* const image = call_.input(1); image != nullptr) {
      PORTACL_RETURN_IF_ERROR(LikeImage(*image));
    }
    if (input_size.rank() > 0) {
      return Fits(
          input_size.data() + others, [this] { return InputSizeName(); }, sides_.in, to_name(),
          to(), Rule::kOutput);
    }
    if (backward_ || output_size == nullptr) return {};
    return Fits(output_size->data(), output_name, sides_.out, to_name(), to(), Rule::kOutput);
  }

  // Checks a gradient that must have the shape of its function's image.
  Status LikeImage(const TensorDesc& image) const {
    if (ChannelsFirstShape(image) == sides_.in) return {};
    return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but must be like {} {}", to_name(),
                            to().shape.ToString(), call_.input_name(1), image.shape.ToString());
  }

  // Returns inputSize as (N, C, ...), or only its spatial extents; empty if the call has none.
  Dims InputSize() const {
    if (!sized() || call_.ints(1) == nullptr) return {};
    const Dims size(call_.ints(1)->data(), static_cast<int>(call_.ints(1)->size()));
    return InputSizeIsChannelsLast() ? ChannelsFirst(size) : size;
  }

  // The vendor's pages differ in the order of inputSize for tensors with C last. The order of the
  // function's page counts, unless the result has exactly the extents of the other order.
  bool InputSizeIsChannelsLast() const {
    return rules_.input_size_channels_last != InputSizeHasTheOtherOrder() && IsChannelsLast();
  }

  bool InputSizeHasTheOtherOrder() const {
    if (!IsChannelsLast() || !backward_ || call_.ints(1) == nullptr) return false;
    const Dims size(call_.ints(1)->data(), static_cast<int>(call_.ints(1)->size()));
    const bool first = size == sides_.in;
    const bool last = size == to().shape;
    return first != last && last != rules_.input_size_channels_last;
  }

  // Returns "inputSize" for messages; for tensors with C last, also the order in which it was read.
  std::string InputSizeName() const {
    if (!IsChannelsLast() || !backward_) return call_.ints_name(1);
    return fmt::format("{} {}", call_.ints_name(1), OrderName(InputSizeIsChannelsLast()));
  }

  const char* OrderName(bool channels_last) const {
    if (call_.axes() == 3) return channels_last ? "(N, D, H, W, C)" : "(N, C, D, H, W)";
    return channels_last ? "(N, H, W, C)" : "(N, C, H, W)";
  }

  Status Batch(const Dims& input_size) const {
    for (int axis = 0; axis < 2; ++axis) {
      if (input_size[axis] == sides_.out[axis]) continue;
      return refusals_.Refuse(Rule::kAttribute, "{} says {} = {}, but {} has shape {}",
                              InputSizeName(), axis == 0 ? "N" : "C", input_size[axis], from_name(),
                              from().shape.ToString());
    }
    return {};
  }

  bool IsChannelsLast() const {
    return from().format == base::Format::kNHWC || from().format == base::Format::kNDHWC;
  }

  // Checks that the spatial extents of `tensor`, with the shape `shape`, are the list's extents.
  template <class Name>
  Status Fits(const int64_t* extents, const Name& list, const Dims& shape, const char* name,
              const TensorDesc& tensor, Rule rule) const {
    for (int axis = 0; axis < call_.axes(); ++axis) {
      if (shape[axis + 2] == extents[axis]) continue;
      return refusals_.Refuse(rule, "{} has shape {}, but {} asks for {} = {}", name,
                              tensor.shape.ToString(), list(), AxisName(axis), extents[axis]);
    }
    return {};
  }

  // Checks the page's limits that portacl enforces, and refuses scales with infinite windows.
  Status Ratios() const {
    const bool antialias = upsample::Antialias(call_);
    for (int axis = 0; axis < call_.axes(); ++axis) {
      const int64_t in = sides_.in[axis + 2];
      const int64_t out = sides_.out[axis + 2];
      const bool shrinks = rules_.shrink > 0 && call_.surface() == Surface::kAclnn && in > out &&
                           (in - 1) / out >= rules_.shrink;
      const bool grows = rules_.growth > 0 && call_.surface() == Surface::kAclnn && out > in &&
                         (out - 1) / in >= rules_.growth;
      if (shrinks || grows) {
        return refusals_.Refuse(Rule::kOther,
                                "{} of the input is {} and of the output {}: {} must be at most {} "
                                "(profile open has no limit)",
                                AxisName(axis), in, out,
                                shrinks ? "input / output" : "output / input",
                                shrinks ? rules_.shrink : rules_.growth);
      }
      const auto at = static_cast<size_t>(axis + 3 - call_.axes());
      if (!antialias || std::isfinite(upsample::RulesOf(call_)[at].Ratio())) continue;
      return refusals_.Refuse(Rule::kAttribute, "{} is {}, so small that 1 / scale is infinite",
                              ScaleName(axis), scales_[static_cast<size_t>(axis)]);
    }
    return {};
  }

  Status Warnings() const {
    if (!sized()) return {};
    if (InputSizeHasTheOtherOrder()) {
      PORTACL_RETURN_IF_ERROR(refusals_.Warn(
          Rule::kAttribute,
          fmt::format("{} is {}, but this function's page has {}", call_.ints_name(1),
                      OrderName(!rules_.input_size_channels_last),
                      OrderName(rules_.input_size_channels_last))));
    }
    const bool corners = upsample::AlignCorners(call_);
    for (int axis = 0; !corners && axis < call_.axes(); ++axis) {
      const double scale = scales_[static_cast<size_t>(axis)];
      const auto wanted = std::floor(static_cast<double>(sides_.in[axis + 2]) * scale);
      if (!(scale > 0) || wanted == static_cast<double>(sides_.out[axis + 2])) continue;
      PORTACL_RETURN_IF_ERROR(refusals_.Warn(
          Rule::kAttribute,
          fmt::format("{} is {}, with which {} = {} becomes {}, not {}", ScaleName(axis), scale,
                      AxisName(axis), sides_.in[axis + 2], wanted, sides_.out[axis + 2])));
      break;
    }
    return WarnBeyondPage(rules_.limits, sides_.in, sides_.out, backward_);
  }

  const PageRules rules_;
  const bool backward_;
  Sides sides_;
};

// ---- nearest-exact ------------------------------------------------------------------------------

constexpr int64_t kLimit = 50;  // the documents' largest ratio of extents

// Rules of the vendor's newest pages that differ from the older pages.
struct NewestRules {
  bool negative_scales = false;  // negative scales count as not given
  bool growth = false;           // limits output / input, on every axis
  bool exact_sizes = false;      // outputSize and inputSize must be the extents, for any scales
  bool full = false;             // no tensor may be empty
  upsample::PageLimits limits = {};
};

NewestRules NewestRulesOf(const Call& call) {
  struct Row {
    const Signature* function;
    NewestRules rules;
  };
  static constexpr Row kRows[] = {
      {&signatures::aclnnUpsampleNearestExact1dBackward, {.growth = true}},
      {&signatures::aclnnUpsampleNearestExact3dBackward,
       {.negative_scales = true,
        .growth = true,
        .exact_sizes = true,
        .full = true,
        .limits = upsample::kOfVolumes}},
      {&signatures::aclnnUpsampleNearestExact1d, {.negative_scales = true, .full = true}},
      {&signatures::aclnnUpsampleNearestExact3d,
       {.negative_scales = true, .full = true, .limits = {.longest = upsample::k31Bits}}},
      {&signatures::UpsampleNearestExact3dGrad, {.exact_sizes = true, .full = true}},
  };
  if (!FollowsNewestPages()) return {};
  for (const Row& row : kRows) {
    if (row.function != &call.signature()) continue;
    if (CurrentProfile() != Profile::kOpen) return row.rules;
    return {.negative_scales = row.rules.negative_scales};
  }
  return {};
}

struct Side {
  const char* name;
  const TensorDesc* desc;
  Rule rule;  // the rule that a wrong shape breaks
};

// One function per group of rows of the documents' tables, in their order.
class NearestExactChecker : ResizeChecks {
 public:
  explicit NearestExactChecker(const Call& call)
      : ResizeChecks(call),
        axes_(call.axes()),
        newest_(NewestRulesOf(call)),
        backward_(call.signature().op == Op::kUpsampleNearestExactBackward) {
    const Side read{from_name(), call.input(0), Rule::kInput};
    const Side written{to_name(), call.output(0), Rule::kOutput};
    large_ = backward_ ? read : written;
    small_ = backward_ ? written : read;
  }

  Status Forward() const {
    PORTACL_RETURN_IF_ERROR(shared_.All());
    PORTACL_RETURN_IF_ERROR(Scales(newest_.negative_scales));
    PORTACL_RETURN_IF_ERROR(Full());
    return ForwardShapes();
  }

  // The native API's forward function follows the gradient's rules: its output takes the place of
  // gradOutput, its input takes the place of gradInput.
  Status Backward() {
    PORTACL_RETURN_IF_ERROR(shared_.Tensors());
    PORTACL_RETURN_IF_ERROR(Extents());
    PORTACL_RETURN_IF_ERROR(shared_.Formats());
    PORTACL_RETURN_IF_ERROR(shared_.Lists());
    PORTACL_RETURN_IF_ERROR(Scales(newest_.negative_scales));
    PORTACL_RETURN_IF_ERROR(Full());
    PORTACL_RETURN_IF_ERROR(Agreement());
    PORTACL_RETURN_IF_ERROR(Limits());
    return Warnings();
  }

 private:
  int rank() const { return axes_ + 2; }

  // Formats are checked later. Here a format that is not accepted leaves the axes as they are.
  Status Extents() {
    const FormatWords& formats = FormatsOf(call_.signature());
    for (const bool large : {true, false}) {
      const Side& side = large ? large_ : small_;
      Dims& shape = large ? grad_output_ : grad_input_;
      const bool taken = formats.Has(static_cast<int32_t>(side.desc->format));
      shape = taken ? ChannelsFirstShape(*side.desc) : side.desc->shape;
      for (int axis = 2; axis < rank(); ++axis) {
        if (shape[axis] >= 1) continue;
        return RefuseEmpty(side.rule, side.name, *side.desc, axis);
      }
    }
    return {};
  }

  Status Agreement() const {
    PORTACL_RETURN_IF_ERROR(
        SameBatch(small_.name, grad_input_, grad_input_, large_.name, grad_output_, grad_output_));
    if (!sized()) return {};
    for (int axis = 0; axis < axes_; ++axis) {
      const auto at = static_cast<size_t>(axis);
      if (scales_[at] > 0 && !newest_.exact_sizes) continue;
      const int64_t size = (*call_.ints(0))[at];
      if (size == grad_output_[axis + 2]) continue;
      return refusals_.Refuse(Rule::kAttribute,
                              "{}[{}] is {}, but {} has shape {} and {} is {}: it must be {}",
                              call_.ints_name(0), axis, size, large_.name, grad_output_.ToString(),
                              call_.scale_name(at), scales_[at], grad_output_[axis + 2]);
    }
    return {};
  }

  Status Full() const {
    if (!newest_.full || from().NumElements() != 0) return {};
    return refusals_.Refuse(Rule::kInput, "{} has shape {}, but must not be empty", from_name(),
                            from().shape.ToString());
  }

  // Checks that out has N and C of self and the extents of outputSize, in any order of axes.
  Status ForwardShapes() const {
    const std::vector<int64_t>& size = *call_.ints(0);
    const Dims in = ChannelsFirstShape(from());
    Dims wanted = in;
    for (int axis = 0; axis < axes_; ++axis) {
      if (in[axis + 2] < 1) return RefuseEmpty(Rule::kInput, from_name(), from(), axis + 2);
      wanted[axis + 2] = size[static_cast<size_t>(axis)];
    }
    if (ChannelsFirstShape(to()) == wanted) {
      return WarnBeyondPage(newest_.limits, in, wanted, backward_);
    }
    return refusals_.Refuse(
        Rule::kOutput, "{} has shape {}, but {} {} and {} {} ask for N, C and extents {}",
        to_name(), to().shape.ToString(), from_name(), from().shape.ToString(), call_.ints_name(0),
        Dims(size.data(), axes_).ToString(), wanted.ToString());
  }

  // 1D: gradInput is at most 50 times gradOutput. 2D: the reverse, on each axis. 3D: no limit.
  Status Limits() const {
    const bool shrinks = axes_ == 1 && !newest_.growth;
    if (call_.surface() != Surface::kAclnn || (axes_ == 3 && !newest_.growth)) return {};
    for (int axis = 2; axis < rank() && CurrentProfile() != Profile::kOpen; ++axis) {
      const int64_t in = grad_input_[axis];
      const int64_t out = grad_output_[axis];
      const int64_t larger = shrinks ? in : out;
      const int64_t smaller = shrinks ? out : in;
      // Tests larger <= 50 * smaller, without overflow.
      if (larger / kLimit < smaller || (larger / kLimit == smaller && larger % kLimit == 0)) {
        continue;
      }
      return refusals_.Refuse(
          Rule::kOther,
          "{} of {} is {} and of {} {}: {} / {} must be at most {} (profile open has no limit)",
          AxisName(axis - 2), large_.name, out, small_.name, in, larger, smaller, kLimit);
    }
    if (axes_ == 1 && large_.desc->NumElements() == 0) {
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but must not be empty", large_.name,
                              grad_output_.ToString());
    }
    return {};
  }

  Status Warnings() const {
    if (!sized()) return {};
    PORTACL_RETURN_IF_ERROR(WarnBeyondPage(newest_.limits, grad_input_, grad_output_, backward_));
    const Dims size(call_.ints(1)->data(), rank());
    if (size == grad_input_) return {};
    if (newest_.exact_sizes) {
      return refusals_.Refuse(Rule::kAttribute, "{} is {}, but {} has shape {}: they must be equal",
                              call_.ints_name(1), size.ToString(), small_.name,
                              grad_input_.ToString());
    }
    return refusals_.Warn(
        Rule::kAttribute,
        fmt::format("{} is {}, but {} has shape {}, which counts", call_.ints_name(1),
                    size.ToString(), small_.name, grad_input_.ToString()));
  }

  const int axes_;
  const NewestRules newest_;
  const bool backward_;
  Side large_{}, small_{};
  Dims grad_output_, grad_input_;  // (N, C, ...), for any format
};

}  // namespace

Status CheckUpsample(const Call& call) {
  const runtime::FpEnvironment environment;  // the caller's may treat subnormals or NaN otherwise
  if (resize::Is(call)) return resize::Check(call);
  return UpsampleChecker(call).Run();
}

Status CheckUpsampleNearestExactBackward(const Call& call) {
  const runtime::FpEnvironment environment;
  return NearestExactChecker(call).Backward();
}

Status CheckUpsampleNearestExact(const Call& call) {
  const runtime::FpEnvironment environment;
  NearestExactChecker checker(call);
  return call.surface() == Surface::kNative ? checker.Backward() : checker.Forward();
}

}  // namespace portacl::ops
