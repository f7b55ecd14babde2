// The team: every index once, whoever comes and whenever; nobody waits for who has taken nothing.
#include "runtime/team.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <latch>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "runtime/thread_policy.h"

namespace portacl::runtime {
namespace {

// Leads `team` as number `index`.
template <class Body>
void Lead(Team& team, int32_t index, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  team.Lead(
      index, [](void* context) { (*static_cast<Plain*>(context))(); }, &body);
}

// Runs a loop on the team that this thread leads.
template <class Body>
bool Loop(int64_t count, int64_t grain, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  return Team::RunOnLed({count, grain, 0,
                         [](void* context, int /*slot*/, int64_t begin, int64_t end) {
                           (*static_cast<Plain*>(context))(begin, end);
                         },
                         &body});
}

// The same with slots.
template <class Body>
void SlotLoop(int64_t count, int slots, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  Team::RunOnLed({count, 1, slots,
                  [](void* context, int slot, int64_t begin, int64_t end) {
                    (*static_cast<Plain*>(context))(slot, begin, end);
                  },
                  &body});
}

TEST(Team, TheLeaderAloneRunsEverything) {
  Team team(8, false);
  Lead(team, 5, [] {
    for (const int64_t count : {1, 2, 16, 17, 1000}) {
      for (const int64_t grain : {1, 3, 5000}) {
        std::vector<int> hits(static_cast<size_t>(count));
        EXPECT_TRUE(Loop(count, grain, [&](int64_t begin, int64_t end) {
          EXPECT_TRUE(end - begin >= grain || end == count) << begin << " " << end;
          for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
        }));
        EXPECT_EQ(hits, std::vector<int>(static_cast<size_t>(count), 1));
      }
    }
  });
  team.Help(3);  // far too late: returns
}

TEST(Team, LoopsOfOthersAndOfBodiesAreNotItsOwn) {
  auto nothing = [](int64_t, int64_t) { ADD_FAILURE(); };
  EXPECT_FALSE(Loop(10, 1, nothing));
  Team team(2, false);
  Lead(team, 0, [&] {
    EXPECT_TRUE(Loop(10, 1, [&](int64_t, int64_t) { EXPECT_FALSE(Loop(10, 1, nothing)); }));
  });
  EXPECT_FALSE(Loop(10, 1, nothing));
}

TEST(Team, RangesOfHugeLoopsDoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Team team(3, false);
  int64_t covered = 0;
  Lead(team, 2, [&] {
    Loop(kMost, 1, [&](int64_t begin, int64_t end) {
      EXPECT_LT(begin, end);
      covered += end - begin;
    });
  });
  EXPECT_EQ(covered, kMost);
}

// The loops write plain data, not atomics. So the thread sanitizer notices if a body runs before
// its loop's start or after its end.
TEST(Team, HelpersThatComeAndGoRunEveryIndexOnce) {
  constexpr int kHelpers = 3;
  constexpr int64_t kCount = 500;
  for (int round = 0; round < 20; ++round) {
    Team team(kHelpers + 1, true);
    std::vector<std::thread> helpers;
    for (int i = 1; i <= kHelpers; ++i) {
      helpers.emplace_back([&team, i, round] {
        for (int k = 0; k < i * round; ++k) std::this_thread::yield();  // late, later, latest
        team.Help(i);
      });
    }
    std::vector<int> hits(kCount);
    int want = 0;
    Lead(team, 0, [&] {
      int serial = 0;
      for (int loop = 1; loop <= 40; ++loop) {
        const int64_t count = loop % 7 == 0 ? 3 : kCount;
        Loop(count, loop % 3, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) hits[static_cast<size_t>(i)] += serial + 1;
        });
        if (count == kCount) want += loop;
        ++serial;  // read by the bodies of the next loop
      }
    });
    for (std::thread& helper : helpers) helper.join();
    EXPECT_EQ(hits[100], want);
    EXPECT_EQ(hits.back(), want);
    EXPECT_EQ(hits[2], 40 * 41 / 2);
    const Gain gain = team.GainWithin(0, 0);
    EXPECT_GE(gain.saved, 0);
  }
}

