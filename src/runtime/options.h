// Options that programs set and read back, without an effect on results: modes, timeouts, limits.
#ifndef PORTACL_RUNTIME_OPTIONS_H_
#define PORTACL_RUNTIME_OPTIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace portacl::runtime {

class Stream;

inline constexpr int kCompileOptions = 17;  // values of aclCompileOpt
inline constexpr int kResources = 2;        // values of aclrtDevResLimitType

// Timeouts of the process.
struct Timeouts {
  std::atomic<uint64_t> execute_us{0};  // 0: no limit
  std::atomic<uint64_t> wait_us{0};
};
Timeouts& TheTimeouts();

// Texts; `option` is in [0, kCompileOptions).
void SetCompileOption(int32_t option, std::string value);
std::string CompileOption(int32_t option);

// An aclrtFloatOverflowMode. The device must be there.
std::atomic<int32_t>& SaturationMode(int32_t device);

// Cores of a device or stream; `resource` is in [0, kResources), and 0 cores remove the limit. A
// stream without a limit has its device's cores; a device without a limit has the arena's threads.
void SetDeviceCores(int32_t device, int32_t resource, uint32_t cores);
uint32_t DeviceCores(int32_t device, int32_t resource);
uint32_t StreamCores(Stream& stream, int32_t resource);

// Handle of the stream that sets this thread's limits; null: the current device does.
void*& ThreadsStream();

// Bytes of the second-level cache of one core.
size_t CacheBytes();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_OPTIONS_H_
