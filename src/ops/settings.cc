// The settings, from the environment and from calls.
#include "ops/settings.h"

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/fork.h"
#include "base/settings.h"

namespace portacl::ops {
namespace {

struct ProfileRow {
  Profile profile;
  const char* name;
};

constexpr std::array<ProfileRow, 4> kProfiles{{
    {Profile::kAtlasA2, "atlas-a2"},
    {Profile::kAtlasA3, "atlas-a3"},
    {Profile::kAtlasTraining, "atlas-training"},
    {Profile::kOpen, "open"},
}};

const ProfileRow& RowOf(Profile profile) { return kProfiles[static_cast<size_t>(profile)]; }

struct Settings {
  Settings() : impl(base::settings::Impl()) {
    const std::string wanted = base::settings::Profile();
    if (const auto found = ProfileFromName(wanted)) {
      profile = *found;
    } else if (!wanted.empty()) {
      unknown_profile = wanted;
      has_unknown_profile = true;
    }
    strict = base::settings::Strict();
    has_impl = !impl.empty();
  }
  std::atomic<Profile> profile{Profile::kAtlasA2};
  std::string unknown_profile;  // never changed after construction
  std::atomic<bool> has_unknown_profile{false};
  std::atomic<bool> strict{false};
  std::atomic<bool> has_impl{false};  // spares the lock in the common case
  base::ForkSafe<std::mutex> mutex{base::LockRank::kSettings};
  std::string impl;
};

Settings& Get() {
  static constinit base::Immortal<Settings> settings;
  return settings.Get();
}

}  // namespace

Profile CurrentProfile() { return Get().profile.load(std::memory_order_relaxed); }

std::optional<Profile> ProfileFromName(std::string_view name) {
  for (const ProfileRow& row : kProfiles) {
    if (name == row.name) return row.profile;
  }
  return std::nullopt;
}

const char* ProfileName(Profile profile) { return RowOf(profile).name; }

void SetProfile(Profile profile) {
  Settings& settings = Get();
  settings.profile.store(profile, std::memory_order_relaxed);
  settings.has_unknown_profile.store(false, std::memory_order_relaxed);
}

const char* ProfileChoices() { return "atlas-a2, atlas-a3, atlas-training, open"; }

std::string UnknownProfile() {
  if (!Get().has_unknown_profile.load(std::memory_order_relaxed)) return {};
  return Get().unknown_profile;
}

bool Strict() { return Get().strict.load(std::memory_order_relaxed); }
void SetStrict(bool strict) { Get().strict.store(strict, std::memory_order_relaxed); }

std::string ForcedImpl() {
  Settings& settings = Get();
  if (!settings.has_impl.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(settings.mutex);
  return settings.impl;
}

void SetForcedImpl(std::string name) {
  Settings& settings = Get();
  const std::lock_guard lock(settings.mutex);
  settings.impl = std::move(name);
  settings.has_impl.store(!settings.impl.empty(), std::memory_order_release);
}

}  // namespace portacl::ops
