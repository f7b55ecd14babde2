// Records the streams' clocks and the memory that pending work uses; makes the reports.
#include "runtime/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/fork.h"
#include "base/settings.h"
#include "runtime/guard.h"
#include "runtime/guard_lines.h"
#include "runtime/guard_pending.h"
#include "runtime/guard_stack.h"
#include "runtime/observers.h"

namespace portacl::runtime {
namespace {

constexpr int kOwnFrames = 3;  // this library's frames at the top of each launch's stack
constexpr size_t kMostReports = 100;

using Clock = std::map<uint64_t, uint64_t>;

// A call that put work on a stream or did the work itself.
struct Origin {
  std::string name;
  int32_t stream_id = 0;
  uint64_t stream = 0;  // 0: the host did the work
  uint64_t index = 0;   // position among the stream's work
  bool unseen = false;  // the stream waited for a number that no stream had written
  GuardStack stack;

  std::string Words() const {
    return stream == 0 ? name + " of the host" : fmt::format("{} on stream {}", name, stream_id);
  }
};

// Memory used by work that, as far as the host knows, is not over.
struct Use {
  MemoryAccess access;
  std::shared_ptr<const Origin> launch;
  std::unique_ptr<PendingHostMemory> pending;  // null if nothing is kept from the host
};

struct Table {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kTrace};
  std::map<uint64_t, Clock> streams;
  Clock host;
  std::map<const void*, Clock> signals;              // number's address -> its writers' clock
  std::map<const void*, std::set<uint64_t>> unseen;  // number's address -> waiting streams
  std::vector<Use> uses;
  std::set<std::string> reported;  // keys of findings
};

Table& TheTable() {
  static constinit base::Immortal<Table> table;
  return table.Get();
}

void Join(Clock& clock, const Clock& other) {
  for (const auto& [stream, index] : other) {
    uint64_t& own = clock[stream];
    own = std::max(own, index);
  }
}

bool Knows(const Clock& clock, const Origin& launch) {
  const auto found = clock.find(launch.stream);
  return found != clock.end() && found->second >= launch.index;
}

bool Overlap(const MemoryAccess& a, const MemoryAccess& b) {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

bool Holds(const MemoryAccess& a, uintptr_t byte) {
  return a.begin <= byte && byte - a.begin < a.bytes;
}

// Returns true if both accesses certainly touch a common byte. A strided access certainly touches
// its first and last byte.
bool Meet(const MemoryAccess& a, const MemoryAccess& b) {
  if (!Overlap(a, b)) return false;
  const auto touches = [](const MemoryAccess& one, uintptr_t byte) {
    return one.dense ? Holds(one, byte) : byte == one.begin || byte == one.begin + one.bytes - 1;
  };
  return touches(a, b.begin) || touches(a, b.begin + b.bytes - 1) || touches(b, a.begin) ||
         touches(b, a.begin + a.bytes - 1);
}

bool Covers(const MemoryAccess& a, const MemoryAccess& b) {
  return a.dense && a.begin <= b.begin && b.begin + b.bytes <= a.begin + a.bytes;
}

// A finding. It is reported without the lock, because naming frames takes the loader's lock.
struct Finding {
  std::shared_ptr<const Origin> now, before;
  MemoryAccess access, other;

  std::string Key() const {
    std::string key = now->Words() + access.name + "|" + before->Words() + other.name;
    for (const GuardStack* const stack : {&now->stack, &before->stack}) {
      for (int i = 0; i < stack->count; ++i) {
        key += fmt::format(" {}", stack->frames[static_cast<size_t>(i)]);
      }
    }
    return key;
  }

  std::string Text() const {
    const auto does = [](const MemoryAccess& memory) { return memory.write ? "writes" : "reads"; };
    return fmt::format(
        "portacl order: {} {} {}, which {} {} as {}, and nothing orders the two\n"
        "  Before the {}, synchronise with the stream of the {}, or let an event order both.\n"
        "  {}, called at:\n{}  {}, called at:\n{}",
        now->Words(), does(access), access.name, before->Words(), does(other), other.name,
        now->Words(), before->Words(), now->Words(), DescribeStack(now->stack), before->Words(),
        DescribeStack(before->stack));
  }
};

// Finds uses by other streams that are not over before `launch`, according to its clock. The caller
// holds the lock.
void Check(Table& table, const std::shared_ptr<const Origin>& launch, const Clock& clock,
           const std::vector<MemoryAccess>& accesses, std::vector<Finding>& findings) {
  for (const MemoryAccess& access : accesses) {
    for (const Use& use : table.uses) {
      if (!access.write && !use.access.write) continue;
      if (use.launch->stream == launch->stream || !Meet(access, use.access)) continue;
      if (use.launch->unseen || Knows(clock, *use.launch)) continue;
      Finding finding{launch, use.launch, access, use.access};
      if (table.reported.size() < kMostReports && table.reported.insert(finding.Key()).second) {
        findings.push_back(std::move(finding));
      }
    }
  }
}

void Report(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    std::fputs(finding.Text().c_str(), stderr);
    NoteMisuse();
  }
}

// Enters the uses of a launch. Removes older uses that later calls need not be checked against:
// uses that are over before the launch and that it overwrites, and its stream's older reads of the
// same memory.
void Enter(Table& table, const std::shared_ptr<const Origin>& launch, const Clock& clock,
           const std::vector<MemoryAccess>& accesses,
           std::vector<std::unique_ptr<PendingHostMemory>> pending) {
  for (size_t i = 0; i < accesses.size(); ++i) {
    const MemoryAccess& access = accesses[i];
    std::erase_if(table.uses, [&](const Use& use) {
      if (use.launch == launch || !Covers(access, use.access)) return false;
      const bool before = use.launch->stream == launch->stream || Knows(clock, *use.launch);
      return before &&
             (access.write || (!use.access.write && use.launch->stream == launch->stream));
    });
    PendingHostMemory* const host = pending[i].get();
    table.uses.push_back({access, launch, std::move(pending[i])});
    if (host != nullptr) host->Hold();
  }
}

// Fills memory that work is about to write with NaN, so that early readers see NaN. Leaves memory
// that unfinished work may still use. The caller holds the lock.
void Poison(const Table& table, const std::vector<MemoryAccess>& accesses) {
  if (!GuardEnabled()) return;
  for (const MemoryAccess& access : accesses) {
    const auto wants = [&](const MemoryAccess& other) {
      return &other != &access && Overlap(access, other);
    };
    const bool wanted = std::any_of(table.uses.begin(), table.uses.end(),
                                    [&](const Use& use) { return wants(use.access); }) ||
                        std::any_of(accesses.begin(), accesses.end(), wants);
    if (access.write && access.dense && !wanted) {
      std::memset(reinterpret_cast<void*>(access.begin), 0xFF, access.bytes);
    }
  }
}

std::shared_ptr<Origin> MakeOrigin(const char* name) {
  auto launch = std::make_shared<Origin>();
  launch->name = name;
  launch->stack = CaptureStack(kOwnFrames);
  return launch;
}

bool WaitsForUnseen(const Table& table, uint64_t stream) {
  return std::any_of(table.unseen.begin(), table.unseen.end(),
                     [&](const auto& entry) { return entry.second.contains(stream); });
}

}  // namespace

