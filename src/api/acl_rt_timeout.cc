// acl_rt_device.h: time limits for running and waiting operators.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/error.h"
#include "runtime/options.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::base::Status;

namespace {

constexpr uint64_t kSecond = 1000000;  // microseconds

}  // namespace

extern "C" {

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  return Guarded(__func__, [&]() -> Status {
    rt::TheTimeouts().execute_us.store(timeout * kSecond);
    return {};
  });
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  return Guarded(__func__, [&]() -> Status {
    if (actualTimeout == nullptr) return rt::InvalidParam("actualTimeout is null");
    rt::TheTimeouts().execute_us.store(timeout);
    *actualTimeout = timeout;
    return {};
  });
}

aclError aclrtGetOpExecuteTimeout(uint32_t* timeoutMs) {
  return Guarded(__func__, [&]() -> Status {
    if (timeoutMs == nullptr) return rt::InvalidParam("timeoutMs is null");
    *timeoutMs = static_cast<uint32_t>(rt::TheTimeouts().execute_us.load() / 1000);
    return {};
  });
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  return Guarded(__func__, [&]() -> Status {
    rt::TheTimeouts().wait_us.store(timeout * kSecond);
    return {};
  });
}

}  // extern "C"
