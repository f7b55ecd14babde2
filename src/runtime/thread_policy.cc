// Keeps the kinds of calls, and what sharing costs each kind.
#include "runtime/thread_policy.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/settings.h"

namespace portacl::runtime {
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
