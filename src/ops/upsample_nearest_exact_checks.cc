// The checks of nearest-exact upsampling and of its gradient, but for those on memory.
#include "ops/upsample_nearest_exact_checks.h"

#include <utility>
#include <vector>

#include "ops/channels_first.h"
#include "ops/operators.h"
#include "ops/refusal.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace nearest {
namespace {

constexpr std::array<const char*, 3> kNativeScales = {"scales[0]", "scales[1]", "scales[2]"};

std::array<const char*, 3> ScaleNames(const char* d, const char* h, const char* w, int spatial) {
  if (spatial == 3) return {d, h, w};
  return {h, w, ""};
}

std::array<const char*, 3> AclnnScaleNames(int spatial) {
  if (spatial == 1) return {"scales", "", ""};
  return ScaleNames("scalesD", "scalesH", "scalesW", spatial);
}

}  // namespace

BackwardNames NamesOf(const UpsampleNearestExactBackwardCall& call) {
  switch (call.surface) {
    case Surface::kGraph:
      return {"grad_output", "output_size", "input_size", "grad_input",
              ScaleNames("scales_d", "scales_h", "scales_w", call.spatial)};
    case Surface::kNative:
      if (call.forward) return {"output", "", "", "input", kNativeScales};
      return {"gradOutput", "", "", "gradInput", kNativeScales};
    case Surface::kAclnn:
      break;
  }
  return {"gradOutput", "outputSize", "inputSize", "out", AclnnScaleNames(call.spatial)};
}

ForwardNames NamesOf(const UpsampleNearestExactCall& call) {
  if (call.surface == Surface::kAclnn) {
    return {"self", "out", "outputSize", AclnnScaleNames(call.spatial)};
  }
  if (call.spatial == 3) return {"x", "y", "output_size", {"scales_d", "scales_h", "scales_w"}};
  return {"x", "y", "output_size", {"scales_h", "scales_w", ""}};
}

}  // namespace nearest

namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

constexpr const char* kLayouts[] = {"(N, C, L)", "(N, C, H, W)", "(N, C, D, H, W)"};
constexpr int64_t kLimit = 50;  // the documents' largest ratio of extents

