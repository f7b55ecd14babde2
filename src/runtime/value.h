// Streams write numbers to device memory, and wait for numbers there.
#ifndef PORTACL_RUNTIME_VALUE_H_
#define PORTACL_RUNTIME_VALUE_H_

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace portacl::runtime {

// The condition of a wait, for the number m in memory: m >= value, m == value, (m & value) != 0, or
// ~(m | value) != 0.
enum class ValueTest : uint32_t { kGreaterEqual = 0, kEqual = 1, kAnd = 2, kNor = 3 };

// `address` is 8 bytes of device memory, aligned to 8.
base::Status WriteValue(void* address, uint64_t value, void* stream);
base::Status WaitForValue(void* address, uint64_t value, ValueTest test, void* stream);

// Checks a range of device memory and a stream. Does no more, because the memory is coherent.
base::Status CheckCacheOperation(const void* address, size_t bytes, void* stream);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_VALUE_H_
