// acl_base.h: writes lines of the program into the log.
#include <fmt/format.h>

#include <array>
#include <cstdarg>
#include <cstdio>

#include "acl/acl_base.h"
#include "api/shim.h"
#include "base/log.h"

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

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
               const char* fmt, ...) {
  const base::LogLevel level = ToLogLevel(RawValue(logLevel));
  if (fmt == nullptr || !GuardedValue(__func__, false, [&] { return base::LogEnabled(level); })) {
    return;
  }
  std::array<char, 1024> text;  // longer messages are cut off
  va_list arguments;
  va_start(arguments, fmt);
  std::vsnprintf(text.data(), text.size(), fmt, arguments);
  va_end(arguments);
  GuardedValue(__func__, 0, [&] {
    base::Log(level, fmt::format("[app] {}:{} {}: {}", file != nullptr ? file : "?", line,
                                 func != nullptr ? func : "?", text.data()));
    return 0;
  });
}

}  // extern "C"
