// ResizeD, ResizeGradD, Resize, ResizeGrad and flat affine grids. The list of operators cannot hold
// them: one name calls several operators, and descriptions have other axes than the operator's
// tensors. (Other Resize... names are rows of ops/operator_list_resize.inc.)
#include "api/acl_op_resize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "ops/call.h"
#include "runtime/fp_env.h"

namespace portacl::api {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;
using ops::Kind;
using ops::Op;
using ops::Parameter;
using ops::Refusals;
using ops::Rule;
using ops::Signature;

constexpr const char* kCoordinates = "coordinate_transformation_mode";
constexpr std::string_view kLinear = "linear";
constexpr std::string_view kCubic = "cubic";
constexpr std::string_view kNearest = "nearest";

// ---- signatures --------------------------------------------------------------------------------

constexpr ops::Traits TraitsOf(int axes, ops::DTypesOfProfiles dtypes) {
  return {.axes = axes,
          .dtypes = dtypes,
          .formats = axes == 1 ? "NCHW NCL ND" : "NCHW ND",
          .formats_may_differ = true};
}
constexpr ops::DTypesOfProfiles kGradients = {.atlas_a2 = "FLOAT FLOAT16 BF16 DOUBLE",
                                              .atlas_training = "FLOAT FLOAT16 DOUBLE",
                                              .open = "FLOAT FLOAT16 BF16 DOUBLE"};
constexpr ops::DTypesOfProfiles kPictures = {.atlas_a2 = "FLOAT FLOAT16 BF16 DOUBLE UINT8",
                                             .atlas_training = "FLOAT FLOAT16 DOUBLE UINT8",
                                             .open = "FLOAT FLOAT16 BF16 DOUBLE UINT8"};

constexpr Parameter kLine[] = {{Kind::kInput, "X", "N,C,L"},
                               {Kind::kInts, "sizes", "OL"},
                               {Kind::kFlag, kCoordinates},
                               {Kind::kFloats, "scales", "scale", ""},
                               {Kind::kOutput, "y", "N,C,OL"}};
constexpr Parameter kPlane[] = {{Kind::kInput, "X", "N,C,H,W"},
                                {Kind::kInts, "sizes", "OH,OW"},
                                {Kind::kFlag, kCoordinates},
                                {Kind::kFloats, "scales", "scale,scale", ""},
                                {Kind::kOutput, "y", "N,C,OH,OW"}};
constexpr Parameter kLineGrad[] = {
    {Kind::kInput, "grads", "N,C,OL"},       {Kind::kInts, "", "OL", ""},
    {Kind::kInts, "original_size", "N,C,L"}, {Kind::kFlag, kCoordinates},
    {Kind::kFloats, "scales", "scale", ""},  {Kind::kOutput, "y", "N,C,L"}};
constexpr Parameter kPlaneGrad[] = {
    {Kind::kInput, "grads", "N,C,OH,OW"},         {Kind::kInts, "", "OH,OW", ""},
    {Kind::kInts, "original_size", "N,C,H,W"},    {Kind::kFlag, kCoordinates},
    {Kind::kFloats, "scales", "scale,scale", ""}, {Kind::kOutput, "y", "N,C,H,W"}};
constexpr Parameter kNearestOf[] = {{Kind::kInput, "x", "N,C,H,W"},
                                    {Kind::kSizes, "sizes", "OH,OW", ""},
                                    {Kind::kOutput, "y", "N,C,OH,OW"}};
constexpr Parameter kNearestGrad[] = {{Kind::kInput, "grads", "N,C,OH,OW"},
                                      {Kind::kInts, "", "OH,OW", ""},
                                      {Kind::kSizes, "original_size", "N,C,H,W", ""},
                                      {Kind::kOutput, "y", "N,C,H,W"}};

constexpr Signature kLinearD = {kResizeD, Op::kUpsampleLinear, TraitsOf(1, ops::kFloats), kLine};
constexpr Signature kCubicD = {kResizeD, Op::kUpsampleCubic, TraitsOf(2, ops::kFloats), kPlane};
constexpr Signature kLinearGradD = {kResizeGradD, Op::kUpsampleLinearBackward,
                                    TraitsOf(1, ops::kFloats), kLineGrad};
constexpr Signature kCubicGradD = {kResizeGradD, Op::kUpsampleCubicBackward,
                                   TraitsOf(2, ops::kFloats), kPlaneGrad};
constexpr Signature kNearestCall = {kResize, Op::kUpsampleNearest, TraitsOf(2, kPictures),
                                    kNearestOf};
constexpr Signature kNearestGradCall = {kResizeGrad, Op::kUpsampleNearestBackward,
                                        TraitsOf(2, kGradients), kNearestGrad};

// ---- attributes --------------------------------------------------------------------------------

template <class T>
constexpr const char* kTypeName = "string";
template <>
constexpr const char* kTypeName<int64_t> = "int";
template <>
constexpr const char* kTypeName<float> = "float";
template <>
constexpr const char* kTypeName<std::vector<int64_t>> = "list of integers";
template <>
constexpr const char* kTypeName<std::vector<float>> = "list of floats";

class Attributes {
 public:
  Attributes(const GraphOperator& op, const Refusals& refusals)
      : values_(op.attributes.values), refusals_(refusals) {}

