// The refusals that all operators share.
#include "ops/shared_checks.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include "ops/profile_rules.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;

// Returns true if the argument is a null pointer.
bool IsNull(const Argument& argument) {
  return std::visit(
      [](const auto& value) {
        if constexpr (std::is_pointer_v<std::decay_t<decltype(value)>>) return value == nullptr;
        return false;
      },
      argument);
}

// Returns the rank of a tensor. A "*" stands for all spatial axes of the call.
int RankOf(const Parameter& tensor, int axes) {
  const auto parts = static_cast<int>(PartsOf(tensor));
  return tensor.any_axes ? parts - 1 + axes : parts;
}

// Returns the layout of an image for a message, e.g. " (N, C, D, H, W)"; "" for other tensors.
std::string Layout(const Parameter& tensor, int axes) {
  if (tensor.kind == Kind::kGrid || PartOf(tensor, 1) != "C") return "";
  static constexpr const char* kLayouts[] = {" (N, C, L)", " (N, C, H, W)", " (N, C, D, H, W)"};
  return kLayouts[axes - 1];
}

// Returns "ND, NCDHW or NDHWC".
std::string Choices(const FormatWords& formats) {
  std::string text;
  for (const int32_t& format : formats) {
    if (!text.empty()) text += &format + 1 == formats.end() ? " or " : ", ";
    text += base::FormatName(static_cast<base::Format>(format));
  }
  return text;
}

}  // namespace

SharedChecks::SharedChecks(const Call& call) : call_(call), refusals_(call.op(), call.surface()) {
  for (size_t at = 0; at < call.size(); ++at) {
    const Parameter& parameter = call.parameter(at);
    if (IsNull(call.argument(at))) {
      const bool needed = *parameter.name != '\0' && parameter.unset == nullptr;
      if (needed && missing_ == nullptr) missing_ = parameter.name;
      continue;
    }
    if (!IsTensor(parameter.kind)) {
      const Form form = FormOf(parameter.kind);
      if (form == Form::kInts || form == Form::kBools) lists_ |= uint32_t{1} << at;
      continue;
    }
    const NamedTensor tensor = {&parameter, std::get<const TensorDesc*>(call.argument(at))};
    tensors_[count_++] = tensor;
    const bool refers = !parameter.resized && parameter.dtypes == nullptr;
    if (refers && reference_.desc == nullptr) reference_ = tensor;
  }
}

Status SharedChecks::Nulls() const {
  if (missing_ != nullptr) return refusals_.Refuse(Rule::kNull, "{} is null", missing_);
  if (!call_.has_workspace_size) return refusals_.Refuse(Rule::kNull, "workspaceSize is null");
  if (!call_.has_executor) return refusals_.Refuse(Rule::kNull, "executor is null");
  return {};
}

Status SharedChecks::DTypes() const {
  const DTypeWords& common = DTypesOf(call_.signature(), call_.surface());
  const NamedTensor* other = nullptr;  // the first with another data type
  for (const NamedTensor& tensor : tensors()) {
    const DTypeWords& dtypes =
        tensor.parameter->dtypes == nullptr
            ? common
            : DTypesOf(call_.signature(), *tensor.parameter, call_.surface());
    if (!dtypes.Has(static_cast<int32_t>(tensor.desc->dtype))) {
      return CheckDType(refusals_, dtypes, call_.surface(), tensor.name(), tensor.desc->dtype);
    }
    if (other != nullptr || tensor.parameter->dtypes != nullptr) continue;
    if (tensor.desc->dtype != reference_.desc->dtype) other = &tensor;
  }
  if (other == nullptr) return {};
  return refusals_.Refuse(Rule::kDType, "{} has dtype {}, but {} has {}: they must be equal",
                          other->name(), base::DTypeName(other->desc->dtype), reference_.name(),
                          base::DTypeName(reference_.desc->dtype));
}

