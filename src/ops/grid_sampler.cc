// Grid sampling and its gradients, for images and volumes: the checks, with the shared checks of
// all operators at their places, and the plan (kernel choice, tensors and workspace).
#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/grid_sampler_params.h"
#include "ops/kernels.h"
#include "ops/plan.h"
#include "ops/settings.h"
#include "ops/shared_checks.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

// ---- checks ------------------------------------------------------------------------------------

struct NamedTensor {
  const char* name = "";
  const TensorDesc* desc = nullptr;
};

// Checks one call: one function per group of rows of the documents' table, in the table's order.
class GridSamplerChecker {
 public:
  GridSamplerChecker(const Call& call, bool forward)
      : call_(call), forward_(forward), shared_(call), refusals_(call.op(), call.surface()) {
    const auto input = [&](size_t index) {
      return NamedTensor{call.input_name(index), call.input(index)};
    };
    const auto output = [&](size_t index) {
      return NamedTensor{call.output_name(index), call.output(index)};
    };
    sampled_ = forward ? output(0) : input(0);
    input_ = input(forward ? 0 : 1);
    grid_ = input(forward ? 1 : 2);
    if (forward) return;
    input_grad_ = output(0);
    grid_grad_ = output(1);
  }

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(shared_.Tensors());
    PORTACL_RETURN_IF_ERROR(shared_.Formats());
    PORTACL_RETURN_IF_ERROR(Modes());
    if (newest()) PORTACL_RETURN_IF_ERROR(volume() ? NewestOfVolumes() : NewestOfImages());
    PORTACL_RETURN_IF_ERROR(shared_.Lists());
    PORTACL_RETURN_IF_ERROR(Shapes());
    return Warnings();
  }

 private:
  bool volume() const { return call_.axes() == 3; }
  int rank() const { return call_.axes() + 2; }

  // Returns true if the profile has cubic interpolation and reflection for all functions.
  bool extended() const {
    return call_.surface() == Surface::kNative || CurrentProfile() == Profile::kOpen;
  }
  // Returns true if the newest pages' rules apply that the list of operators does not have.
  bool newest() const { return !extended() && FollowsNewestPages(); }
  bool has_cubic() const {
    if (extended() || volume()) return extended();
    if (!newest()) return forward_;
    return forward_ ? CurrentProfile() != Profile::kAtlasTraining
                    : call_.surface() == Surface::kGraph;
  }
  bool has_reflection() const {
    return extended() || forward_ || volume() || (newest() && call_.surface() == Surface::kAclnn);
  }

  // Checks that mode number `index` is 0 or 1, or 2 if `all` (the profile has all modes).
  Status Mode(size_t index, bool all) const {
    const int64_t mode = call_.mode(index);
    if (mode >= 0 && mode <= (all ? 2 : 1)) return {};
    const char* const name = call_.mode_name(index);
    const auto word = [&](size_t value) { return call_.mode_word(index, value); };
    if (call_.surface() == Surface::kGraph && mode == 2) {
      return refusals_.Refuse(Rule::kAttribute,
                              "{} is \"{}\", but must be {} or {}; profile open also has {}", name,
                              word(2), word(0), word(1), word(2));
    }
    return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must be 0 ({}){} 1 ({}){} 2 ({})",
                            name, mode, word(0), all ? "," : " or", word(1),
                            all ? " or" : "; profile open also has", word(2));
  }

  Status Modes() const {
    PORTACL_RETURN_IF_ERROR(Mode(0, has_cubic()));
    if (!call_.mode_word(1, 3).empty()) return NativePadding();
    return Mode(1, has_reflection());
  }

  // Checks the padding of a native function that has all paddings.
  Status NativePadding() const {
    const int64_t padding = call_.mode(1);
    if (padding >= 0 && !call_.mode_word(1, static_cast<size_t>(padding)).empty()) return {};
    return refusals_.Refuse(
        Rule::kAttribute, "{} is {}, but must be 0 ({}), 1 ({}), 2 ({}), 3 ({}) or 4 ({})",
        call_.mode_name(1), padding, call_.mode_word(1, 0), call_.mode_word(1, 1),
        call_.mode_word(1, 2), call_.mode_word(1, 3), call_.mode_word(1, 4));
  }

  // Checks the newest pages' rule for images: on Atlas A2 and A3, cubic takes two dtypes.
  Status NewestOfImages() const {
    const bool cubic = call_.mode(0) == 2 && forward_ && CurrentProfile() != Profile::kAscend950;
    const base::DType dtype = input_.desc->dtype;
    if (!cubic || dtype == base::DType::kFloat || dtype == base::DType::kFloat16) return {};
    return refusals_.Refuse(Rule::kDType,
                            "{} has dtype {}, but {} 2 (bicubic) takes FLOAT and FLOAT16",
                            input_.name, base::DTypeName(dtype), call_.mode_name(0));
  }

  // Checks the newest pages' rules on format NDHWC.
  Status NewestOfVolumes() const {
    if (call_.surface() != Surface::kAclnn) return {};
    const TensorDesc& input = *input_.desc;
    const bool last = input.format == base::Format::kNDHWC;
    if (!forward_) {
      for (const NamedTensor& tensor : {grid_, grid_grad_}) {
        if (tensor.desc->format == base::Format::kNDHWC) continue;
        return refusals_.Refuse(Rule::kFormat, "{} has format {}, but must be NDHWC", tensor.name,
                                base::FormatName(tensor.desc->format));
      }
      if (!last || input.dtype != base::DType::kDouble) return {};
      return refusals_.Refuse(Rule::kDType, "{} has dtype DOUBLE, which format NDHWC does not take",
                              input_.name);
    }
    if (!last || (input.dtype == base::DType::kFloat && call_.mode(0) == 0 &&
                  ChannelsFirstShape(input)[1] % 4 == 0)) {
      return {};
    }
    return refusals_.Refuse(Rule::kFormat,
                            "{} has format NDHWC, dtype {}, {} {} and shape {}, but NDHWC takes "
                            "FLOAT, mode 0 and C that is a multiple of 4",
                            input_.name, base::DTypeName(input.dtype), call_.mode_name(0),
                            call_.mode(0), input.shape.ToString());
  }
  // Checks the pages' ten rules on the shapes of images, or their counterparts for volumes.
  Status Shapes() const {
    const base::Dims& grid = grid_.desc->shape;
    const base::Dims input = ChannelsFirstShape(*input_.desc);
    const base::Dims sampled = ChannelsFirstShape(*sampled_.desc);
    const int last = rank() - 1;
    if (grid[0] != input[0]) return GridDisagrees();
    if (sampled[0] != input[0] || sampled[1] != input[1]) return SampledDisagrees();
    for (int axis = 2; axis <= last; ++axis) {
      if (grid[axis - 1] != sampled[axis]) return SampledDisagrees();
    }
    for (int axis = 2; axis <= last; ++axis) {
      if (input[axis] >= 1) continue;
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but {} must be at least 1",
                              input_.name, input_.desc->shape.ToString(),
                              volume() ? "D, H and W" : "H and W");
    }
    if (grid[last] != call_.axes()) {
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but its last extent must be {}",
                              grid_.name, grid.ToString(), volume() ? "3 (x, y, z)" : "2 (x, y)");
    }
    PORTACL_RETURN_IF_ERROR(LikeInput());
    return LikeGrid();
  }

  Status GridDisagrees() const {
    return refusals_.Refuse(Rule::kInput, "{} has shape {}, but {} {} asks for N = {}", grid_.name,
                            grid_.desc->shape.ToString(), input_.name,
                            input_.desc->shape.ToString(), input_.desc->shape[0]);
  }

  // Returns ", as (N, C, D, H, W)" for a message if the tensor's format has another order of axes.
  static const char* AsMoved(const TensorDesc& tensor) {
    return tensor.format == base::Format::kNDHWC ? ", as (N, C, D, H, W)" : "";
  }

  Status SampledDisagrees() const {
    base::Dims wanted = ChannelsFirstShape(*input_.desc);
    for (int axis = 2; axis < rank(); ++axis) wanted[axis] = grid_.desc->shape[axis - 1];
    return refusals_.Refuse(forward_ ? Rule::kOutput : Rule::kInput,
                            "{} has shape {}, but {} {} and {} {} ask for {}{}", sampled_.name,
                            sampled_.desc->shape.ToString(), input_.name,
                            input_.desc->shape.ToString(), grid_.name, grid_.desc->shape.ToString(),
                            wanted.ToString(), AsMoved(*sampled_.desc));
  }

  // inputGrad has an image's axes, so its format may move them. gridGrad's axes never move.
  Status LikeInput() const {
    const TensorDesc* const tensor = input_grad_.desc;
    const base::Dims wanted = ChannelsFirstShape(*input_.desc);
    if (tensor == nullptr || ChannelsFirstShape(*tensor) == wanted) return {};
    return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but must be like {}: {}{}",
                            input_grad_.name, tensor->shape.ToString(), input_.name,
                            wanted.ToString(), AsMoved(*tensor));
  }

  Status LikeGrid() const {
    const TensorDesc* const tensor = grid_grad_.desc;
    if (tensor == nullptr || tensor->shape == grid_.desc->shape) return {};
    return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but must be like {}: {}",
                            grid_grad_.name, tensor->shape.ToString(), grid_.name,
                            grid_.desc->shape.ToString());
  }

  // Warns of arguments that portacl accepts although the vendor's page does not list them: NCHW for
  // images, empty tensors, inputs above the page's limit.
  Status Warnings() const {
    if (call_.surface() == Surface::kNative) return {};
    if (forward_) return newest() ? WithinPage() : Status();
    for (const NamedTensor& tensor : {sampled_, input_, grid_, input_grad_, grid_grad_}) {
      if (!volume() && tensor.desc->format == base::Format::kNCHW) {
        PORTACL_RETURN_IF_ERROR(refusals_.Warn(
            Rule::kFormat,
            fmt::format("{} has format NCHW, but the published page lists ND only", tensor.name)));
      }
      if (!newest() && tensor.desc->NumElements() == 0) {
        const bool result = tensor.desc == input_grad_.desc || tensor.desc == grid_grad_.desc;
        PORTACL_RETURN_IF_ERROR(refusals_.Warn(
            result ? Rule::kOutput : Rule::kInput,
            fmt::format("{} has shape {}, but the published page lists no empty tensors",
                        tensor.name, tensor.desc->shape.ToString())));
      }
    }
    return {};
  }

  // Warns of an image or volume that is larger than the newest pages allow.
  Status WithinPage() const {
    if (call_.surface() != Surface::kAclnn) return {};
    const base::Dims input = ChannelsFirstShape(*input_.desc);
    double points = 1;
    for (int axis = 2; axis < rank(); ++axis) points *= static_cast<double>(input[axis]);
    constexpr double kLeast = (int64_t{1} << 31) - 1;  // too large from here
    if (points < kLeast) return {};
    return refusals_.Warn(Rule::kInput, fmt::format("{} has shape {}, but {} must be less than {}",
                                                    input_.name, input_.desc->shape.ToString(),
                                                    volume() ? "D * H * W" : "H * W", kLeast));
  }

  const Call& call_;
  const bool forward_;
  const SharedChecks shared_;
  const Refusals refusals_;
  NamedTensor sampled_;  // gradOutput, or the forward function's output
  NamedTensor input_, grid_, input_grad_, grid_grad_;
};

