// The checks of nearest-exact upsampling and of its gradient that other operators do not share, and
// where they stand among the shared ones. Not the checks on memory.
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "ops/call.h"
#include "ops/channels_first.h"
#include "ops/profile_rules.h"
#include "ops/refusal.h"
#include "ops/settings.h"
#include "ops/shared_checks.h"
#include "ops/upsample_limits.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

constexpr int64_t kLimit = 50;  // the documents' largest ratio of extents

// "L"; "H" or "W"; "D", "H" or "W": axis 0, 1, ... of an operator of `axes` axes.
const char* AxisName(int axes, int axis) {
  constexpr const char* kNames[] = {"D", "H", "W"};
  return axes == 1 ? "L" : kNames[3 - axes + axis];
}

// What the newest pages have otherwise.
struct NewestRules {
  bool negative_scales = false;  // count as none
  bool growth = false;           // the limit is that of output / input, on every axis
  bool exact_sizes = false;      // outputSize and inputSize are the extents, whatever the scales
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

Status CheckScales(const Call& call, const Refusals& refusals) {
  const std::array<double, 3> scales = call.scales();
  const bool negative = NewestRulesOf(call).negative_scales;
  for (size_t axis = 0; axis < static_cast<size_t>(call.axes()); ++axis) {
    if (negative ? !std::isnan(scales[axis]) : scales[axis] >= 0) continue;
    return refusals.Refuse(Rule::kAttribute, "{} is {}, but must be {}", call.scale_name(axis),
                           scales[axis], negative ? "a number" : "0 (use the sizes) or positive");
  }
  return {};
}

Status CheckFull(const Call& call, const Refusals& refusals) {
  const TensorDesc& read = *call.input(0);
  if (!NewestRulesOf(call).full || read.NumElements() != 0) return {};
  return refusals.Refuse(Rule::kInput, "{} has shape {}, but must not be empty", call.input_name(0),
                         read.shape.ToString());
}

Status WarnBeyondPage(const Call& call, const Dims& in, const Dims& out, const Refusals& refusals) {
  const bool backward = call.signature().op == Op::kUpsampleNearestExactBackward;
  std::string beyond =
      upsample::BeyondPage(NewestRulesOf(call).limits, in, out, backward, call.input(0)->dtype);
  return beyond.empty() ? Status() : refusals.Warn(Rule::kInput, std::move(beyond));
}

struct Side {
  const char* name;
  const TensorDesc* desc;
  Rule rule;  // broken where it does not fit
};

// The checks of the gradient, a function for each group of rows of the documents' table, in its
// order. The forward function of the native API has the same rules, with its output for gradOutput
// and its input for gradInput.
class BackwardChecker {
 public:
  explicit BackwardChecker(const Call& call)
      : call_(call),
        axes_(call.axes()),
        scales_(call.scales()),
        newest_(NewestRulesOf(call)),
        shared_(call),
        refusals_(call.op(), call.surface()) {
    const Side read{call.input_name(0), call.input(0), Rule::kInput};
    const Side written{call.output_name(0), call.output(0), Rule::kOutput};
    const bool forward = call.signature().op == Op::kUpsampleNearestExact;
    large_ = forward ? written : read;
    small_ = forward ? read : written;
  }

  Status Run() {
    PORTACL_RETURN_IF_ERROR(shared_.Tensors());
    PORTACL_RETURN_IF_ERROR(Extents());
    PORTACL_RETURN_IF_ERROR(shared_.Formats());
    grad_output_ = ChannelsFirst(*large_.desc).shape;
    grad_input_ = ChannelsFirst(*small_.desc).shape;
    PORTACL_RETURN_IF_ERROR(shared_.Lists());
    PORTACL_RETURN_IF_ERROR(CheckScales(call_, refusals_));
    PORTACL_RETURN_IF_ERROR(CheckFull(call_, refusals_));
    PORTACL_RETURN_IF_ERROR(Agreement());
    PORTACL_RETURN_IF_ERROR(Limits());
    return Warnings();
  }

 private:
  bool sized() const { return call_.surface() != Surface::kNative; }
  int rank() const { return axes_ + 2; }

