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
  size_t size = 0;             // the bytes that the caller requested
  int32_t device = 0;
  bool host = false;            // true: from aclrtMallocHost
  void* kernel_base = nullptr;  // the kernels' address; equal to `base` outside guard mode
  size_t page_size = 0;         // of the requested pages
};

// Finds the live allocation that contains `address`, or mapped virtual memory around it. The
// address behind the last byte is outside.
bool FindAllocation(const void* address, AllocationInfo* info);

// Finds the address by which kernels reach device memory. It is `address` itself, except in guard
// mode, because there the caller's address faults. In guard mode, or if `strict` is set, refuses
// `bytes` bytes that are not live device memory. `what` names the memory in the message. Null gives
// null.
base::Status ResolveAddress(const void* address, size_t bytes, const char* what, bool strict,
                            void** kernel_address);

// Allocates on the current context's device. `policy`: or-ed bits of aclrtMemMallocPolicy.
base::Status Malloc(size_t size, uint32_t policy, void** address);
base::Status Free(void* address);

// Allocates on the current context's device. The last owner, on any thread, frees the memory.
base::Status BorrowDeviceMemory(size_t size, std::shared_ptr<void>* memory);

base::Status MallocHost(size_t size, void** address);
base::Status FreeHost(void* address);

// Numbers of allocations, in the order in which they are entered. Physical memory counts, too.
uint64_t NewestAllocation();
uint64_t NumberAllocation();

// Frees the allocations of a reset device up to number `newest`. Later allocations belong to
// contexts that the reset did not end. The freed memory still counts as leaked.
void FreeDeviceMemory(int32_t device, uint64_t newest);

// Returns the current device's memory (PORTACL_DEVICE_MEMORY, or the machine's): free and total.
base::Status GetMemInfo(int32_t attr, size_t* free_bytes, size_t* total_bytes);

// Counts bytes as used on a device. Returns false if the device has less memory.
bool BookDeviceMemory(int32_t device, size_t size);
void UnbookDeviceMemory(int32_t device, size_t size);

// Gives booked memory back at the end of a call, unless Keep() was called.
class DeviceMemoryBooking {
 public:
  DeviceMemoryBooking(int32_t device, size_t size) : device_(device), size_(size) {}
  ~DeviceMemoryBooking() {
    if (size_ > 0) UnbookDeviceMemory(device_, size_);
  }
  DeviceMemoryBooking(const DeviceMemoryBooking&) = delete;
  DeviceMemoryBooking& operator=(const DeviceMemoryBooking&) = delete;
  // The caller will give the memory back.
  void Keep() { size_ = 0; }

 private:
  const int32_t device_;
  size_t size_;
};

struct DeviceMemoryUse {
  size_t used = 0;
  size_t peak = 0;  // the most bytes used at a time
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
