// Checks, index tables and kernel choice of nearest-exact backward.
#include "ops/upsample_nearest_exact_backward.h"

#include <cmath>
#include <optional>
#include <utility>

#include "ops/nearest_axis.h"
#include "ops/operators.h"
#include "ops/planned_kernel.h"
#include "ops/refusal.h"
#include "ops/upsample_nearest_exact_backward_impls.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Status;
using Call = UpsampleNearestExactBackwardCall;
using Params = UpsampleNearestExactBackwardParams;

constexpr const char* kLayouts[] = {"(N, C, L)", "(N, C, H, W)", "(N, C, D, H, W)"};
constexpr int64_t kLimit = 50;  // the documents' largest ratio of extents

constexpr std::array<const char*, 3> kNativeScales = {"scales[0]", "scales[1]", "scales[2]"};

std::array<const char*, 3> ScaleNames(const char* d, const char* h, const char* w, int spatial) {
  if (spatial == 3) return {d, h, w};
  return {h, w, ""};
}

// The parameters as the caller's API calls them.
struct Names {
  const char* grad_output;
  const char* output_size;
  const char* input_size;
  const char* grad_input;
  std::array<const char*, 3> scale;
};

Names NamesOf(const Call& call) {
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

// The checks of one call, a function for each group of rows of the documents' table, in its order.
class Checker {
 public:
  explicit Checker(const Call& call)
      : call_(call), names_(NamesOf(call)), refusals_(call.op, call.surface) {}

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(Nulls());
    PORTACL_RETURN_IF_ERROR(CheckAvailable(refusals_, op_, call_.surface));
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
    PORTACL_RETURN_IF_ERROR(
        CheckDType(refusals_, op_, call_.surface, names_.grad_output, grad_output().dtype));
    PORTACL_RETURN_IF_ERROR(
        CheckDType(refusals_, op_, call_.surface, names_.grad_input, grad_input().dtype));
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

  static constexpr const OperatorRow& op_ = RowOf(Op::kUpsampleNearestExactBackward);
  const Call& call_;
  const Names names_;
  const Refusals refusals_;
};

class UpsampleNearestExactBackwardPlan final : public Plan {
 public:
  explicit UpsampleNearestExactBackwardPlan(const Call& call)
      : Plan(call.op, call.surface), scales_(call.scales) {
    const Names names = NamesOf(call);
    AddTensor(names.grad_output, *call.grad_output, false, true);
    AddTensor(names.grad_input, *call.grad_input, true, true);
    params_.dtype = call.grad_output->dtype;
    params_.n = call.grad_output->shape[0];
    params_.c = call.grad_output->shape[1];
    params_.grad_output_stride = As4D(call.grad_output->strides, 0);
    params_.grad_input_stride = As4D(call.grad_input->strides, 0);
    params_.grad_output_depth_stride = DepthOf(call.grad_output->strides, 0);
    params_.grad_input_depth_stride = DepthOf(call.grad_input->strides, 0);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    // After the checks on memory: extents that no memory holds must not cost tables of their size.
    tables_.emplace(tensor(1).desc.shape, tensor(0).desc.shape, scales_);
    params_.d = tables_->d();
    params_.h = tables_->h();
    params_.w = tables_->w();
    PORTACL_RETURN_IF_ERROR(
        chosen_.Choose(refusals(), UpsampleNearestExactBackwardImpls(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 16384;  // elements
    small_ = tensor(0).desc.NumElements() + tensor(1).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.grad_output = elements[0];
    params.grad_input = elements[1];
    chosen_.Run(params, workspace);
  }

 private:
  const std::array<double, 3> scales_;
  std::optional<NearestTables> tables_;
  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

std::array<int64_t, 4> As4D(const base::Dims& dims, int64_t missing) {
  const int last = dims.rank() - 1;
  return {dims[0], dims[1], last == 2 ? missing : dims[last - 1], dims[last]};
}

int64_t DepthOf(const base::Dims& dims, int64_t missing) {
  return dims.rank() == 5 ? dims[2] : missing;
}

int SpatialOf(const base::TensorDesc* tensor) {
  const int rank = tensor == nullptr ? 4 : tensor->shape.rank();
  return rank == 3 || rank == 5 ? rank - 2 : 2;
}

const char* AxisName(int spatial, int axis) {
  constexpr const char* kNames[] = {"D", "H", "W"};
  return spatial == 1 ? "L" : kNames[3 - spatial + axis];
}

std::array<const char*, 3> AclnnScaleNames(int spatial) {
  if (spatial == 1) return {"scales", "", ""};
  return ScaleNames("scalesD", "scalesH", "scalesW", spatial);
}

// The scales are those of the axes that there are, in order.
NearestTables::NearestTables(const base::Dims& small, const base::Dims& large,
                             const std::array<double, 3>& scales)
    : d_(DepthOf(small, 1), DepthOf(large, 1), small.rank() == 5 ? scales[0] : 0.0),
      h_(As4D(small, 1)[2], As4D(large, 1)[2],
         small.rank() == 3 ? 0.0 : scales[static_cast<size_t>(small.rank() - 4)]),
      w_(As4D(small, 1)[3], As4D(large, 1)[3], scales[static_cast<size_t>(small.rank() - 3)]) {}

Status CheckUpsampleNearestExactBackward(const Call& call) { return Checker(call).Run(); }

Status PlanUpsampleNearestExactBackward(const Call& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(CheckUpsampleNearestExactBackward(call));
  return PlanCheckedUpsampleNearestExactBackward(call, plan);
}

Status PlanCheckedUpsampleNearestExactBackward(const Call& call,
                                               std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  auto made = std::make_shared<UpsampleNearestExactBackwardPlan>(call);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops
