// acl_rt.h: options of the process and of contexts.
#include <array>
#include <atomic>

#include "acl/acl_rt.h"
#include "api/shim.h"
#include "ops/settings.h"
#include "runtime/context.h"
#include "runtime/error.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
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
  // The newest pages add level 3 of determinism. Results are deterministic at every level.
  const bool levels = opt == RawValue(ACL_OPT_DETERMINISTIC) && portacl::ops::FollowsNewestPages();
  if (value != 0 && value != 1 && !(levels && value == 3)) {
    return rt::InvalidParam("value is {}, wanted 0 or 1{}", value, levels ? " or 3" : "");
  }
  params[static_cast<size_t>(opt)].store(value);
  return {};
}

Status GetOption(const Params& params, int32_t opt, int64_t* value) {
  PORTACL_RETURN_IF_ERROR(CheckOption(opt));
  if (value == nullptr) return rt::InvalidParam("value is null");
  *value = params[static_cast<size_t>(opt)].load();
  return {};
}

}  // namespace

extern "C" {

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return Guarded(__func__, [&]() -> Status {
    rt::Context* context = nullptr;
    PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&context));
    return SetOption(context->sys_params, RawValue(opt), value);
  });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return Guarded(__func__, [&]() -> Status {
    rt::Context* context = nullptr;
    PORTACL_RETURN_IF_ERROR(rt::CurrentContext(&context));
    return GetOption(context->sys_params, RawValue(opt), value);
  });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return Guarded(__func__, [&] { return SetOption(process_params, RawValue(opt), value); });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return Guarded(__func__, [&] { return GetOption(process_params, RawValue(opt), value); });
}

}  // extern "C"
