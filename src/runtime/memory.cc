// The registry of allocations.
#include "runtime/memory.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "acl/acl_rt.h"
#include "base/fork.h"
#include "base/settings.h"
#include "runtime/block_pool.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/guard.h"
#include "runtime/leaks.h"
#include "runtime/observers.h"
#include "runtime/order.h"
#include "runtime/virtual_memory.h"

namespace portacl::runtime {
namespace {

constexpr size_t kNormalPage = size_t{4} << 10;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int32_t kMemAttrs = ACL_HBM_MEM_P2P_HUGE1G + 1;

struct Allocation {
  size_t size = 0;
  int32_t device = 0;
  bool host = false;
  void* kernel_base = nullptr;
  Block block;          // empty in guard mode
  uint64_t serial = 0;  // never used twice, unlike addresses; see NewestAllocation()
};

struct Registry {
  base::ForkSafe<std::shared_mutex> mutex{base::LockRank::kMemory};
  std::map<uintptr_t, Allocation> live;  // by address
  std::vector<DeviceMemoryUse> devices;  // without total sizes
  MemoryUse freed_by_reset;
  uint64_t serial = 0;  // the newest allocation's serial
};

constinit base::Immortal<Registry> the_registry;

Registry& TheRegistry() {
  return the_registry.Get([] {
    auto made = std::make_unique<Registry>();
    made->devices.resize(static_cast<size_t>(DeviceCount()));
    return made.release();
  });
}

size_t DeviceMemory() {
  static constinit base::Once<size_t> bytes;
  return bytes.Get([] { return base::settings::DeviceMemory(PhysicalMemory()); });
}

Pages PagesOf(uint32_t policy) {
  const uint32_t number = policy & 0xFF;
  const bool normal =
      number == ACL_MEM_MALLOC_NORMAL_ONLY || number == ACL_MEM_MALLOC_NORMAL_ONLY_P2P;
  return normal ? Pages::kNormal : Pages::kHuge;
}

base::Status CheckPolicy(uint32_t policy) {
  constexpr uint32_t kBits = static_cast<uint32_t>(ACL_MEM_TYPE_LOW_BAND_WIDTH) |
                             static_cast<uint32_t>(ACL_MEM_TYPE_HIGH_BAND_WIDTH) |
                             static_cast<uint32_t>(ACL_MEM_ACCESS_USER_SPACE_READONLY);
  if ((policy & ~kBits) <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P) return {};
  return InvalidParam("policy is {:#x}, which is no aclrtMemMallocPolicy", policy);
}

base::Status CheckRequest(size_t size, const void* out, const char* out_name) {
  if (out == nullptr) return InvalidParam("{} is null, it receives the address", out_name);
  if (size == 0) return InvalidParam("size is 0, wanted at least 1 byte");
  return {};
}

base::Status OutOfMemory(size_t size, const char* kind) {
  return Error(ACL_ERROR_RT_MEMORY_ALLOCATION, "Failed to allocate {} bytes of {} memory", size,
               kind);
}

DeviceMemoryUse& UseOf(Registry& registry, int32_t device) {
  return registry.devices[static_cast<size_t>(device)];
}

void Release(void* base, const Allocation& allocation, bool by_reset = false) {
  if (GuardEnabled()) {
    GuardFree(base, by_reset);
  } else {
    ReturnBlock(allocation.block);
  }
}

// Allocates memory and enters it. Returns null if there is no memory. Also returns null if the
// context of device memory has ended meanwhile: its reset is over, so nobody would free the memory.
// Writes the entry's number to *serial if `serial` is not null.
void* Allocate(size_t size, Pages pages, const Context& context, bool host,
               uint64_t* serial = nullptr) {
  Registry& registry = TheRegistry();
  // Makes the entry first: once there is memory, nothing can fail.
  std::map<uintptr_t, Allocation> entry;
  Allocation& allocation = entry[0];
  allocation = {size, context.device, host, nullptr, {}, 0};
  void* base = nullptr;
  if (GuardEnabled()) {
    ReportLeaksAtExit();
    const GuardedMemory memory = GuardAllocate(size, host);
    base = memory.user;
    allocation.kernel_base = memory.kernel;
  } else {
    allocation.block = TakeBlock(size, pages);
    base = allocation.kernel_base = allocation.block.data;
  }
  if (base == nullptr) return nullptr;
  auto node = entry.extract(entry.begin());
  node.key() = reinterpret_cast<uintptr_t>(base);
  std::unique_lock lock(registry.mutex);
  if (!host && !context.alive.load(std::memory_order_acquire)) {
    lock.unlock();
    Release(base, node.mapped());
    return nullptr;
  }
  node.mapped().serial = ++registry.serial;
  if (serial != nullptr) *serial = registry.serial;
  registry.live.insert(std::move(node));
  return base;
}

// Returns the live allocation that holds an address. The caller holds the registry's lock.
std::map<uintptr_t, Allocation>::iterator Around(Registry& registry, uintptr_t address) {
  auto next = registry.live.upper_bound(address);
  if (next == registry.live.begin()) return registry.live.end();
  --next;
  return address - next->first < next->second.size ? next : registry.live.end();
}

base::Status BadFree(Registry& registry, void* address, bool host) {
  const auto around = Around(registry, reinterpret_cast<uintptr_t>(address));
  if (around == registry.live.end()) {
    NoteRefusedAddress(address);
    return Error(ACL_ERROR_RT_MEMORY_FREE,
                 "{} is no live allocation: already freed, or never allocated here", address);
  }
  if (around->first != reinterpret_cast<uintptr_t>(address)) {
    return Error(ACL_ERROR_RT_MEMORY_FREE,
                 "{} lies {} bytes inside an allocation of {} bytes, wanted its start", address,
                 reinterpret_cast<uintptr_t>(address) - around->first, around->second.size);
  }
  return Error(ACL_ERROR_RT_MEMORY_FREE, "{} is {} memory, which {} frees", address,
               host ? "device" : "host", host ? "aclrtFree" : "aclrtFreeHost");
}

// Removes an entry and its booking. The caller holds the registry's lock.
Allocation TakeOut(Registry& registry, std::map<uintptr_t, Allocation>::iterator entry) {
  const Allocation allocation = entry->second;
  registry.live.erase(entry);
  if (!allocation.host) UseOf(registry, allocation.device).used -= allocation.size;
  return allocation;
}

base::Status FreeKind(void* address, bool host) {
  if (address == nullptr) return InvalidParam("{} is null", host ? "hostPtr" : "devPtr");
  Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
  Registry& registry = TheRegistry();
  Allocation allocation;
  {
    const std::unique_lock lock(registry.mutex);
    const auto found = registry.live.find(reinterpret_cast<uintptr_t>(address));
    if (found == registry.live.end() || found->second.host != host) {
      return BadFree(registry, address, host);
    }
    allocation = TakeOut(registry, found);
  }
  if (LazyEnabled()) NoteFree(allocation.kernel_base, allocation.size);
  Release(address, allocation);
  return {};
}

MemoryUse Leaked(bool host) {
  Registry& registry = TheRegistry();
  const std::shared_lock lock(registry.mutex);
  MemoryUse use = host ? MemoryUse() : registry.freed_by_reset;
  for (const auto& [base, allocation] : registry.live) {
    if (allocation.host != host) continue;
    ++use.count;
    use.bytes += allocation.size;
  }
  return use;
}

// Looks for memory of aclrtMalloc and aclrtMallocHost.
bool FindRegistered(const void* address, AllocationInfo* info) {
  Registry& registry = TheRegistry();
  const std::shared_lock lock(registry.mutex);
  const auto found = Around(registry, reinterpret_cast<uintptr_t>(address));
  if (found == registry.live.end()) return false;
  const Allocation& allocation = found->second;
  info->base = reinterpret_cast<const void*>(found->first);
  info->size = allocation.size;
  info->device = allocation.device;
  info->host = allocation.host;
  info->kernel_base = allocation.kernel_base;
  info->page_size =
      allocation.block.mapped && allocation.block.pages == Pages::kHuge ? kHugePage : kNormalPage;
  return true;
}

base::Status MallocDevice(size_t size, uint32_t policy, void** address, uint64_t* serial) {
  PORTACL_RETURN_IF_ERROR(CheckRequest(size, address, "devPtr"));
  PORTACL_RETURN_IF_ERROR(CheckPolicy(policy));
  Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
  if (!BookDeviceMemory(context->device, size)) return OutOfMemory(size, "device");
  DeviceMemoryBooking booking(context->device, size);
  void* const base = Allocate(size, PagesOf(policy), *context, /*host=*/false, serial);
  if (base == nullptr) {
    PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
    return OutOfMemory(size, "device");
  }
  booking.Keep();
  *address = base;
  return {};
}

// Frees borrowed memory, unless a reset of the device has freed it. (Then another allocation may
// have its address.)
void FreeBorrowed(void* address, uint64_t serial) {
  Registry& registry = TheRegistry();
  Allocation allocation;
  {
    const std::unique_lock lock(registry.mutex);
    const auto found = registry.live.find(reinterpret_cast<uintptr_t>(address));
    if (found == registry.live.end() || found->second.serial != serial) return;
    allocation = TakeOut(registry, found);
  }
  Release(address, allocation);
}

}  // namespace

bool BookDeviceMemory(int32_t device, size_t size) {
  Registry& registry = TheRegistry();
  const std::unique_lock lock(registry.mutex);
  DeviceMemoryUse& use = UseOf(registry, device);
  if (size > DeviceMemory() || use.used > DeviceMemory() - size) return false;
  use.used += size;
  use.peak = std::max(use.peak, use.used);
  return true;
}

void UnbookDeviceMemory(int32_t device, size_t size) {
  Registry& registry = TheRegistry();
  const std::unique_lock lock(registry.mutex);
  UseOf(registry, device).used -= size;
}

uint64_t NewestAllocation() {
  if (the_registry.Find() == nullptr) return 0;
  const std::shared_lock lock(the_registry.Find()->mutex);
  return the_registry.Find()->serial;
}

uint64_t NumberAllocation() {
  Registry& registry = TheRegistry();
  const std::unique_lock lock(registry.mutex);
  return ++registry.serial;
}

DeviceMemoryUse GetDeviceMemoryUse(int32_t device) {
  Registry& registry = TheRegistry();
  const std::shared_lock lock(registry.mutex);
  DeviceMemoryUse use = UseOf(registry, device);
  use.total = DeviceMemory();
  return use;
}

bool FindAllocation(const void* address, AllocationInfo* info) {
  return FindRegistered(address, info) || FindMapped(address, info);
}

base::Status ResolveAddress(const void* address, size_t bytes, const char* what, bool strict,
                            void** kernel_address) {
  if (address == nullptr || (!strict && !GuardEnabled())) {
    *kernel_address = const_cast<void*>(address);
    return {};
  }
  const char* const setting = GuardEnabled() ? "PORTACL_GUARD" : "PORTACL_STRICT";
  AllocationInfo info;
  if (!FindAllocation(address, &info) || info.host) {
    NoteRefusedAddress(address);
    return InvalidParam(
        "{}: {} is {}, which is {}; wanted device memory of aclrtMalloc "
        "(copy host data there with aclrtMemcpy)",
        setting, what, address,
        info.host        ? "host memory of aclrtMallocHost"
        : GuardEnabled() ? DescribeForeign(address)
                         : "host memory or freed memory");
  }
  const size_t offset =
      static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.base));
  if (bytes > info.size - offset) {
    return InvalidParam("{}: {} needs {} bytes at {}, but the allocation ends after {}", setting,
                        what, bytes, address, info.size - offset);
  }
  *kernel_address = static_cast<char*>(info.kernel_base) + offset;
  return {};
}

