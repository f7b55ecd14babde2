// acl_rt_stream.h: streams write values to memory and wait for values; also the cache.
#include <cstdint>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/error.h"
#include "runtime/value.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::base::Status;

extern "C" {

aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return Guarded(__func__, [&]() -> Status {
    if (flag != 0) return rt::InvalidParam("flag is {}, wanted 0", flag);
    return rt::WriteValue(devAddr, value, stream);
  });
}

aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return Guarded(__func__, [&]() -> Status {
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
  return Guarded(__func__, [&]() -> Status {
    const int32_t type = RawValue(cmoType);
    if (type < ACL_RT_CMO_TYPE_PREFETCH || type > ACL_RT_CMO_TYPE_FLUSH) {
      return rt::InvalidParam("cmoType is {}, which is no aclrtCmoType", type);
    }
    return rt::CheckCacheOperation(src, size, stream);
  });
}

}  // extern "C"
