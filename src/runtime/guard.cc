// Guard mode: mappings, canaries beside the data, and the quarantine of freed ranges.
#include "runtime/guard.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>

#include "base/fork.h"
#include "base/round_up.h"
#include "base/settings.h"
#include "runtime/guard_fault.h"
#include "runtime/guard_lines.h"
#include "runtime/guard_stack.h"
#include "runtime/guard_table.h"

namespace portacl::runtime {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMaxQuarantine = 4096;                    // freed ranges
constexpr size_t kMaxQuarantineBytes = size_t{256} << 30;  // addresses, not memory
constexpr int kPattern = 0xFF;
constexpr int kOwnFrames = 3;  // this library's frames at the top of each allocation's stack

size_t PageSize() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));  // needs no system call
}

// ---- Allocation ---------------------------------------------------------------------------------

uintptr_t Reserve(size_t bytes) {
  void* const range =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return range == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(range);
}

void UnmapRanges(const GuardRegion& region) {
  munmap(reinterpret_cast<void*>(region.user), region.bytes);
  if (region.kernel != 0) munmap(reinterpret_cast<void*>(region.kernel), region.bytes);
}

// ---- Canaries: fill the data's pages beside the data, where an access does not fault. -----------

// The canary of an address. It differs from byte to byte, so equal bytes do not look like canaries.
uint8_t CanaryAt(uintptr_t address) { return static_cast<uint8_t>(0xA5 ^ (address * 37)); }

void FillCanaries(uintptr_t begin, uintptr_t end) {
  for (uintptr_t at = begin; at < end; ++at) *reinterpret_cast<uint8_t*>(at) = CanaryAt(at);
}

// Returns the first address in [begin, end) that was overwritten; `end` if there is none.
uintptr_t FindWritten(uintptr_t begin, uintptr_t end) {
  uintptr_t at = begin;
  while (at < end && *reinterpret_cast<const uint8_t*>(at) == CanaryAt(at)) ++at;
  return at;
}

// Returns an address beside the data of `region` that was overwritten; 0 if there is none.
uintptr_t FindOverrun(const GuardRegion& region) {
  const uintptr_t range = region.kernel != 0 ? region.kernel : region.user;
  const uintptr_t data = range + region.offset;
  const uintptr_t pages_end = range + region.bytes - PageSize();
  const uintptr_t behind = FindWritten(data + region.size, pages_end);
  if (behind != pages_end) return behind;
  const uintptr_t before = FindWritten(range + PageSize(), data);
  return before == data ? 0 : before;
}

// Reports and ends the process. Called without the table's lock, because naming frames takes the
// loader's lock: a constructor of a loading library may hold it and wait for the table's lock.
[[noreturn]] void StopForOverrun(const GuardRegion& region, uintptr_t written) {
  const uintptr_t data = (region.kernel != 0 ? region.kernel : region.user) + region.offset;
  PrintLine("portacl guard: byte {} of an allocation of {} bytes of {} memory was written",
            static_cast<int64_t>(written - data), region.size,
            region.kernel != 0 ? "device" : "pinned host");
  PrintLine("  This is outside the allocation, and was found when it was freed.");
  PrintStacks(region);
  std::abort();
}

// Unmaps the oldest freed ranges while there are too many. The caller holds the lock.
void ShrinkQuarantine(GuardTable& table) {
  while (table.quarantine > kMaxQuarantine || table.quarantine_bytes > kMaxQuarantineBytes) {
    const auto oldest = table.regions.find(table.oldest_freed);
    const GuardRegion& region = oldest->second;
    table.oldest_freed = region.freed_next;
    if (table.oldest_freed == 0) table.newest_freed = 0;
    --table.quarantine;
    table.quarantine_bytes -= region.bytes;
    UnmapRanges(region);
    if (region.kernel != 0) table.users.erase(region.kernel);
    table.regions.erase(oldest);
  }
}

}  // namespace

