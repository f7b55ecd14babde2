// acl_prof.h: configurations, which collect nothing; marks and ranges for the timeline.
#include "acl/acl_prof.h"

#include <memory>
#include <string>

#include "api/handles.h"
#include "api/shim.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/marks.h"

struct aclprofConfig {};

// Not synchronised: the caller must order changes and other uses.
struct aclprofStepInfo {
  uint64_t steps = 0;
};

namespace {

struct Stamp {
  std::string text;
};

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::GuardedValue;
using portacl::api::Handles;
using portacl::api::RawValue;
using portacl::base::Status;

constexpr size_t kMostText = 1024;

// Used instead of the runtime's InvalidParam(), which has another code.
template <class... Args>
Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return rt::Error(ACL_ERROR_INVALID_PARAM, format, std::forward<Args>(args)...);
}

Status CheckConfig(const aclprofConfig* config) {
  if (Handles<aclprofConfig>().Find(config) != nullptr) return {};
  return InvalidArgument("profilerConfig is null or no live configuration");
}

Status FindStamp(const void* handle, std::shared_ptr<Stamp>* stamp) {
  *stamp = Handles<Stamp>().Find(handle);
  if (*stamp != nullptr) return {};
  return InvalidArgument("stamp is null or no live stamp");
}

Status ReadText(const char* text, size_t length, std::string* copy) {
  if (text == nullptr) return InvalidArgument("msg is null");
  if (length == 0 || length > kMostText) {
    return InvalidArgument("the text has {} bytes, wanted 1 to {}", length, kMostText);
  }
  copy->assign(text, length);
  return {};
}

// Passes the stamp's text to a function of marks.h.
template <class Function>
aclError WithText(const char* function, void* stamp, Function&& use) {
  return Guarded(function, [&]() -> Status {
    std::shared_ptr<Stamp> found;
    PORTACL_RETURN_IF_ERROR(FindStamp(stamp, &found));
    use(found->text);
    return {};
  });
}

}  // namespace

extern "C" {

aclError aclprofInit(const char* profilerResultPath, size_t length) {
  return Guarded(__func__, [&]() -> Status {
    if (profilerResultPath == nullptr || length == 0) {
      return InvalidArgument("profilerResultPath is null or empty");
    }
    return {};
  });
}

aclError aclprofFinalize() {
  return Guarded(__func__, [] { return Status(); });
}

aclError aclprofStart(const aclprofConfig* profilerConfig) {
  return Guarded(__func__, [&] { return CheckConfig(profilerConfig); });
}

aclError aclprofStop(const aclprofConfig* profilerConfig) {
  return Guarded(__func__, [&] { return CheckConfig(profilerConfig); });
}

aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
                                   aclprofAicoreMetrics, const aclprofAicoreEvents*, uint64_t) {
  aclprofConfig* handle = nullptr;
  Guarded(__func__, [&]() -> Status {
    if (deviceIdList == nullptr && deviceNums > 0) return InvalidArgument("deviceIdList is null");
    for (uint32_t i = 0; i < deviceNums; ++i) {
      PORTACL_RETURN_IF_ERROR(rt::CheckDevice(static_cast<int32_t>(deviceIdList[i])));
    }
    handle = Handles<aclprofConfig>().Add(std::make_shared<aclprofConfig>());
    return {};
  });
  return handle;
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckConfig(profilerConfig));
    Handles<aclprofConfig>().Take(profilerConfig);
    return {};
  });
}

aclError aclprofSetConfig(aclprofConfigType configType, const char* config, size_t configLength) {
  return Guarded(__func__, [&]() -> Status {
    const int32_t type = RawValue(configType);
    if (type <= ACL_PROF_ARGS_MIN || type >= ACL_PROF_ARGS_MAX) {
      return InvalidArgument("configType is {}, which is no setting", type);
    }
    if (config == nullptr || configLength == 0) return InvalidArgument("config is null or empty");
    return {};
  });
}

aclprofStepInfo* aclprofCreateStepInfo() {
  return GuardedValue<aclprofStepInfo*>(__func__, nullptr, [] {
    return Handles<aclprofStepInfo>().Add(std::make_shared<aclprofStepInfo>());
  });
}

void aclprofDestroyStepInfo(aclprofStepInfo* stepinfo) {
  Guarded(__func__, [&]() -> Status {
    if (Handles<aclprofStepInfo>().Take(stepinfo) != nullptr) return {};
    return InvalidArgument("stepinfo is null or no live step");
  });
}

aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag tag,
                                 aclrtStream stream) {
  return Guarded(__func__, [&]() -> Status {
    const auto found = Handles<aclprofStepInfo>().Find(stepInfo);
    if (found == nullptr) return InvalidArgument("stepInfo is null or no live step");
    const int32_t which = RawValue(tag);
    if (which != ACL_STEP_START && which != ACL_STEP_END) {
      return InvalidArgument("tag is {}, wanted ACL_STEP_START (0) or ACL_STEP_END (1)", which);
    }
    if (which == ACL_STEP_START) ++found->steps;
    const char* const word = which == ACL_STEP_START ? "start" : "end";
    return rt::MarkStream(fmt::format("step {} {}", found->steps, word), stream);
  });
}

void* aclprofCreateStamp() {
  return GuardedValue<void*>(
      __func__, nullptr, []() -> void* { return Handles<Stamp>().Add(std::make_shared<Stamp>()); });
}

void aclprofDestroyStamp(void* stamp) {
  Guarded(__func__, [&]() -> Status {
    if (Handles<Stamp>().Take(stamp) != nullptr) return {};
    return InvalidArgument("stamp is null or no live stamp");
  });
}

aclError aclprofSetStampTraceMessage(void* stamp, const char* msg, uint32_t msgLen) {
  return Guarded(__func__, [&]() -> Status {
    std::shared_ptr<Stamp> found;
    PORTACL_RETURN_IF_ERROR(FindStamp(stamp, &found));
    return ReadText(msg, msgLen, &found->text);
  });
}

aclError aclprofMark(void* stamp) {
  return WithText(__func__, stamp, [](const std::string& text) { rt::Mark(text); });
}

aclError aclprofMarkEx(const char* msg, size_t msgLen, aclrtStream stream) {
  return Guarded(__func__, [&]() -> Status {
    std::string text;
    PORTACL_RETURN_IF_ERROR(ReadText(msg, msgLen, &text));
    return rt::MarkStream(text, stream);
  });
}

aclError aclprofPush(void* stamp) {
  return WithText(__func__, stamp, [](const std::string& text) { rt::PushRange(text); });
}

aclError aclprofPop() {
  return Guarded(__func__, []() -> Status {
    if (rt::PopRange()) return {};
    return InvalidArgument("this thread has no open range: aclprofPush comes first");
  });
}

aclError aclprofRangeStart(void* stamp, uint32_t* rangeId) {
  return Guarded(__func__, [&]() -> Status {
    if (rangeId == nullptr) return InvalidArgument("rangeId is null");
    std::shared_ptr<Stamp> found;
    PORTACL_RETURN_IF_ERROR(FindStamp(stamp, &found));
    *rangeId = rt::StartRange(found->text);
    return {};
  });
}

aclError aclprofRangeStop(uint32_t rangeId) {
  return Guarded(__func__, [&]() -> Status {
    if (rt::StopRange(rangeId)) return {};
    return InvalidArgument("rangeId is {}, which is no open range", rangeId);
  });
}

}  // extern "C"
