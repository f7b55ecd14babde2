// acl_rt_stream.h: attributes of a stream.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/stream.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::base::Status;

namespace {

Status CheckSwitch(uint32_t value, const char* name) {
  if (value <= 1) return {};
  return rt::InvalidParam("{} is {}, wanted 0 or 1", name, value);
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

}  // namespace

extern "C" {

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return Guarded(__func__, [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    return rt::WithStream(stream, [&](rt::Stream& found) {
      return SetAttribute(found, RawValue(stmAttrType), *value);
    });
  });
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return Guarded(__func__, [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    return rt::WithStream(stream, [&](rt::Stream& found) {
      return GetAttribute(found, RawValue(stmAttrType), value);
    });
  });
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckSwitch(flag, "flag"));
    return rt::WithStream(stream,
                          [&](rt::Stream& found) { found.tags().overflow_switch.store(flag); });
  });
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  return Guarded(__func__, [&]() -> Status {
    if (flag == nullptr) return rt::InvalidParam("flag is null");
    return rt::WithStream(stream,
                          [&](rt::Stream& found) { *flag = found.tags().overflow_switch.load(); });
  });
}

}  // extern "C"
