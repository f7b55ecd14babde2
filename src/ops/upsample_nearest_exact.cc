// Checks, index tables and kernel choice of the forward function.
#include "ops/upsample_nearest_exact.h"

#include <optional>
#include <utility>
#include <vector>

#include "ops/channels_first.h"
#include "ops/operators.h"
#include "ops/planned_kernel.h"
#include "ops/refusal.h"
#include "ops/upsample_nearest_exact_backward.h"
#include "ops/upsample_nearest_exact_impls.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;
using Call = UpsampleNearestExactCall;
using Params = UpsampleNearestExactParams;

// The parameters as the caller's API calls them.
struct Names {
  const char* input;
  const char* output;
  const char* output_size;
  std::array<const char*, 3> scale;
};

Names NamesOf(const Call& call) {
  if (call.surface == Surface::kAclnn) {
    return {"self", "out", "outputSize", AclnnScaleNames(call.spatial)};
  }
  if (call.spatial == 3) return {"x", "y", "output_size", {"scales_d", "scales_h", "scales_w"}};
  return {"x", "y", "output_size", {"scales_h", "scales_w", ""}};
}

// The checks of an aclnn or graph call, a function for each group of rows of the page's table.
class Checker {
 public:
  explicit Checker(const Call& call)
      : call_(call), names_(NamesOf(call)), refusals_(call.op, call.surface) {}

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(Nulls());
    PORTACL_RETURN_IF_ERROR(CheckAvailable(refusals_, op_, call_.surface));
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
      PORTACL_RETURN_IF_ERROR(CheckDType(refusals_, op_, call_.surface, name, tensor->dtype));
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

  static constexpr const OperatorRow& op_ = RowOf(Op::kUpsampleNearestExact);
  const Call& call_;
  const Names names_;
  const Refusals refusals_;
};

// The native API's rules are the backward function's, with gradOutput and gradInput played by
// output and input.
Status CheckNative(const Call& call) {
  UpsampleNearestExactBackwardCall backward;
  backward.op = call.op;
  backward.surface = Surface::kNative;
  backward.spatial = SpatialOf(call.input);
  backward.grad_output = call.output;
  backward.grad_input = call.input;
  backward.scales = call.scales;
  backward.forward = true;
  return CheckUpsampleNearestExactBackward(backward);
}

class UpsampleNearestExactPlan final : public Plan {
 public:
  explicit UpsampleNearestExactPlan(const Call& call)
      : Plan(call.op, call.surface), scales_(call.scales) {
    const bool native = call.surface == Surface::kNative;
    const TensorDesc input = ChannelsFirst(*call.input);
    const TensorDesc output = ChannelsFirst(*call.output);
    AddTensor(native ? "input" : NamesOf(call).input, input, false, true);
    AddTensor(native ? "output" : NamesOf(call).output, output, true, true);
    params_.dtype = input.dtype;
    params_.n = input.shape[0];
    params_.c = input.shape[1];
    params_.input_stride = As4D(input.strides, 0);
    params_.output_stride = As4D(output.strides, 0);
    params_.input_depth_stride = DepthOf(input.strides, 0);
    params_.output_depth_stride = DepthOf(output.strides, 0);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory: extents that no memory holds must not cost tables of their size.
    tables_.emplace(tensor(0).desc.shape, tensor(1).desc.shape, scales_);
    params_.d = tables_->d();
    params_.h = tables_->h();
    params_.w = tables_->w();
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), UpsampleNearestExactImpls(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 16384;  // elements
    small_ = tensor(0).desc.NumElements() + tensor(1).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.input = elements[0];
    params.output = elements[1];
    chosen_.Run(params, workspace);
  }

 private:
  const std::array<double, 3> scales_;
  std::optional<NearestTables> tables_;
  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status CheckUpsampleNearestExact(const UpsampleNearestExactCall& call) {
  return call.surface == Surface::kNative ? CheckNative(call) : Checker(call).Run();
}

Status PlanUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(CheckUpsampleNearestExact(call));
  return PlanCheckedUpsampleNearestExact(call, plan);
}

Status PlanCheckedUpsampleNearestExact(const Call& call, std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  auto made = std::make_shared<UpsampleNearestExactPlan>(call);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops
