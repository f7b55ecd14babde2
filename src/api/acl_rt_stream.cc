// acl_rt.h: streams.
#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/stream.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::Question;
using portacl::base::Status;

namespace {

Status CheckStreamFlag(uint32_t flag) {
  constexpr uint32_t kAll = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT |
                            ACL_STREAM_HUGE | ACL_STREAM_CPU_SCHEDULE;
  if ((flag & ~kAll) == 0) return {};
  return rt::InvalidParam(
      "flag is {:#x}, wanted 0 or or-ed ACL_STREAM_FAST_LAUNCH (1), ACL_STREAM_FAST_SYNC (2), "
      "ACL_STREAM_PERSISTENT (4), ACL_STREAM_HUGE (8), ACL_STREAM_CPU_SCHEDULE (16)",
      flag);
}

}  // namespace

extern "C" {

aclError aclrtCreateStream(aclrtStream* stream) {
  return Guarded(__func__, [&] { return rt::CreateStream(stream); });
}

// Ignores the priority: it is a hint for hardware queues, but each stream has its own thread here.
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t /*priority*/, uint32_t flag) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckStreamFlag(flag));
    return rt::CreateStream(stream);
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::DestroyStream(stream, /*drop=*/false); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::DestroyStream(stream, /*drop=*/true); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return Guarded(__func__, [&] {
    return rt::WithStream(stream, [](rt::Stream& found) {
      return found.Synchronize(rt::DeadlineAfter(-1), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    });
  });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(rt::CheckTimeout(timeout));
    return rt::WithStream(stream, [&](rt::Stream& found) {
      return found.Synchronize(rt::DeadlineAfter(timeout), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    });
  });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return Question([&]() -> Status {
    if (status == nullptr) return rt::InvalidParam("status is null");
    return rt::WithStream(stream, [&](rt::Stream& found) -> Status {
      PORTACL_RETURN_IF_ERROR(found.RefuseWhileRecording());
      *status = found.IsIdle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
      return Status();
    });
  });
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return Guarded(__func__, [&]() -> Status {
    if (streamId == nullptr) return rt::InvalidParam("streamId is null");
    return rt::WithStream(stream, [&](rt::Stream& found) { *streamId = found.id(); });
  });
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return Guarded(__func__, [&]() -> Status {
    if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE) {
      return rt::InvalidParam(
          "mode is {}, wanted ACL_CONTINUE_ON_FAILURE (0) or ACL_STOP_ON_FAILURE (1)", mode);
    }
    return rt::WithStream(
        stream, [&](rt::Stream& found) { found.SetStopOnFailure(mode == ACL_STOP_ON_FAILURE); });
  });
}

aclError aclrtStreamAbort(aclrtStream stream) {
  return Guarded(__func__, [&] {
    return rt::WithStream(stream, [](rt::Stream& found) { return found.Abort(); });
  });
}

}  // extern "C"
