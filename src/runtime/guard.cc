// Guard mode: the mappings, their table, and the handler that explains faults.
#include "runtime/guard.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fork.h"
#include "base/once.h"
#include "base/settings.h"
#include "runtime/guard_stack.h"

namespace portacl::runtime {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMaxQuarantine = 4096;                         // freed ranges
constexpr size_t kMaxQuarantineBytes = size_t{256} << 30;       // of addresses, not of memory
constexpr auto kLockPatience = std::chrono::milliseconds(200);  // of the fault handler
constexpr int kPattern = 0xFF;
constexpr int kOwnFrames = 3;  // of this library, at the top of every allocation's stack

struct Region {
  uintptr_t user = 0;    // start of the caller's range, inaccessible pages included
  uintptr_t kernel = 0;  // start of the kernels' range; 0 for host memory
  size_t bytes = 0;      // of either range
  size_t offset = 0;     // from a range's start to the data
  size_t size = 0;       // of the data
  bool freed = false;
  bool leaked = false;       // freed by a reset of its device, not by the program
  bool watched = false;      // addresses of GuardWatch, with or without memory
  uintptr_t freed_next = 0;  // `user` of the range that was freed next; 0: none
  GuardStack allocated;
  GuardStack released;
};

struct Table {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kGuard};
  std::map<uintptr_t, Region> regions;   // by `user`, live and in quarantine
  std::map<uintptr_t, uintptr_t> users;  // `kernel` -> `user`
  // The freed ranges, by `user`, linked so that freeing asks for no memory.
  uintptr_t oldest_freed = 0;
  uintptr_t newest_freed = 0;
  size_t quarantine = 0;
  size_t quarantine_bytes = 0;
};

Table& TheTable() {
  static constinit base::Immortal<Table> table;
  return table.Get();
}

size_t PageSize() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));  // without a system call
}

size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The region around an address, copied; `in_kernel_range` tells which of its ranges.
bool FindRegion(uintptr_t address, Region* region, bool* in_kernel_range) {
  Table& table = TheTable();
  const auto around = [&](const auto& ranges, uintptr_t* start) {
    auto next = ranges.upper_bound(address);
    if (next == ranges.begin()) return false;
    *start = std::prev(next)->first;
    return true;
  };
  uintptr_t start = 0;
  if (around(table.regions, &start) && address - start < table.regions.at(start).bytes) {
    *region = table.regions.at(start);
    *in_kernel_range = false;
    return true;
  }
  if (!around(table.users, &start)) return false;
  *region = table.regions.at(table.users.at(start));
  *in_kernel_range = true;
  return address - start < region->bytes;
}

// The same for the handler, which must not wait for ever: its thread may hold the lock itself.
bool FindRegionInHandler(uintptr_t address, Region* region, bool* in_kernel_range) {
  Table& table = TheTable();
  const auto patience = std::chrono::steady_clock::now() + kLockPatience;
  while (!table.mutex.try_lock()) {
    if (std::chrono::steady_clock::now() > patience) return false;
    std::this_thread::yield();
  }
  const bool found = FindRegion(address, region, in_kernel_range);
  table.mutex.unlock();
  return found;
}