// The checks of one call, a function for each group of rows of the documents' table, in its order.
class BackwardChecker {
 public:
  explicit BackwardChecker(const UpsampleNearestExactBackwardCall& call)
      : call_(call), names_(nearest::NamesOf(call)), refusals_(call.op, call.surface) {}

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(Nulls());
    PORTACL_RETURN_IF_ERROR(CheckAvailable(refusals_, *call_.signature, call_.surface));
    PORTACL_RETURN_IF_ERROR(DTypes());
    PORTACL_RETURN_IF_ERROR(Shapes());
    PORTACL_RETURN_IF_ERROR(Formats());
    PORTACL_RETURN_IF_ERROR(Sizes());
    PORTACL_RETURN_IF_ERROR(Scales());
    PORTACL_RETURN_IF_ERROR(Agreement());
    PORTACL_RETURN_IF_ERROR(Limits());
    return Warnings();
  }

 private:
  bool sized() const { return call_.surface != Surface::kNative; }
  int rank() const { return call_.spatial + 2; }
  const base::TensorDesc& grad_output() const { return *call_.grad_output; }
  const base::TensorDesc& grad_input() const { return *call_.grad_input; }

  Status Nulls() const {
    const std::pair<const char*, bool> given[] = {
        {names_.grad_output, call_.grad_output != nullptr},
        {names_.output_size, call_.output_size != nullptr || !sized()},
        {names_.input_size, call_.input_size != nullptr || !sized()},
        {names_.grad_input, call_.grad_input != nullptr},
        {"workspaceSize", call_.has_workspace_size},
        {"executor", call_.has_executor},
    };
    for (const auto& [name, present] : given) {
      if (!present) return refusals_.Refuse(Rule::kNull, "{} is null", name);
    }
    return {};
  }

  Status DTypes() const {
    PORTACL_RETURN_IF_ERROR(CheckDType(refusals_, *call_.signature, call_.surface,
                                       names_.grad_output, grad_output().dtype));
    PORTACL_RETURN_IF_ERROR(CheckDType(refusals_, *call_.signature, call_.surface,
                                       names_.grad_input, grad_input().dtype));
    if (grad_output().dtype == grad_input().dtype) return {};
    return refusals_.Refuse(Rule::kDType, "{} has dtype {}, but {} has {}: they must be equal",
                            names_.grad_output, base::DTypeName(grad_output().dtype),
                            names_.grad_input, base::DTypeName(grad_input().dtype));
  }

  Status Shapes() const {
    for (const bool is_output : {false, true}) {
      const base::TensorDesc& tensor = is_output ? grad_input() : grad_output();
      if (tensor.shape.rank() == rank()) continue;
      return refusals_.Refuse(is_output ? Rule::kOutput : Rule::kInput,
                              "{} has shape {} of rank {}, but must have rank {} {}",
                              is_output ? names_.grad_input : names_.grad_output,
                              tensor.shape.ToString(), tensor.shape.rank(), rank(),
                              kLayouts[call_.spatial - 1]);
    }
    for (const bool is_output : {false, true}) {
      const base::TensorDesc& tensor = is_output ? grad_input() : grad_output();
      for (int axis = 2; axis < rank(); ++axis) {
        if (tensor.shape[axis] >= 1) continue;
        return refusals_.Refuse(is_output ? Rule::kOutput : Rule::kInput,
                                "{} has shape {}, but {} must be at least 1",
                                is_output ? names_.grad_input : names_.grad_output,
                                tensor.shape.ToString(), AxisName(call_.spatial, axis - 2));
      }
    }
    return {};
  }

  Status Formats() const {
    if (!sized()) return {};
    constexpr base::Format kFormats[] = {base::Format::kNCL, base::Format::kNCHW,
                                         base::Format::kNCDHW};
    const base::Format own = kFormats[call_.spatial - 1];
    for (const bool is_output : {false, true}) {
      const base::Format format = (is_output ? grad_input() : grad_output()).format;
      if (format == own || format == base::Format::kND) continue;
      return refusals_.Refuse(Rule::kFormat, "{} has format {}, but must be {} or ND",
                              is_output ? names_.grad_input : names_.grad_output,
                              base::FormatName(format), base::FormatName(own));
    }
    if (grad_output().format == grad_input().format) return {};
    return refusals_.Refuse(Rule::kFormat, "{} has format {}, but {} has {}: they must be equal",
                            names_.grad_output, base::FormatName(grad_output().format),
                            names_.grad_input, base::FormatName(grad_input().format));
  }

  // `values` must have `count` elements, the spatial ones (the last) at least 1, none negative.
  Status Size(const char* name, const std::vector<int64_t>& values, int count) const {
    if (values.size() != static_cast<size_t>(count)) {
      return refusals_.Refuse(Rule::kAttribute, "{} has {} elements, but must have {}", name,
                              values.size(), count);
    }
    for (int i = 0; i < count; ++i) {
      const bool spatial = i >= count - call_.spatial;
      if (values[static_cast<size_t>(i)] >= (spatial ? 1 : 0)) continue;
      return refusals_.Refuse(Rule::kAttribute, "{}[{}] is {}, but must be at least {}", name, i,
                              values[static_cast<size_t>(i)], spatial ? 1 : 0);
    }
    return {};
  }

  Status Sizes() const {
    if (!sized()) return {};
    PORTACL_RETURN_IF_ERROR(Size(names_.output_size, *call_.output_size, call_.spatial));
    return Size(names_.input_size, *call_.input_size, call_.spatial + 2);
  }

  Status Scales() const {
    for (int axis = 0; axis < call_.spatial; ++axis) {
      const double scale = call_.scales[static_cast<size_t>(axis)];
      if (scale >= 0) continue;  // false for NaN too
      return refusals_.Refuse(Rule::kAttribute,
                              "{} is {}, but must be 0 (use the sizes) or positive",
                              names_.scale[static_cast<size_t>(axis)], scale);
    }
    return {};
  }

  Status Agreement() const {
    for (int axis = 0; axis < 2; ++axis) {
      if (grad_input().shape[axis] == grad_output().shape[axis]) continue;
      return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but {} {} asks for {} = {}",
                              names_.grad_input, grad_input().shape.ToString(), names_.grad_output,
                              grad_output().shape.ToString(), axis == 0 ? "N" : "C",
                              grad_output().shape[axis]);
    }
    if (!sized()) return {};
    for (int axis = 0; axis < call_.spatial; ++axis) {
      const auto at = static_cast<size_t>(axis);
      if (call_.scales[at] > 0) continue;
      const int64_t size = (*call_.output_size)[at];
      if (size == grad_output().shape[axis + 2]) continue;
      return refusals_.Refuse(
          Rule::kAttribute, "{}[{}] is {}, but {} has shape {} and {} is 0: it must be {}",
          names_.output_size, axis, size, names_.grad_output, grad_output().shape.ToString(),
          names_.scale[at], grad_output().shape[axis + 2]);
    }
    return {};
  }

  // 1D: gradInput at most 50 times gradOutput; 2D: the other way round, per axis; 3D: none.
  Status Limits() const {
    if (call_.surface != Surface::kAclnn || call_.spatial == 3) return {};
    for (int axis = 2; axis < rank() && CurrentProfile() != Profile::kOpen; ++axis) {
      const int64_t in = grad_input().shape[axis];
      const int64_t out = grad_output().shape[axis];
      const int64_t larger = call_.spatial == 1 ? in : out;
      const int64_t smaller = call_.spatial == 1 ? out : in;
      // larger <= 50 * smaller, without overflow.
      if (larger / kLimit < smaller || (larger / kLimit == smaller && larger % kLimit == 0)) {
        continue;
      }
      return refusals_.Refuse(
          Rule::kOther,
          "{} of {} is {} and of {} {}: {} / {} must be at most {} (profile open has no limit)",
          AxisName(call_.spatial, axis - 2), names_.grad_output, out, names_.grad_input, in, larger,
          smaller, kLimit);
    }
    if (call_.spatial == 1 && grad_output().NumElements() == 0) {
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but must not be empty",
                              names_.grad_output, grad_output().shape.ToString());
    }
    return {};
  }

  Status Warnings() const {
    if (!sized()) return {};
    const base::Dims size(call_.input_size->data(), rank());
    if (size == grad_input().shape) return {};
    return refusals_.Warn(
        Rule::kAttribute,
        fmt::format("{} is {}, but {} has shape {}, which counts", names_.input_size,
                    size.ToString(), names_.grad_input, grad_input().shape.ToString()));
  }

  const UpsampleNearestExactBackwardCall& call_;
  const nearest::BackwardNames names_;
  const Refusals refusals_;
};

