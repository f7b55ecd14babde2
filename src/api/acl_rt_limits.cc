// acl_rt_device.h, acl_rt_stream.h: modes, timeouts and limits of devices, streams and threads.
#include <memory>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/options.h"
#include "runtime/stream_queue.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::base::Status;

namespace {

constexpr uint64_t kSecond = 1000000;  // microseconds

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

Status CheckSwitch(uint32_t value, const char* name) {
  if (value <= 1) return {};
  return rt::InvalidParam("{} is {}, wanted 0 or 1", name, value);
}

Status CurrentDevice(int32_t* device) {
  rt::Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&context));
  *device = context->device;
  return {};
}

Status SetAttribute(rt::Stream& stream, int32_t type, const aclrtStreamAttrValue& value) {
  switch (type) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      if (value.failureMode > ACL_STOP_ON_FAILURE) {
        return rt::InvalidParam("value->failureMode is {}, wanted 0 or 1", value.failureMode);
      }
      stream.SetStopOnFailure(value.failureMode == ACL_STOP_ON_FAILURE);
      return {};
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      PORTACL_RETURN_IF_ERROR(CheckSwitch(value.overflowSwitch, "value->overflowSwitch"));
      stream.tags().overflow_switch.store(value.overflowSwitch);
      return {};
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      stream.tags().user_tag.store(value.userCustomTag);
      return {};
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      PORTACL_RETURN_IF_ERROR(CheckSwitch(value.cacheOpInfoSwitch, "value->cacheOpInfoSwitch"));
      stream.tags().cache_op_info.store(value.cacheOpInfoSwitch);
      return {};
    default:
      return rt::InvalidParam("stmAttrType is {}, which is no aclrtStreamAttr", type);
  }
}

Status GetAttribute(rt::Stream& stream, int32_t type, aclrtStreamAttrValue* value) {
  *value = {};
  switch (type) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      value->failureMode = stream.stop_on_failure() ? ACL_STOP_ON_FAILURE : ACL_CONTINUE_ON_FAILURE;
      return {};
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      value->overflowSwitch = stream.tags().overflow_switch.load();
      return {};
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      value->userCustomTag = stream.tags().user_tag.load();
      return {};
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      value->cacheOpInfoSwitch = stream.tags().cache_op_info.load();
      return {};
    default:
      return rt::InvalidParam("stmAttrType is {}, which is no aclrtStreamAttr", type);
  }
}

void ResetLimits(rt::Stream& stream) {
  for (auto& limit : stream.tags().core_limits) limit.store(0);
}

}  // namespace

