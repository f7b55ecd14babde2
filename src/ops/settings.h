// Process-wide settings: profile, strict switch, forced implementation. Read from the environment
// once (PORTACL_PROFILE, PORTACL_STRICT, PORTACL_IMPL), changed by functions for later calls.
#ifndef PORTACL_OPS_SETTINGS_H_
#define PORTACL_OPS_SETTINGS_H_

#include <optional>
#include <string>
#include <string_view>

namespace portacl::ops {

// What the aclnn and graph APIs accept.
enum class Profile { kAtlasA2, kAtlasA3, kAtlasTraining, kOpen };

Profile CurrentProfile();
std::optional<Profile> ProfileFromName(std::string_view name);
const char* ProfileName(Profile profile);
void SetProfile(Profile profile);
// "atlas-a2, atlas-a3, atlas-training, open"
const char* ProfileChoices();
// What PORTACL_PROFILE holds where that is no profile (the default one is used then), else "".
std::string UnknownProfile();

bool Strict();
void SetStrict(bool strict);

// Name of the forced implementation, "" for the best one.
std::string ForcedImpl();
void SetForcedImpl(std::string name);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_SETTINGS_H_
