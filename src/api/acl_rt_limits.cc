// acl_rt_device.h, acl_rt_stream.h: limits of devices, streams and threads.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/options.h"
#include "runtime/stream.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::base::Status;

namespace {

Status CheckResource(int32_t type) {
  if (type >= 0 && type < rt::kResources) return {};
  return rt::InvalidParam(
      "type is {}, wanted ACL_RT_DEV_RES_CUBE_CORE (0) or ACL_RT_DEV_RES_VECTOR_CORE (1)", type);
}

Status CheckLimit(int32_t type, uint32_t value) {
  PORTACL_RETURN_IF_ERROR(CheckResource(type));
  if (value > 0) return {};
  return rt::InvalidParam("value is 0, wanted at least 1 core");
}

void ResetLimits(rt::Stream& stream) {
  for (auto& limit : stream.tags().core_limits) limit.store(0);
}

}  // namespace

extern "C" {

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    PORTACL_RETURN_IF_ERROR(CheckLimit(RawValue(type), value));
    rt::SetDeviceCores(deviceId, RawValue(type), value);
    return {};
  });
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  return Guarded(__func__, [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    PORTACL_RETURN_IF_ERROR(CheckResource(RawValue(type)));
    *value = rt::DeviceCores(deviceId, RawValue(type));
    return {};
  });
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    for (int32_t type = 0; type < rt::kResources; ++type) rt::SetDeviceCores(deviceId, type, 0);
    return {};
  });
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckLimit(RawValue(type), value));
    return rt::WithStream(stream, [&](rt::Stream& found) {
      found.tags().core_limits[static_cast<size_t>(RawValue(type))].store(value);
    });
  });
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
  return Guarded(__func__, [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    PORTACL_RETURN_IF_ERROR(CheckResource(RawValue(type)));
    return rt::WithStream(
        stream, [&](rt::Stream& found) { *value = rt::StreamCores(found, RawValue(type)); });
  });
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::WithStream(stream, ResetLimits); });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  return Guarded(__func__, [&]() -> Status {
    return rt::WithStream(stream, [&](rt::Stream&) { rt::ThreadsStream() = stream; });
  });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  return Guarded(__func__, [&]() -> Status {
    if (rt::ThreadsStream() != stream) {
      return rt::InvalidParam("stream {} is not the one whose limits this thread uses", stream);
    }
    rt::ThreadsStream() = nullptr;
    return {};
  });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return Guarded(__func__, [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    PORTACL_RETURN_IF_ERROR(CheckResource(RawValue(type)));
    return rt::WithStream(rt::ThreadsStream(), [&](rt::Stream& found) {
      *value = rt::StreamCores(found, RawValue(type));
    });
  });
}

}  // extern "C"
