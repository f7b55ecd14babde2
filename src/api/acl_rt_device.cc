// acl_rt.h: devices, contexts, options and last errors.
#include <array>
#include <atomic>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/memory.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::Question;
using portacl::api::RawValue;
using portacl::base::Status;

namespace {

std::array<std::atomic<int64_t>, rt::kSysParams> process_params{};

using Params = std::array<std::atomic<int64_t>, rt::kSysParams>;

Status CheckOption(int32_t opt) {
  if (opt >= 0 && opt < rt::kSysParams) return {};
  return rt::InvalidParam(
      "opt is {}, wanted ACL_OPT_DETERMINISTIC (0), ACL_OPT_ENABLE_DEBUG_KERNEL (1) or "
      "ACL_OPT_STRONG_CONSISTENCY (2)",
      opt);
}

Status SetOption(Params& params, int32_t opt, int64_t value) {
  PORTACL_RETURN_IF_ERROR(CheckOption(opt));
  if (value != 0 && value != 1) return rt::InvalidParam("value is {}, wanted 0 or 1", value);
  params[static_cast<size_t>(opt)].store(value);
  return {};
}

Status GetOption(const Params& params, int32_t opt, int64_t* value) {
  PORTACL_RETURN_IF_ERROR(CheckOption(opt));
  if (value == nullptr) return rt::InvalidParam("value is null");
  *value = params[static_cast<size_t>(opt)].load();
  return {};
}

Status CheckTimeout(int32_t timeout) {
  if (timeout >= -1) return {};
  return rt::InvalidParam("timeout is {}, wanted milliseconds or -1 for no limit", timeout);
}

aclError LastError(int32_t level, bool clear) {
  int32_t& last = portacl::api::LastError();
  if (level != ACL_RT_THREAD_LEVEL) {
    return Guarded("aclrtGetLastError", [&] {
      return rt::InvalidParam("level is {}, wanted ACL_RT_THREAD_LEVEL (0)", level);
    });
  }
  const int32_t code = last;
  if (clear) last = ACL_SUCCESS;
  return code;
}

}  // namespace

extern "C" {

aclError aclrtSetDevice(int32_t deviceId) {
  return Guarded("aclrtSetDevice", [&] { return rt::SetDevice(deviceId); });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return Guarded("aclrtResetDevice", [&] { return rt::ResetDevice(deviceId); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return Guarded("aclrtResetDeviceForce", [&] { return rt::ResetDeviceForce(deviceId); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return Question([&]() -> Status {
    if (deviceId == nullptr) return rt::InvalidParam("deviceId is null");
    rt::Context* context = nullptr;
    PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&context));
    *deviceId = context->device;
    return {};
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return Guarded("aclrtGetDeviceCount", [&]() -> Status {
    if (count == nullptr) return rt::InvalidParam("count is null");
    *count = static_cast<uint32_t>(rt::DeviceCount());
    return {};
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return Guarded("aclrtGetRunMode", [&]() -> Status {
    if (runMode == nullptr) return rt::InvalidParam("runMode is null");
    *runMode = ACL_HOST;
    return {};
  });
}

aclError aclrtSynchronizeDevice() {
  return Guarded("aclrtSynchronizeDevice",
                 [] { return rt::SynchronizeDevice(rt::DeadlineAfter(-1)); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return Guarded("aclrtSynchronizeDeviceWithTimeout", [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckTimeout(timeout));
    return rt::SynchronizeDevice(rt::DeadlineAfter(timeout));
  });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return Guarded("aclrtCreateContext", [&] { return rt::CreateContext(deviceId, context); });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return Guarded("aclrtDestroyContext", [&] { return rt::DestroyContext(context); });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return Guarded("aclrtSetCurrentContext", [&] { return rt::SetCurrentContext(context); });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return Guarded("aclrtGetCurrentContext", [&]() -> Status {
    if (context == nullptr) return rt::InvalidParam("context is null");
    rt::Context* current = nullptr;
    PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&current));
    *context = current;
    return {};
  });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return Guarded("aclrtCtxSetSysParamOpt", [&]() -> Status {
    rt::Context* context = nullptr;
    PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&context));
    return SetOption(context->sys_params, RawValue(opt), value);
  });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return Guarded("aclrtCtxGetSysParamOpt", [&]() -> Status {
    rt::Context* context = nullptr;
    PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&context));
    return GetOption(context->sys_params, RawValue(opt), value);
  });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return Guarded("aclrtSetSysParamOpt",
                 [&] { return SetOption(process_params, RawValue(opt), value); });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return Guarded("aclrtGetSysParamOpt",
                 [&] { return GetOption(process_params, RawValue(opt), value); });
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) { return LastError(RawValue(level), false); }

aclError aclrtGetLastError(aclrtLastErrLevel level) { return LastError(RawValue(level), true); }

}  // extern "C"
