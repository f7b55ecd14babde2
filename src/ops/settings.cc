// Keeps the settings, which come from the environment and from calls.
#include "ops/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "base/fork.h"
#include "base/settings.h"

namespace portacl::ops {
namespace internal {

constinit std::atomic<uint32_t> settings_word{0};

}  // namespace internal

namespace {

using internal::kProfileShift;
using internal::settings_word;

// Names in the order of the enum's values; the first is the default.
constexpr std::array kProfiles = {"atlas-a2", "atlas-a3", "atlas-training", "ascend-950", "open"};
constexpr std::array kEditions = {"8.x", "9.x"};

template <class Value, const auto& kNames>
std::optional<Value> FromName(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Value>(found - kNames.begin());
}

uint32_t BitsOf(Profile profile) { return static_cast<uint32_t>(profile) << kProfileShift; }
uint32_t BitsOf(Edition edition) { return edition == Edition::k9 ? internal::kEdition9 : 0; }

// The texts of the environment's settings, and the forced implementation.
struct Settings {
  const std::string profiles = fmt::format("{}", fmt::join(kProfiles, ", "));
  const std::string editions = fmt::format("{}", fmt::join(kEditions, ", "));
  const std::string profile = base::settings::Profile();
  const std::string edition = base::settings::Edition();
  base::ForkSafe<std::mutex> mutex{base::LockRank::kSettings};
  std::string impl = base::settings::Impl();
};

Settings& Get() {
  static constinit base::Immortal<Settings> settings;
  return settings.Get();
}

// Returns the first settings word, made from the environment.
uint32_t FirstWord(const Settings& settings) {
  const auto profile = ProfileFromName(settings.profile);
  const auto edition = EditionFromName(settings.edition);
  return internal::kRead | BitsOf(profile.value_or(Profile{})) |
         BitsOf(edition.value_or(Edition{})) |
         (profile || settings.profile.empty() ? 0 : internal::kUnknownProfile) |
         (edition || settings.edition.empty() ? 0 : internal::kUnknownEdition) |
         (base::settings::Strict() ? internal::kStrict : 0) |
         (*base::settings::Impl() == '\0' ? 0 : internal::kForced);
}

// Clears the bits `out`, then sets the bits `in`.
void Change(uint32_t out, uint32_t in) {
  uint32_t word = internal::SettingsWord();
  while (!settings_word.compare_exchange_weak(word, (word & ~out) | in)) {
  }
}

}  // namespace

uint32_t internal::ReadSettings() {
  uint32_t word = 0;
  const uint32_t first = FirstWord(Get());
  return settings_word.compare_exchange_strong(word, first) ? first : word;
}

std::optional<Profile> ProfileFromName(std::string_view name) {
  return FromName<Profile, kProfiles>(name);
}
const char* ProfileName(Profile profile) { return kProfiles[static_cast<size_t>(profile)]; }
void SetProfile(Profile profile) {
  Change(internal::kUnknownProfile | ~uint32_t{0} << kProfileShift, BitsOf(profile));
}
const char* ProfileChoices() { return Get().profiles.c_str(); }
std::string UnknownProfile() {
  return internal::IsSet(internal::kUnknownProfile) ? Get().profile : std::string();
}

std::optional<Edition> EditionFromName(std::string_view name) {
  return FromName<Edition, kEditions>(name);
}
const char* EditionName(Edition edition) { return kEditions[static_cast<size_t>(edition)]; }
void SetEdition(Edition edition) {
  Change(internal::kUnknownEdition | internal::kEdition9, BitsOf(edition));
}
const char* EditionChoices() { return Get().editions.c_str(); }
std::string UnknownEdition() {
  return internal::IsSet(internal::kUnknownEdition) ? Get().edition : std::string();
}

void SetStrict(bool strict) { Change(internal::kStrict, strict ? internal::kStrict : 0); }

std::string ForcedImpl() {
  if (!ImplIsForced()) return {};
  Settings& settings = Get();
  const std::lock_guard lock(settings.mutex);
  return settings.impl;
}

void SetForcedImpl(std::string name) {
  Settings& settings = Get();
  const std::lock_guard lock(settings.mutex);
  settings.impl = std::move(name);
  Change(internal::kForced, settings.impl.empty() ? 0 : internal::kForced);
}

}  // namespace portacl::ops
