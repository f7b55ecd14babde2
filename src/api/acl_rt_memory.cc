// acl_rt.h, acl_rt_memory.h: memory, its use, copies and fills.
#include <cstdio>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/copy.h"
#include "runtime/error.h"
#include "runtime/host_register.h"
#include "runtime/memory.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::GuardedMemory;
using portacl::api::RawValue;
using portacl::base::Status;

namespace {

// Checks a range of a cache function, which does no more: host and device memory are coherent.
Status CheckCacheRange(const void* address, size_t size) {
  if (address == nullptr) return rt::InvalidParam("devPtr is null");
  rt::AllocationInfo info;
  if (!rt::FindAllocation(address, &info) || info.host) {
    return rt::InvalidParam("devPtr is {}, which is not device memory", address);
  }
  const auto offset =
      static_cast<size_t>(static_cast<const char*>(address) - static_cast<const char*>(info.base));
  if (size > info.size - offset) {
    return rt::InvalidParam("size is {}, but the allocation ends after {} bytes", size,
                            info.size - offset);
  }
  return {};
}

aclError EnqueueCopy(const char* api, void* dst, size_t room, const void* src, size_t count,
                     aclrtMemcpyKind kind, aclrtStream stream) {
  return Guarded(api, [&]() -> Status {
    rt::CopyRequest request;
    PORTACL_RETURN_IF_ERROR(rt::MakeCopyRequest(dst, room, src, count, RawValue(kind), &request));
    return rt::CopyAsync(request, stream);
  });
}

}  // namespace

extern "C" {

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return GuardedMemory(
      __func__, [&] { return rt::Malloc(size, static_cast<uint32_t>(RawValue(policy)), devPtr); });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return GuardedMemory(
      __func__, [&] { return rt::Malloc(size, static_cast<uint32_t>(RawValue(policy)), devPtr); });
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return GuardedMemory(
      __func__, [&] { return rt::Malloc(size, static_cast<uint32_t>(RawValue(policy)), devPtr); });
}

aclError aclrtFree(void* devPtr) {
  return Guarded(__func__, [&] { return rt::Free(devPtr); });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return GuardedMemory(__func__, [&] { return rt::MallocHost(size, hostPtr); });
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  return GuardedMemory(__func__, [&]() -> Status {
    if (cfg != nullptr && cfg->numAttrs > 0 && cfg->attrs == nullptr) {
      return rt::InvalidParam("cfg->attrs is null, but cfg->numAttrs {}", cfg->numAttrs);
    }
    for (size_t i = 0; cfg != nullptr && i < cfg->numAttrs; ++i) {
      const int32_t attr = RawValue(cfg->attrs[i].attr);
      if (attr >= ACL_RT_MEM_ATTR_RSV && attr <= ACL_RT_MEM_ATTR_VA_FLAG) continue;
      return rt::InvalidParam("cfg->attrs[{}].attr is {}, which is no aclrtMallocAttrType", i,
                              attr);
    }
    return rt::MallocHost(size, ptr);
  });
}

aclError aclrtFreeHost(void* hostPtr) {
  return Guarded(__func__, [&] { return rt::FreeHost(hostPtr); });
}

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  return Guarded(__func__, [&]() -> Status {
    rt::CopyRequest request;
    PORTACL_RETURN_IF_ERROR(
        rt::MakeCopyRequest(dst, destMax, src, count, RawValue(kind), &request));
    return rt::Copy(request);
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return EnqueueCopy(__func__, dst, destMax, src, count, kind, stream);
}

aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                       aclrtMemcpyKind kind, aclrtStream stream) {
  return EnqueueCopy(__func__, dst, destMax, src, count, kind, stream);
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return Guarded(__func__, [&] { return rt::Fill({devPtr, maxCount, value, count}); });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::FillAsync({devPtr, maxCount, value, count}, stream); });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind) {
  return Guarded(__func__, [&] {
    return rt::Copy({dst, src, dpitch, spitch, width, height, RawValue(kind)});
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return Guarded(__func__, [&] {
    return rt::CopyAsync({dst, src, dpitch, spitch, width, height, RawValue(kind)}, stream);
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* freeBytes, size_t* totalBytes) {
  return Guarded(__func__, [&] { return rt::GetMemInfo(RawValue(attr), freeBytes, totalBytes); });
}

aclError aclrtGetMemUsageInfo(uint32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum,
                              size_t* outputNum) {
  return Guarded(__func__, [&]() -> Status {
    if (memUsageInfo == nullptr || outputNum == nullptr) {
      return rt::InvalidParam("{} is null", memUsageInfo == nullptr ? "memUsageInfo" : "outputNum");
    }
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(static_cast<int32_t>(deviceId)));
    if (inputNum == 0) return rt::InvalidParam("inputNum is 0, wanted at least 1");
    const rt::DeviceMemoryUse use = rt::GetDeviceMemoryUse(static_cast<int32_t>(deviceId));
    *memUsageInfo = {};
    std::snprintf(memUsageInfo->name, sizeof memUsageInfo->name, "portacl");
    memUsageInfo->curMemSize = use.used;
    memUsageInfo->memPeakSize = use.peak;
    *outputNum = 1;
    return {};
  });
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return Guarded(__func__, [&]() -> Status {
    if (ptr == nullptr || attributes == nullptr) {
      return rt::InvalidParam("{} is null", ptr == nullptr ? "ptr" : "attributes");
    }
    rt::AllocationInfo info;
    const bool known = rt::FindAllocation(ptr, &info);
    const bool device = known && !info.host;
    *attributes = {};
    const bool host = known || rt::IsRegisteredHost(ptr);
    attributes->location.type = device ? ACL_MEM_LOCATION_TYPE_DEVICE
                                : host ? ACL_MEM_LOCATION_TYPE_HOST
                                       : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    attributes->location.id = device ? static_cast<uint32_t>(info.device) : 0;
    attributes->pageSize = known ? static_cast<uint32_t>(info.page_size) : 0;
    return {};
  });
}

aclError aclrtMemFlush(void* devPtr, size_t size) {
  return Guarded(__func__, [&] { return CheckCacheRange(devPtr, size); });
}

aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  return Guarded(__func__, [&] { return CheckCacheRange(devPtr, size); });
}

}  // extern "C"