  // Reads an attribute. If it is not set, *value does not change.
  template <class T>
  Status Get(const char* name, T* value) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return {};
    const T* const typed = std::get_if<T>(found->second.get());
    if (typed == nullptr) {
      return refusals_.Refuse(Rule::kAttribute, "attribute {} must be a {}", name, kTypeName<T>);
    }
    *value = *typed;
    return {};
  }
  Status GetNeeded(const char* name, std::vector<int64_t>* value) const {
    if (values_.contains(name)) return Get(name, value);
    return refusals_.Refuse(Rule::kAttribute, "attribute {} is missing; it must be a {}", name,
                            kTypeName<std::vector<int64_t>>);
  }
  // Finds the attribute's word in `words`. If the attribute is not set, the word is words[0].
  Status GetWord(const char* name, std::span<const std::string_view> words, size_t* at) const {
    std::string word(words[0]);
    PORTACL_RETURN_IF_ERROR(Get(name, &word));
    for (*at = 0; *at < words.size(); ++*at) {
      if (words[*at] == word) return {};
    }
    return refusals_.Refuse(Rule::kAttribute, "attribute {} is \"{}\", but must be {}", name, word,
                            fmt::join(words, " or "));
  }
  // Refuses an attribute with another value than `wanted`.
  template <class T>
  Status Only(const char* name, T wanted) const {
    T value = wanted;
    PORTACL_RETURN_IF_ERROR(Get(name, &value));
    if (value == wanted) return {};
    return refusals_.Refuse(Rule::kAttribute, "attribute {} is {}, but must be {}", name, value,
                            wanted);
  }
  Status OnlyWord(const char* name, std::string_view wanted) const {
    size_t at = 0;
    return GetWord(name, std::array{wanted}, &at);
  }

 private:
  const decltype(aclopAttr::values)& values_;
  const Refusals& refusals_;
};

// Returns the word of an attribute that is not checked yet; "" if it is not set or no string.
std::string_view WordOf(const GraphOperator& op, const char* name) {
  const auto found = op.attributes.values.find(name);
  if (found == op.attributes.values.end()) return {};
  const auto* const word = std::get_if<std::string>(found->second.get());
  return word == nullptr ? std::string_view() : *word;
}

// ---- views -------------------------------------------------------------------------------------

void SetAxes(const std::vector<int64_t>& shape, TensorDesc* tensor) {
  tensor->shape = Dims(shape.data(), static_cast<int>(shape.size()));
  tensor->strides = base::ContiguousStrides(tensor->shape);
}

// Views (N, C, 1, L) as (N, C, L).
void DropHeight(TensorDesc* tensor) {
  const Dims& shape = tensor->shape;
  if (shape.rank() != 4 || shape[2] != 1) return;
  SetAxes({shape[0], shape[1], shape[3]}, tensor);
}

