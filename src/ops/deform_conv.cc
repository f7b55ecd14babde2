// Deformable convolution, its samples alone (deformable offsets), and their gradients: checks in
// the order of the vendor's pages, and the plan.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/deform_conv_params.h"
#include "ops/kernels.h"
#include "ops/plan.h"
#include "ops/settings.h"
#include "ops/shared_checks.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

// The position of each tensor among an operator's inputs, or kOut + its position among the outputs.
constexpr int kNone = -1, kOut = 100;
struct TensorPlaces {
  int input = kNone, weight = kNone, offset = kNone, mask = kNone, bias = kNone;
  int grad_output = kNone, columns = kNone, output = kNone, out_columns = kNone;
  int input_grad = kNone, weight_grad = kNone, offset_grad = kNone, mask_grad = kNone;
  int bias_grad = kNone;
};
constexpr TensorPlaces PlacesOf(Op op) {
  if (op == Op::kDeformableOffsets) return {.input = 0, .offset = 1, .out_columns = kOut};
  if (op == Op::kDeformableOffsetsBackward) {
    return {.input = 1, .offset = 2, .grad_output = 0, .input_grad = kOut, .offset_grad = kOut + 1};
  }
  if (op == Op::kDeformConv2d) {
    TensorPlaces at = {.input = 0, .weight = 1, .offset = 2, .mask = 4, .bias = 3, .output = kOut};
    at.out_columns = kOut + 1;
    return at;
  }
  TensorPlaces at = {
      .input = 0, .weight = 3, .offset = 4, .mask = 5, .grad_output = 1, .columns = 2};
  at.input_grad = kOut;
  at.weight_grad = kOut + 1;
  at.offset_grad = kOut + 2;
  at.bias_grad = kOut + 3;
  at.mask_grad = kOut + 4;
  return at;
}

// Reads a call's arguments by their meaning. Members below "lists" need checked lists.
class Reader {
 public:
  explicit Reader(const Call& call) : call_(call), at(PlacesOf(call.signature().op)) {}

  const TensorDesc* Raw(int place) const {
    if (place == kNone) return nullptr;
    return place < kOut ? call_.input(Index(place)) : call_.output(Index(place));
  }
  const char* Name(int place) const {
    return place < kOut ? call_.input_name(Index(place)) : call_.output_name(Index(place));
  }
  // Returns the tensor with channels first, whatever data_format says.
  TensorDesc Get(int place) const {
    TensorDesc tensor = *Raw(place);
    if (!channels_last()) return tensor;
    tensor.format = base::Format::kNHWC;
    return ChannelsFirst(tensor);
  }
  bool Has(int place) const { return Raw(place) != nullptr; }

  bool BiasIsFloat() const {
    if (!Has(at.bias) || Raw(at.bias)->dtype != base::DType::kFloat) return false;
    const base::DType dtype = Raw(at.input)->dtype;
    return dtype == base::DType::kFloat16 || dtype == base::DType::kBFloat16;
  }

  bool named() const { return call_.surface() == Surface::kGraph; }
  bool channels_last() const { return named() && call_.mode(0) == 1; }
  bool pairs() const { return !named() && call_.mode(0) == 1; }
  bool has_weight() const { return at.weight != kNone; }

  // ---- lists: only once the lists have been checked ----

  std::array<int64_t, 2> kernel() const { return {List(0, 0), List(0, 1)}; }
  // Returns stride (list 1) or dilation (list 3) along H and W.
  std::array<int64_t, 2> Steps(size_t list) const {
    if (call_.ints(list) == nullptr) return {1, 1};
    const size_t first = call_.ints(list)->size() - 2;
    if (!channels_last()) return {List(list, first), List(list, first + 1)};
    return {List(list, 1), List(list, 2)};
  }
  std::array<int64_t, 4> padding() const {
    return {List(2, 0), List(2, 1), List(2, 2), List(2, 3)};
  }
  int64_t groups() const { return has_weight() ? call_.integer(0) : 1; }
  int64_t offset_groups() const { return call_.integer(has_weight() ? 1 : 0); }
  // The number of planes for each offset group and tap: 2, or 3 if masks follow the offsets. The
  // native API has no flag for it, so there the tensor's extent decides.
  int64_t PlanesOfPoint(int64_t points) const {
    if (call_.has_flag(0)) return call_.flag(0) ? 3 : 2;
    const bool joined = !Has(at.mask) && Raw(at.offset)->shape[1] == 3 * points;
    return joined ? 3 : 2;
  }

