// Checks and kernel choice of the grid sampler's gradients.
#include "ops/grid_sampler_2d_backward.h"

#include <array>
#include <utility>

#include "ops/grid_sampler_2d_backward_impls.h"
#include "ops/operators.h"
#include "ops/planned_kernel.h"
#include "ops/refusal.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;
using Call = GridSampler2DBackwardCall;
using Params = GridSampler2DBackwardParams;

struct Names {
  const char* grad_output;
  const char* input;
  const char* grid;
  const char* input_grad;
  const char* grid_grad;
  const char* interpolation;
  const char* padding;
  const char* output_mask;
};

Names NamesOf(const Call& call) {
  if (call.forward) {
    switch (call.surface) {
      case Surface::kGraph:
        return {"y", "x", "grid", "", "", "interpolation_mode", "padding_mode", ""};
      case Surface::kNative:
        return {"output", "input", "grid", "", "", "interpolation", "padding", ""};
      case Surface::kAclnn:
        return {"out", "input", "grid", "", "", "interpolationMode", "paddingMode", ""};
    }
  }
  if (call.surface == Surface::kGraph) {
    return {"grad", "x", "grid", "dx", "dgrid", "interpolation_mode", "padding_mode", ""};
  }
  if (call.surface == Surface::kNative) {
    return {"gradOutput", "input", "grid", "inputGrad", "gridGrad", "interpolation", "padding", ""};
  }
  return {"gradOutput",        "input",       "grid",      "inputGrad", "gridGrad",
          "interpolationMode", "paddingMode", "outputMask"};
}

struct NamedTensor {
  const char* name;
  const TensorDesc* desc;
  bool output;
};

