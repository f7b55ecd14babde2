// The registry of allocations: device and pinned host memory.
#ifndef PORTACL_RUNTIME_MEMORY_H_
#define PORTACL_RUNTIME_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace portacl::runtime {

struct AllocationInfo {
  const void* base = nullptr;  // the address that the caller got
  size_t size = 0;             // the bytes that the caller asked for
  int32_t device = 0;
  bool host = false;           // aclrtMallocHost
};

// The live allocation that contains `address` (one past the end does not count).
bool FindAllocation(const void* address, AllocationInfo* info);

// The address through which kernels reach device memory: `address` itself, but for guard mode,
// where the caller's address faults. In guard mode an address that is not device memory is refused;
// `what` names it in the message. Null gives null.
base::Status ResolveAddress(const void* address, size_t bytes, const char* what,
                            void** kernel_address);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_MEMORY_H_
