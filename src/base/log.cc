// The log on spdlog (header-only, private to the library).
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "base/fork.h"

namespace portacl::base {
namespace {

spdlog::level::level_enum LevelFromEnvironment() {
  if (const char* own = std::getenv("PORTACL_LOG"); own != nullptr && *own != '\0') {
    const auto level = spdlog::level::from_str(own);  // unknown words mean off
    if (level == spdlog::level::off && std::strcmp(own, "off") != 0) {
      std::fprintf(
          stderr,
          "portacl: PORTACL_LOG is '%s', but must be trace, debug, info, warn, err or off: "
          "ignored\n",
          own);
    }
    return level;
  }
  if (const char* vendor = std::getenv("ASCEND_GLOBAL_LOG_LEVEL")) {
    switch (*vendor) {
      case '0':
        return spdlog::level::debug;
      case '1':
        return spdlog::level::info;
      case '2':
        return spdlog::level::warn;
      case '3':
        return spdlog::level::err;
      case '4':
        return spdlog::level::off;
      default:
        break;
    }
  }
  return spdlog::level::off;
}

// The lock of spdlog's sink, as one of this library's.
struct SinkLock {
  using mutex_t = ForkSafe<std::mutex>;
  static mutex_t& mutex() {
    static constinit Immortal<mutex_t> lock;
    return lock.Get([] { return new mutex_t(LockRank::kLog); });
  }
};

spdlog::logger& Logger() {
  static constinit Immortal<spdlog::logger> logger;
  return logger.Get([] {
    auto made = std::make_unique<spdlog::logger>(
        "portacl", std::make_shared<spdlog::sinks::stderr_sink<SinkLock>>());
    made->set_pattern("%Y-%m-%d %H:%M:%S.%f [%n] [%l] [%t] %v");
    made->set_level(LevelFromEnvironment());
    return made.release();
  });
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

bool LogEnabled(LogLevel level) { return Logger().should_log(ToSpdlog(level)); }

void Log(LogLevel level, std::string_view message) {
  Logger().log(ToSpdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace portacl::base
