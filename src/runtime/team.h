// The threads of one region of a pool. The leader computes a call and publishes its loops; helpers
// take ranges of these loops. A team knows no pool.
#ifndef PORTACL_RUNTIME_TEAM_H_
#define PORTACL_RUNTIME_TEAM_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/parallel.h"

namespace portacl::runtime {

// The time that other threads cost a caller, and the time that they save it: see thread_policy.h.
struct Gain {
  int64_t waited = 0;
  int64_t saved = 0;
};

// How a loop is cut: one part per thread; threads take ranges from parts. Ranges consist of units
// of `unit` indices, so that 32 bits can count units. A loop with slots (0: no slots) is one part:
// all threads take ranges from it in ascending order.
struct LoopParts {
  static constexpr int32_t kMost = 16;
  static constexpr int64_t kMostUnits = int64_t{1} << 30;

  LoopParts(int64_t indices, int64_t grain, int32_t slots, int32_t threads)
      : count(indices),
        unit(std::max(std::max<int64_t>(1, grain), indices / kMostUnits + 1)),
        units((indices - 1) / unit + 1),
        takers(slots > 0 ? std::min(slots, threads) : threads),
        parts(slots > 0 ? 1 : static_cast<int32_t>(std::min<int64_t>({threads, units, kMost}))),
        share(4 * static_cast<uint32_t>((takers + parts - 1) / parts)) {}

  // Returns the first unit of a part. (units * part / parts might overflow.)
  int64_t BeginOf(int32_t part) const {
    return units / parts * part + std::min<int64_t>(part, units % parts);
  }
  int64_t IndexOf(uint32_t the_unit) const { return the_unit == units ? count : the_unit * unit; }

  // Ranges get shorter towards the end of a part, so that a late thread delays no other thread.
  uint32_t EndOfRange(uint32_t first, uint32_t end) const {
    return first + std::max<uint32_t>(1, (end - first) / share);
  }

  int64_t count;
  int64_t unit;
  int64_t units;
  int32_t takers;  // threads that may take ranges
  int32_t parts;
  uint32_t share;  // a range is 1/share of what is left of its part
};

// One thread leads, any number of threads help. They are numbered 0 to threads - 1. Helpers may
// come late, even after the end, or not at all: the leader computes ranges that no helper has
// taken, and waits only for threads that have taken a range. The object must live until all threads
// have returned.
class Team {
 public:
  // `timed`: true if the team's gain is measured.
  Team(int32_t threads, bool timed) : threads_(threads), timed_(timed) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Calls body(context); the helpers take part in its loops.
  void Lead(int32_t index, void (*body)(void*), void* context);

  // Returns when the leader has returned from Lead(); at once if it has returned already.
  void Help(int32_t index);

  // Runs a whole loop on the team that the calling thread leads. Returns false and does nothing if
  // the thread leads no team, or is inside a loop of its team.
  static bool RunOnLed(const internal::Loop& loop);

  // Returns the team's gain for a caller who waited for the team from `begin` to `end`.
  Gain GainWithin(int64_t begin, int64_t end) const;

 private:
  // Loops have numbers 1, 2, ... A part is a word: its upper half is the loop's number, its lower
  // half the first unit that no thread has taken. So a helper that knows only an older loop takes
  // nothing of a newer loop.
  struct alignas(64) Part {  // a cache line
    std::atomic<uint64_t> next{0};
  };
  static constexpr uint32_t kNoneLeft = ~uint32_t{0};
  static constexpr int32_t kClosed = -1;

  void Run(const internal::Loop& loop);
  void Publish(const internal::Loop& loop, const LoopParts& cut);
  int32_t TakeAll(int32_t number, int32_t index, int32_t slot);
  void SetNumber(int32_t number);
  void WaitUntilDone();

  const int32_t threads_;
  const bool timed_;
  int32_t leader_ = 0;
  // Slots are the same in all loops with slots: the leader has slot 0, helpers get the next slots
  // in the order in which they come. So a loop with few slots does not wait for particular threads.
  std::atomic<int32_t> come_{1};
  // The times at which the leader began and ended, and the gain between them.
  int64_t begin_ = 0;
  int64_t end_ = 0;
  Gain gain_;

  // The loop. Helpers may read it while the leader writes the next loop. They use what they read
  // only if they then take a range: see Publish().
  std::atomic<int64_t> count_{1};
  std::atomic<int64_t> grain_{1};
  std::atomic<int32_t> slots_{0};
  std::atomic<decltype(internal::Loop::function)> function_{nullptr};
  std::atomic<void*> context_{nullptr};

  alignas(64) std::atomic<int32_t> number_{0};  // the newest loop's number, or kClosed
  alignas(64) std::atomic<int32_t> open_{0};    // units of the newest loop that are not done
  std::array<Part, LoopParts::kMost> parts_;
};

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_TEAM_H_