const char* AccessName([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;
  const auto* machine = static_cast<const ucontext_t*>(context);
  return (machine->uc_mcontext.gregs[REG_ERR] & kWrite) != 0 ? "write" : "read";
#else
  return "access";
#endif
}

void Explain(const Region& region, bool in_kernel_range, uintptr_t address, const char* access) {
  const uintptr_t data = (in_kernel_range ? region.kernel : region.user) + region.offset;
  const bool host = region.kernel == 0;
  const auto offset = static_cast<int64_t>(address - data);
  const bool inside = offset >= 0 && static_cast<size_t>(offset) < region.size;
  PrintLine("portacl guard: {} {} of {} memory at {:#x}: byte {} of {} allocation of {} bytes",
            in_kernel_range ? "kernel or copy:" : "host", access, host ? "pinned host" : "device",
            address, offset, region.freed ? "a freed" : "an", region.size);
  if (region.watched && in_kernel_range) {
    PrintLine(
        "  No memory is mapped there: synchronise with the work that uses memory before "
        "aclrtUnmapMem.");
  } else if (region.freed) {
    PrintLine("  This is use after free: {}.",
              in_kernel_range ? "synchronise with the work that uses memory before freeing it"
                              : "the memory was given back before");
  } else if (!inside) {
    PrintLine(
        "  This is outside the allocation: the size given to {} is too small, or a tensor's "
        "shape, strides or offset are wrong.",
        host ? "aclrtMallocHost" : "aclrtMalloc");
  } else {
    PrintLine(
        "  The host cannot reach device memory: copy it with aclrtMemcpy "
        "(ACL_MEMCPY_DEVICE_TO_HOST to read, ACL_MEMCPY_HOST_TO_DEVICE to write), or use "
        "aclrtMallocHost for memory that the host works on.");
  }
}

void PrintStacks(const Region& region) {
  PrintStack("allocated at", region.allocated);
  if (region.freed) PrintStack("freed at", region.released);
}

struct sigaction previous_segv;
struct sigaction previous_bus;

// Hands the signal to who had it before; without such a handler the program ends by it.
void Chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction& previous = signal == SIGSEGV ? previous_segv : previous_bus;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);  // the instruction faults again, now for good
  }
}

void OnFault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Region region;
  bool in_kernel_range = false;
  if (FindRegionInHandler(address, &region, &in_kernel_range)) {
    Explain(region, in_kernel_range, address, AccessName(context));
    PrintStack("accessed at", CaptureInterruptedStack(context));
    PrintStacks(region);
  }
  Chain(signal, info, context);
}

void InstallHandler() {
  static_cast<void>(TheTable());
  struct sigaction action {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}

// ---- Allocation ---------------------------------------------------------------------------------

uintptr_t Reserve(size_t bytes) {
  void* const range =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return range == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(range);
}

void UnmapRanges(const Region& region) {
  munmap(reinterpret_cast<void*>(region.user), region.bytes);
  if (region.kernel != 0) munmap(reinterpret_cast<void*>(region.kernel), region.bytes);
}

// Enters a region in both maps, or in none.
void Enter(const Region& region) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  const auto entry = table.regions.emplace(region.user, region).first;
  if (region.kernel == 0) return;
  try {
    table.users.emplace(region.kernel, region.user);
  } catch (...) {
    table.regions.erase(entry);
    throw;
  }
}

// ---- Canaries: what lies beside the data on its pages, where an access does not fault. ----------

// Changes from byte to byte, so that a run of equal bytes cannot pass for it.
uint8_t CanaryAt(uintptr_t address) { return static_cast<uint8_t>(0xA5 ^ (address * 37)); }

void FillCanaries(uintptr_t begin, uintptr_t end) {
  for (uintptr_t at = begin; at < end; ++at) *reinterpret_cast<uint8_t*>(at) = CanaryAt(at);
}

// The first address in [begin, end) that was written; `end` where there is none.
uintptr_t FindWritten(uintptr_t begin, uintptr_t end) {
  uintptr_t at = begin;
  while (at < end && *reinterpret_cast<const uint8_t*>(at) == CanaryAt(at)) ++at;
  return at;
}

// The address beside the data of `region` that somebody wrote to; 0 where nobody did.
uintptr_t FindOverrun(const Region& region) {
  const uintptr_t range = region.kernel != 0 ? region.kernel : region.user;
  const uintptr_t data = range + region.offset;
  const uintptr_t pages_end = range + region.bytes - PageSize();
  const uintptr_t behind = FindWritten(data + region.size, pages_end);
  if (behind != pages_end) return behind;
  const uintptr_t before = FindWritten(range + PageSize(), data);
  return before == data ? 0 : before;
}