// Views memory ordered H, W, N, C as (N, C, H, W). `described_so`: the description has that order.
void FromHwnc(bool described_so, TensorDesc* tensor) {
  if (tensor->shape.rank() != 4) return;
  constexpr int kPlaces[] = {2, 3, 0, 1};  // positions of N, C, H, W in the memory
  Dims memory = tensor->shape;
  for (int at = 0; at < 4 && !described_so; ++at) memory[kPlaces[at]] = tensor->shape[at];
  const Dims strides = base::ContiguousStrides(memory);
  for (int at = 0; at < 4; ++at) {
    tensor->shape[at] = memory[kPlaces[at]];
    tensor->strides[at] = strides[kPlaces[at]];
  }
}

// ---- calls -------------------------------------------------------------------------------------

// One call of a resizing operator. It owns the lists that its arguments point to.
class ResizeCall final : public GraphCall {
 public:
  ResizeCall(const Signature& signature, const Tensors& tensors)
      : refusals_(signature.name, ops::Surface::kGraph),
        tensors_(tensors),
        call_(signature, ops::Surface::kGraph, signature.name) {}

  // Reads ResizeD or ResizeGradD. If the program gives no scale, op-plugin sends the quotient of
  // the extents as a float. So this quotient counts as no scale.
  Status ReadD(const GraphOperator& op, bool linear) {
    const runtime::FpEnvironment environment;  // keeps subnormal scales above 0
    const Attributes attributes(op, refusals_);
    const bool backward = op.type == kResizeGradD;
    PORTACL_RETURN_IF_ERROR(attributes.GetNeeded(backward ? "original_size" : "sizes", &sizes_));
    PORTACL_RETURN_IF_ERROR(attributes.Get("scales", &scales_));
    constexpr std::array<std::string_view, 2> kModes = {"half_pixel", "align_corners"};
    size_t coordinates = 0;
    PORTACL_RETURN_IF_ERROR(attributes.GetWord(kCoordinates, kModes, &coordinates));
    PORTACL_RETURN_IF_ERROR(CheckRest(attributes));
    if (backward) {
      constexpr std::array<std::string_view, 2> kOrders = {"NCHW", "HWNC"};
      size_t order = 0;
      PORTACL_RETURN_IF_ERROR(attributes.GetWord("data_format", kOrders, &order));
    }
    const Dims& read = tensors_[0].shape;
    const Dims& written = tensors_[1].shape;
    const auto in = static_cast<float>((backward ? written : read)[2]);
    const auto out = static_cast<float>((backward ? read : written)[2]);
    if (linear && scales_.size() == 1 && scales_[0] == out / in) scales_.clear();
    call_.Add(&tensors_[0]);
    if (backward) call_.Add(static_cast<const std::vector<int64_t>*>(nullptr));
    call_.Add(&sizes_);
    call_.Add(static_cast<int64_t>(coordinates));
    call_.Add(&scales_);
    call_.Add(&tensors_[1]);
    return {};
  }

  // Reads Resize or ResizeGrad: x or grads, roi, scales, sizes, y. op-plugin sends them for nearest
  // resizing of vectors, and expects the indices of nearest.
  Status ReadNearest(const GraphOperator& op, const HostLists& lists) {
    const Attributes attributes(op, refusals_);
    PORTACL_RETURN_IF_ERROR(attributes.OnlyWord("mode", kNearest));
    PORTACL_RETURN_IF_ERROR(attributes.OnlyWord("nearest_mode", "floor"));
    PORTACL_RETURN_IF_ERROR(attributes.OnlyWord(kCoordinates, "pytorch_half_pixel"));
    PORTACL_RETURN_IF_ERROR(CheckRest(attributes));
    const bool backward = op.type == kResizeGrad;
    call_.Add(&tensors_[0]);
    if (backward) call_.Add(static_cast<const std::vector<int64_t>*>(nullptr));
    if (lists[3]) sizes_ = *lists[3];
    if (lists[3] && !backward && sizes_.size() == 4) {
      if (sizes_[0] != tensors_[0].shape[0] || sizes_[1] != tensors_[0].shape[1]) {
        return refusals_.Refuse(Rule::kAttribute, "sizes has N, C = {}, {}, but x has shape {}",
                                sizes_[0], sizes_[1], tensors_[0].shape.ToString());
      }
      sizes_.erase(sizes_.begin(), sizes_.begin() + 2);
    }
    call_.Add(lists[3] ? &sizes_ : static_cast<const std::vector<int64_t>*>(nullptr));
    call_.Add(&tensors_[4]);
    return {};
  }