 private:
  static size_t Index(int place) {
    return static_cast<size_t>(place < kOut ? place : place - kOut);
  }
  int64_t List(size_t list, size_t index) const { return (*call_.ints(list))[index]; }
  const Call& call_;

 public:
  const TensorPlaces at;
};

// How many positions the kernel has on an axis of `extent` elements; null if above 64 bits.
std::optional<int64_t> PositionsAlong(int64_t extent, int64_t before, int64_t behind,
                                      int64_t kernel, int64_t stride, int64_t dilation) {
  int64_t padded = 0, reach = 0;
  const bool fits =
      base::CheckedAdd(extent, before, &padded) && base::CheckedAdd(padded, behind, &padded) &&
      base::CheckedMul(kernel - 1, dilation, &reach) && base::CheckedAdd(reach, int64_t{1}, &reach);
  if (!fits) return std::nullopt;
  return padded < reach ? 0 : (padded - reach) / stride + 1;
}

class DeformConvChecks {
 public:
  explicit DeformConvChecks(const Call& call)
      : call_(call), refusals_(call.op(), call.surface()), read_(call), at_(read_.at) {}

  Status Run() const {
    const SharedChecks shared(call_);
    PORTACL_RETURN_IF_ERROR(shared.Arguments());
    PORTACL_RETURN_IF_ERROR(DTypes());
    PORTACL_RETURN_IF_ERROR(shared.Formats());
    PORTACL_RETURN_IF_ERROR(shared.Ranks());
    PORTACL_RETURN_IF_ERROR(shared.Lists());
    PORTACL_RETURN_IF_ERROR(Ones());
    PORTACL_RETURN_IF_ERROR(Numbers());
    return Shapes();
  }

 private:
  // If a FLOAT bias comes with 16-bit tensors, checks the call as if the bias had their dtype.
  Status DTypes() const {
    if (!read_.BiasIsFloat()) return SharedChecks(call_).DTypes();
    const TensorDesc* const bias = read_.Raw(at_.bias);
    TensorDesc like = *bias;
    like.dtype = read_.Raw(at_.input)->dtype;
    Call alike(call_.signature(), call_.surface(), call_.op());
    for (size_t i = 0; i < call_.size(); ++i) {
      const auto* const tensor = std::get_if<const TensorDesc*>(&call_.argument(i));
      alike.Add(tensor != nullptr && *tensor == bias ? Argument(&like) : call_.argument(i));
    }
    return SharedChecks(alike).DTypes();
  }

  // Checks that stride and dilation are 1 along N and C.
  Status Ones() const {
    for (const size_t list : {size_t{1}, size_t{3}}) {
      if (call_.ints(list) == nullptr || call_.ints(list)->size() != 4) continue;
      const size_t channel = read_.channels_last() ? 3 : 1;
      for (const size_t axis : {size_t{0}, channel}) {
        if ((*call_.ints(list))[axis] == 1) continue;
        return refusals_.Refuse(Rule::kAttribute, "{}[{}] is {}, but must be 1",
                                call_.ints_name(list), axis, (*call_.ints(list))[axis]);
      }
    }
    return {};
  }