extern "C" {

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return Guarded("aclrtSetDeviceSatMode", [&]() -> Status {
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
  return Guarded("aclrtGetDeviceSatMode", [&]() -> Status {
    if (mode == nullptr) return rt::InvalidParam("mode is null");
    int32_t device = 0;
    PORTACL_RETURN_IF_ERROR(CurrentDevice(&device));
    *mode = static_cast<aclrtFloatOverflowMode>(rt::SaturationMode(device).load());
    return {};
  });
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  return Guarded("aclrtSetOpExecuteTimeOut", [&]() -> Status {
    rt::TheTimeouts().execute_us.store(timeout * kSecond);
    return {};
  });
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  return Guarded("aclrtSetOpExecuteTimeOutV2", [&]() -> Status {
    if (actualTimeout == nullptr) return rt::InvalidParam("actualTimeout is null");
    rt::TheTimeouts().execute_us.store(timeout);
    *actualTimeout = timeout;
    return {};
  });
}

aclError aclrtGetOpExecuteTimeout(uint32_t* timeoutMs) {
  return Guarded("aclrtGetOpExecuteTimeout", [&]() -> Status {
    if (timeoutMs == nullptr) return rt::InvalidParam("timeoutMs is null");
    *timeoutMs = static_cast<uint32_t>(rt::TheTimeouts().execute_us.load() / 1000);
    return {};
  });
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  return Guarded("aclrtSetOpWaitTimeout", [&]() -> Status {
    rt::TheTimeouts().wait_us.store(timeout * kSecond);
    return {};
  });
}

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  return Guarded("aclrtSetDeviceResLimit", [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    PORTACL_RETURN_IF_ERROR(CheckLimit(RawValue(type), value));
    rt::SetDeviceCores(deviceId, RawValue(type), value);
    return {};
  });
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  return Guarded("aclrtGetDeviceResLimit", [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    PORTACL_RETURN_IF_ERROR(CheckResource(RawValue(type)));
    *value = rt::DeviceCores(deviceId, RawValue(type));
    return {};
  });
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  return Guarded("aclrtResetDeviceResLimit", [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    for (int32_t type = 0; type < rt::kResources; ++type) rt::SetDeviceCores(deviceId, type, 0);
    return {};
  });
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  return Guarded("aclrtSetStreamResLimit", [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckLimit(RawValue(type), value));
    std::shared_ptr<rt::Stream> found;
    PORTACL_RETURN_IF_ERROR(rt::FindStream(stream, &found));
    found->tags().core_limits[static_cast<size_t>(RawValue(type))].store(value);
    return {};
  });
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
  return Guarded("aclrtGetStreamResLimit", [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    PORTACL_RETURN_IF_ERROR(CheckResource(RawValue(type)));
    std::shared_ptr<rt::Stream> found;
    PORTACL_RETURN_IF_ERROR(rt::FindStream(stream, &found));
    *value = rt::StreamCores(*found, RawValue(type));
    return {};
  });
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
  return Guarded("aclrtResetStreamResLimit", [&]() -> Status {
    std::shared_ptr<rt::Stream> found;
    PORTACL_RETURN_IF_ERROR(rt::FindStream(stream, &found));
    ResetLimits(*found);
    return {};
  });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  return Guarded("aclrtUseStreamResInCurrentThread", [&]() -> Status {
    std::shared_ptr<rt::Stream> found;
    PORTACL_RETURN_IF_ERROR(rt::FindStream(stream, &found));
    rt::ThreadsStream() = stream;
    return {};
  });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  return Guarded("aclrtUnuseStreamResInCurrentThread", [&]() -> Status {
    if (rt::ThreadsStream() != stream) {
      return rt::InvalidParam("stream {} is not the one whose limits this thread uses", stream);
    }
    rt::ThreadsStream() = nullptr;
    return {};
  });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return Guarded("aclrtGetResInCurrentThread", [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    PORTACL_RETURN_IF_ERROR(CheckResource(RawValue(type)));
    std::shared_ptr<rt::Stream> found;
    PORTACL_RETURN_IF_ERROR(rt::FindStream(rt::ThreadsStream(), &found));
    *value = rt::StreamCores(*found, RawValue(type));
    return {};
  });
}

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return Guarded("aclrtSetStreamAttribute", [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    std::shared_ptr<rt::Stream> found;
    PORTACL_RETURN_IF_ERROR(rt::FindStream(stream, &found));
    return SetAttribute(*found, RawValue(stmAttrType), *value);
  });
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return Guarded("aclrtGetStreamAttribute", [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    std::shared_ptr<rt::Stream> found;
    PORTACL_RETURN_IF_ERROR(rt::FindStream(stream, &found));
    return GetAttribute(*found, RawValue(stmAttrType), value);
  });
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  return Guarded("aclrtSetStreamOverflowSwitch", [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckSwitch(flag, "flag"));
    std::shared_ptr<rt::Stream> found;
    PORTACL_RETURN_IF_ERROR(rt::FindStream(stream, &found));
    found->tags().overflow_switch.store(flag);
    return {};
  });
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  return Guarded("aclrtGetStreamOverflowSwitch", [&]() -> Status {
    if (flag == nullptr) return rt::InvalidParam("flag is null");
    std::shared_ptr<rt::Stream> found;
    PORTACL_RETURN_IF_ERROR(rt::FindStream(stream, &found));
    *flag = found->tags().overflow_switch.load();
    return {};
  });
}

}  // extern "C"
