// Keeps options of the process, and of each device, stream and thread.
#include "runtime/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "acl/acl_rt_device.h"
#include "base/fork.h"
#include "base/per_thread.h"
#include "runtime/context.h"
#include "runtime/parallel.h"
#include "runtime/stream.h"

namespace portacl::runtime {
namespace {

constexpr int32_t kJitCompile = 10;  // ACL_OP_JIT_COMPILE

struct CompileOptions {
  CompileOptions() { texts[kJitCompile] = "disable"; }
  base::ForkSafe<std::mutex> mutex{base::LockRank::kSettings};
  std::array<std::string, kCompileOptions> texts;
};

CompileOptions& TheCompileOptions() {
  static constinit base::Immortal<CompileOptions> options;
  return options.Get();
}

struct DeviceOptions {
  std::atomic<int32_t> saturation{ACL_RT_OVERFLOW_MODE_INFNAN};
  std::array<std::atomic<uint32_t>, kResources> cores{};
};

DeviceOptions& OptionsOf(int32_t device) {
  static constinit base::Immortal<std::vector<DeviceOptions>> devices;
  const auto make = [] {
    return new std::vector<DeviceOptions>(static_cast<size_t>(DeviceCount()));
  };
  return devices.Get(make)[static_cast<size_t>(device)];
}

}  // namespace

Timeouts& TheTimeouts() {
  static Timeouts timeouts;
  return timeouts;
}

void SetCompileOption(int32_t option, std::string value) {
  CompileOptions& options = TheCompileOptions();
  const std::lock_guard lock(options.mutex);
  options.texts[static_cast<size_t>(option)] = std::move(value);
}

std::string CompileOption(int32_t option) {
  CompileOptions& options = TheCompileOptions();
  const std::lock_guard lock(options.mutex);
  return options.texts[static_cast<size_t>(option)];
}

std::atomic<int32_t>& SaturationMode(int32_t device) { return OptionsOf(device).saturation; }

void SetDeviceCores(int32_t device, int32_t resource, uint32_t cores) {
  OptionsOf(device).cores[static_cast<size_t>(resource)].store(cores);
}

uint32_t DeviceCores(int32_t device, int32_t resource) {
  const uint32_t limit = OptionsOf(device).cores[static_cast<size_t>(resource)].load();
  return limit != 0 ? limit : static_cast<uint32_t>(NumThreads());
}

uint32_t StreamCores(Stream& stream, int32_t resource) {
  const uint32_t limit = stream.tags().core_limits[static_cast<size_t>(resource)].load();
  return limit != 0 ? limit : DeviceCores(stream.device(), resource);
}

void*& ThreadsStream() {
  PORTACL_STARTS_WITH_THREAD thread_local void* stream = nullptr;
  return stream;
}

size_t CacheBytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return static_cast<size_t>(std::max(bytes, 0L));
}

}  // namespace portacl::runtime
