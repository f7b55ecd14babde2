// acl_mdl.h: captured streams; also dumps, which a CPU does not have.
#include "acl/acl_mdl.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "api/shim.h"
#include "api/unsupported.h"
#include "base/log.h"
#include "runtime/capture.h"
#include "runtime/error.h"
#include "runtime/guard_stack.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::api::Unsupported;
using portacl::base::Status;

namespace {

Status CheckMode(int32_t mode) {
  if (mode >= ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
    return {};
  }
  return rt::InvalidParam(
      "mode is {}, wanted ACL_MODEL_RI_CAPTURE_MODE_GLOBAL (0), "
      "_THREAD_LOCAL (1) or _RELAXED (2)",
      mode);
}

}  // namespace

extern "C" {

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckMode(RawValue(mode)));
    return rt::BeginCapture(stream, static_cast<rt::CaptureMode>(RawValue(mode)));
  });
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status,
                                aclmdlRI* modelRI) {
  return Guarded(__func__, [&]() -> Status {
    if (status == nullptr) return rt::InvalidParam("status is null");
    rt::CaptureState state = rt::CaptureState::kNone;
    PORTACL_RETURN_IF_ERROR(rt::GetCaptureInfo(stream, &state, modelRI));
    *status = static_cast<aclmdlRICaptureStatus>(state);
    return {};
  });
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* modelRI) {
  return Guarded(__func__, [&] { return rt::EndCapture(stream, modelRI); });
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  return Guarded(__func__, [&]() -> Status {
    if (mode == nullptr) return rt::InvalidParam("mode is null");
    PORTACL_RETURN_IF_ERROR(CheckMode(RawValue(*mode)));
    const auto before = rt::ExchangeCaptureMode(static_cast<rt::CaptureMode>(RawValue(*mode)));
    *mode = static_cast<aclmdlRICaptureMode>(before);
    return {};
  });
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::ReplayGraph(modelRI, stream); });
}

aclError aclmdlRIDestroy(aclmdlRI modelRI) {
  return Guarded(__func__, [&] { return rt::DestroyGraph(modelRI); });
}

aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {
  return Guarded(__func__, [&]() -> Status {
    std::string lines;
    std::string json;
    PORTACL_RETURN_IF_ERROR(rt::DescribeGraph(modelRI, &lines, &json));
    portacl::base::Log(portacl::base::LogLevel::kInfo, "captured work:\n" + lines);
    return {};
  });
}

aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char* path) {
  return Guarded(__func__, [&]() -> Status {
    if (path == nullptr) return rt::InvalidParam("path is null");
    std::string lines;
    std::string json;
    PORTACL_RETURN_IF_ERROR(rt::DescribeGraph(modelRI, &lines, &json));
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const bool written = file >= 0 && rt::WriteAll(file, json);
    if (file >= 0 && close(file) == 0 && written) return {};
    return rt::Error(ACL_ERROR_WRITE_FILE, "path is {}, which cannot be written", path);
  });
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::BeginTaskGroup(stream); });
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* handle) {
  return Guarded(__func__, [&] { return rt::EndTaskGroup(stream, handle); });
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
  return Guarded(__func__, [&] { return rt::BeginTaskUpdate(stream, handle); });
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
  return Guarded(__func__, [&] { return rt::EndTaskUpdate(stream); });
}

aclError aclmdlInitDump() { return Unsupported(__func__, "there are no dumps of tensors"); }

aclError aclmdlSetDump(const char*) {
  return Unsupported(__func__, "there are no dumps of tensors");
}

aclError aclmdlFinalizeDump() { return Unsupported(__func__, "there are no dumps of tensors"); }

}  // extern "C"