// ---- plans -------------------------------------------------------------------------------------

// Reads the shape and the attributes from the call, its input and its grid.
template <class Shape>
Shape ShapeOf(const Call& call, const TensorDesc& input, const TensorDesc& grid) {
  constexpr int kAxes = std::is_base_of_v<GridSampler3DShape, Shape> ? 3 : 2;
  Shape shape;
  shape.dtype = input.dtype;
  const Dims from = ChannelsFirstShape(input);
  shape.n = from[0];
  shape.c = from[1];
  shape.h = from[kAxes];
  shape.w = from[kAxes + 1];
  shape.oh = grid.shape[kAxes - 1];
  shape.ow = grid.shape[kAxes];
  if constexpr (kAxes == 3) {
    shape.d = from[2];
    shape.od = grid.shape[1];
    // If the grid is empty, all extents become 0, because their products may exceed 64 bits.
    if (grid.NumElements() == 0) shape.od = shape.oh = shape.ow = 0;
  }
  shape.interpolation = static_cast<Interpolation>(call.mode(0));
  shape.padding = static_cast<Padding>(call.mode(1));
  shape.align_corners = call.flag(0);
  shape.fill = call.real(0);
  shape.replaces_outside = call.flag(1);
  shape.outside_value = call.real(1);
  return shape;
}

