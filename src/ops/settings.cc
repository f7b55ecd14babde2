// The settings, from the environment and from calls.
#include "ops/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/fork.h"
#include "base/settings.h"

namespace portacl::ops {
namespace {

// A setting with named values, given by the environment first. The names are in the order of the
// values, 0, 1, ...; the first is the default.
template <class Value, const auto& kNames>
class Choice {
 public:
  explicit Choice(std::string wanted) {
    if (const auto found = Find(wanted)) {
      value_ = *found;
    } else if (!wanted.empty()) {
      unknown_ = std::move(wanted);
      has_unknown_ = true;
    }
  }
  Value Get() const { return value_.load(std::memory_order_relaxed); }
  void Set(Value value) {
    value_.store(value, std::memory_order_relaxed);
    has_unknown_.store(false, std::memory_order_relaxed);
  }
  bool IsKnown() const { return !has_unknown_.load(std::memory_order_relaxed); }
  // The text in the environment if it is no valid value. Empty after the first Set().
  std::string Unknown() const { return IsKnown() ? std::string() : unknown_; }
  std::optional<Value> Find(std::string_view name) const {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<Value>(found - kNames.begin());
  }
  const char* all() const { return all_.c_str(); }

 private:
  const std::string all_ = fmt::format("{}", fmt::join(kNames, ", "));
  std::atomic<Value> value_{Value{}};
  std::string unknown_;  // never changed after construction
  std::atomic<bool> has_unknown_{false};
};

constexpr std::array kProfiles = {"atlas-a2", "atlas-a3", "atlas-training", "ascend-950", "open"};
constexpr std::array kEditions = {"8.x", "9.x"};

struct Settings {
  Settings() : strict(base::settings::Strict()), impl(base::settings::Impl()) {
    has_impl = !impl.empty();
  }
  Choice<Profile, kProfiles> profile{base::settings::Profile()};
  Choice<Edition, kEditions> edition{base::settings::Edition()};
  std::atomic<bool> strict;
  std::atomic<bool> has_impl{false};  // spares the lock in the common case
  base::ForkSafe<std::mutex> mutex{base::LockRank::kSettings};
  std::string impl;
};

Settings& Get() {
  static constinit base::Immortal<Settings> settings;
  Settings* const made = settings.Find();  // a small call asks for settings some sixty times
  return made != nullptr ? *made : settings.Get();
}

}  // namespace

Profile CurrentProfile() { return Get().profile.Get(); }
std::optional<Profile> ProfileFromName(std::string_view name) { return Get().profile.Find(name); }
const char* ProfileName(Profile profile) { return kProfiles[static_cast<size_t>(profile)]; }
void SetProfile(Profile profile) { Get().profile.Set(profile); }
const char* ProfileChoices() { return Get().profile.all(); }
std::string UnknownProfile() { return Get().profile.Unknown(); }

Edition CurrentEdition() { return Get().edition.Get(); }
std::optional<Edition> EditionFromName(std::string_view name) { return Get().edition.Find(name); }
const char* EditionName(Edition edition) { return kEditions[static_cast<size_t>(edition)]; }
void SetEdition(Edition edition) { Get().edition.Set(edition); }
const char* EditionChoices() { return Get().edition.all(); }
std::string UnknownEdition() { return Get().edition.Unknown(); }

bool KnowsProfileAndEdition() { return Get().profile.IsKnown() && Get().edition.IsKnown(); }

bool FollowsNewestPages() {
  return CurrentEdition() == Edition::k9 || CurrentProfile() == Profile::kAscend950;
}

bool Strict() { return Get().strict.load(std::memory_order_relaxed); }
void SetStrict(bool strict) { Get().strict.store(strict, std::memory_order_relaxed); }

bool ImplIsForced() { return Get().has_impl.load(std::memory_order_acquire); }

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
  settings.has_impl.store(!settings.impl.empty(), std::memory_order_release);
}

}  // namespace portacl::ops