// The helper does not come before the test lets it.
TEST(Team, TheLeaderDoesNotWaitForWhoHasTakenNothing) {
  Team team(2, false);
  std::latch over(1);
  std::thread helper([&] {
    over.wait();
    team.Help(1);
  });
  int64_t sum = 0;
  Lead(team, 0, [&] {
    for (int i = 0; i < 5; ++i) {
      Loop(100, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    }
  });
  EXPECT_EQ(sum, 500);
  over.count_down();
  helper.join();
}

TEST(Team, TheLeaderWaitsForWhoHasTakenSomething) {
  Team team(2, false);
  std::thread helper([&] { team.Help(1); });
  int plain[2] = {};
  Lead(team, 0, [&] {
    std::latch both(2);
    Loop(2, 1, [&](int64_t begin, int64_t end) {
      both.arrive_and_wait();  // one range each
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (int64_t i = begin; i < end; ++i) plain[i] = 1;
    });
    EXPECT_EQ(plain[0] + plain[1], 2);
  });
  helper.join();
}

// Number 7 of 8 leads, number 5 alone helps: both have one of the two slots in every loop.
TEST(Team, SlotsBelongToWhoeverComes) {
  Team team(8, false);
  const auto leader = std::this_thread::get_id();
  std::thread helper([&] { team.Help(5); });
  Lead(team, 7, [&] {
    for (int loop = 0; loop < 10; ++loop) {
      std::latch both(2);
      SlotLoop(2, 2, [&](int slot, int64_t, int64_t) {
        EXPECT_EQ(slot, std::this_thread::get_id() == leader ? 0 : 1);
        both.arrive_and_wait();
      });
    }
  });
  helper.join();
}

// The third thread to come has nothing to do in a loop of two slots, and something in the next.
TEST(Team, LoopsWithFewSlotsUseFewThreads) {
  Team team(3, false);
  std::vector<std::thread> helpers;
  for (int i = 1; i < 3; ++i) helpers.emplace_back([&team, i] { team.Help(i); });
  Lead(team, 0, [&] {
    std::latch all(3);
    Loop(3, 1, [&](int64_t, int64_t) { all.arrive_and_wait(); });  // all are there
    std::vector<int> hits(1000);
    int64_t next = 0;
    SlotLoop(1000, 1, [&](int slot, int64_t begin, int64_t end) {
      EXPECT_EQ(slot, 0);
      EXPECT_EQ(begin, next) << "ascending";
      next = end;
      for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
    });
    EXPECT_EQ(hits, std::vector<int>(1000, 1));
    std::latch three(3);
    SlotLoop(3, 8, [&](int slot, int64_t, int64_t) {
      EXPECT_LT(slot, 3);
      three.arrive_and_wait();
    });
  });
  for (std::thread& helper : helpers) helper.join();
}

// However many threads there are, the first one's range is no larger than its fair share.
TEST(Team, RangesAreFairForAnyNumberOfThreads) {
  for (const int32_t threads : {1, 2, 15, 16, 17, 64, 100, 1024}) {
    for (const int32_t slots : {0, 1, 7, 200}) {
      constexpr int64_t kUnits = 1 << 20;
      const LoopParts cut(kUnits * 3, 3, slots, threads);
      EXPECT_EQ(cut.takers, slots == 0 ? threads : std::min(slots, threads));
      const auto end = static_cast<uint32_t>(cut.BeginOf(1));
      const int64_t first = cut.EndOfRange(0, end);
      EXPECT_GE(first, 1);
      EXPECT_LE(first * cut.takers, kUnits / 2) << threads << " " << slots;
      EXPECT_EQ(cut.BeginOf(cut.parts), kUnits);
    }
  }
}

// Waits until the thread sleeps.
void AwaitSleepOf(const std::atomic<pid_t>& thread) {
  char state = 0;  // of /proc/PID/task/TID/stat: its number, its name, its state
  while (state != 'S') {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (thread == 0) continue;
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string number, name;
    ASSERT_TRUE(file >> number >> name >> state);
  }
}

// Before a loop, and at the end.
TEST(Team, SleepingHelpersWake) {
  Team team(2, false);
  std::atomic<pid_t> id = 0;
  std::thread helper([&] {
    id = gettid();
    team.Help(1);
  });
  Lead(team, 0, [&] {
    AwaitSleepOf(id);
    std::latch both(2);
    Loop(2, 1, [&](int64_t, int64_t) { both.arrive_and_wait(); });
    AwaitSleepOf(id);
  });
  helper.join();
}

// The clock is the test's: it passes in the bodies alone.
TEST(Team, WhatOthersHaveTakenIsSavedAtTheLeadersSpeed) {
  static thread_local int64_t now = 0;
  SetPolicyClock([] { return now; });
  Team team(2, true);
  std::thread helper([&] { team.Help(1); });
  Lead(team, 0, [&] {
    std::latch both(2);
    Loop(2, 1, [&](int64_t, int64_t) {
      both.arrive_and_wait();
      now += 1000;
    });
  });
  helper.join();
  SetPolicyClock(nullptr);
  const Gain gain = team.GainWithin(-30, 1500);
  EXPECT_EQ(gain.saved, 1000);
  EXPECT_EQ(gain.waited, 30 + 500) << "before it began, and after its end";
}

}  // namespace
}  // namespace portacl::runtime