// The checks of one call, a function for each group of rows of the documents' table, in its order.
class Checker {
 public:
  explicit Checker(const Call& call)
      : call_(call), names_(NamesOf(call)), refusals_(call.op, call.surface) {}

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(Nulls());
    PORTACL_RETURN_IF_ERROR(CheckAvailable(refusals_, op_, call_.surface));
    PORTACL_RETURN_IF_ERROR(DTypes());
    PORTACL_RETURN_IF_ERROR(Ranks());
    PORTACL_RETURN_IF_ERROR(Formats());
    PORTACL_RETURN_IF_ERROR(Modes());
    PORTACL_RETURN_IF_ERROR(Shapes());
    return Warnings();
  }

 private:
  // The tensors in signature order; those that a call does not have are null.
  std::array<NamedTensor, 5> Tensors() const {
    if (call_.forward) {
      return {{{names_.input, call_.input, false},
               {names_.grid, call_.grid, false},
               {names_.grad_output, call_.grad_output, true},
               {"", nullptr, true},
               {"", nullptr, true}}};
    }
    return {{{names_.grad_output, call_.grad_output, false},
             {names_.input, call_.input, false},
             {names_.grid, call_.grid, false},
             {names_.input_grad, call_.input_grad, true},
             {names_.grid_grad, call_.grid_grad, true}}};
  }

  bool extended() const {
    return call_.forward || call_.surface == Surface::kNative || CurrentProfile() == Profile::kOpen;
  }

  static Rule SideOf(const NamedTensor& tensor) {
    return tensor.output ? Rule::kOutput : Rule::kInput;
  }

  Status Nulls() const {
    const bool forward = call_.forward;
    const bool may_lack_gradients = forward || call_.surface == Surface::kNative;
    const std::pair<const char*, bool> given[] = {
        {names_.grad_output, call_.grad_output != nullptr || forward},
        {names_.input, call_.input != nullptr},
        {names_.grid, call_.grid != nullptr},
        {names_.output_mask, call_.output_mask != nullptr || forward},
        {names_.input_grad, call_.input_grad != nullptr || may_lack_gradients},
        {names_.grid_grad, call_.grid_grad != nullptr || may_lack_gradients},
        {names_.grad_output, call_.grad_output != nullptr},
        {"workspaceSize", call_.has_workspace_size},
        {"executor", call_.has_executor},
    };
    for (const auto& [name, present] : given) {
      if (!present) return refusals_.Refuse(Rule::kNull, "{} is null", name);
    }
    return {};
  }

  Status DTypes() const {
    for (const NamedTensor& tensor : Tensors()) {
      if (tensor.desc == nullptr) continue;
      PORTACL_RETURN_IF_ERROR(
          CheckDType(refusals_, op_, call_.surface, tensor.name, tensor.desc->dtype));
    }
    for (const NamedTensor& tensor : Tensors()) {
      if (tensor.desc == nullptr || tensor.desc->dtype == call_.input->dtype) continue;
      return refusals_.Refuse(Rule::kDType, "{} has dtype {}, but {} has {}: they must be equal",
                              tensor.name, base::DTypeName(tensor.desc->dtype), names_.input,
                              base::DTypeName(call_.input->dtype));
    }
    return {};
  }

  Status Ranks() const {
    for (const NamedTensor& tensor : Tensors()) {
      if (tensor.desc == nullptr || tensor.desc->shape.rank() == 4) continue;
      return refusals_.Refuse(SideOf(tensor), "{} has shape {} of rank {}, but must have rank 4",
                              tensor.name, tensor.desc->shape.ToString(),
                              tensor.desc->shape.rank());
    }
    return {};
  }

  Status Formats() const {
    if (call_.surface == Surface::kNative) return {};
    for (const NamedTensor& tensor : Tensors()) {
      if (tensor.desc == nullptr) continue;
      const base::Format format = tensor.desc->format;
      if (format == base::Format::kND || format == base::Format::kNCHW) continue;
      return refusals_.Refuse(Rule::kFormat, "{} has format {}, but must be ND or NCHW",
                              tensor.name, base::FormatName(format));
    }
    return {};
  }

  // One of the modes 0, 1 and, in profile open, 2, which the graph operator calls by `words`.
  Status Mode(const char* name, int64_t mode, const std::array<const char*, 3>& words) const {
    const bool all = extended();
    if (mode >= 0 && mode <= (all ? 2 : 1)) return {};
    if (call_.surface == Surface::kGraph && mode == 2) {
      return refusals_.Refuse(Rule::kAttribute,
                              "{} is \"{}\", but must be {} or {}; profile open also has {}", name,
                              words[2], words[0], words[1], words[2]);
    }
    return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must be 0 ({}){} 1 ({}){} 2 ({})",
                            name, mode, words[0], all ? "," : " or", words[1],
                            all ? " or" : "; profile open also has", words[2]);
  }

  Status Modes() const {
    PORTACL_RETURN_IF_ERROR(
        Mode(names_.interpolation, call_.interpolation, {"bilinear", "nearest", "bicubic"}));
    PORTACL_RETURN_IF_ERROR(Mode(names_.padding, call_.padding, {"zeros", "border", "reflection"}));
    if (call_.forward || call_.output_mask->size() == 2) return {};
    return refusals_.Refuse(Rule::kOther,
                            "{} has {} elements, but must have 2 (inputGrad, gridGrad)",
                            names_.output_mask, call_.output_mask->size());
  }

  // The ten rules of the page aclnnGridSampler2DBackward.
  Status Shapes() const {
    const base::Dims& grad_output = call_.grad_output->shape;
    const base::Dims& input = call_.input->shape;
    const base::Dims& grid = call_.grid->shape;
    if (grid[0] != input[0]) return GridDisagrees();
    if (grad_output[0] != input[0] || grad_output[1] != input[1]) return GradOutputDisagrees();
    if (grid[1] != grad_output[2] || grid[2] != grad_output[3]) return GradOutputDisagrees();
    if (input[2] < 1 || input[3] < 1) {
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but H and W must be at least 1",
                              names_.input, input.ToString());
    }
    if (grid[3] != 2) {
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but its last extent must be 2 (x, y)",
                              names_.grid, grid.ToString());
    }
    PORTACL_RETURN_IF_ERROR(Like(names_.input_grad, call_.input_grad, names_.input, input));
    return Like(names_.grid_grad, call_.grid_grad, names_.grid, grid);
  }

  Status GridDisagrees() const {
    return refusals_.Refuse(Rule::kInput, "{} has shape {}, but {} {} asks for N = {}", names_.grid,
                            call_.grid->shape.ToString(), names_.input,
                            call_.input->shape.ToString(), call_.input->shape[0]);
  }

  Status GradOutputDisagrees() const {
    const base::Dims& input = call_.input->shape;
    const base::Dims& grid = call_.grid->shape;
    return refusals_.Refuse(call_.forward ? Rule::kOutput : Rule::kInput,
                            "{} has shape {}, but {} {} and {} {} ask for [{}, {}, {}, {}]",
                            names_.grad_output, call_.grad_output->shape.ToString(), names_.input,
                            input.ToString(), names_.grid, grid.ToString(), input[0], input[1],
                            grid[1], grid[2]);
  }

  Status Like(const char* name, const TensorDesc* tensor, const char* model_name,
              const base::Dims& model) const {
    if (tensor == nullptr || tensor->shape == model) return {};
    return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but must be like {}: {}", name,
                            tensor->shape.ToString(), model_name, model.ToString());
  }

  Status Warnings() const {
    if (call_.forward || call_.surface == Surface::kNative) return {};
    for (const NamedTensor& tensor : Tensors()) {
      if (tensor.desc->format == base::Format::kNCHW) {
        PORTACL_RETURN_IF_ERROR(refusals_.Warn(
            Rule::kFormat,
            fmt::format("{} has format NCHW, but the published page lists ND only", tensor.name)));
      }
      if (tensor.desc->NumElements() == 0) {
        PORTACL_RETURN_IF_ERROR(refusals_.Warn(
            SideOf(tensor),
            fmt::format("{} has shape {}, but the published page lists no empty tensors",
                        tensor.name, tensor.desc->shape.ToString())));
      }
    }
    return {};
  }

  static constexpr const OperatorRow& op_ = RowOf(Op::kGridSampler2DBackward);
  const Call& call_;
  const Names names_;
  const Refusals refusals_;
};

