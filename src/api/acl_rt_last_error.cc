// acl_rt.h: the code of the last failed call of each thread.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/error.h"

using portacl::api::Guarded;
using portacl::api::RawValue;

namespace {

aclError LastError(const char* function, int32_t level, bool clear) {
  int32_t& last = portacl::api::LastError();
  if (level != ACL_RT_THREAD_LEVEL) {
    return Guarded(function, [&] {
      return portacl::runtime::InvalidParam("level is {}, wanted ACL_RT_THREAD_LEVEL (0)", level);
    });
  }
  const int32_t code = last;
  if (clear) last = ACL_SUCCESS;
  return code;
}

}  // namespace

extern "C" {

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  return LastError(__func__, RawValue(level), false);
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  return LastError(__func__, RawValue(level), true);
}

}  // extern "C"