  // Formats are looked at later: one that is not taken moves no axes.
  Status Extents() const {
    for (const Side& side : {large_, small_}) {
      const bool taken = FormatsOf(call_.signature()).Has(static_cast<int32_t>(side.desc->format));
      const Dims shape = taken ? ChannelsFirst(*side.desc).shape : side.desc->shape;
      for (int axis = 2; axis < rank(); ++axis) {
        if (shape[axis] >= 1) continue;
        return refusals_.Refuse(side.rule, "{} has shape {}, but {} must be at least 1", side.name,
                                side.desc->shape.ToString(), AxisName(axes_, axis - 2));
      }
    }
    return {};
  }

  Status Agreement() const {
    for (int axis = 0; axis < 2; ++axis) {
      if (grad_input_[axis] == grad_output_[axis]) continue;
      return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but {} {} asks for {} = {}",
                              small_.name, grad_input_.ToString(), large_.name,
                              grad_output_.ToString(), axis == 0 ? "N" : "C", grad_output_[axis]);
    }
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

  // 1D: gradInput at most 50 times gradOutput; 2D: the other way round, per axis; 3D: none.
  Status Limits() const {
    const bool shrinks = axes_ == 1 && !newest_.growth;
    if (call_.surface() != Surface::kAclnn || (axes_ == 3 && !newest_.growth)) return {};
    for (int axis = 2; axis < rank() && CurrentProfile() != Profile::kOpen; ++axis) {
      const int64_t in = grad_input_[axis];
      const int64_t out = grad_output_[axis];
      const int64_t larger = shrinks ? in : out;
      const int64_t smaller = shrinks ? out : in;
      // larger <= 50 * smaller, without overflow.
      if (larger / kLimit < smaller || (larger / kLimit == smaller && larger % kLimit == 0)) {
        continue;
      }
      return refusals_.Refuse(
          Rule::kOther,
          "{} of {} is {} and of {} {}: {} / {} must be at most {} (profile open has no limit)",
          AxisName(axes_, axis - 2), large_.name, out, small_.name, in, larger, smaller, kLimit);
    }
    if (axes_ == 1 && large_.desc->NumElements() == 0) {
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but must not be empty", large_.name,
                              grad_output_.ToString());
    }
    return {};
  }

  Status Warnings() const {
    if (!sized()) return {};
    PORTACL_RETURN_IF_ERROR(WarnBeyondPage(call_, grad_input_, grad_output_, refusals_));
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

  const Call& call_;
  const int axes_;
  const std::array<double, 3> scales_;
  const NewestRules newest_;
  const SharedChecks shared_;
  const Refusals refusals_;
  Side large_{}, small_{};
  Dims grad_output_, grad_input_;  // N, C, ... whatever the format says of the order of axes
};

// out is (N, C) of self and outputSize, whatever the format says of the order of axes.
Status CheckForwardShapes(const Call& call, const Refusals& refusals) {
  const TensorDesc& input = *call.input(0);
  const TensorDesc& output = *call.output(0);
  const std::vector<int64_t>& size = *call.ints(0);
  const Dims in = ChannelsFirst(input).shape;
  Dims wanted = in;
  for (int axis = 0; axis < call.axes(); ++axis) {
    if (in[axis + 2] < 1) {
      return refusals.Refuse(Rule::kInput, "{} has shape {}, but {} must be at least 1",
                             call.input_name(0), input.shape.ToString(),
                             AxisName(call.axes(), axis));
    }
    wanted[axis + 2] = size[static_cast<size_t>(axis)];
  }
  if (ChannelsFirst(output).shape == wanted) return WarnBeyondPage(call, in, wanted, refusals);
  return refusals.Refuse(
      Rule::kOutput, "{} has shape {}, but {} {} and {} {} ask for N, C and extents {}",
      call.output_name(0), output.shape.ToString(), call.input_name(0), input.shape.ToString(),
      call.ints_name(0), Dims(size.data(), call.axes()).ToString(), wanted.ToString());
}

}  // namespace

Status CheckUpsampleNearestExactBackward(const Call& call) {
  const runtime::FpEnvironment environment;  // of a subnormal scale or NaN the caller's differs
  return BackwardChecker(call).Run();
}

Status CheckUpsampleNearestExact(const Call& call) {
  const runtime::FpEnvironment environment;
  if (call.surface() == Surface::kNative) return BackwardChecker(call).Run();
  const Refusals refusals(call.op(), call.surface());
  PORTACL_RETURN_IF_ERROR(SharedChecks(call).All());
  PORTACL_RETURN_IF_ERROR(CheckScales(call, refusals));
  PORTACL_RETURN_IF_ERROR(CheckFull(call, refusals));
  return CheckForwardShapes(call, refusals);
}

}  // namespace portacl::ops
