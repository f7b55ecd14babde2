// acl_rt_stream.h: values in memory, the cache, times of events, device code.
#include <cstdint>
#include <memory>
#include <utility>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "api/unsupported.h"
#include "runtime/error.h"
#include "runtime/event.h"
#include "runtime/value.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::api::Unsupported;
using portacl::base::Status;

extern "C" {

aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return Guarded("aclrtValueWrite", [&]() -> Status {
    if (flag != 0) return rt::InvalidParam("flag is {}, wanted 0", flag);
    return rt::WriteValue(devAddr, value, stream);
  });
}

aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return Guarded("aclrtValueWait", [&]() -> Status {
    if (flag > ACL_VALUE_WAIT_NOR) {
      return rt::InvalidParam(
          "flag is {}, wanted ACL_VALUE_WAIT_GEQ (0), _EQ (1), _AND (2) or "
          "_NOR (3)",
          flag);
    }
    return rt::WaitForValue(devAddr, value, static_cast<rt::ValueTest>(flag), stream);
  });
}

aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
  return Guarded("aclrtCmoAsync", [&]() -> Status {
    const int32_t type = RawValue(cmoType);
    if (type < ACL_RT_CMO_TYPE_PREFETCH || type > ACL_RT_CMO_TYPE_FLUSH) {
      return rt::InvalidParam("cmoType is {}, which is no aclrtCmoType", type);
    }
    return rt::CheckCacheOperation(src, size, stream);
  });
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  return Guarded("aclrtEventGetTimestamp", [&] { return rt::EventTimestamp(event, timestamp); });
}

aclError aclrtIpcGetEventHandle(aclrtEvent, aclrtIpcEventHandle*) {
  return Unsupported("aclrtIpcGetEventHandle", "events are not shared between processes");
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle, aclrtEvent*) {
  return Unsupported("aclrtIpcOpenEventHandle", "events are not shared between processes");
}

aclError aclrtBinaryLoadFromData(const void*, size_t, const aclrtBinaryLoadOptions*,
                                 aclrtBinHandle*) {
  return Unsupported("aclrtBinaryLoadFromData", "a CPU cannot run compiled device code");
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char*, aclrtFuncHandle*) {
  return Unsupported("aclrtBinaryGetFunction", "a CPU cannot run compiled device code");
}

aclError aclrtGetFunctionAddr(aclrtFuncHandle, void**, void**) {
  return Unsupported("aclrtGetFunctionAddr", "a CPU cannot run compiled device code");
}

}  // extern "C"
