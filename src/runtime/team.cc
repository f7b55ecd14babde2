// Hands out the ranges of a team's loops, and lets its threads wait for each other.
#include "runtime/team.h"

#include <sched.h>

#include <utility>

#include "runtime/thread_policy.h"

namespace portacl::runtime {
namespace {

// The team that this thread leads; null inside a loop's body, because loops there run in place.
constinit thread_local Team* led = nullptr;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `word` is no longer `old`. First it spins for as long as the work between two loops
// usually takes. Then it yields the CPU, then it sleeps. If the other thread has lost its CPU to
// another process, the scheduler may let it run on this CPU.
int32_t WaitForOther(const std::atomic<int32_t>& word, int32_t old) {
  constexpr int kSpins = 1000;  // some 20 to 50 us
  constexpr int kYields = 100;
  for (int i = 0;; ++i) {
    const int32_t now = word.load(std::memory_order_acquire);
    if (now != old) return now;
    if (i < kSpins) {
      Pause();
    } else if (i < kSpins + kYields) {
      sched_yield();
    } else {
      word.wait(old, std::memory_order_acquire);
    }
  }
}

uint64_t Word(int32_t loop, uint32_t next) {
  return uint64_t{static_cast<uint32_t>(loop)} << 32 | next;
}

}  // namespace

// Helpers read the loop's members, then take a range by a compare-exchange of a part's word. While
// a word has units left, its loop is not over, and no newer members have been written. Publish()
// first empties the old words, so that no helper combines an old word with new members.
void Team::Publish(const internal::Loop& loop, const LoopParts& cut) {
  const int32_t number = number_.load(std::memory_order_relaxed) + 1;
  for (Part& part : parts_) {
    part.next.store(Word(number, kNoneLeft), std::memory_order_relaxed);
  }
  count_.store(loop.count, std::memory_order_release);
  grain_.store(loop.grain, std::memory_order_release);
  slots_.store(loop.slots, std::memory_order_release);
  function_.store(loop.function, std::memory_order_release);
  context_.store(loop.context, std::memory_order_release);
  open_.store(static_cast<int32_t>(cut.units), std::memory_order_relaxed);
  for (int32_t i = 0; i < cut.parts; ++i) {
    const auto first = static_cast<uint32_t>(cut.BeginOf(i));
    parts_[static_cast<size_t>(i)].next.store(Word(number, first), std::memory_order_release);
  }
  SetNumber(number);
}

void Team::SetNumber(int32_t number) {
  number_.store(number, std::memory_order_release);
  number_.notify_all();
}

// Takes ranges: first of the thread's own part, then of the following parts. If a pool's threads
// keep their numbers (OpenMP), their caches hold data of the previous loop, and of the host's loops
// over the same tensors. Returns how many units this thread has done.
int32_t Team::TakeAll(int32_t number, int32_t index, int32_t slot) {
  const LoopParts cut(count_.load(std::memory_order_acquire),
                      grain_.load(std::memory_order_acquire),
                      slots_.load(std::memory_order_acquire), threads_);
  if (slot >= cut.takers) return 0;
  const auto function = function_.load(std::memory_order_acquire);
  void* const context = context_.load(std::memory_order_acquire);
  int32_t done = 0;
  for (int32_t k = 0; k < cut.parts; ++k) {
    const int32_t part = (index % cut.parts + k) % cut.parts;
    const auto end = static_cast<uint32_t>(cut.BeginOf(part + 1));
    std::atomic<uint64_t>& next = parts_[static_cast<size_t>(part)].next;
    uint64_t word = next.load(std::memory_order_relaxed);
    for (;;) {
      const auto first = static_cast<uint32_t>(word);
      if (word >> 32 != static_cast<uint32_t>(number)) return done;
      if (first >= end) break;
      const uint32_t last = cut.EndOfRange(first, end);
      if (!next.compare_exchange_weak(word, Word(number, last), std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
        continue;
      }
      function(context, slot, first * cut.unit, cut.IndexOf(last));
      done += static_cast<int32_t>(last - first);
      word = next.load(std::memory_order_relaxed);
    }
  }
  return done;
}

void Team::Run(const internal::Loop& loop) {
  const LoopParts cut(loop.count, loop.grain, loop.slots, threads_);
  Publish(loop, cut);
  const int64_t begin = timed_ ? PolicyClock() : 0;
  const auto units = static_cast<int32_t>(cut.units);
  const int32_t mine = TakeAll(number_.load(std::memory_order_relaxed), leader_, 0);
  const int64_t all_taken = timed_ ? PolicyClock() : 0;
  open_.fetch_sub(mine, std::memory_order_acq_rel);
  WaitUntilDone();
  if (!timed_) return;
  const int64_t end = PolicyClock();
  gain_.waited += end - all_taken;
  // If helpers took the whole loop, only its duration is known.
  gain_.saved +=
      mine == 0
          ? end - begin
          : static_cast<int64_t>(static_cast<double>(all_taken - begin) * (units - mine) / mine);
}

void Team::WaitUntilDone() {
  for (int32_t open; (open = open_.load(std::memory_order_acquire)) != 0;) {
    WaitForOther(open_, open);
  }
}

bool Team::RunOnLed(const internal::Loop& loop) {
  Team* const team = std::exchange(led, nullptr);
  if (team == nullptr) return false;
  team->Run(loop);
  led = team;
  return true;
}

void Team::Lead(int32_t index, void (*body)(void*), void* context) {
  leader_ = index;
  if (timed_) begin_ = PolicyClock();
  led = this;
  body(context);
  led = nullptr;
  SetNumber(kClosed);
  if (timed_) end_ = PolicyClock();
}

Gain Team::GainWithin(int64_t begin, int64_t end) const {
  return {gain_.waited + (begin_ - begin) + (end - end_), gain_.saved};
}

void Team::Help(int32_t index) {
  const int32_t slot = come_.fetch_add(1, std::memory_order_relaxed);
  for (int32_t seen = 0; (seen = WaitForOther(number_, seen)) != kClosed;) {
    const int32_t done = TakeAll(seen, index, slot);
    if (done > 0 && open_.fetch_sub(done, std::memory_order_acq_rel) == done) open_.notify_one();
  }
}

}  // namespace portacl::runtime
