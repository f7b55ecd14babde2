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

// A setting with named values, given by the environment first.
template <class Value, size_t kCount>
class Choice {
 public:
  struct Row {
    Value value;
    const char* name;
  };
  using Rows = std::array<Row, kCount>;

  // The first row is the default.
  Choice(const Rows& rows, std::string wanted) : rows_(rows) {
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
  // What the environment held where that is no value, until the first Set().
  std::string Unknown() const {
    return has_unknown_.load(std::memory_order_relaxed) ? unknown_ : std::string();
  }
  std::optional<Value> Find(std::string_view name) const {
    for (const Row& row : rows_) {
      if (name == row.name) return row.value;
    }
    return std::nullopt;
  }

 private:
  const Rows& rows_;
  std::atomic<Value> value_{rows_[0].value};
  std::string unknown_;  // never changed after construction
  std::atomic<bool> has_unknown_{false};
};

using ProfileChoice = Choice<Profile, 5>;
constexpr ProfileChoice::Rows kProfiles{{
    {Profile::kAtlasA2, "atlas-a2"},
    {Profile::kAtlasA3, "atlas-a3"},
    {Profile::kAtlasTraining, "atlas-training"},
    {Profile::kAscend950, "ascend-950"},
    {Profile::kOpen, "open"},
}};
using EditionChoice = Choice<Edition, 2>;
constexpr EditionChoice::Rows kEditions{{{Edition::k8, "8.x"}, {Edition::k9, "9.x"}}};

struct Settings {
  Settings() : strict(base::settings::Strict()), impl(base::settings::Impl()) {
    has_impl = !impl.empty();
  }
  ProfileChoice profile{kProfiles, base::settings::Profile()};
  EditionChoice edition{kEditions, base::settings::Edition()};
  std::atomic<bool> strict;
  std::atomic<bool> has_impl{false};  // spares the lock in the common case
  base::ForkSafe<std::mutex> mutex{base::LockRank::kSettings};
  std::string impl;
};

Settings& Get() {
  static constinit base::Immortal<Settings> settings;
  return settings.Get();
}

}  // namespace

Profile CurrentProfile() { return Get().profile.Get(); }
std::optional<Profile> ProfileFromName(std::string_view name) { return Get().profile.Find(name); }
const char* ProfileName(Profile profile) { return kProfiles[static_cast<size_t>(profile)].name; }
void SetProfile(Profile profile) { Get().profile.Set(profile); }
const char* ProfileChoices() { return "atlas-a2, atlas-a3, atlas-training, ascend-950, open"; }
std::string UnknownProfile() { return Get().profile.Unknown(); }

Edition CurrentEdition() { return Get().edition.Get(); }
std::optional<Edition> EditionFromName(std::string_view name) { return Get().edition.Find(name); }
const char* EditionName(Edition edition) { return kEditions[static_cast<size_t>(edition)].name; }
void SetEdition(Edition edition) { Get().edition.Set(edition); }
const char* EditionChoices() { return "8.x, 9.x"; }
std::string UnknownEdition() { return Get().edition.Unknown(); }

bool FollowsNewestPages() {
  return CurrentEdition() == Edition::k9 || CurrentProfile() == Profile::kAscend950;
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
