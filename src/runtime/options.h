// Options that programs set and read back: modes, timeouts, limits. They do not change results.
#ifndef PORTACL_RUNTIME_OPTIONS_H_
#define PORTACL_RUNTIME_OPTIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace portacl::runtime {

class Stream;

inline constexpr int kCompileOptions = 17;  // number of values of aclCompileOpt
inline constexpr int kResources = 2;        // number of values of aclrtDevResLimitType

// Timeouts of the process.
struct Timeouts {
  std::atomic<uint64_t> execute_us{0};  // 0: no limit
  std::atomic<uint64_t> wait_us{0};
};
Timeouts& TheTimeouts();

// Options as texts; `option` is in [0, kCompileOptions).
void SetCompileOption(int32_t option, std::string value);
std::string CompileOption(int32_t option);

// The aclrtFloatOverflowMode of a valid device.
std::atomic<int32_t>& SaturationMode(int32_t device);

// The number of cores of a device or stream. `resource` is in [0, kResources); 0 cores remove the
// limit. A stream without a limit has its device's cores; a device without one has all threads.
void SetDeviceCores(int32_t device, int32_t resource, uint32_t cores);
uint32_t DeviceCores(int32_t device, int32_t resource);
uint32_t StreamCores(Stream& stream, int32_t resource);

// The handle of a stream: this thread uses the stream's limits. Null: the current device's limits.
void*& ThreadsStream();

// Bytes of one core's second-level cache.
size_t CacheBytes();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_OPTIONS_H_
