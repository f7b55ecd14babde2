// acl_rt.h: the code of each thread's last failed call.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/error.h"

using portacl::api::Guarded;
using portacl::api::RawValue;

namespace {

aclError LastError(int32_t level, bool clear) {
  int32_t& last = portacl::api::LastError();
  if (level != ACL_RT_THREAD_LEVEL) {
    return Guarded("aclrtGetLastError", [&] {
      return portacl::runtime::InvalidParam("level is {}, wanted ACL_RT_THREAD_LEVEL (0)", level);
    });
  }
  const int32_t code = last;
  if (clear) last = ACL_SUCCESS;
  return code;
}

}  // namespace

extern "C" {

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) { return LastError(RawValue(level), false); }

aclError aclrtGetLastError(aclrtLastErrLevel level) { return LastError(RawValue(level), true); }

}  // extern "C"
