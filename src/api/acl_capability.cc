// acl.h: properties of the device and versions.
#include <array>

#include "acl/acl.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/options.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::base::Status;

namespace {

constexpr std::array<aclCannAttr, 2> kAttributes{ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16};

}  // namespace

extern "C" {

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  return Guarded(__func__, [&]() -> Status {
    if (value == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "value is null");
    switch (RawValue(cannAttr)) {
      case ACL_CANN_ATTR_INF_NAN:
      case ACL_CANN_ATTR_BF16:
        *value = 1;
        return {};
      case ACL_CANN_ATTR_JIT_COMPILE:  // every operator is compiled in advance
        *value = 0;
        return {};
      default:
        return rt::Error(ACL_ERROR_INVALID_PARAM, "cannAttr is {}, which is no aclCannAttr",
                         RawValue(cannAttr));
    }
  });
}

aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  return Guarded(__func__, [&]() -> Status {
    if (cannAttrList == nullptr || num == nullptr) {
      return rt::Error(ACL_ERROR_INVALID_PARAM, "{} is null",
                       cannAttrList == nullptr ? "cannAttrList" : "num");
    }
    *cannAttrList = kAttributes.data();
    *num = kAttributes.size();
    return {};
  });
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return Guarded(__func__, [&]() -> Status {
    if (value == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "value is null");
    const auto device = static_cast<int32_t>(deviceId);
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(device));
    switch (RawValue(deviceInfo)) {
      case ACL_DEVICE_INFO_AI_CORE_NUM:
        *value = rt::DeviceCores(device, ACL_RT_DEV_RES_CUBE_CORE);
        return {};
      case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
        *value = rt::DeviceCores(device, ACL_RT_DEV_RES_VECTOR_CORE);
        return {};
      case ACL_DEVICE_INFO_L2_SIZE:
        *value = static_cast<int64_t>(rt::CacheBytes());
        return {};
      default:
        return rt::Error(ACL_ERROR_INVALID_PARAM, "deviceInfo is {}, which is no aclDeviceInfo",
                         RawValue(deviceInfo));
    }
  });
}

aclError aclsysGetCANNVersion(aclCANNPackageName /*name*/, aclCANNPackageVersion* version) {
  // No package of the vendor is installed: an answer, and no refusal of the call.
  if (version != nullptr) return ACL_ERROR_INVALID_FILE;
  return Guarded(__func__, [] { return rt::Error(ACL_ERROR_INVALID_PARAM, "version is null"); });
}

}  // extern "C"
