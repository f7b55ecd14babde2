// The checks of grid sampling and of its gradients, of images and volumes, but for those on memory.
#include "ops/grid_sampler_checks.h"

#include <array>
#include <utility>

#include "ops/channels_first.h"
#include "ops/grid_sampler.h"
#include "ops/grid_sampler_modes.h"
#include "ops/operators.h"
#include "ops/refusal.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;

struct NamedTensor {
  const char* name;
  const TensorDesc* desc;
  bool output;
};

// The checks of one call, a function for each group of rows of the documents' table, in its order.
class Checker {
 public:
  explicit Checker(const GridSamplerBackwardCall& call)
      : call_(call), names_(GridSamplerNamesOf(call)), refusals_(call.op, call.surface) {}

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(Nulls());
    PORTACL_RETURN_IF_ERROR(CheckAvailable(refusals_, *call_.signature, call_.surface));
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

  bool volume() const { return call_.spatial == 3; }
  int rank() const { return call_.spatial + 2; }

  // Whether the profile has cubic interpolation, and reflection.
  bool extended() const {
    return call_.surface == Surface::kNative || CurrentProfile() == Profile::kOpen;
  }
  bool has_cubic() const { return extended() || (call_.forward && !volume()); }
  bool has_reflection() const { return extended() || call_.forward || volume(); }

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
        {names_.output_mask,
         call_.output_mask != nullptr || call_.surface != Surface::kAclnn || forward},
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
          CheckDType(refusals_, *call_.signature, call_.surface, tensor.name, tensor.desc->dtype));
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
      if (tensor.desc == nullptr || tensor.desc->shape.rank() == rank()) continue;
      return refusals_.Refuse(SideOf(tensor), "{} has shape {} of rank {}, but must have rank {}",
                              tensor.name, tensor.desc->shape.ToString(), tensor.desc->shape.rank(),
                              rank());
    }
    return {};
  }

  Status Formats() const {
    if (call_.surface == Surface::kNative) return {};
    for (const NamedTensor& tensor : Tensors()) {
      if (tensor.desc == nullptr) continue;
      const base::Format format = tensor.desc->format;
      if (format == base::Format::kND) continue;
      if (format == (volume() ? base::Format::kNCDHW : base::Format::kNCHW)) continue;
      if (volume() && format == base::Format::kNDHWC) continue;
      return refusals_.Refuse(Rule::kFormat, "{} has format {}, but must be {}", tensor.name,
                              base::FormatName(format),
                              volume() ? "ND, NCDHW or NDHWC" : "ND or NCHW");
    }
    return {};
  }

  // One of the modes 0, 1 and, where the profile has it, 2, which graph operators call by `words`.
  Status Mode(const char* name, int64_t mode, bool all, const ModeNames& words) const {
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
        Mode(names_.interpolation, call_.interpolation, has_cubic(), kInterpolationNames));
    PORTACL_RETURN_IF_ERROR(Mode(names_.padding, call_.padding, has_reflection(), kPaddingNames));
    if (call_.output_mask == nullptr || call_.output_mask->size() == 2) return {};
    return refusals_.Refuse(Rule::kOther,
                            "{} has {} elements, but must have 2 (inputGrad, gridGrad)",
                            names_.output_mask, call_.output_mask->size());
  }

  // The rules of the pages on shapes: ten for an image, as many with an axis more for a volume.
  Status Shapes() const {
    const base::Dims& grid = call_.grid->shape;
    const base::Dims input = ChannelsFirst(*call_.input).shape;
    const base::Dims grad_output = ChannelsFirst(*call_.grad_output).shape;
    const int last = rank() - 1;
    if (grid[0] != input[0]) return GridDisagrees();
    if (grad_output[0] != input[0] || grad_output[1] != input[1]) return GradOutputDisagrees();
    for (int axis = 2; axis <= last; ++axis) {
      if (grid[axis - 1] != grad_output[axis]) return GradOutputDisagrees();
    }
    for (int axis = 2; axis <= last; ++axis) {
      if (input[axis] >= 1) continue;
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but {} must be at least 1",
                              names_.input, call_.input->shape.ToString(),
                              volume() ? "D, H and W" : "H and W");
    }
    if (grid[last] != call_.spatial) {
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but its last extent must be {}",
                              names_.grid, grid.ToString(), volume() ? "3 (x, y, z)" : "2 (x, y)");
    }
    PORTACL_RETURN_IF_ERROR(LikeInput());
    return LikeGrid();
  }

  Status GridDisagrees() const {
    return refusals_.Refuse(Rule::kInput, "{} has shape {}, but {} {} asks for N = {}", names_.grid,
                            call_.grid->shape.ToString(), names_.input,
                            call_.input->shape.ToString(), call_.input->shape[0]);
  }

  // ", as (N, C, D, H, W)" behind a wanted shape, where the tensor's own has other axes.
  static const char* AsMoved(const TensorDesc& tensor) {
    return tensor.format == base::Format::kNDHWC ? ", as (N, C, D, H, W)" : "";
  }

  Status GradOutputDisagrees() const {
    base::Dims wanted = ChannelsFirst(*call_.input).shape;
    for (int axis = 2; axis < rank(); ++axis) wanted[axis] = call_.grid->shape[axis - 1];
    return refusals_.Refuse(
        call_.forward ? Rule::kOutput : Rule::kInput,
        "{} has shape {}, but {} {} and {} {} ask for {}{}", names_.grad_output,
        call_.grad_output->shape.ToString(), names_.input, call_.input->shape.ToString(),
        names_.grid, call_.grid->shape.ToString(), wanted.ToString(), AsMoved(*call_.grad_output));
  }

  // inputGrad has the axes of an image, which a format may move; gridGrad's stay as they lie.
  Status LikeInput() const {
    const TensorDesc* const tensor = call_.input_grad;
    const base::Dims wanted = ChannelsFirst(*call_.input).shape;
    if (tensor == nullptr || ChannelsFirst(*tensor).shape == wanted) return {};
    return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but must be like {}: {}{}",
                            names_.input_grad, tensor->shape.ToString(), names_.input,
                            wanted.ToString(), AsMoved(*tensor));
  }

  Status LikeGrid() const {
    const TensorDesc* const tensor = call_.grid_grad;
    if (tensor == nullptr || tensor->shape == call_.grid->shape) return {};
    return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but must be like {}: {}",
                            names_.grid_grad, tensor->shape.ToString(), names_.grid,
                            call_.grid->shape.ToString());
  }

  // What portacl takes and the page of the image's operator does not list.
  Status Warnings() const {
    if (call_.forward || call_.surface == Surface::kNative) return {};
    for (const NamedTensor& tensor : Tensors()) {
      if (!volume() && tensor.desc->format == base::Format::kNCHW) {
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

  const GridSamplerBackwardCall& call_;
  const GridSamplerNames names_;
  const Refusals refusals_;
};

}  // namespace

GridSamplerNames GridSamplerNamesOf(const GridSamplerBackwardCall& call) {
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

Status CheckGridSamplerBackward(const GridSamplerBackwardCall& call) { return Checker(call).Run(); }

Status CheckGridSampler(const GridSamplerCall& call) {
  GridSamplerBackwardCall backward;
  backward.signature = call.signature;
  backward.op = call.op;
  backward.surface = call.surface;
  backward.spatial = call.spatial;
  backward.grad_output = call.output;
  backward.input = call.input;
  backward.grid = call.grid;
  backward.interpolation = call.interpolation;
  backward.padding = call.padding;
  backward.align_corners = call.align_corners;
  backward.has_workspace_size = call.has_workspace_size;
  backward.has_executor = call.has_executor;
  backward.forward = true;
  return CheckGridSamplerBackward(backward);
}

}  // namespace portacl::ops
