// Virtual memory: ranges of addresses, physical memory, and mappings. Mapped memory is device
// memory: FindAllocation() (memory.h) finds it, and joins neighbouring pieces.
#ifndef PORTACL_RUNTIME_VIRTUAL_MEMORY_H_
#define PORTACL_RUNTIME_VIRTUAL_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "runtime/memory.h"

namespace portacl::runtime {

// Sizes and addresses of virtual memory are multiples of this number.
inline constexpr size_t kMemoryGranularity = size_t{2} << 20;

// `alignment` is 0 or a power of two. `expected`, if not null, is the preferred address.
base::Status ReserveAddresses(size_t size, size_t alignment, void* expected, void** address);
base::Status ReleaseAddresses(void* address);

// Device memory without an address. It is booked until it is freed and no longer mapped. A child of
// fork() has its parent's ranges, but not the memory that is mapped in them.
base::Status MallocPhysical(size_t size, int32_t device, void** handle);
base::Status FreePhysical(void* handle);

base::Status MapMemory(void* address, size_t size, size_t offset, void* handle);
base::Status UnmapMemory(void* address);

// Finds the mapped memory around an address, with its neighbours on the same device.
bool FindMapped(const void* address, AllocationInfo* info);

// Returns true if an address lies in a reserved range, with or without memory.
bool IsReserved(const void* address);

// Unmaps and frees the memory that FreeDeviceMemory() frees. Returns how much it was.
MemoryUse FreePhysicalMemoryOf(int32_t device, uint64_t newest);

// Memory and ranges that the program has not freed.
MemoryUse LeakedPhysicalMemory();
MemoryUse LeakedAddressRanges();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_VIRTUAL_MEMORY_H_
