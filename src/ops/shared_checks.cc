// The refusals that all operators share, and what each profile accepts.
#include "ops/shared_checks.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

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

const DTypeWords& Of(const DTypesOfProfiles& dtypes, Profile profile) {
  switch (profile) {
    case Profile::kAtlasA2:
    case Profile::kAtlasA3:
      break;
    case Profile::kAtlasTraining:
      return dtypes.atlas_training;
    case Profile::kAscend950:
      return dtypes.ascend_950;
    case Profile::kOpen:
      return dtypes.open;
  }
  return dtypes.atlas_a2;
}

const DTypeWords& DTypesIn(const Signature& signature, Profile profile) {
  const DTypeWords& newest = Of(signature.traits.newest_dtypes, profile);
  const bool other = CurrentEdition() == Edition::k9 && !newest.empty();
  return other ? newest : Of(signature.traits.dtypes, profile);
}

std::string NameOf(int32_t dtype, const DTypeWords&) {
  return base::DTypeName(static_cast<base::DType>(dtype));
}
std::string NameOf(int32_t format, const FormatWords&) {
  return base::FormatName(static_cast<base::Format>(format));
}

// Returns "FLOAT, FLOAT16 or BF16" or "ND, NCDHW or NDHWC".
template <class Listed>
std::string Choices(const Listed& words) {
  std::string text;
  for (const int32_t& word : words) {
    if (!text.empty()) text += &word + 1 == words.end() ? " or " : ", ";
    text += NameOf(word, words);
  }
  return text;
}

// Returns the profiles that have the function: "atlas-a2, atlas-a3, open".
std::string ProfilesWith(const Signature& signature) {
  std::string text;
  for (const Profile profile : {Profile::kAtlasA2, Profile::kAtlasA3, Profile::kAtlasTraining,
                                Profile::kAscend950, Profile::kOpen}) {
    if (DTypesIn(signature, profile).empty()) continue;
    if (!text.empty()) text += ", ";
    text += ProfileName(profile);
  }
  return text;
}

// Returns the dtypes that a call through `surface` may have now. The native API has no profile.
const DTypeWords& DTypesOf(const Signature& signature, Surface surface) {
  return DTypesIn(signature, surface == Surface::kNative ? Profile::kOpen : CurrentProfile());
}

// Returns the dtypes that one tensor of the function may have now; it may have its own dtypes.
const DTypeWords& DTypesOf(const Signature& signature, const Parameter& tensor, Surface surface) {
  if (tensor.dtypes == nullptr) return DTypesOf(signature, surface);
  return Of(*tensor.dtypes, surface == Surface::kNative ? Profile::kOpen : CurrentProfile());
}

// Refuses a tensor with a dtype that is not in `dtypes`.
Status RefuseDType(const Refusals& refusals, const DTypeWords& dtypes, const char* tensor,
                   base::DType dtype) {
  return refusals.Refuse(Rule::kDType, "{} has dtype {}, but must be {}{}", tensor,
                         base::DTypeName(dtype), Choices(dtypes),
                         refusals.surface() == Surface::kNative
                             ? ""
                             : fmt::format(" (profile {})", ProfileName(CurrentProfile())));
}

}  // namespace

Status CheckAvailable(const Refusals& refusals, const Signature& signature) {
  if (!DTypesOf(signature, refusals.surface()).empty()) return {};
  return refusals.Refuse(Rule::kUnknownOperator,
                         "the profile {} does not have this operator; these have it: {}",
                         ProfileName(CurrentProfile()), ProfilesWith(signature));
}

const FormatWords& FormatsOf(const Signature& signature) {
  const Traits& traits = signature.traits;
  const Profile profile = CurrentProfile();
  if (profile == Profile::kOpen && !traits.open_formats.empty()) return traits.open_formats;
  if (profile == Profile::kAscend950 && !traits.ascend_950_formats.empty()) {
    return traits.ascend_950_formats;
  }
  const bool other = FollowsNewestPages() && !traits.newest_formats.empty();
  return other ? traits.newest_formats : traits.formats;
}

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
      return RefuseDType(refusals_, dtypes, tensor.name(), tensor.desc->dtype);
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
  return CheckAvailable(refusals_, call_.signature());
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