class GridSampler2DBackwardPlan final : public Plan {
 public:
  explicit GridSampler2DBackwardPlan(const Call& call) : Plan(call.op, call.surface) {
    params_.shape =
        ShapeOf(*call.input, *call.grid, call.interpolation, call.padding, call.align_corners);
    params_.want_input_grad = (*call.output_mask)[0];
    params_.want_grid_grad = (*call.output_mask)[1];
    params_.grad_output_stride = Strides4D(*call.grad_output);
    params_.input_stride = Strides4D(*call.input);
    params_.grid_stride = Strides4D(*call.grid);
    if (params_.want_input_grad) params_.input_grad_stride = Strides4D(*call.input_grad);
    if (params_.want_grid_grad) params_.grid_grad_stride = Strides4D(*call.grid_grad);
    AddTensors(call);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    const auto& s = params_.shape;
    const bool fills_input_grad = params_.want_input_grad && s.n > 0 && s.c > 0;
    const bool fills_grid_grad = params_.want_grid_grad && s.n > 0 && s.oh > 0 && s.ow > 0;
    if (!fills_input_grad && !fills_grid_grad) return {};
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), GridSampler2DBackwardImpls(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    constexpr int64_t kSmall = 4096;  // elements
    small_ = tensor(0).desc.NumElements() <= kSmall && tensor(1).desc.NumElements() <= kSmall &&
             tensor(2).desc.NumElements() <= kSmall;
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.grad_output = elements[0];
    params.input = elements[1];
    params.grid = elements[2];
    params.input_grad = elements[3];
    params.grid_grad = elements[4];
    chosen_.Run(params, workspace);
  }

 private:
  // Which tensors a run reads or writes: nearest has gridGrad 0 whatever the inputs hold, and only
  // gridGrad needs the image.
  void AddTensors(const Call& call) {
    const Names names = NamesOf(call);
    const bool reads_points =
        params_.want_input_grad ||
        (params_.want_grid_grad && params_.shape.interpolation != Interpolation::kNearest);
    const bool reads_image =
        params_.want_grid_grad && params_.shape.interpolation != Interpolation::kNearest;
    const TensorDesc none;
    AddTensor(names.grad_output, *call.grad_output, false, reads_points);
    AddTensor(names.input, *call.input, false, reads_image);
    AddTensor(names.grid, *call.grid, false, reads_points);
    AddTensor(names.input_grad, call.input_grad != nullptr ? *call.input_grad : none, true,
              params_.want_input_grad);
    AddTensor(names.grid_grad, call.grid_grad != nullptr ? *call.grid_grad : none, true,
              params_.want_grid_grad);
  }

  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

GridSampler2DShape ShapeOf(const TensorDesc& input, const TensorDesc& grid, int64_t interpolation,
                           int64_t padding, bool align_corners) {
  GridSampler2DShape shape;
  shape.dtype = input.dtype;
  shape.n = input.shape[0];
  shape.c = input.shape[1];
  shape.h = input.shape[2];
  shape.w = input.shape[3];
  shape.oh = grid.shape[1];
  shape.ow = grid.shape[2];
  shape.interpolation = static_cast<Interpolation>(interpolation);
  shape.padding = static_cast<Padding>(padding);
  shape.align_corners = align_corners;
  return shape;
}

std::array<int64_t, 4> Strides4D(const TensorDesc& tensor) {
  return {tensor.strides[0], tensor.strides[1], tensor.strides[2], tensor.strides[3]};
}

Status CheckGridSampler2DBackward(const Call& call) { return Checker(call).Run(); }

Status PlanGridSampler2DBackward(const Call& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(CheckGridSampler2DBackward(call));
  return PlanCheckedGridSampler2DBackward(call, plan);
}

Status PlanCheckedGridSampler2DBackward(const Call& call, std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  auto made = std::make_shared<GridSampler2DBackwardPlan>(call);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops
