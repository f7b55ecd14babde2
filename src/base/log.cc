// The log, by spdlog (header-only, private to the library).
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/fork.h"
#include "base/settings.h"

namespace portacl::base {
namespace {

struct Wanted {
  spdlog::level::level_enum level = spdlog::level::off;
  bool calls = false;
};

std::string Trimmed(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(' '), text.size());
  const size_t last = text.find_last_not_of(' ');
  return std::string(text.substr(first, last == std::string_view::npos ? 0 : last + 1 - first));
}

// Reads PORTACL_LOG: a level, "calls", or both with a comma between them.
Wanted ReadOwn(std::string_view text) {
  Wanted wanted;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string word = Trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (word == "calls") {
      wanted.calls = true;
      continue;
    }
    const spdlog::level::level_enum level = spdlog::level::from_str(word);
    if (level != spdlog::level::off || word == "off") {
      wanted.level = level;
    } else {
      std::fprintf(
          stderr,
          "portacl: PORTACL_LOG is '%s', but must be trace, debug, info, warn, err, off, calls, or "
          "a level and calls (debug,calls): '%s' is ignored\n",
          std::string(text).c_str(), word.c_str());
    }
  }
  return wanted;
}

Wanted FromEnvironment() {
  if (const char* const own = settings::Log(); *own != '\0') {
    return ReadOwn(own);
  }
  switch (*settings::VendorLogLevel()) {
    case '0':
      return {spdlog::level::debug};
    case '1':
      return {spdlog::level::info};
    case '2':
      return {spdlog::level::warn};
    case '3':
      return {spdlog::level::err};
    case '4':
      return {};
    default:  // no level is set: if the log goes to stdout, take the vendor's default
      return {settings::VendorLogOnStdout() ? spdlog::level::err : spdlog::level::off};
  }
}

// Gives spdlog's sinks one of this library's locks, so that fork() takes it too.
struct SinkLock {
  using mutex_t = ForkSafe<std::mutex>;
  static mutex_t& mutex() {
    static constinit Immortal<mutex_t> lock;
    return lock.Get([] { return new mutex_t(LockRank::kLog); });
  }
};

spdlog::sink_ptr SinkOfMessages() {
  if (settings::VendorLogOnStdout()) {
    return std::make_shared<spdlog::sinks::stdout_sink<SinkLock>>();
  }
  return std::make_shared<spdlog::sinks::stderr_sink<SinkLock>>();
}

// The two loggers write under one lock.
class Loggers {
 public:
  explicit Loggers(Wanted wanted)
      : messages("portacl", SinkOfMessages()),
        calls("portacl_call", std::make_shared<spdlog::sinks::stderr_sink<SinkLock>>()) {
    messages.set_pattern("%Y-%m-%d %H:%M:%S.%f [%n] [%l] [%t] %v");
    messages.set_level(wanted.level);
    calls.set_pattern("%v");
    calls.set_level(wanted.calls ? spdlog::level::info : spdlog::level::off);
  }

  spdlog::logger messages;
  spdlog::logger calls;
};

Loggers& Logs() {
  static constinit Immortal<Loggers> loggers;
  return loggers.Get([] { return new Loggers(FromEnvironment()); });
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

bool LogEnabled(LogLevel level) { return Logs().messages.should_log(ToSpdlog(level)); }

void Log(LogLevel level, std::string_view message) {
  Logs().messages.log(ToSpdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

bool CallLogEnabled() { return Logs().calls.should_log(spdlog::level::info); }

void LogCall(std::string_view line) {
  Logs().calls.log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace portacl::base