  Status Numbers() const {
    for (size_t i = 0; i < (read_.has_weight() ? 2 : 1); ++i) {
      if (call_.integer(i) >= 1) continue;
      return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must be at least 1",
                              call_.integer_name(i), call_.integer(i));
    }
    if (call_.mode(0) < 0 || call_.mode(0) > 1) {
      return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must be 0 (planes) or 1 (pairs)",
                              call_.mode_name(0), call_.mode(0));
    }
    return Limits();
  }

  // Checks limits of the vendor's pages, which hold only in the aclnn API and not in profile open.
  Status Limits() const {
    if (call_.surface() != Surface::kAclnn || CurrentProfile() == Profile::kOpen) return {};
    const auto [rows, columns] = read_.kernel();
    constexpr int64_t kMostTaps = 2048, kMostOfColumn = 65535;
    if (rows > kMostTaps || columns > kMostTaps || rows * columns > kMostTaps) {
      return refusals_.Refuse(Rule::kAttribute, "{} is {} x {}, but must have at most {} taps",
                              call_.ints_name(0), rows, columns, kMostTaps);
    }
    const int64_t channels = read_.Raw(at_.input)->shape[1] / read_.groups();
    if (channels <= kMostOfColumn / (rows * columns)) return {};
    return refusals_.Refuse(Rule::kInput,
                            "{} has {} channels a group and {} x {} taps, but their "
                            "product must be at most {}",
                            read_.Name(at_.input), channels, rows, columns, kMostOfColumn);
  }

  Status Shapes() const {
    const Dims image = read_.Get(at_.input).shape;
    const bool native = call_.surface() == Surface::kNative;
    for (const int axis : {1, 2, 3}) {
      if (image[axis] >= (native && axis == 1 ? 0 : 1)) continue;
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but {} must be at least 1",
                              read_.Name(at_.input), image.ToString(), "CHW"[axis - 1]);
    }
    PORTACL_RETURN_IF_ERROR(Divides(image[1], read_.groups(), 0));
    PORTACL_RETURN_IF_ERROR(Divides(image[1], read_.offset_groups(), read_.has_weight() ? 1 : 0));
    std::array<int64_t, 2> out{};
    PORTACL_RETURN_IF_ERROR(Positions(image, &out));
    PORTACL_RETURN_IF_ERROR(Weight(image));
    PORTACL_RETURN_IF_ERROR(Offsets(image[0], out));
    return Others(image, out);
  }

  Status Divides(int64_t channels, int64_t groups, size_t number) const {
    if (channels % groups == 0) return {};
    return refusals_.Refuse(Rule::kAttribute, "{} is {}, but must divide the {} channels of {}",
                            call_.integer_name(number), groups, channels, read_.Name(at_.input));
  }

  Status Positions(const Dims& image, std::array<int64_t, 2>* out) const {
    const auto kernel = read_.kernel(), stride = read_.Steps(1), dilation = read_.Steps(3);
    const auto padding = read_.padding();
    constexpr int64_t kMost = (int64_t{1} << 31) - 1;  // of pixels, positions
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t extent = image[static_cast<int>(axis) + 2];
      const auto count = PositionsAlong(extent, padding[2 * axis], padding[2 * axis + 1],
                                        kernel[axis], stride[axis], dilation[axis]);
      if (count && *count >= 1 && *count <= kMost) {
        (*out)[axis] = *count;
        continue;
      }
      return refusals_.Refuse(
          Rule::kInput,
          "{} has shape {}: along {} no position fits, or too many, for {} {}, {} "
          "{}, padding {} and {}, dilation {}",
          read_.Name(at_.input), image.ToString(), "HW"[axis], call_.ints_name(0), kernel[axis],
          call_.ints_name(1), stride[axis], padding[2 * axis], padding[2 * axis + 1],
          dilation[axis]);
    }
    const auto [rows, columns] = *out;
    const int64_t planes = base::SaturatedProduct({kernel[0], kernel[1], read_.offset_groups(), 3});
    if (planes < INT64_MAX && image[2] <= kMost / image[3] && rows <= kMost / columns &&
        kernel[0] <= kMost / rows && kernel[1] <= kMost / columns) {
      return {};
    }
    return refusals_.Refuse(Rule::kInput,
                            "{} has shape {}, but must have at most {} pixels, and "
                            "as many positions",
                            read_.Name(at_.input), image.ToString(), kMost);
  }

  Status Weight(const Dims& image) const {
    if (!read_.has_weight()) return {};
    const Dims& weight = read_.Raw(at_.weight)->shape;
    const auto [rows, columns] = read_.kernel();
    const int64_t least = call_.surface() == Surface::kNative ? 0 : 1;
    if (weight[0] < least || weight[0] % read_.groups() != 0) {
      return refusals_.Refuse(Rule::kInput, "{} has shape {}, but its {} outputs must be {} x {}",
                              read_.Name(at_.weight), weight.ToString(), weight[0],
                              least == 0 ? "any number" : "at least 1", read_.groups());
    }
    return Shape(at_.weight, {weight[0], image[1] / read_.groups(), rows, columns});
  }

  Status Offsets(int64_t images, std::array<int64_t, 2> out) const {
    const auto [rows, columns] = read_.kernel();
    const int64_t points = read_.offset_groups() * rows * columns;
    const int64_t planes = read_.PlanesOfPoint(points);
    PORTACL_RETURN_IF_ERROR(Shape(at_.offset, {images, planes * points, out[0], out[1]}));
    PORTACL_RETURN_IF_ERROR(Shape(at_.offset_grad, {images, planes * points, out[0], out[1]}));
    PORTACL_RETURN_IF_ERROR(Shape(at_.mask, {images, points, out[0], out[1]}));
    if (read_.Has(at_.mask_grad) && !read_.Has(at_.mask)) {
      return refusals_.Refuse(Rule::kOutput, "{} is given, but {} is null",
                              read_.Name(at_.mask_grad), read_.Name(at_.mask));
    }
    return Shape(at_.mask_grad, {images, points, out[0], out[1]});
  }

  Status Others(const Dims& image, std::array<int64_t, 2> out) const {
    const auto [rows, columns] = read_.kernel();
    const std::array<int64_t, 4> samples = {image[0], image[1], out[0] * rows, out[1] * columns};
    PORTACL_RETURN_IF_ERROR(Shape(at_.input_grad, {image[0], image[1], image[2], image[3]}));
    PORTACL_RETURN_IF_ERROR(Shape(at_.columns, samples));
    PORTACL_RETURN_IF_ERROR(Shape(at_.out_columns, samples));
    if (!read_.has_weight()) return Shape(at_.grad_output, samples);
    const Dims& weight = read_.Raw(at_.weight)->shape;
    const std::array<int64_t, 4> result = {image[0], weight[0], out[0], out[1]};
    PORTACL_RETURN_IF_ERROR(Shape(at_.output, result));
    PORTACL_RETURN_IF_ERROR(Shape(at_.grad_output, result));
    PORTACL_RETURN_IF_ERROR(Shape(at_.weight_grad, {weight[0], weight[1], rows, columns}));
    PORTACL_RETURN_IF_ERROR(Outputs(at_.bias, weight[0]));
    return Outputs(at_.bias_grad, weight[0]);
  }

  Status Shape(int place, const std::array<int64_t, 4>& wanted) const {
    if (!read_.Has(place)) return {};
    const Dims dims(wanted.data(), 4);
    if (read_.Get(place).shape == dims) return {};
    const std::array<int64_t, 4> last = {wanted[0], wanted[2], wanted[3], wanted[1]};
    return RefuseShape(place, (read_.channels_last() ? Dims(last.data(), 4) : dims).ToString());
  }
  Status Outputs(int place, int64_t outputs) const {
    if (!read_.Has(place) || read_.Raw(place)->shape[0] == outputs) return {};
    return RefuseShape(place, fmt::format("({})", outputs));
  }
  Status RefuseShape(int place, const std::string& wanted) const {
    return refusals_.Refuse(place < kOut ? Rule::kInput : Rule::kOutput,
                            "{} has shape {}, but must be {}", read_.Name(place),
                            read_.Raw(place)->shape.ToString(), wanted);
  }

  const Call& call_;
  const Refusals refusals_;
  const Reader read_;
  const TensorPlaces at_;
};

