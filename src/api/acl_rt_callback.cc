// acl_rt.h: callbacks and host functions.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/callback.h"
#include "runtime/error.h"
#include "runtime/stream.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::base::Status;

extern "C" {

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::SubscribeReport(threadId, stream); });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::UnsubscribeReport(threadId, stream); });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
  return Guarded(__func__, [&]() -> Status {
    const int32_t type = RawValue(blockType);
    if (type != ACL_CALLBACK_BLOCK && type != ACL_CALLBACK_NO_BLOCK) {
      return rt::InvalidParam(
          "blockType is {}, wanted ACL_CALLBACK_NO_BLOCK (0) or "
          "ACL_CALLBACK_BLOCK (1)",
          type);
    }
    return rt::LaunchCallback(fn, userData, type == ACL_CALLBACK_BLOCK, stream);
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(rt::CheckTimeout(timeout));
    return rt::ProcessReport(rt::DeadlineAfter(timeout));
  });
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return Guarded(__func__, [&]() -> Status {
    if (fn == nullptr) return rt::InvalidParam("fn is null");
    rt::Work work;
    work.name = "host function";
    work.category = "callback";
    work.own_thread = true;
    work.run = [fn, args] {
      fn(args);
      return Status();
    };
    return rt::Launch(stream, std::move(work));
  });
}

}  // extern "C"