// The checks of an aclnn or graph call, a function for each group of rows of the page's table.
class ForwardChecker {
 public:
  explicit ForwardChecker(const UpsampleNearestExactCall& call)
      : call_(call), names_(nearest::NamesOf(call)), refusals_(call.op, call.surface) {}

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(Nulls());
    PORTACL_RETURN_IF_ERROR(CheckAvailable(refusals_, *call_.signature, call_.surface));
    PORTACL_RETURN_IF_ERROR(Tensors());
    PORTACL_RETURN_IF_ERROR(Sizes());
    return Shapes();
  }

 private:
  Status Nulls() const {
    const std::pair<const char*, bool> given[] = {
        {names_.input, call_.input != nullptr},
        {names_.output_size, call_.output_size != nullptr},
        {names_.output, call_.output != nullptr},
        {"workspaceSize", call_.has_workspace_size},
        {"executor", call_.has_executor},
    };
    for (const auto& [name, present] : given) {
      if (!present) return refusals_.Refuse(Rule::kNull, "{} is null", name);
    }
    return {};
  }

  // Data types, then ranks, then formats.
  Status Tensors() const {
    const std::pair<const char*, const TensorDesc*> both[] = {{names_.input, call_.input},
                                                              {names_.output, call_.output}};
    for (const auto& [name, tensor] : both) {
      PORTACL_RETURN_IF_ERROR(
          CheckDType(refusals_, *call_.signature, call_.surface, name, tensor->dtype));
    }
    if (call_.input->dtype != call_.output->dtype) {
      return refusals_.Refuse(Rule::kDType, "{} has dtype {}, but {} has {}: they must be equal",
                              names_.output, base::DTypeName(call_.output->dtype), names_.input,
                              base::DTypeName(call_.input->dtype));
    }
    for (const auto& [name, tensor] : both) {
      if (tensor->shape.rank() == call_.spatial + 2) continue;
      return refusals_.Refuse(tensor == call_.input ? Rule::kInput : Rule::kOutput,
                              "{} has shape {} of rank {}, but must have rank {}", name,
                              tensor->shape.ToString(), tensor->shape.rank(), call_.spatial + 2);
    }
    return Formats();
  }

  Status Formats() const {
    using base::Format;
    constexpr std::array<Format, 2> kFormats[] = {{Format::kNCL, Format::kNCL},
                                                  {Format::kNCHW, Format::kNHWC},
                                                  {Format::kNCDHW, Format::kNCDHW}};
    constexpr const char* kNames[] = {"NCL", "NCHW, NHWC", "NCDHW"};
    const Format format = call_.input->format;
    const auto& [first, last] = kFormats[call_.spatial - 1];
    if (format != Format::kND && format != first && format != last) {
      return refusals_.Refuse(Rule::kFormat, "{} has format {}, but must be {} or ND", names_.input,
                              base::FormatName(format), kNames[call_.spatial - 1]);
    }
    if (call_.output->format == format) return {};
    return refusals_.Refuse(Rule::kFormat, "{} has format {}, but {} has {}: they must be equal",
                            names_.output, base::FormatName(call_.output->format), names_.input,
                            base::FormatName(format));
  }

  Status Sizes() const {
    const std::vector<int64_t>& size = *call_.output_size;
    const auto axes = static_cast<size_t>(call_.spatial);
    if (size.size() != axes) {
      return refusals_.Refuse(Rule::kAttribute, "{} has {} elements, but must have {}",
                              names_.output_size, size.size(), axes);
    }
    for (size_t axis = 0; axis < axes; ++axis) {
      if (size[axis] >= 1) continue;
      return refusals_.Refuse(Rule::kAttribute, "{}[{}] is {}, but must be at least 1",
                              names_.output_size, axis, size[axis]);
    }
    for (size_t axis = 0; axis < axes; ++axis) {
      if (call_.scales[axis] >= 0) continue;  // false for NaN too
      return refusals_.Refuse(Rule::kAttribute,
                              "{} is {}, but must be 0 (use the sizes) or positive",
                              names_.scale[axis], call_.scales[axis]);
    }
    return {};
  }

  Status Shapes() const {
    const Dims in = ChannelsFirst(*call_.input).shape;
    Dims wanted = in;
    for (int axis = 0; axis < call_.spatial; ++axis) {
      if (in[axis + 2] < 1) {
        return refusals_.Refuse(Rule::kInput, "{} has shape {}, but {} must be at least 1",
                                names_.input, call_.input->shape.ToString(),
                                AxisName(call_.spatial, axis));
      }
      wanted[axis + 2] = (*call_.output_size)[static_cast<size_t>(axis)];
    }
    if (ChannelsFirst(*call_.output).shape == wanted) return {};
    return refusals_.Refuse(
        Rule::kOutput, "{} has shape {}, but {} {} and {} {} ask for N, C and extents {}",
        names_.output, call_.output->shape.ToString(), names_.input, call_.input->shape.ToString(),
        names_.output_size, Dims(call_.output_size->data(), call_.spatial).ToString(),
        wanted.ToString());
  }

  const UpsampleNearestExactCall& call_;
  const nearest::ForwardNames names_;
  const Refusals refusals_;
};

// The native API's rules are the backward function's, with gradOutput and gradInput played by
// output and input.
Status CheckNative(const UpsampleNearestExactCall& call) {
  UpsampleNearestExactBackwardCall backward;
  backward.signature = call.signature;
  backward.op = call.op;
  backward.surface = Surface::kNative;
  backward.spatial = call.spatial;
  backward.grad_output = call.output;
  backward.grad_input = call.input;
  backward.scales = call.scales;
  backward.forward = true;
  return CheckUpsampleNearestExactBackward(backward);
}

}  // namespace

const char* AxisName(int spatial, int axis) {
  constexpr const char* kNames[] = {"D", "H", "W"};
  return spatial == 1 ? "L" : kNames[3 - spatial + axis];
}

Status CheckUpsampleNearestExactBackward(const UpsampleNearestExactBackwardCall& call) {
  const runtime::FpEnvironment environment;  // of a subnormal scale or NaN the caller's differs
  return BackwardChecker(call).Run();
}

Status CheckUpsampleNearestExact(const UpsampleNearestExactCall& call) {
  const runtime::FpEnvironment environment;
  return call.surface == Surface::kNative ? CheckNative(call) : ForwardChecker(call).Run();
}

}  // namespace portacl::ops
