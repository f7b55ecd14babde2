// acl_rt_device.h, acl_base.h: properties and load of a device.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "ops/settings.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/memory.h"
#include "runtime/options.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::GuardedValue;
using portacl::api::RawValue;
using portacl::base::Status;

namespace {

uint64_t HashText(const std::string& text, uint64_t seed) {
  uint64_t hash = 0xCBF29CE484222325 ^ seed;  // FNV-1a
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3;
  return hash;
}

// Returns a text that identifies the machine: systemd's machine id, or else the host name.
std::string MachineName() {
  std::string name(256, '\0');
  if (std::FILE* file = std::fopen("/etc/machine-id", "r")) {
    name.resize(std::fread(name.data(), 1, name.size(), file));
    std::fclose(file);
    if (!name.empty()) return name;
    name.resize(256);
  }
  if (gethostname(name.data(), name.size() - 1) != 0) return "portacl";
  name.resize(std::strlen(name.c_str()));
  return name;
}

Status DeviceInfo(int32_t device, int32_t attr, int64_t* value) {
  switch (attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      *value = rt::DeviceCores(device, ACL_RT_DEV_RES_CUBE_CORE);
      return {};
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = rt::DeviceCores(device, ACL_RT_DEV_RES_VECTOR_CORE);
      return {};
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = static_cast<int64_t>(rt::GetDeviceMemoryUse(device).total);
      return {};
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = static_cast<int64_t>(rt::CacheBytes());
      return {};
    case ACL_DEV_ATTR_PHY_CHIP_ID:
      *value = device;
      return {};
    case ACL_DEV_ATTR_WARP_SIZE:
    case ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE:
    case ACL_DEV_ATTR_LOCAL_MEM_PER_VECTOR_CORE:
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_IS_VIRTUAL:
      *value = 0;
      return {};
    default:
      return rt::InvalidParam("attr is {}, which is no aclrtDevAttr", attr);
  }
}

}  // namespace

extern "C" {

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* logicDevId) {
  return Guarded(__func__, [&]() -> Status {
    if (logicDevId == nullptr) return rt::InvalidParam("logicDevId is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(userDevid));
    *logicDevId = userDevid;
    return {};
  });
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return Guarded(__func__, [&]() -> Status {
    if (value == nullptr) return rt::InvalidParam("value is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(static_cast<int32_t>(deviceId)));
    return DeviceInfo(static_cast<int32_t>(deviceId), RawValue(attr), value);
  });
}

aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  return Guarded(__func__, [&]() -> Status {
    if (uuid == nullptr) return rt::InvalidParam("uuid is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    const std::string name = MachineName();
    const auto device = static_cast<uint64_t>(deviceId);
    const uint64_t halves[] = {HashText(name, 0), HashText(name, device + 1)};
    static_assert(sizeof halves == sizeof *uuid);
    std::memcpy(uuid->bytes, halves, sizeof halves);
    return {};
  });
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  return Guarded(__func__, [&]() -> Status {
    if (active == nullptr) return rt::InvalidParam("active is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    if (flags != nullptr) *flags = 0;
    *active = rt::HasPrimaryContext(deviceId) ? 1 : 0;
    return {};
  });
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo) {
  return Guarded(__func__, [&]() -> Status {
    if (utilizationInfo == nullptr) return rt::InvalidParam("utilizationInfo is null");
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(deviceId));
    const rt::DeviceMemoryUse use = rt::GetDeviceMemoryUse(deviceId);
    const size_t percent = use.total / 100 > 0 ? use.used / (use.total / 100) : 0;
    *utilizationInfo = {DEVICE_UTILIZATION_NOT_SUPPORT, DEVICE_UTILIZATION_NOT_SUPPORT,
                        DEVICE_UTILIZATION_NOT_SUPPORT, static_cast<int32_t>(percent), nullptr};
    return {};
  });
}

// Programs choose code by this name. So each profile returns the name of one of its processors.
const char* aclrtGetSocName() {
  using portacl::ops::Profile;
  const Profile profile =
      GuardedValue(__func__, Profile::kAtlasA2, [] { return portacl::ops::CurrentProfile(); });
  switch (profile) {
    case Profile::kAtlasA2:
    case Profile::kOpen:  // programs refuse unknown names
      break;
    case Profile::kAtlasA3:
      return "Ascend910_9391";
    case Profile::kAtlasTraining:
      return "Ascend910A";
    case Profile::kAscend950:
      return "Ascend950PR";
  }
  return "Ascend910B1";
}

}  // extern "C"
