// Process-wide settings: profile, edition, strict switch, forced implementation. Read from the
// environment once (PORTACL_PROFILE, PORTACL_EDITION, PORTACL_STRICT, PORTACL_IMPL); functions
// change them for later calls.
#ifndef PORTACL_OPS_SETTINGS_H_
#define PORTACL_OPS_SETTINGS_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace portacl::ops {

// Decides which calls the aclnn and graph APIs accept.
enum class Profile { kAtlasA2, kAtlasA3, kAtlasTraining, kAscend950, kOpen };
// The vendor's pages that count: the pages of the first operators (8.x) or the newest pages (9.x).
enum class Edition { k8, k9 };

// All settings in one word, because a small call reads settings some forty times. The lowest bits
// are below, the profile follows. 0: not read yet.
namespace internal {
inline constexpr uint32_t kRead = 1, kStrict = 2, kForced = 4, kEdition9 = 8, kUnknownProfile = 16,
                          kUnknownEdition = 32;
inline constexpr int kProfileShift = 8;
extern std::atomic<uint32_t> settings_word;
uint32_t ReadSettings();
inline uint32_t SettingsWord() {
  const uint32_t word = settings_word.load(std::memory_order_acquire);
  return word != 0 ? word : ReadSettings();
}
inline bool IsSet(uint32_t bits) { return (SettingsWord() & bits) != 0; }
}  // namespace internal

inline Profile CurrentProfile() {
  return static_cast<Profile>(internal::SettingsWord() >> internal::kProfileShift);
}
std::optional<Profile> ProfileFromName(std::string_view name);
const char* ProfileName(Profile profile);
void SetProfile(Profile profile);
// "atlas-a2, atlas-a3, atlas-training, ascend-950, open"
const char* ProfileChoices();
// Returns PORTACL_PROFILE if it names no profile (then the default profile is used), else "".
std::string UnknownProfile();

inline Edition CurrentEdition() {
  return internal::IsSet(internal::kEdition9) ? Edition::k9 : Edition::k8;
}
std::optional<Edition> EditionFromName(std::string_view name);
const char* EditionName(Edition edition);
void SetEdition(Edition edition);
// "8.x, 9.x"
const char* EditionChoices();
std::string UnknownEdition();

// Returns true if UnknownProfile() and UnknownEdition() are "".
inline bool KnowsProfileAndEdition() {
  return !internal::IsSet(internal::kUnknownProfile | internal::kUnknownEdition);
}

// Returns true if calls follow the vendor's newest pages: in edition 9.x, and in ascend-950, which
// only the newest pages have.
inline bool FollowsNewestPages() {
  return CurrentEdition() == Edition::k9 || CurrentProfile() == Profile::kAscend950;
}

inline bool Strict() { return internal::IsSet(internal::kStrict); }
void SetStrict(bool strict);

// Returns the name of the forced implementation; "" if none is forced.
std::string ForcedImpl();
void SetForcedImpl(std::string name);
inline bool ImplIsForced() { return internal::IsSet(internal::kForced); }

}  // namespace portacl::ops

#endif  // PORTACL_OPS_SETTINGS_H_
