// acl_base.h: float16, data types, log and processor name.
#include "acl/acl_base.h"

#include <fmt/format.h>

#include <array>
#include <cstdarg>
#include <cstdio>

#include "api/shim.h"
#include "base/dtype.h"
#include "base/half.h"
#include "base/log.h"
#include "ops/settings.h"

namespace base = portacl::base;
using portacl::api::GuardedValue;
using portacl::api::RawValue;

namespace {

base::LogLevel ToLogLevel(int32_t level) {
  switch (level) {
    case ACL_DEBUG:
      return base::LogLevel::kDebug;
    case ACL_INFO:
      return base::LogLevel::kInfo;
    case ACL_WARNING:
      return base::LogLevel::kWarn;
    default:
      return base::LogLevel::kError;
  }
}

}  // namespace

extern "C" {

float aclFloat16ToFloat(aclFloat16 value) { return base::ToFloat(base::Float16{value}); }

aclFloat16 aclFloatToFloat16(float value) { return base::ToFloat16(value).bits; }

size_t aclDataTypeSize(aclDataType dataType) {
  return static_cast<size_t>(base::DTypeSize(static_cast<base::DType>(RawValue(dataType))));
}

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
               const char* fmt, ...) {
  const base::LogLevel level = ToLogLevel(RawValue(logLevel));
  if (fmt == nullptr ||
      !GuardedValue("aclAppLog", false, [&] { return base::LogEnabled(level); })) {
    return;
  }
  std::array<char, 1024> text;  // longer messages are cut
  va_list arguments;
  va_start(arguments, fmt);
  std::vsnprintf(text.data(), text.size(), fmt, arguments);
  va_end(arguments);
  GuardedValue("aclAppLog", 0, [&] {
    base::Log(level, fmt::format("[app] {}:{} {}: {}", file != nullptr ? file : "?", line,
                                 func != nullptr ? func : "?", text.data()));
    return 0;
  });
}

// Programs choose code by this name, so each profile answers like a processor that it stands for.
const char* aclrtGetSocName() {
  using portacl::ops::Profile;
  const Profile profile = GuardedValue("aclrtGetSocName", Profile::kAtlasA2,
                                       [] { return portacl::ops::CurrentProfile(); });
  switch (profile) {
    case Profile::kAtlasA2:
    case Profile::kOpen:  // programs refuse names that they do not know
      break;
    case Profile::kAtlasA3:
      return "Ascend910_9391";
    case Profile::kAtlasTraining:
      return "Ascend910A";
  }
  return "Ascend910B1";
}

}  // extern "C"