base::Status Malloc(size_t size, uint32_t policy, void** address) {
  return MallocDevice(size, policy, address, nullptr);
}

base::Status Free(void* address) { return FreeKind(address, /*host=*/false); }

base::Status BorrowDeviceMemory(size_t size, std::shared_ptr<void>* memory) {
  void* address = nullptr;
  uint64_t serial = 0;
  PORTACL_RETURN_IF_ERROR(MallocDevice(size, ACL_MEM_MALLOC_HUGE_FIRST, &address, &serial));
  memory->reset(address, [serial](void* borrowed) { FreeBorrowed(borrowed, serial); });
  return {};
}

base::Status MallocHost(size_t size, void** address) {
  PORTACL_RETURN_IF_ERROR(CheckRequest(size, address, "hostPtr"));
  Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
  // The system promises more memory than there is, and ends processes that use it.
  if (size > PhysicalMemory()) return OutOfMemory(size, "host");
  void* const base = Allocate(size, Pages::kHuge, *context, /*host=*/true);
  if (base == nullptr) return OutOfMemory(size, "host");
  *address = base;
  return {};
}

base::Status FreeHost(void* address) { return FreeKind(address, /*host=*/true); }

void FreeDeviceMemory(int32_t device, uint64_t newest) {
  if (the_registry.Find() == nullptr) return;  // nobody has allocated memory
  Registry& registry = *the_registry.Find();
  const MemoryUse physical = FreePhysicalMemoryOf(device, newest);
  std::map<uintptr_t, Allocation> freed;
  {
    const std::unique_lock lock(registry.mutex);
    for (auto entry = registry.live.begin(); entry != registry.live.end();) {
      const auto next = std::next(entry);
      const Allocation& allocation = entry->second;
      if (!allocation.host && allocation.device == device && allocation.serial <= newest) {
        UseOf(registry, device).used -= allocation.size;
        freed.insert(registry.live.extract(entry));
      }
      entry = next;
    }
    registry.freed_by_reset.count += freed.size() + physical.count;
    registry.freed_by_reset.bytes += physical.bytes;
    for (const auto& entry : freed) registry.freed_by_reset.bytes += entry.second.size;
  }
  for (const auto& [base, allocation] : freed) {
    Release(reinterpret_cast<void*>(base), allocation, /*by_reset=*/true);
  }
}

base::Status GetMemInfo(int32_t attr, size_t* free_bytes, size_t* total_bytes) {
  if (free_bytes == nullptr || total_bytes == nullptr) {
    return InvalidParam("{} is null", free_bytes == nullptr ? "free" : "total");
  }
  if (attr < 0 || attr >= kMemAttrs) {
    return InvalidParam("attr is {}, wanted 0 to {}", attr, kMemAttrs - 1);
  }
  Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
  const DeviceMemoryUse use = GetDeviceMemoryUse(context->device);
  *total_bytes = use.total;
  *free_bytes = use.total - use.used;
  return {};
}

MemoryUse LeakedDeviceMemory() { return Leaked(/*host=*/false); }
MemoryUse LeakedHostMemory() { return Leaked(/*host=*/true); }

}  // namespace portacl::runtime