// Without the lock: naming frames takes the loader's, under which constructors of libraries that
// are being loaded may be waiting for ours.
[[noreturn]] void StopForOverrun(const Region& region, uintptr_t written) {
  const uintptr_t data = (region.kernel != 0 ? region.kernel : region.user) + region.offset;
  PrintLine("portacl guard: byte {} of an allocation of {} bytes of {} memory was written",
            static_cast<int64_t>(written - data), region.size,
            region.kernel != 0 ? "device" : "pinned host");
  PrintLine("  This is outside the allocation, and was found when it was freed.");
  PrintStacks(region);
  std::abort();
}

// Unmaps the oldest freed ranges while there are too many; the caller holds the lock.
void ShrinkQuarantine(Table& table) {
  while (table.quarantine > kMaxQuarantine || table.quarantine_bytes > kMaxQuarantineBytes) {
    const auto oldest = table.regions.find(table.oldest_freed);
    const Region& region = oldest->second;
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
  // The first stack takes the loader's lock, which a handler must not, nor wait for in a maker:
  // constructors of libraries that are being loaded may be waiting for that.
  if (!enabled.IsFound() && *base::settings::GuardText() != '\0') {
    static_cast<void>(CaptureStack(kOwnFrames));
  }
  return enabled.Get([] {
    const bool wanted = base::settings::Guard();
    if (wanted) InstallHandler();
    return wanted;
  });
}

GuardedMemory GuardAllocate(size_t size, bool host) {
  if (size > SIZE_MAX / 4) return {};
  const size_t page = PageSize();
  const size_t data_bytes = RoundUp(size, page);
  Region region;
  region.bytes = data_bytes + 2 * page;
  region.offset = page + data_bytes - RoundUp(size, kAlignment);
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
    Enter(region);
  } catch (...) {
    UnmapRanges(region);
    throw;
  }
  return {reinterpret_cast<void*>(region.user + region.offset),
          reinterpret_cast<void*>(range + region.offset)};
}

void GuardFree(void* user, bool by_reset) {
  const GuardStack released = CaptureStack(kOwnFrames);
  Table& table = TheTable();
  std::unique_lock lock(table.mutex);
  const auto next = table.regions.upper_bound(reinterpret_cast<uintptr_t>(user));
  Region& region = std::prev(next)->second;
  region.freed = true;
  region.leaked = by_reset;
  region.released = released;
  if (const uintptr_t written = FindOverrun(region); written != 0) {
    const Region stopped = region;
    lock.unlock();
    StopForOverrun(stopped, written);
  }
  const uintptr_t range = region.kernel != 0 ? region.kernel : region.user;
  // Keeps the addresses and gives the memory back; where that fails, it stays as it is.
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
  Region region;
  region.user = reinterpret_cast<uintptr_t>(user);
  region.kernel = reinterpret_cast<uintptr_t>(kernel);
  region.bytes = region.size = bytes;
  region.watched = true;
  region.allocated = CaptureStack(kOwnFrames);
  Enter(region);
}

void GuardUnwatch(void* user) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  const auto found = table.regions.find(reinterpret_cast<uintptr_t>(user));
  table.users.erase(found->second.kernel);
  table.regions.erase(found);
}

std::string DescribeForeign(const void* address) {
  Region region;
  bool in_kernel_range = false;
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  if (FindRegion(reinterpret_cast<uintptr_t>(address), &region, &in_kernel_range)) {
    if (region.freed) return "freed memory";
    if (region.watched) return "in a reserved range of addresses, where no memory is mapped";
    return fmt::format("outside its allocation of {} bytes", region.size);
  }
  return "host memory";
}

std::string DescribeLiveAllocations() {
  std::vector<Region> live;  // copies: frames are named without the lock, see StopForOverrun
  {
    Table& table = TheTable();
    const std::lock_guard lock(table.mutex);
    for (const auto& [user, region] : table.regions) {
      if ((!region.freed || region.leaked) && !region.watched) live.push_back(region);
    }
  }
  std::string text;
  for (const Region& region : live) {
    text += fmt::format("  {} bytes of {} memory at {:#x}{}, allocated at:\n", region.size,
                        region.kernel != 0 ? "device" : "host", region.user + region.offset,
                        region.leaked ? " (freed by a reset of the device)" : "");
    text += DescribeStack(region.allocated);
  }
  return text;
}

}  // namespace portacl::runtime
