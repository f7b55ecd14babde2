// Process-wide settings: profile, edition, strict switch, forced implementation. Read from the
// environment once (PORTACL_PROFILE, PORTACL_EDITION, PORTACL_STRICT, PORTACL_IMPL), changed by
// functions for later calls.
#ifndef PORTACL_OPS_SETTINGS_H_
#define PORTACL_OPS_SETTINGS_H_

#include <optional>
#include <string>
#include <string_view>

namespace portacl::ops {

// The calls that the aclnn and graph APIs accept.
enum class Profile { kAtlasA2, kAtlasA3, kAtlasTraining, kAscend950, kOpen };

Profile CurrentProfile();
std::optional<Profile> ProfileFromName(std::string_view name);
const char* ProfileName(Profile profile);
void SetProfile(Profile profile);
// "atlas-a2, atlas-a3, atlas-training, ascend-950, open"
const char* ProfileChoices();
// The text of PORTACL_PROFILE if it is no profile (the default profile is used then), else "".
std::string UnknownProfile();

// The pages that count: the old pages that the first operators follow (8.x), or the newest (9.x).
enum class Edition { k8, k9 };

Edition CurrentEdition();
std::optional<Edition> EditionFromName(std::string_view name);
const char* EditionName(Edition edition);
void SetEdition(Edition edition);
// "8.x, 9.x"
const char* EditionChoices();
std::string UnknownEdition();

// Whether both are "".
bool KnowsProfileAndEdition();

// Whether a call follows the newest pages: in their edition, and in ascend-950, which only they
// have.
bool FollowsNewestPages();

bool Strict();
void SetStrict(bool strict);

// Name of the forced implementation, "" for the best one.
std::string ForcedImpl();
void SetForcedImpl(std::string name);
bool ImplIsForced();

}  // namespace portacl::ops

#endif  // PORTACL_OPS_SETTINGS_H_
