// acl_rt_memory.h: virtual memory.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "api/unsupported.h"
#include "runtime/error.h"
#include "runtime/virtual_memory.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::GuardedMemory;
using portacl::api::RawValue;
using portacl::api::Unsupported;
using portacl::base::Status;

namespace {

Status CheckProp(const aclrtPhysicalMemProp* prop) {
  if (prop == nullptr) return rt::InvalidParam("prop is null");
  if (RawValue(prop->handleType) != ACL_MEM_HANDLE_TYPE_NONE) {
    return rt::InvalidParam("prop->handleType is {}, wanted ACL_MEM_HANDLE_TYPE_NONE (0)",
                            RawValue(prop->handleType));
  }
  if (RawValue(prop->allocationType) != ACL_MEM_ALLOCATION_TYPE_PINNED) {
    return rt::InvalidParam("prop->allocationType is {}, wanted ACL_MEM_ALLOCATION_TYPE_PINNED (0)",
                            RawValue(prop->allocationType));
  }
  const int32_t attr = RawValue(prop->memAttr);
  if (attr < ACL_DDR_MEM || attr > ACL_HBM_MEM_P2P_HUGE1G) {
    return rt::InvalidParam("prop->memAttr is {}, wanted an aclrtMemAttr", attr);
  }
  if (RawValue(prop->location.type) != ACL_MEM_LOCATION_TYPE_DEVICE) {
    return rt::InvalidParam("prop->location.type is {}, wanted ACL_MEM_LOCATION_TYPE_DEVICE (1)",
                            RawValue(prop->location.type));
  }
  return {};
}

Status CheckFlags(uint64_t flags, uint64_t most) {
  if (flags <= most) return {};
  return rt::InvalidParam("flags is {}, wanted {}", flags, most == 0 ? "0" : "0 or 1");
}

}  // namespace

extern "C" {

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                uint64_t flags) {
  return GuardedMemory(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckFlags(flags, 1));
    return rt::ReserveAddresses(size, alignment, expectPtr, virPtr);
  });
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  return Guarded(__func__, [&] { return rt::ReleaseAddresses(virPtr); });
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                             const aclrtPhysicalMemProp* prop, uint64_t flags) {
  return GuardedMemory(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckProp(prop));
    PORTACL_RETURN_IF_ERROR(CheckFlags(flags, 0));
    return rt::MallocPhysical(size, static_cast<int32_t>(prop->location.id), handle);
  });
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  return Guarded(__func__, [&] { return rt::FreePhysical(handle); });
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags) {
  return GuardedMemory(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckFlags(flags, 0));
    return rt::MapMemory(virPtr, size, offset, handle);
  });
}

aclError aclrtUnmapMem(void* virPtr) {
  return Guarded(__func__, [&] { return rt::UnmapMemory(virPtr); });
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                          aclrtMemGranularityOptions option, size_t* granularity) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckProp(prop));
    if (granularity == nullptr) return rt::InvalidParam("granularity is null");
    const int32_t wanted = RawValue(option);
    if (wanted != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
        wanted != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
      return rt::InvalidParam(
          "option is {}, wanted ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM (0) or "
          "_RECOMMENDED (1)",
          wanted);
    }
    *granularity = rt::kMemoryGranularity;
    return {};
  });
}

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle, aclrtMemHandleType, uint64_t,
                                         uint64_t*) {
  return Unsupported(__func__, "memory is not shared between processes");
}

aclError aclrtMemImportFromShareableHandle(uint64_t, int32_t, aclrtDrvMemHandle*) {
  return Unsupported(__func__, "memory is not shared between processes");
}

aclError aclrtMemSetPidToShareableHandle(uint64_t, int32_t*, size_t) {
  return Unsupported(__func__, "memory is not shared between processes");
}

}  // extern "C"
