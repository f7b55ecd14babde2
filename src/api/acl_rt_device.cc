// acl_rt.h: devices and contexts.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::Question;
using portacl::base::Status;

extern "C" {

aclError aclrtSetDevice(int32_t deviceId) {
  return Guarded(__func__, [&] { return rt::SetDevice(deviceId); });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return Guarded(__func__, [&] { return rt::ResetDevice(deviceId); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return Guarded(__func__, [&] { return rt::ResetDeviceForce(deviceId); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return Question([&]() -> Status {
    if (deviceId == nullptr) return rt::InvalidParam("deviceId is null");
    rt::Context* context = nullptr;
    PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&context));
    *deviceId = context->device;
    return {};
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return Guarded(__func__, [&]() -> Status {
    if (count == nullptr) return rt::InvalidParam("count is null");
    *count = static_cast<uint32_t>(rt::DeviceCount());
    return {};
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return Guarded(__func__, [&]() -> Status {
    if (runMode == nullptr) return rt::InvalidParam("runMode is null");
    *runMode = ACL_HOST;
    return {};
  });
}

aclError aclrtSynchronizeDevice() {
  return Guarded(__func__, [] { return rt::SynchronizeDevice(rt::DeadlineAfter(-1)); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(rt::CheckTimeout(timeout));
    return rt::SynchronizeDevice(rt::DeadlineAfter(timeout));
  });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return Guarded(__func__, [&] { return rt::CreateContext(deviceId, context); });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return Guarded(__func__, [&] { return rt::DestroyContext(context); });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return Guarded(__func__, [&] { return rt::SetCurrentContext(context); });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return Guarded(__func__, [&]() -> Status {
    if (context == nullptr) return rt::InvalidParam("context is null");
    rt::Context* current = nullptr;
    PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&current));
    *context = current;
    return {};
  });
}

}  // extern "C"
