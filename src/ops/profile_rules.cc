// The dtypes and formats of a function in each profile, and the refusals that name them.
#include "ops/profile_rules.h"

#include <string>

namespace portacl::ops {
namespace {

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

// Returns "FLOAT, FLOAT16 or BF16".
std::string Choices(const DTypeWords& dtypes) {
  std::string text;
  for (const int32_t& dtype : dtypes) {
    if (!text.empty()) text += &dtype + 1 == dtypes.end() ? " or " : ", ";
    text += base::DTypeName(static_cast<base::DType>(dtype));
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

}  // namespace

const DTypeWords& DTypesOf(const Signature& signature, Surface surface) {
  return DTypesIn(signature, surface == Surface::kNative ? Profile::kOpen : CurrentProfile());
}

const DTypeWords& DTypesOf(const Signature& signature, const Parameter& tensor, Surface surface) {
  if (tensor.dtypes == nullptr) return DTypesOf(signature, surface);
  return Of(*tensor.dtypes, surface == Surface::kNative ? Profile::kOpen : CurrentProfile());
}

base::Status CheckAvailable(const Refusals& refusals, const Signature& signature, Surface surface) {
  if (!DTypesOf(signature, surface).empty()) return {};
  return refusals.Refuse(Rule::kUnknownOperator,
                         "the profile {} does not have this operator; these have it: {}",
                         ProfileName(CurrentProfile()), ProfilesWith(signature));
}

base::Status CheckDType(const Refusals& refusals, const DTypeWords& dtypes, Surface surface,
                        const char* tensor, base::DType dtype) {
  if (dtypes.Has(static_cast<int32_t>(dtype))) return {};
  return refusals.Refuse(Rule::kDType, "{} has dtype {}, but must be {}{}", tensor,
                         base::DTypeName(dtype), Choices(dtypes),
                         surface == Surface::kNative
                             ? ""
                             : fmt::format(" (profile {})", ProfileName(CurrentProfile())));
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

}  // namespace portacl::ops