Status SharedChecks::Ranks() const {
  for (const NamedTensor& tensor : tensors()) {
    if (*tensor.parameter->symbols == '\0') continue;  // the operator checks the rank itself
    const int rank = RankOf(*tensor.parameter, call_.axes());
    if (tensor.desc->shape.rank() == rank) continue;
    return refusals_.Refuse(SideOf(tensor.parameter->kind),
                            "{} has shape {} of rank {}, but must have rank {}{}", tensor.name(),
                            tensor.desc->shape.ToString(), tensor.desc->shape.rank(), rank,
                            Layout(*tensor.parameter, call_.axes()));
  }
  return {};
}

Status SharedChecks::Arguments() const {
  PORTACL_RETURN_IF_ERROR(Nulls());
  return CheckAvailable(refusals_, call_.signature(), call_.surface());
}

Status SharedChecks::Tensors() const {
  PORTACL_RETURN_IF_ERROR(Arguments());
  PORTACL_RETURN_IF_ERROR(DTypes());
  return Ranks();
}

Status SharedChecks::Formats() const {
  if (call_.surface() == Surface::kNative) return {};
  const FormatWords& formats = FormatsOf(call_.signature());
  const NamedTensor* other = nullptr;  // the first with another format
  for (const NamedTensor& tensor : tensors()) {
    const base::Format format = tensor.desc->format;
    if (!formats.Has(static_cast<int32_t>(format))) {
      return refusals_.Refuse(Rule::kFormat, "{} has format {}, but must be {}", tensor.name(),
                              base::FormatName(format), Choices(formats));
    }
    if (other == nullptr && format != reference_.desc->format) other = &tensor;
  }
  if (other == nullptr || call_.signature().traits.formats_may_differ) return {};
  return refusals_.Refuse(Rule::kFormat, "{} has format {}, but {} has {}: they must be equal",
                          other->name(), base::FormatName(other->desc->format), reference_.name(),
                          base::FormatName(reference_.desc->format));
}

Status SharedChecks::List(const Parameter& parameter, const std::vector<int64_t>& values) const {
  const size_t count = PartsOf(parameter);
  if (values.size() != count) {
    return refusals_.Refuse(Rule::kAttribute, "{} has {} elements, but must have {}",
                            parameter.name, values.size(), count);
  }
  for (size_t i = 0; i < count; ++i) {
    if (values[i] >= 1) continue;
    const std::string_view symbol = PartOf(parameter, i);
    const bool padding = symbol[0] == 'P';
    const int64_t least = symbol == "N" || symbol == "C" || padding ? 0 : 1;
    if (values[i] >= least) continue;
    return refusals_.Refuse(Rule::kAttribute, "{}[{}] is {}, but must be at least {}",
                            parameter.name, i, values[i], least);
  }
  return {};
}

Status SharedChecks::Mask(const Parameter& parameter, const std::vector<bool>& values) const {
  if (values.size() == PartsOf(parameter)) return {};
  std::string outputs;
  for (size_t i = 0; i < PartsOf(parameter); ++i) {
    outputs += fmt::format("{}{}", i == 0 ? "" : ", ", PartOf(parameter, i));
  }
  return refusals_.Refuse(Rule::kOther, "{} has {} elements, but must have {} ({})", parameter.name,
                          values.size(), PartsOf(parameter), outputs);
}

Status SharedChecks::Lists() const {
  for (uint32_t rest = lists_; rest != 0; rest &= rest - 1) {
    const auto at = static_cast<size_t>(std::countr_zero(rest));
    const Parameter& parameter = call_.parameter(at);
    const Argument& argument = call_.argument(at);
    if (const auto* const ints = std::get_if<const std::vector<int64_t>*>(&argument)) {
      PORTACL_RETURN_IF_ERROR(List(parameter, **ints));
    } else {
      PORTACL_RETURN_IF_ERROR(Mask(parameter, *std::get<const std::vector<bool>*>(argument)));
    }
  }
  return {};
}

Status SharedChecks::All() const {
  PORTACL_RETURN_IF_ERROR(Tensors());
  PORTACL_RETURN_IF_ERROR(Formats());
  return Lists();
}

}  // namespace portacl::ops
