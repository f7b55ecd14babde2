// Keeps the table of reserved ranges and their mappings.
#include "runtime/virtual_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/fork.h"
#include "base/handle_table.h"
#include "base/round_up.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/guard.h"
#include "runtime/observers.h"
#include "runtime/order.h"

namespace portacl::runtime {
namespace {

constexpr int kPattern = 0xFF;     // as in guard.cc: a NaN in each floating-point type
constexpr int32_t kOfParent = -1;  // instead of a device: memory of the parent process

// An unnamed file. Its pages are the memory.
struct Physical {
  int file = -1;
  size_t size = 0;
  int32_t device = 0;
  uint64_t serial = 0;   // see NewestAllocation()
  uint32_t process = 0;  // see ProcessNumber()

  Physical() = default;
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical() {
    if (file < 0) return;
    close(file);
    UnbookDeviceMemory(device, size);
  }
};

// Neighbouring pieces of one device.
struct Run {
  size_t size = 0;
  int32_t device = 0;
};

using Runs = std::map<uintptr_t, Run>;

struct Piece {
  size_t size = 0;
  std::shared_ptr<const Physical> memory;
  Runs::node_type spare;  // for RemoveRun(), which allocates nothing
};

using Pieces = std::map<uintptr_t, Piece>;

struct Range {
  size_t size = 0;
  uintptr_t kernel = 0;  // the kernels' address; outside guard mode the range's start
  Pieces pieces;         // by the caller's address
  Runs runs;             // by the caller's address
};

using Ranges = std::map<uintptr_t, Range>;

// The lock may be held during UnbookDeviceMemory(), but not together with a handle table's lock.
struct Table {
  base::ForkSafe<std::shared_mutex> mutex{base::LockRank::kHandles};
  Ranges ranges;
  std::atomic<size_t> pieces{0};  // in all ranges; if 0, no lock is needed
};

constinit base::Immortal<Table> the_table;
constinit base::Immortal<base::HandleTable<Physical>> the_handles;

void* ToPointer(uintptr_t address) { return reinterpret_cast<void*>(address); }
uintptr_t ToAddress(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

uintptr_t MapNothing(void* where, size_t bytes, int flags) {
  void* const mapped =
      mmap(where, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return mapped == MAP_FAILED ? 0 : ToAddress(mapped);
}

// A child of fork() would share the mappings and write its parent's memory. So the child keeps only
// the addresses. It can still free its pieces and handles. Allocates nothing.
void LoseMemoryInChild() {
  for (auto& [start, range] : the_table.Find()->ranges) {
    for (auto& [address, run] : range.runs) {
      static_cast<void>(
          MapNothing(ToPointer(range.kernel + (address - start)), run.size, MAP_FIXED));
      run.device = kOfParent;
    }
  }
}

Table& TheTable() {
  return the_table.Get([] {
    auto made = std::make_unique<Table>();
    base::RunInForkedChildren(&LoseMemoryInChild);
    return made.release();
  });
}
base::HandleTable<Physical>& Handles() { return the_handles.Get(); }

// Reserves addresses without memory that begin at a multiple of `alignment`. Returns 0 on failure.
uintptr_t Reserve(size_t size, size_t alignment, uintptr_t expected) {
  if (expected != 0 && expected % alignment == 0) {
    const uintptr_t found = MapNothing(ToPointer(expected), size, 0);
    if (found == 0 || found == expected) return found;
    munmap(ToPointer(found), size);
  }
  const uintptr_t all = MapNothing(nullptr, size + alignment, 0);
  if (all == 0) return 0;
  const uintptr_t start = base::RoundUp(all, alignment);
  if (start > all) munmap(ToPointer(all), start - all);
  const uintptr_t end = all + size + alignment;
  if (end > start + size) munmap(ToPointer(start + size), end - start - size);
  return start;
}

// Reserved addresses. The destructor gives them back, unless Keep() was called.
class Mapping {
 public:
  Mapping(uintptr_t start, size_t bytes) : start_(start), bytes_(bytes) {}
  ~Mapping() {
    if (start_ != 0) munmap(ToPointer(start_), bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  uintptr_t start() const { return start_; }
  uintptr_t Keep() { return std::exchange(start_, 0); }

 private:
  uintptr_t start_;
  const size_t bytes_;
};

// Finds the last entry of a map that begins at or before `address`; end() if there is none.
template <class Map>
auto Before(Map& map, uintptr_t address) {
  auto next = map.upper_bound(address);
  return next == map.begin() ? map.end() : std::prev(next);
}

// Finds the entry whose range holds the address; end() if there is none.
template <class Map>
auto Around(Map& map, uintptr_t address) {
  auto found = Before(map, address);
  return found != map.end() && address - found->first < found->second.size ? found : map.end();
}

base::Status CheckMultiple(size_t value, const char* name) {
  if (value % kMemoryGranularity == 0) return {};
  return InvalidParam("{} is {:#x}, wanted a multiple of {} bytes", name, value,
                      kMemoryGranularity);
}

// Adds [address, address + run.size) to the runs of a range.
void AddRun(Range& range, uintptr_t address, Run run) {
  const auto before = Before(range.runs, address);
  const bool joins = before != range.runs.end() && before->first + before->second.size == address &&
                     before->second.device == run.device;
  const auto entry = joins ? before : range.runs.emplace(address, run).first;
  if (joins) entry->second.size += run.size;
  const auto next = range.runs.find(address + run.size);
  if (next != range.runs.end() && next->second.device == run.device) {
    entry->second.size += next->second.size;
    range.runs.erase(next);
  }
}

// Makes an entry for RemoveRun().
Runs::node_type SpareRun() {
  Runs one;
  one.emplace();
  return one.extract(one.begin());
}

// Removes a piece of a run. Uses `spare` if parts remain on both sides. Allocates nothing.
void RemoveRun(Range& range, uintptr_t address, size_t size, Runs::node_type spare) {
  const auto found = Around(range.runs, address);
  const uintptr_t start = found->first;
  const Run run = found->second;
  const size_t before = address - start;
  const size_t behind = start + run.size - (address + size);
  auto node = before > 0 ? std::move(spare) : range.runs.extract(found);
  if (before > 0) found->second.size = before;
  if (behind == 0) return;
  node.key() = address + size;
  node.mapped() = Run{behind, run.device};
  range.runs.insert(std::move(node));
}

// Unmaps a piece. Its addresses stay reserved; its memory is freed with the last holder. Allocates
// nothing.
Pieces::iterator Forget(Range& range, Pieces::iterator piece) {
  RemoveRun(range, piece->first, piece->second.size, std::move(piece->second.spare));
  TheTable().pieces.fetch_sub(1, std::memory_order_relaxed);
  return range.pieces.erase(piece);
}

// Returns false if the system cannot split its mappings any more.
bool UnmapPiece(uintptr_t start, const Range& range, const Pieces::value_type& piece) {
  void* const place = ToPointer(range.kernel + (piece.first - start));
  return MapNothing(place, piece.second.size, MAP_FIXED) != 0;
}

// In guard mode, fills new memory with a pattern.
bool FillWithPattern(const Physical& memory) {
  void* const mapped =
      mmap(nullptr, memory.size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.file, 0);
  if (mapped == MAP_FAILED) return false;
  std::memset(mapped, kPattern, memory.size);
  munmap(mapped, memory.size);
  return true;
}

base::Status OutOfMemory(size_t size, int32_t device) {
  return Error(ACL_ERROR_RT_MEMORY_ALLOCATION,
               "Failed to allocate {} bytes of physical memory of device {}", size, device);
}

// Reports that no file could be made. Physical memory is a file, and the number of open files is
// limited per process and per machine. `error` is errno.
base::Status NoFile(size_t size, int32_t device, int error) {
  if (error != EMFILE && error != ENFILE) return OutOfMemory(size, device);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return Error(ACL_ERROR_RT_MEMORY_ALLOCATION,
               "Failed to allocate {} bytes of physical memory of device {}: each piece needs a "
               "file descriptor, and {}",
               size, device,
               error == EMFILE
                   ? fmt::format("the limit of {} for this process is reached (RLIMIT_NOFILE; "
                                 "ulimit -n raises it)",
                                 limit.rlim_cur)
                   : "the machine's limit is reached (sysctl fs.file-max)");
}

base::Status FindPhysical(void* handle, std::shared_ptr<const Physical>* memory) {
  *memory = Handles().Find(handle);
  if (*memory == nullptr) {
    return InvalidParam("handle {} is no live physical memory: never allocated, or freed", handle);
  }
  if ((*memory)->process == ProcessNumber()) return {};
  return InvalidParam("handle {} is physical memory of the process that forked this one", handle);
}

base::Status CheckPlace(Table& table, uintptr_t start, size_t size, Ranges::iterator* range) {
  *range = Around(table.ranges, start);
  if (*range == table.ranges.end()) {
    return InvalidParam("virPtr is {}, which is in no range of aclrtReserveMemAddress",
                        ToPointer(start));
  }
  const size_t room = (*range)->second.size - (start - (*range)->first);
  if (size > room) {
    return InvalidParam("size is {}, but the reserved range ends after {} bytes", size, room);
  }
  const auto before = Before((*range)->second.pieces, start + size - 1);
  if (before != (*range)->second.pieces.end() && before->first + before->second.size > start) {
    return InvalidParam("{} bytes at virPtr {} lie over memory that is mapped at {}", size,
                        ToPointer(start), ToPointer(before->first));
  }
  return {};
}

}  // namespace

base::Status ReserveAddresses(size_t size, size_t alignment, void* expected, void** address) {
  if (address == nullptr) return InvalidParam("virPtr is null, it receives the address");
  if (size == 0) return InvalidParam("size is 0, wanted at least 1 byte");
  if ((alignment & (alignment - 1)) != 0) {
    return InvalidParam("alignment is {}, wanted 0 or a power of two", alignment);
  }
  const size_t multiple = std::max(alignment, kMemoryGranularity);
  size_t end = 0;
  if (!base::CheckedAdd(size, 2 * multiple, &end)) {
    return InvalidParam("size is {}, more than an address space", size);
  }
  const size_t bytes = base::RoundUp(size, kMemoryGranularity);
  Mapping user(Reserve(bytes, multiple, ToAddress(expected)), bytes);
  Mapping kernel(GuardEnabled() && user.start() != 0 ? Reserve(bytes, multiple, 0) : 0, bytes);
  if (user.start() == 0 || (GuardEnabled() && kernel.start() == 0)) {
    return Error(ACL_ERROR_RT_MEMORY_ALLOCATION, "Failed to allocate {} bytes of addresses", size);
  }
  Table& table = TheTable();
  const std::unique_lock lock(table.mutex);
  Range range;
  range.size = bytes;
  range.kernel = kernel.start() != 0 ? kernel.start() : user.start();
  const auto entry = table.ranges.emplace(user.start(), std::move(range)).first;
  try {
    if (GuardEnabled()) GuardWatch(ToPointer(user.start()), ToPointer(kernel.start()), bytes);
  } catch (...) {
    table.ranges.erase(entry);
    throw;
  }
  kernel.Keep();
  *address = ToPointer(user.Keep());
  return {};
}

base::Status ReleaseAddresses(void* address) {
  Table& table = TheTable();
  const std::unique_lock lock(table.mutex);
  const auto found = table.ranges.find(ToAddress(address));
  if (found == table.ranges.end()) {
    return InvalidParam("virPtr is {}, which is not the start of a reserved range", address);
  }
  if (!found->second.pieces.empty()) {
    return InvalidParam("{} pieces of memory are still mapped in the range at {}: aclrtUnmapMem",
                        found->second.pieces.size(), address);
  }
  if (GuardEnabled()) {
    GuardUnwatch(address);
    munmap(ToPointer(found->second.kernel), found->second.size);
  }
  munmap(address, found->second.size);
  table.ranges.erase(found);
  return {};
}

base::Status MallocPhysical(size_t size, int32_t device, void** handle) {
  if (handle == nullptr) return InvalidParam("handle is null, it receives the memory's handle");
  if (size == 0) return InvalidParam("size is 0, wanted at least {} bytes", kMemoryGranularity);
  PORTACL_RETURN_IF_ERROR(CheckMultiple(size, "size"));
  PORTACL_RETURN_IF_ERROR(CheckDevice(device));
  const auto memory = std::make_shared<Physical>();
  if (!BookDeviceMemory(device, size)) return OutOfMemory(size, device);
  DeviceMemoryBooking booking(device, size);
  const int file = memfd_create("portacl", MFD_CLOEXEC);
  if (file < 0) return NoFile(size, device, errno);
  booking.Keep();  // `memory` now owns the booking
  memory->file = file;
  memory->size = size;
  memory->device = device;
  memory->serial = NumberAllocation();
  memory->process = ProcessNumber();
  if (ftruncate(file, static_cast<off_t>(size)) != 0 ||
      (GuardEnabled() && !FillWithPattern(*memory))) {
    return OutOfMemory(size, device);
  }
  *handle = Handles().Add(memory);
  return {};
}

base::Status FreePhysical(void* handle) {
  if (Handles().Take(handle) != nullptr) return {};
  return InvalidParam("handle {} is no live physical memory: never allocated, or freed", handle);
}

base::Status MapMemory(void* address, size_t size, size_t offset, void* handle) {
  const uintptr_t start = ToAddress(address);
  if (size == 0) return InvalidParam("size is 0, wanted at least {} bytes", kMemoryGranularity);
  PORTACL_RETURN_IF_ERROR(CheckMultiple(start, "virPtr"));
  PORTACL_RETURN_IF_ERROR(CheckMultiple(size, "size"));
  PORTACL_RETURN_IF_ERROR(CheckMultiple(offset, "offset"));
  std::shared_ptr<const Physical> memory;
  PORTACL_RETURN_IF_ERROR(FindPhysical(handle, &memory));
  if (offset > memory->size || size > memory->size - offset) {
    return InvalidParam("{} bytes from offset {} leave the physical memory of {} bytes", size,
                        offset, memory->size);
  }
  Table& table = TheTable();
  const std::unique_lock lock(table.mutex);
  Ranges::iterator range;
  PORTACL_RETURN_IF_ERROR(CheckPlace(table, start, size, &range));
  const auto piece = range->second.pieces.emplace(start, Piece{size, memory, SpareRun()}).first;
  try {
    AddRun(range->second, start, Run{size, memory->device});
  } catch (...) {
    range->second.pieces.erase(piece);
    throw;
  }
  table.pieces.fetch_add(1, std::memory_order_relaxed);
  void* const place = ToPointer(range->second.kernel + (start - range->first));
  if (mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory->file,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    Forget(range->second, piece);
    return OutOfMemory(size, memory->device);
  }
  static_cast<void>(madvise(place, size, MADV_HUGEPAGE));  // only a hint
  return {};
}

base::Status UnmapMemory(void* address) {
  const uintptr_t start = ToAddress(address);
  Table& table = TheTable();
  std::unique_lock lock(table.mutex);
  const auto range = Around(table.ranges, start);
  if (range != table.ranges.end()) {
    const auto piece = range->second.pieces.find(start);
    if (piece != range->second.pieces.end()) {
      const void* const kernel = ToPointer(range->second.kernel + (start - range->first));
      const size_t size = piece->second.size;
      if (!UnmapPiece(range->first, range->second, *piece)) {
        return Error(ACL_ERROR_BAD_ALLOC, "out of memory: the mapping at {} stays", address);
      }
      Forget(range->second, piece);
      lock.unlock();
      if (LazyEnabled()) NoteFree(kernel, size);
      return {};
    }
  }
  return InvalidParam("virPtr is {}, where no piece of memory is mapped from", address);
}

bool FindMapped(const void* address, AllocationInfo* info) {
  Table& table = TheTable();
  if (table.pieces.load(std::memory_order_relaxed) == 0) return false;
  const std::shared_lock lock(table.mutex);
  const auto range = Around(table.ranges, ToAddress(address));
  if (range == table.ranges.end()) return false;
  const auto run = Around(range->second.runs, ToAddress(address));
  if (run == range->second.runs.end() || run->second.device == kOfParent) return false;
  info->base = ToPointer(run->first);
  info->size = run->second.size;
  info->device = run->second.device;
  info->host = false;
  info->kernel_base = ToPointer(range->second.kernel + (run->first - range->first));
  info->page_size = kMemoryGranularity;
  return true;
}

bool IsReserved(const void* address) {
  Table* const table = the_table.Find();
  if (table == nullptr) return false;
  const std::shared_lock lock(table->mutex);
  return Around(table->ranges, ToAddress(address)) != table->ranges.end();
}

MemoryUse FreePhysicalMemoryOf(int32_t device, uint64_t newest) {
  MemoryUse use;
  const auto goes = [&](const Physical& memory) {
    return memory.device == device && memory.serial <= newest;
  };
  if (the_handles.Find() == nullptr) return use;  // no handle was ever made
  if (Table* const table = the_table.Find()) {
    const std::unique_lock lock(table->mutex);
    for (auto& [start, range] : table->ranges) {
      for (auto piece = range.pieces.begin(); piece != range.pieces.end();) {
        const bool leaves = goes(*piece->second.memory);
        if (leaves) static_cast<void>(UnmapPiece(start, range, *piece));
        piece = leaves ? Forget(range, piece) : std::next(piece);
      }
    }
  }
  while (const auto memory = Handles().TakeOne(goes)) {
    ++use.count;
    use.bytes += memory->size;
  }
  return use;
}

MemoryUse LeakedPhysicalMemory() {
  MemoryUse use;
  for (const auto& memory : Handles().Snapshot()) {
    ++use.count;
    use.bytes += memory->size;
  }
  return use;
}

MemoryUse LeakedAddressRanges() {
  MemoryUse use;
  Table& table = TheTable();
  const std::shared_lock lock(table.mutex);
  for (const auto& [start, range] : table.ranges) {
    ++use.count;
    use.bytes += range.size;
  }
  return use;
}

}  // namespace portacl::runtime
