// acl_rt_memory.h: registers host memory that the program allocated.
#include <cstdint>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/error.h"
#include "runtime/host_register.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::base::Status;

extern "C" {

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  return Guarded(__func__, [&]() -> Status {
    if (devPtr == nullptr) return rt::InvalidParam("devPtr is null");
    if (RawValue(type) != ACL_HOST_REGISTER_MAPPED) {
      return rt::InvalidParam("type is {}, wanted ACL_HOST_REGISTER_MAPPED (0)", RawValue(type));
    }
    PORTACL_RETURN_IF_ERROR(rt::RegisterHost(ptr, size));
    *devPtr = ptr;
    return {};
  });
}

aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  return Guarded(__func__, [&]() -> Status {
    if (flag == 0 || (flag & ~(ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED)) != 0) {
      return rt::InvalidParam(
          "flag is {:#x}, wanted one or both of ACL_HOST_REG_MAPPED (0x2), "
          "ACL_HOST_REG_PINNED (0x10000000)",
          flag);
    }
    return rt::RegisterHost(ptr, size);
  });
}

aclError aclrtHostUnregister(void* ptr) {
  return Guarded(__func__, [&] { return rt::UnregisterHost(ptr); });
}

}  // extern "C"