class DeformConvPlan final : public Plan {
 public:
  explicit DeformConvPlan(const Call& call) : Plan(call), at_(PlacesOf(call.signature().op)) {
    const Reader read(call);
    AddTensors(call);
    SetNumbers(read);
    SetTensors(read);
    SetLog(read);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (WritesNothing()) return {};
    constexpr int64_t kSmall = 1024;  // elements
    PORTACL_RETURN_IF_ERROR(Choose(KernelsFor<Params>(), params_, kSmall, &chosen_));
    small_ = HasAtMost(kSmall);
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    if (kernel_ == "none") return;
    Params params = params_;
    const auto set = [&](auto& tensor, int place) {
      if (tensor.has) tensor.data = elements[TensorAt(place)];
    };
    ForTensors(params, set);
    // If masks lie behind the offsets, they are a view of the same tensor.
    const int64_t behind = joined_masks_ * params_.offset.stride[1];
    const auto size = static_cast<int64_t>(base::DTypeSize(params_.dtype));
    if (joined_masks_ > 0) {
      params.mask.data = static_cast<const char*>(params.offset.data) + behind * size;
      if (params.offset_grad.has) {
        params.mask_grad.data = static_cast<char*>(params.offset_grad.data) +
                                joined_masks_ * params_.offset_grad.stride[1] * size;
      }
    }
    chosen_.Run(params, workspace);
  }

