// acl_rt_device.h: what happens if a floating-point number overflows.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/options.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::base::Status;

namespace {

Status CurrentDevice(int32_t* device) {
  rt::Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&context));
  *device = context->device;
  return {};
}

}  // namespace

extern "C" {

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return Guarded(__func__, [&]() -> Status {
    const int32_t wanted = RawValue(mode);
    if (wanted != ACL_RT_OVERFLOW_MODE_SATURATION && wanted != ACL_RT_OVERFLOW_MODE_INFNAN) {
      return rt::InvalidParam(
          "mode is {}, wanted ACL_RT_OVERFLOW_MODE_SATURATION (0) or _INFNAN (1)", wanted);
    }
    int32_t device = 0;
    PORTACL_RETURN_IF_ERROR(CurrentDevice(&device));
    rt::SaturationMode(device).store(wanted);
    return {};
  });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  return Guarded(__func__, [&]() -> Status {
    if (mode == nullptr) return rt::InvalidParam("mode is null");
    int32_t device = 0;
    PORTACL_RETURN_IF_ERROR(CurrentDevice(&device));
    *mode = static_cast<aclrtFloatOverflowMode>(rt::SaturationMode(device).load());
    return {};
  });
}

}  // extern "C"
