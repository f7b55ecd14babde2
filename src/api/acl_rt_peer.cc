// acl_rt_device.h: access between devices and between processes.
#include <unistd.h>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::base::Status;

namespace {

// Checks the flags and that `peer` is a device other than the current context's device.
Status CheckPeer(int32_t peer, uint32_t flags) {
  if (flags != 0) return rt::InvalidParam("flags is {}, wanted 0", flags);
  rt::Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&context));
  PORTACL_RETURN_IF_ERROR(rt::CheckDevice(peer));
  if (peer != context->device) return {};
  return rt::InvalidParam("peerDeviceId is {}, which is the current device itself", peer);
}

}  // namespace

extern "C" {

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return Guarded(__func__, [&]() -> Status {
    if (canAccessPeer == nullptr) return rt::InvalidParam("canAccessPeer is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(peerDeviceId));
    *canAccessPeer = deviceId != peerDeviceId ? 1 : 0;
    return {};
  });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return Guarded(__func__, [&] { return CheckPeer(peerDeviceId, flags); });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  return Guarded(__func__, [&] { return CheckPeer(peerDeviceId, 0); });
}

aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  return Guarded(__func__, [&]() -> Status {
    if (pid == nullptr) return rt::InvalidParam("pid is null");
    *pid = static_cast<int32_t>(getpid());
    return {};
  });
}

}  // extern "C"
