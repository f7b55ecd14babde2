// Counts the live objects of each kind.
#include "runtime/leaks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork.h"
#include "base/log.h"
#include "runtime/context.h"
#include "runtime/event.h"
#include "runtime/guard.h"
#include "runtime/memory.h"
#include "runtime/virtual_memory.h"

namespace portacl::runtime {
namespace {

struct Counter {
  const char* name;
  LeakCount (*live)();
};

LeakCount ToCount(const MemoryUse& use) { return {use.count, use.bytes}; }

struct Counters {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kLeaks};
  std::vector<Counter> all{
      {"device allocations", [] { return ToCount(LeakedDeviceMemory()); }},
      {"host allocations", [] { return ToCount(LeakedHostMemory()); }},
      {"pieces of physical memory", [] { return ToCount(LeakedPhysicalMemory()); }},
      {"reserved address ranges", [] { return ToCount(LeakedAddressRanges()); }},
      {"streams",
       [] {
         return LeakCount{CountUserStreams(), 0};
       }},
      {"events",
       [] {
         return LeakCount{CountEvents(), 0};
       }},
      {"contexts",
       [] {
         return LeakCount{CountUserContexts(), 0};
       }},
  };
};

Counters& TheCounters() {
  static constinit base::Immortal<Counters> counters;
  return counters.Get();
}

// Returns the singular: "piece of physical memory" for "pieces of physical memory".
std::string OfOne(std::string_view plural) {
  const std::string_view counted = plural.substr(0, plural.find(" of "));
  return fmt::format("{}{}", counted.substr(0, counted.size() - 1), plural.substr(counted.size()));
}

}  // namespace

void RegisterLeakCounter(const char* name, LeakCount (*live)()) {
  Counters& counters = TheCounters();
  const std::lock_guard lock(counters.mutex);
  for (const Counter& counter : counters.all) {
    if (std::strcmp(counter.name, name) == 0) return;
  }
  counters.all.push_back({name, live});
}

std::string DescribeLeaks() {
  Counters& counters = TheCounters();
  const std::lock_guard lock(counters.mutex);
  std::string text;
  for (const Counter& counter : counters.all) {
    const LeakCount leak = counter.live();
    if (leak.count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", leak.count,
                        leak.count == 1 ? OfOne(counter.name) : counter.name);
    if (leak.bytes > 0) text += fmt::format(" ({} byte{})", leak.bytes, leak.bytes == 1 ? "" : "s");
  }
  return text;
}

namespace {

constinit std::atomic<pid_t> watched{0};  // the process that reports at its end; 0: none

void Report(const char* when) {
  const std::string leaks = DescribeLeaks();
  if (leaks.empty()) return;
  const std::string message = fmt::format("not destroyed at {}: {}", when, leaks);
  if (GuardEnabled()) {
    NoteMisuse();
    const std::string text =
        fmt::format("portacl guard: {}\n{}", message, DescribeLiveAllocations());
    std::fputs(text.c_str(), stderr);  // not fmt::print(), which throws if stderr is closed
  } else {
    base::Log(base::LogLevel::kWarn, message);
  }
}

// Runs after the destructors of the program's static objects, because they may free memory. A child
// of fork() that has not used the library has nothing to report.
[[gnu::destructor]] void AtTheEnd() {
  if (watched == getpid()) Report("the end of the process, which did not call aclFinalize");
  if (!MisuseWasNoted() || !GuardWantsExit()) return;
  std::fflush(nullptr);
  _exit(kGuardExitStatus);
}

}  // namespace

void ReportLeaks() {
  watched = 0;
  Report("aclFinalize");
}

void ReportLeaksAtExit() { watched = getpid(); }

}  // namespace portacl::runtime
