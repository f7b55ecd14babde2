// Reads the affinity mask and the files of control groups. Keeps the kinds of calls, and what
// sharing costs each kind.
#include "runtime/thread_policy.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "base/settings.h"

namespace portacl::runtime {
namespace {

// ---- the CPUs of the process --------------------------------------------------------------------

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

// Reads the beginning of a file. False if the file does not exist or is empty.
class SmallFile {
 public:
  bool Read(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t size = 0;
    while (size + 1 < bytes_.size()) {
      const ssize_t count = read(file, bytes_.data() + size, bytes_.size() - 1 - size);
      if (count <= 0) break;
      size += static_cast<size_t>(count);
    }
    close(file);
    bytes_[size] = '\0';
    return size > 0;
  }
  const char* text() const { return bytes_.data(); }

 private:
  std::array<char, 4096> bytes_;
};

using Path = std::array<char, 2048>;

// The location of a group's files: the mount point of the hierarchy, and the group's path.
struct Group {
  const char* root;
  const char* mount;
  std::string_view path;

  bool Read(const char* name, SmallFile* file) const {
    Path full;
    const int size = std::snprintf(full.data(), full.size(), "%s/sys/fs/cgroup/%s%.*s/%s", root,
                                   mount, static_cast<int>(path.size()), path.data(), name);
    return size > 0 && static_cast<size_t>(size) < full.size() && file->Read(full.data());
  }
};

double Ratio(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : kNoQuota;  // -1 and "max" mean no quota
}

// Reads cpu.max: "150000 100000", or "max 100000".
double QuotaOfVersion2(const Group& group) {
  SmallFile file;
  if (!group.Read("cpu.max", &file)) return kNoQuota;
  char* behind = nullptr;
  const double quota = std::strtod(file.text(), &behind);
  return Ratio(quota, std::strtod(behind, nullptr));
}

double QuotaOfVersion1(const Group& group) {
  SmallFile quota;
  SmallFile period;
  if (!group.Read("cpu.cfs_quota_us", &quota) || !group.Read("cpu.cfs_period_us", &period)) {
    return kNoQuota;
  }
  return Ratio(std::strtod(quota.text(), nullptr), std::strtod(period.text(), nullptr));
}

// Returns the smallest quota of a group and all groups above it. In a container, the path may be
// the host's path, which does not exist there. Then the mount point has the container's quota.
template <class QuotaOf>
double SmallestUpwards(Group group, const QuotaOf& quota_of) {
  double smallest = kNoQuota;
  for (;;) {
    while (!group.path.empty() && group.path.back() == '/') group.path.remove_suffix(1);
    smallest = std::min(smallest, quota_of(group));
    if (group.path.empty()) return smallest;
    group.path = group.path.substr(0, group.path.rfind('/') + 1);
    if (group.path.empty()) return smallest;  // a group's path begins with a slash
  }
}

bool HasController(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == wanted) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

// Reads a line of /proc/self/cgroup: "0::/user.slice", or "4:cpu,cpuacct:/user.slice".
double QuotaOfLine(const char* root, std::string_view line) {
  const size_t first = line.find(':');
  const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return kNoQuota;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const std::string_view path = line.substr(second + 1);
  double smallest = kNoQuota;
  if (controllers.empty()) {
    for (const char* mount : {"", "unified"}) {
      smallest = std::min(smallest, SmallestUpwards({root, mount, path}, QuotaOfVersion2));
    }
  } else if (HasController(controllers, "cpu")) {
    for (const char* mount : {"cpu", "cpu,cpuacct"}) {
      smallest = std::min(smallest, SmallestUpwards({root, mount, path}, QuotaOfVersion1));
    }
  }
  return smallest;
}

}  // namespace

double CpuQuota(const char* root) {
  Path path;
  std::snprintf(path.data(), path.size(), "%s/proc/self/cgroup", root);
  SmallFile groups;
  if (!groups.Read(path.data())) return 0;
  double smallest = kNoQuota;
  for (std::string_view rest = groups.text(); !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    smallest = std::min(smallest, QuotaOfLine(root, rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return smallest == kNoQuota ? 0 : smallest;
}

int WholeCpus(double quota) { return static_cast<int>(std::clamp(quota + 0.5, 1.0, 1e6)); }

int UsableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // If the system has more CPUs than the set can hold, takes all CPUs.
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  const int cpus =
      std::max(1, known ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  const double quota = CpuQuota();
  return quota > 0 ? std::min(cpus, WholeCpus(quota)) : cpus;
}

// ---- calls on a busy machine --------------------------------------------------------------------

namespace {

constexpr size_t kKinds = 256;  // 16 KiB

// Constants with trivial destructors: loops may run before and after static objects live.
constinit std::array<CallKind, kKinds> kinds;
constinit std::atomic<int64_t> shared_calls{0};
constinit std::atomic<int64_t> alone_calls{0};
constinit std::atomic<int64_t> lost_calls{0};

enum class Switch { kUnread, kOff, kOn };
constinit std::atomic<Switch> adapts{Switch::kUnread};

int64_t SteadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
constinit std::atomic<int64_t (*)()> test_clock{nullptr};

void Count(std::atomic<int64_t>& calls) { calls.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

void CallKind::RanAlone(int64_t nanoseconds) {
  Count(alone_calls);
  rest_.store(rest_.load(std::memory_order_relaxed) - std::max<int64_t>(1, nanoseconds),
              std::memory_order_relaxed);
}

int64_t CallKind::Shared(int64_t waited, int64_t saved) {
  Count(shared_calls);
  const int64_t loss = std::clamp(waited - saved, -kMostLoss, kMostLoss);
  const int64_t debt = debt_.load(std::memory_order_relaxed);
  if (loss <= 0) {
    if (debt > 0) debt_.store(std::max<int64_t>(0, debt + loss), std::memory_order_relaxed);
    return 0;
  }
  Count(lost_calls);
  const bool again = 2 * debt > loss;
  debt_.store(again ? loss : debt + loss, std::memory_order_relaxed);
  if (!again) return 0;
  rest_.store(kPatience * loss, std::memory_order_relaxed);
  return kPatience * loss;
}

void CallKind::Become(uint64_t key) {
  loops_.store(0, std::memory_order_relaxed);
  debt_.store(0, std::memory_order_relaxed);
  rest_.store(0, std::memory_order_relaxed);
  key_.store(key, std::memory_order_relaxed);
}

CallKind& KindOf(uint64_t key) {
  key |= 1;
  CallKind& kind = kinds[(key * 0x9E3779B97F4A7C15) >> 56];
  if (kind.key_.load(std::memory_order_relaxed) != key) kind.Become(key);
  return kind;
}

void ForgetKinds() {
  for (CallKind& kind : kinds) kind.Become(0);
}

bool AdaptsThreads() {
  Switch now = adapts.load(std::memory_order_relaxed);
  if (now == Switch::kUnread) {
    now = base::settings::AdaptThreads(1) == 0 ? Switch::kOff : Switch::kOn;
    adapts.store(now, std::memory_order_relaxed);
  }
  return now == Switch::kOn;
}

SharingCounts CountsOfSharing() {
  return {shared_calls.load(std::memory_order_relaxed), alone_calls.load(std::memory_order_relaxed),
          lost_calls.load(std::memory_order_relaxed)};
}

int64_t PolicyClock() {
  const auto clock = test_clock.load(std::memory_order_relaxed);
  return clock != nullptr ? clock() : SteadyNanoseconds();
}

void SetPolicyClock(int64_t (*clock)()) { test_clock.store(clock, std::memory_order_relaxed); }

}  // namespace portacl::runtime
