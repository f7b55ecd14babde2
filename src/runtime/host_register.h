// Host memory that the program allocated and registered for devices.
#ifndef PORTACL_RUNTIME_HOST_REGISTER_H_
#define PORTACL_RUNTIME_HOST_REGISTER_H_

#include <cstddef>

#include "base/status.h"

namespace portacl::runtime {

// Returns ACL_ERROR_RT_PARAM_INVALID for null, size 0, device memory, or a range that overlaps a
// registered range.
base::Status RegisterHost(void* address, size_t size);
base::Status UnregisterHost(void* address);

bool IsRegisteredHost(const void* address);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_HOST_REGISTER_H_
