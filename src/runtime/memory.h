// The registry of allocations: device and pinned host memory.
#ifndef PORTACL_RUNTIME_MEMORY_H_
#define PORTACL_RUNTIME_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"

namespace portacl::runtime {

struct AllocationInfo {
  const void* base = nullptr;  // the address that the caller got
  size_t size = 0;             // the bytes that the caller asked for
  int32_t device = 0;
  bool host = false;            // aclrtMallocHost
  void* kernel_base = nullptr;  // where kernels and copies reach it; `base` outside guard mode
  size_t page_size = 0;         // of the pages asked for
};

// The live allocation that contains `address` (one past the end does not count), or the mapped
// virtual memory around it.
bool FindAllocation(const void* address, AllocationInfo* info);

// The address through which kernels reach device memory: `address` itself, except in guard mode,
// because there the caller's address faults. In guard mode, and if `strict` asks for it, `bytes`
// from an address that are not live device memory are refused. `what` names it in the message. Null
// gives null.
base::Status ResolveAddress(const void* address, size_t bytes, const char* what, bool strict,
                            void** kernel_address);

// Memory of the current context's device. `policy`: an aclrtMemMallocPolicy number, its bits or-ed.
base::Status Malloc(size_t size, uint32_t policy, void** address);
base::Status Free(void* address);

// Device memory of the current context's device that is freed with its last owner, on any thread.
base::Status BorrowDeviceMemory(size_t size, std::shared_ptr<void>* memory);

base::Status MallocHost(size_t size, void** address);
base::Status FreeHost(void* address);

// Allocations are numbered in the order in which they are entered, physical memory with the others.
uint64_t NewestAllocation();
uint64_t NumberAllocation();

// Frees the allocations of a reset device up to number `newest`. Later allocations belong to
// contexts that the reset did not end. Freed memory still counts as leaked.
void FreeDeviceMemory(int32_t device, uint64_t newest);

// The current device's memory (PORTACL_DEVICE_MEMORY, or the machine's), free and in all.
base::Status GetMemInfo(int32_t attr, size_t* free_bytes, size_t* total_bytes);

// Counts bytes against the memory of a device; false if the device has less.
bool BookDeviceMemory(int32_t device, size_t size);
void UnbookDeviceMemory(int32_t device, size_t size);

// Gives booked memory back if its call ends early, by whatever way.
class DeviceMemoryBooking {
 public:
  DeviceMemoryBooking(int32_t device, size_t size) : device_(device), size_(size) {}
  ~DeviceMemoryBooking() {
    if (size_ > 0) UnbookDeviceMemory(device_, size_);
  }
  DeviceMemoryBooking(const DeviceMemoryBooking&) = delete;
  DeviceMemoryBooking& operator=(const DeviceMemoryBooking&) = delete;
  // Somebody else gives it back.
  void Keep() { size_ = 0; }

 private:
  const int32_t device_;
  size_t size_;
};

struct DeviceMemoryUse {
  size_t used = 0;
  size_t peak = 0;  // most that was used at a time
  size_t total = 0;
};
DeviceMemoryUse GetDeviceMemoryUse(int32_t device);

struct MemoryUse {
  size_t count = 0;
  size_t bytes = 0;
};
// Memory that the caller has allocated and not freed.
MemoryUse LeakedDeviceMemory();
MemoryUse LeakedHostMemory();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_MEMORY_H_
