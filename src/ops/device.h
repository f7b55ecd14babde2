// Where a call computes.
#ifndef PORTACL_OPS_DEVICE_H_
#define PORTACL_OPS_DEVICE_H_

#include <cstdint>

#include "cuda/library.h"
#include "ops/surface.h"

namespace portacl::ops {

// The GPU that this thread's call through `surface` is planned for, or cuda::kCpu: devices of the
// ACL API are CPUs.
inline int32_t DeviceOf(Surface surface) {
  return surface == Surface::kNative ? cuda::ThreadDevice() : cuda::kCpu;
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_DEVICE_H_