bool internal::FindLazyMode() {
  static constinit base::Once<bool> lazy;
  // Not under the creation lock, because it takes the loader's lock: see GuardEnabled().
  if (!lazy.IsFound() && base::settings::Lazy()) FindLineReader();
  return lazy.Get([] { return base::settings::Lazy(); });
}

void NoteLaunch(Stream& stream, const Work& work) {
  if (stream.recorder() != nullptr) return;  // captured work does not run now; replays come here
  const std::shared_ptr<Origin> launch = MakeOrigin(work.name);
  launch->stream = stream.number();
  launch->stream_id = stream.id();
  auto pending = PendingHostMemoryOf(work, stream.id());
  std::vector<Finding> findings;
  {
    Table& table = TheTable();
    const std::lock_guard lock(table.mutex);
    Clock& clock = table.streams[stream.number()];
    Join(clock, table.host);
    launch->index = ++clock[stream.number()];
    launch->unseen = WaitsForUnseen(table, stream.number());
    if (!launch->unseen) Check(table, launch, clock, work.accesses, findings);
    Poison(table, work.accesses);
    Enter(table, launch, clock, work.accesses, std::move(pending));
  }
  Report(findings);
}

SharedClock ClockOf(const Stream& stream) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  Clock& clock = table.streams[stream.number()];
  Join(clock, table.host);
  return std::make_shared<OrderClock>(OrderClock{clock});
}

void NoteWait(const Stream& stream, const SharedClock& clock) {
  if (clock == nullptr) return;
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  Join(table.streams[stream.number()], clock->over);
}

void NoteSynchronized(const SharedClock& clock) {
  if (clock == nullptr) return;
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  Join(table.host, clock->over);
  std::erase_if(table.uses, [&](const Use& use) { return Knows(table.host, *use.launch); });
}

void NoteSignal(const Stream& stream, const void* number) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  Clock& clock = table.signals[number];
  Join(clock, table.host);
  Join(clock, table.streams[stream.number()]);
  const auto unseen = table.unseen.extract(number);
  if (unseen.empty()) return;
  for (const uint64_t waiting : unseen.mapped()) Join(table.streams[waiting], clock);
}

void NoteWaitForNumber(const Stream& stream, const void* number) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  const auto found = table.signals.find(number);
  if (found != table.signals.end()) {
    Join(table.streams[stream.number()], found->second);
  } else {
    table.unseen[number].insert(stream.number());
  }
}

void NoteClosed(const Stream& stream) noexcept try {
  NoteSynchronized(ClockOf(stream));
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  // No remaining use needs the clocks of this stream.
  table.streams.erase(stream.number());
  table.host.erase(stream.number());
  for (auto& [number, clock] : table.streams) clock.erase(stream.number());
  for (auto& [number, waiting] : table.unseen) waiting.erase(stream.number());
} catch (...) {  // out of memory: some orders stay unknown, and the stream still ends
}

void NoteHostAccess(const char* what, const std::vector<MemoryAccess>& accesses) {
  const std::shared_ptr<const Origin> launch = MakeOrigin(what);
  std::vector<Finding> findings;
  {
    Table& table = TheTable();
    const std::lock_guard lock(table.mutex);
    Check(table, launch, table.host, accesses, findings);
  }
  Report(findings);
  LetGoForHost(accesses);
}

void NoteFree(const void* begin, size_t bytes) {
  MemoryAccess access{"memory", reinterpret_cast<uintptr_t>(begin), bytes, /*write=*/true};
  NoteHostAccess("a free", {access});
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  std::erase_if(table.uses, [&](const Use& use) { return Overlap(access, use.access); });
  const auto inside = [&](const auto& entry) {
    return Holds(access, reinterpret_cast<uintptr_t>(entry.first));
  };
  std::erase_if(table.signals, inside);
  std::erase_if(table.unseen, inside);
}

}  // namespace portacl::runtime