  Status Check() const override { return ops::Check(call_); }
  Status Plan(std::shared_ptr<const ops::Plan>* plan) const override {
    return PlanChecked(call_, plan);
  }

 private:
  // Checks attributes with only one accepted value, and reads attributes that these modes ignore.
  Status CheckRest(const Attributes& attributes) const {
    PORTACL_RETURN_IF_ERROR(attributes.Only<float>("cubic_coeff_a", -0.75F));
    PORTACL_RETURN_IF_ERROR(attributes.Only<int64_t>("exclude_outside", 0));
    float outside = 0;
    PORTACL_RETURN_IF_ERROR(attributes.Get("extrapolation_value", &outside));
    std::vector<float> roi;
    PORTACL_RETURN_IF_ERROR(attributes.Get("roi", &roi));
    if (roi.empty()) return {};
    return refusals_.Refuse(Rule::kAttribute, "attribute roi has {} elements, but must be empty",
                            roi.size());
  }

  const Refusals refusals_;
  const Tensors& tensors_;
  std::vector<int64_t> sizes_;
  std::vector<float> scales_;
  ops::Call call_;
};

}  // namespace

Status ReadResizeD(const GraphOperator& op, const Tensors& tensors, const HostLists& /*lists*/,
                   std::unique_ptr<GraphCall>* call) {
  const bool backward = op.type == kResizeGradD;
  const Refusals refusals(op.type.c_str(), ops::Surface::kGraph);
  constexpr std::array kModes = {kCubic, kLinear};
  size_t mode = 0;
  PORTACL_RETURN_IF_ERROR(Attributes(op, refusals).GetWord("mode", kModes, &mode));
  const bool linear = kModes[mode] == kLinear;
  auto made = std::make_unique<ResizeCall>(
      linear ? (backward ? kLinearGradD : kLinearD) : (backward ? kCubicGradD : kCubicD), tensors);
  PORTACL_RETURN_IF_ERROR(made->ReadD(op, linear));
  *call = std::move(made);
  return {};
}

Status ReadResize(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                  std::unique_ptr<GraphCall>* call) {
  auto made =
      std::make_unique<ResizeCall>(op.type == kResize ? kNearestCall : kNearestGradCall, tensors);
  PORTACL_RETURN_IF_ERROR(made->ReadNearest(op, lists));
  *call = std::move(made);
  return {};
}

void ViewResizeD(const GraphOperator& op, const HostLists& /*lists*/, Tensors* tensors) {
  if (WordOf(op, "mode") == kLinear) {
    for (TensorDesc& tensor : *tensors) DropHeight(&tensor);
  } else if (WordOf(op, "data_format") == "HWNC") {
    FromHwnc(true, &(*tensors)[0]);
    FromHwnc(false, &(*tensors)[1]);
  }
}

void SplitGridAxes(const GraphOperator& /*op*/, const HostLists& lists, Tensors* tensors) {
  TensorDesc& y = (*tensors)[2];
  if (y.shape.rank() != 3 || y.shape[2] < 2 || y.shape[2] > 3) return;
  const auto axes = static_cast<size_t>(y.shape[2]);
  std::vector<int64_t> shape(axes + 2, 1);  // if the list is unknown, all points are on one axis
  shape[0] = y.shape[0];
  shape[1] = y.shape[1];
  shape.back() = y.shape[2];
  if (lists[1]) {
    if (lists[1]->size() != axes + 2) return;
    double points = 1;
    for (size_t axis = 0; axis < axes; ++axis) {
      shape[axis + 1] = (*lists[1])[axis + 2];
      points *= static_cast<double>(shape[axis + 1]);
    }
    if (points != static_cast<double>(y.shape[1])) return;
  }
  SetAxes(shape, &y);
}

}  // namespace portacl::api
