// acl_rt_device.h: device faults, which never happen, and aborting work.
#include <cstddef>
#include <cstdint>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "api/unsupported.h"
#include "runtime/context.h"
#include "runtime/error.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::Unsupported;
using portacl::base::Status;

extern "C" {

// Ignores the timeout, because running work cannot be stopped from outside.
aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t) {
  return Guarded(__func__, [&] { return rt::AbortDevice(deviceId); });
}

aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo*, size_t, size_t* retSize) {
  return Guarded(__func__, [&]() -> Status {
    if (retSize == nullptr) return rt::InvalidParam("retSize is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    *retSize = 0;
    return {};
  });
}

aclError aclrtMemUceRepair(int32_t, aclrtMemUceInfo*, size_t) {
  return Unsupported(__func__, "device memory is the machine's, which repairs itself");
}

aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo* errorInfo) {
  return Guarded(__func__, [&]() -> Status {
    if (errorInfo == nullptr) return rt::InvalidParam("errorInfo is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    *errorInfo = {};
    errorInfo->errorType = ACL_RT_NO_ERROR;
    return {};
  });
}

aclError aclrtRepairError(int32_t, const aclrtErrorInfo*) {
  return Unsupported(__func__, "a device has no faults to repair");
}

}  // extern "C"