template <size_t kRank>
void CopyStrides(const Dims& from, std::array<int64_t, kRank>* strides) {
  std::copy_n(from.data(), kRank, strides->begin());
}

template <class Params>
class GridSamplerPlan final : public Plan {
 public:
  explicit GridSamplerPlan(const Call& call) : Plan(call) {
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.input_name(1), *call.input(1), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    params_.shape = ShapeOf<decltype(params_.shape)>(call, *call.input(0), *call.input(1));
    CopyStrides(ChannelsFirstStrides(*call.input(0)), &params_.input_stride);
    CopyStrides(call.input(1)->strides, &params_.grid_stride);
    CopyStrides(ChannelsFirstStrides(*call.output(0)), &params_.output_stride);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (tensor(2).elements == 0) return {};
    constexpr int64_t kSmall = 4096;  // elements
    PORTACL_RETURN_IF_ERROR(Choose(KernelsFor<Params>(), params_, kSmall, &chosen_));
    small_ = tensor(0).HasAtMost(kSmall) && tensor(2).HasAtMost(kSmall);
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.input = elements[0];
    params.grid = elements[1];
    params.output = elements[2];
    chosen_.Run(params, workspace);
  }

 private:
  Params params_;
  PlannedKernel<Params> chosen_;
};

template <class Params>
class GridSamplerBackwardPlan final : public Plan {
 public:
  explicit GridSamplerBackwardPlan(const Call& call) : Plan(call) {
    const TensorDesc& grad_output = *call.input(0);
    const TensorDesc& input = *call.input(1);
    const TensorDesc& grid = *call.input(2);
    params_.shape = ShapeOf<decltype(params_.shape)>(call, input, grid);
    params_.want_input_grad = IsWanted(call, 0);
    params_.want_grid_grad = IsWanted(call, 1);
    // Without gridGrad no kernel reads taps outside, so constant padding is the same as zeros.
    if (params_.shape.padding == Padding::kConstant && !ReadsImage()) {
      params_.shape.padding = Padding::kZeros;
    }
    if (AddTensor(call.input_name(0), grad_output, false, ReadsPoints()).has_elements()) {
      CopyStrides(ChannelsFirstStrides(grad_output), &params_.grad_output_stride);
    }
    if (AddTensor(call.input_name(1), input, false, ReadsImage()).has_elements()) {
      CopyStrides(ChannelsFirstStrides(input), &params_.input_stride);
    }
    if (AddTensor(call.input_name(2), grid, false, ReadsPoints()).has_elements()) {
      CopyStrides(grid.strides, &params_.grid_stride);
    }
    if (params_.want_input_grad) {
      CopyStrides(ChannelsFirstStrides(*call.output(0)), &params_.input_grad_stride);
    }
    if (params_.want_grid_grad) CopyStrides(call.output(1)->strides, &params_.grid_grad_stride);
    AddResult(call, 0, params_.want_input_grad);
    AddResult(call, 1, params_.want_grid_grad);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    const auto& s = params_.shape;
    const bool fills_input_grad = params_.want_input_grad && s.n > 0 && s.c > 0;
    const bool fills_grid_grad = params_.want_grid_grad && tensor(2).elements != 0;
    if (!fills_input_grad && !fills_grid_grad) return {};
    constexpr int64_t kSmall = 4096;  // elements
    PORTACL_RETURN_IF_ERROR(Choose(KernelsFor<Params>(), params_, kSmall, &chosen_));
    small_ =
        tensor(0).HasAtMost(kSmall) && tensor(1).HasAtMost(kSmall) && tensor(2).HasAtMost(kSmall);
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
  // gridGrad alone reads the image, and not in nearest mode, where gridGrad is 0. If a run does not
  // read an input, or the input is empty, its address may be null. Then its strides are 0, because
  // kernels step through it all the same.
  bool ReadsImage() const {
    return params_.want_grid_grad && params_.shape.interpolation != Interpolation::kNearest;
  }
  bool ReadsPoints() const { return params_.want_input_grad || ReadsImage(); }

  // Returns true if the caller wants the gradient: by the mask of the aclnn API, or by a result
  // that is not null (native API). Calls by name want both gradients.
  static bool IsWanted(const Call& call, size_t gradient) {
    const std::vector<bool>* const mask = call.bools(0);
    return mask != nullptr ? (*mask)[gradient] : call.output(gradient) != nullptr;
  }

  void AddResult(const Call& call, size_t gradient, bool wanted) {
    const TensorDesc* const given = call.output(gradient);
    AddTensor(call.output_name(gradient), given != nullptr ? *given : TensorDesc(), true, wanted);
  }

  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status CheckGridSamplerBackward(const Call& call) { return GridSamplerChecker(call, false).Run(); }

// Checks the forward function. (The backward function has every mode in every profile, except cubic
// interpolation of volumes: only `open` has it.)
Status CheckGridSampler(const Call& call) { return GridSamplerChecker(call, true).Run(); }

Status PlanCheckedGridSampler(const Call& call, std::shared_ptr<const Plan>* plan) {
  return call.axes() == 3 ? MakePlanOf<GridSamplerPlan<GridSampler3DParams>>(plan, call)
                          : MakePlanOf<GridSamplerPlan<GridSampler2DParams>>(plan, call);
}

Status PlanCheckedGridSamplerBackward(const Call& call, std::shared_ptr<const Plan>* plan) {
  return call.axes() == 3
             ? MakePlanOf<GridSamplerBackwardPlan<GridSampler3DBackwardParams>>(plan, call)
             : MakePlanOf<GridSamplerBackwardPlan<GridSampler2DBackwardParams>>(plan, call);
}

}  // namespace portacl::ops