 private:
  using Params = DeformConvParams;

  void SetLog(const Reader& read) {
    // The aclnn function in the log has no pairs and no tensor of masks. A case cannot have a null
    // tensor, or a bias of another dtype.
    bool complete = !read.pairs() && !read.Has(at_.mask) && !read.BiasIsFloat();
    for (const int place : {at_.bias, at_.columns, at_.out_columns, at_.input_grad, at_.weight_grad,
                            at_.offset_grad, at_.bias_grad}) {
      complete = complete && (place == kNone || read.Has(place));
    }
    if (!complete) LeaveOutOfTheLog();
    LogFlag(0, joined_masks_ > 0);
  }
  size_t TensorAt(int place) const {
    return static_cast<size_t>(place < kOut ? place : output(place - kOut));
  }

  // Calls visit(tensor in the parameters, place) for all tensors; place is kNone for missing ones.
  template <class Visit>
  void ForTensors(Params& p, const Visit& visit) const {
    visit(p.input, at_.input);
    visit(p.weight, at_.weight);
    visit(p.offset, at_.offset);
    if (joined_masks_ == 0) visit(p.mask, at_.mask);
    visit(p.bias, at_.bias);
    visit(at_.weight == kNone ? p.grad_columns : p.grad_output, at_.grad_output);
    visit(p.columns, at_.columns);
    visit(p.output, at_.output);
    visit(p.out_columns, at_.out_columns);
    visit(p.input_grad, at_.input_grad);
    visit(p.weight_grad, at_.weight_grad);
    visit(p.offset_grad, at_.offset_grad);
    if (joined_masks_ == 0) visit(p.mask_grad, at_.mask_grad);
    visit(p.bias_grad, at_.bias_grad);
  }

  void SetNumbers(const Reader& read) {
    params_.backward = at_.grad_output != kNone;
    const TensorDesc image = read.Get(at_.input);
    params_.dtype = image.dtype;
    params_.bias_is_float = read.BiasIsFloat();
    params_.images = image.shape[0];
    params_.channels = image.shape[1];
    params_.height = image.shape[2];
    params_.width = image.shape[3];
    params_.kernel = read.kernel();
    params_.stride = read.Steps(1);
    params_.dilation = read.Steps(3);
    params_.padding = {read.padding()[0], read.padding()[2]};
    params_.groups = read.groups();
    params_.offset_groups = read.offset_groups();
    if (read.has_weight()) params_.out_channels = read.Raw(at_.weight)->shape[0];
    const TensorDesc offset = read.Get(at_.offset);
    params_.out_height = offset.shape[2];
    params_.out_width = offset.shape[3];
    const int64_t points = params_.offset_groups * params_.taps();
    params_.planes = read.pairs() ? DeformConvPlanes{1, 0, 2} : DeformConvPlanes{0, points, 1};
    if (read.PlanesOfPoint(points) == 3) joined_masks_ = 2 * points;
  }

  void SetTensors(const Reader& read) {
    const auto set = [&](auto& tensor, int place) {
      if (read.Has(place)) tensor.Describe(read.Get(place));
    };
    ForTensors(params_, set);
    if (joined_masks_ == 0) return;
    params_.mask = params_.offset;
    params_.mask_grad = params_.offset_grad;
  }

  const TensorPlaces at_;
  int64_t joined_masks_ = 0;  // the first mask's plane among the offsets; 0: masks have a tensor
  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status CheckDeformConv(const Call& call) { return DeformConvChecks(call).Run(); }

Status PlanCheckedDeformConv(const Call& call, std::shared_ptr<const Plan>* plan) {
  return MakePlanOf<DeformConvPlan>(plan, call);
}

}  // namespace portacl::ops
