// Reads environment variables as text, numbers and switches. Reports unknown names.
#include "base/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "base/checked.h"
#include "base/spelling.h"

namespace portacl::base::settings {
namespace {

constexpr std::string_view kPrefix = "PORTACL_";
constexpr std::string_view kTestPrefix = "PORTACL_TEST_";  // variables of the tests

#define PORTACL_NAME(function, name, ...) name,
constexpr std::string_view kVariables[] = {
    PORTACL_SETTINGS(PORTACL_NAME, PORTACL_NAME, PORTACL_NAME, PORTACL_NAME, PORTACL_NAME)};
#undef PORTACL_NAME

// Returns true if this message was written before: a process writes a message once. If the table of
// messages is full, further messages are written each time.
bool WasSaid(std::string_view text) {
  static constinit std::array<std::atomic<size_t>, 64> said;
  const size_t hash = std::max<size_t>(std::hash<std::string_view>()(text), 1);
  for (std::atomic<size_t>& entry : said) {
    size_t none = 0;
    if (entry.compare_exchange_strong(none, hash)) return false;
    if (none == hash) return true;
  }
  return false;
}

// Reports an invalid value on stderr (the log may be off): a mistyped switch must not look off.
void Complain(const char* name, const std::string& wanted) {
  const std::string text = std::string("portacl: ") + name + " is '" + ReadText(name) +
                           "', but must be " + wanted + ": ignored\n";
  if (!WasSaid(text)) std::fputs(text.c_str(), stderr);
}

size_t Unit(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "K") return size_t{1} << 10;
  if (suffix == "M") return size_t{1} << 20;
  if (suffix == "G") return size_t{1} << 30;
  return 0;
}

// Variables of the project's scripts and CMake; the library runs in their environment as well.
constexpr std::string_view kScriptVariables[] = {
    "PORTACL_BUILD_DIR",      "PORTACL_BUNDLE", "PORTACL_DIR",      "PORTACL_JOBS",
    "PORTACL_REPOSITORY_URL", "PORTACL_ROOT",   "PORTACL_SITE_URL", "PORTACL_SKIP_PACKAGES",
    "PORTACL_SOURCE_DIR",     "PORTACL_SYSROOT"};

template <size_t kCount>
bool Has(const std::string_view (&names)[kCount], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsForeign(std::string_view name) {
  return name.starts_with(kPrefix) && !name.starts_with(kTestPrefix) && !Has(kVariables, name) &&
         !Has(kScriptVariables, name);
}

// Returns the variable that is spelled most like `name` or ends with its words, or "".
std::string_view Nearest(std::string_view name) {
  const std::string_view word = name.substr(kPrefix.size());
  for (const std::string_view variable : kVariables) {
    if (!word.empty() && variable.ends_with(name.substr(kPrefix.size() - 1))) return variable;
  }
  const auto nearest =
      NearestTo(word, kVariables, word.size() / 3 + 1,
                [](std::string_view variable) { return variable.substr(kPrefix.size()); });
  return nearest == std::end(kVariables) ? "" : *nearest;
}

// Reports unknown PORTACL_ names on stderr at the first read of a setting, once a process.
void NameForeignVariables() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (!IsForeign(name)) continue;
    const std::string_view nearest = Nearest(name);
    std::fprintf(stderr, "portacl: %.*s is set, but portacl reads no such variable%s%.*s%s\n",
                 static_cast<int>(name.size()), name.data(),
                 nearest.empty() ? "" : "; did you mean ", static_cast<int>(nearest.size()),
                 nearest.data(), nearest.empty() ? "" : "?");
  }
}

}  // namespace

const char* ReadText(const char* name) {
  static std::atomic_flag looked = ATOMIC_FLAG_INIT;
  if (!looked.test_and_set()) NameForeignVariables();
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

int64_t ReadInteger(const char* name, int64_t low, int64_t high, int64_t fallback) {
  const std::string_view text = ReadText(name);
  if (text.empty()) return fallback;
  int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (whole && number >= low && number <= high) return number;
  Complain(name, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return fallback;
}

size_t ReadBytes(const char* name, size_t fallback) {
  const std::string_view text = ReadText(name);
  if (text.empty()) return fallback;
  size_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec == std::errc()) {
    const size_t unit = Unit(text.substr(static_cast<size_t>(parsed.ptr - text.data())));
    size_t bytes = 0;
    if (unit != 0 && base::CheckedMul(number, unit, &bytes)) return bytes;
  }
  Complain(name, "a number of bytes such as 64K, 256M or 2G");
  return fallback;
}

bool ReadFlag(const char* name) {
  const std::string_view text = ReadText(name);
  if (!text.empty() && text != "0" && text != "1") Complain(name, "0 or 1");
  return text == "1";
}

#define PORTACL_READ_TEXT(function, name, meaning) \
  const char* function() { return ReadText(name); }
#define PORTACL_READ_FLAG(function, name, meaning) \
  bool function() { return ReadFlag(name); }
#define PORTACL_READ_INTEGER(function, name, low, high, meaning) \
  int64_t function(int64_t fallback) { return ReadInteger(name, low, high, fallback); }
#define PORTACL_READ_BYTES(function, name, meaning) \
  size_t function(size_t fallback) { return ReadBytes(name, fallback); }
#define PORTACL_READ_NOTHING(function, name, meaning)
PORTACL_SETTINGS(PORTACL_READ_TEXT, PORTACL_READ_FLAG, PORTACL_READ_INTEGER, PORTACL_READ_BYTES,
                 PORTACL_READ_NOTHING)

bool Guard() {
  const std::string_view text = ReadText("PORTACL_GUARD");
  const bool known = text.empty() || text == "0" || text == "1" || text == "exit";
  if (!known) Complain("PORTACL_GUARD", "0, 1 or exit");
  return text == "1" || text == "exit";
}

const char* OpenMpThreads() { return ReadText("OMP_NUM_THREADS"); }
const char* VendorLogLevel() { return ReadText("ASCEND_GLOBAL_LOG_LEVEL"); }
bool VendorLogOnStdout() { return ReadFlag("ASCEND_SLOG_PRINT_TO_STDOUT"); }
const char* VendorVisibleDevices() { return ReadText("ASCEND_RT_VISIBLE_DEVICES"); }
const char* VendorDevice() { return ReadText("ASCEND_DEVICE_ID"); }

}  // namespace portacl::base::settings