bool GuardEnabled() {
  static constinit base::Once<bool> enabled;
  // The first stack of a process takes the loader's lock. So it is taken here, not in a signal
  // handler and not under the creation lock: constructors of loading libraries may wait for the
  // creation lock while they hold the loader's lock.
  if (!enabled.IsFound() && *base::settings::GuardText() != '\0') {
    static_cast<void>(CaptureStack(kOwnFrames));
    FindLineReader();
  }
  return enabled.Get([] {
    const bool wanted = base::settings::Guard();
    if (wanted) InstallFaultHandler();
    return wanted;
  });
}

bool GuardWantsExit() { return std::string_view(base::settings::GuardText()) == "exit"; }

namespace {
constinit std::atomic<bool> misuse_noted{false};
}  // namespace

void NoteMisuse() { misuse_noted = true; }
bool MisuseWasNoted() { return misuse_noted; }

GuardedMemory GuardAllocate(size_t size, bool host) {
  if (size > SIZE_MAX / 4) return {};
  const size_t page = PageSize();
  const size_t data_bytes = base::RoundUp(size, page);
  GuardRegion region;
  region.bytes = data_bytes + 2 * page;
  region.offset = page + data_bytes - base::RoundUp(size, kAlignment);
  region.size = size;
  region.allocated = CaptureStack(kOwnFrames);
  region.user = Reserve(region.bytes);
  if (region.user == 0) return {};
  if (!host) region.kernel = Reserve(region.bytes);
  const uintptr_t range = host ? region.user : region.kernel;
  if (range == 0 ||
      mprotect(reinterpret_cast<void*>(range + page), data_bytes, PROT_READ | PROT_WRITE) != 0) {
    UnmapRanges(region);
    return {};
  }
  FillCanaries(range + page, range + region.offset);
  std::memset(reinterpret_cast<void*>(range + region.offset), kPattern, size);
  FillCanaries(range + region.offset + size, range + page + data_bytes);
  try {
    EnterRegion(region);
  } catch (...) {
    UnmapRanges(region);
    throw;
  }
  return {reinterpret_cast<void*>(region.user + region.offset),
          reinterpret_cast<void*>(range + region.offset)};
}

void GuardFree(void* user, bool by_reset) {
  const GuardStack released = CaptureStack(kOwnFrames);
  GuardTable& table = TheGuardTable();
  std::unique_lock lock(table.mutex);
  const auto next = table.regions.upper_bound(reinterpret_cast<uintptr_t>(user));
  GuardRegion& region = std::prev(next)->second;
  region.freed = true;
  region.leaked = by_reset;
  region.released = released;
  if (const uintptr_t written = FindOverrun(region); written != 0) {
    const GuardRegion stopped = region;
    lock.unlock();
    StopForOverrun(stopped, written);
  }
  const uintptr_t range = region.kernel != 0 ? region.kernel : region.user;
  // Keeps the addresses, but gives the memory back. If this fails, the memory stays.
  static_cast<void>(mmap(reinterpret_cast<void*>(range), region.bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
  if (table.newest_freed == 0) {
    table.oldest_freed = region.user;
  } else {
    table.regions.at(table.newest_freed).freed_next = region.user;
  }
  table.newest_freed = region.user;
  ++table.quarantine;
  table.quarantine_bytes += region.bytes;
  ShrinkQuarantine(table);
}

void GuardWatch(void* user, void* kernel, size_t bytes) {
  GuardRegion region;
  region.user = reinterpret_cast<uintptr_t>(user);
  region.kernel = reinterpret_cast<uintptr_t>(kernel);
  region.bytes = region.size = bytes;
  region.watched = true;
  region.allocated = CaptureStack(kOwnFrames);
  EnterRegion(region);
}

void GuardUnwatch(void* user) {
  GuardTable& table = TheGuardTable();
  const std::lock_guard lock(table.mutex);
  const auto found = table.regions.find(reinterpret_cast<uintptr_t>(user));
  table.users.erase(found->second.kernel);
  table.regions.erase(found);
}

}  // namespace portacl::runtime
