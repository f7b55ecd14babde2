// Environment variables as numbers.
#include "runtime/environment.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/checked.h"

namespace portacl::runtime {
namespace {

const char* Value(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? text : "";
}

size_t Unit(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "K") return size_t{1} << 10;
  if (suffix == "M") return size_t{1} << 20;
  if (suffix == "G") return size_t{1} << 30;
  return 0;
}

}  // namespace

int64_t EnvironmentInteger(const char* name, int64_t low, int64_t high, int64_t fallback) {
  const std::string_view text = Value(name);
  int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole && number >= low && number <= high ? number : fallback;
}

size_t EnvironmentBytes(const char* name, size_t fallback) {
  const std::string_view text = Value(name);
  size_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return fallback;
  const size_t unit = Unit(text.substr(static_cast<size_t>(parsed.ptr - text.data())));
  size_t bytes = 0;
  return unit != 0 && base::CheckedMul(number, unit, &bytes) ? bytes : fallback;
}

bool EnvironmentFlag(const char* name) { return std::strcmp(Value(name), "1") == 0; }

}  // namespace portacl::runtime
