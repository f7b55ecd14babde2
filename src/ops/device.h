// Where a call computes.
#ifndef PORTACL_OPS_DEVICE_H_
#define PORTACL_OPS_DEVICE_H_

#include <fmt/format.h>

#include <cstdint>

#include "aclnn/aclnn_base.h"
#include "base/status.h"
#include "cuda/library.h"
#include "ops/refusal.h"
#include "ops/surface.h"

namespace portacl::ops {

// The GPU that this thread's call through `surface` is planned for, or cuda::kCpu: devices of the
// ACL API are CPUs.
inline int32_t DeviceOf(Surface surface) {
  return surface == Surface::kNative ? cuda::ThreadDevice() : cuda::kCpu;
}

// A call that CUDA has failed, for another reason than memory.
inline base::Status RefuseCuda(const Refusals& refusals, const char* error) {
  return {ACLNN_ERR_INNER, fmt::format("{}: CUDA: {}", refusals.op(), error)};
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_DEVICE_H_
