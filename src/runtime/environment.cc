// Environment variables as text, numbers and switches.
#include "runtime/environment.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/checked.h"

namespace portacl::runtime {
namespace {

// A mistyped switch must not pass for one that is off. The log may be off: straight to stderr.
void Complain(const char* name, const std::string& wanted) {
  std::fprintf(stderr, "portacl: %s is '%s', but must be %s: ignored\n", name,
               EnvironmentText(name), wanted.c_str());
}

size_t Unit(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "K") return size_t{1} << 10;
  if (suffix == "M") return size_t{1} << 20;
  if (suffix == "G") return size_t{1} << 30;
  return 0;
}

}  // namespace

const char* EnvironmentText(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

int64_t EnvironmentInteger(const char* name, int64_t low, int64_t high, int64_t fallback) {
  const std::string_view text = EnvironmentText(name);
  if (text.empty()) return fallback;
  int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (whole && number >= low && number <= high) return number;
  Complain(name, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
  return fallback;
}

size_t EnvironmentBytes(const char* name, size_t fallback) {
  const std::string_view text = EnvironmentText(name);
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

bool EnvironmentFlag(const char* name) {
  const std::string_view text = EnvironmentText(name);
  if (!text.empty() && text != "0" && text != "1") Complain(name, "0 or 1");
  return text == "1";
}

}  // namespace portacl::runtime
