// Writes strings as JSON text.
#include "base/json_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace portacl::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool IsContinuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Returns how many bytes the UTF-8 character at the start of `text` has; 0 if none starts there.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t count = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < count) return 0;
  for (size_t i = 1; i < count; ++i) {
    if (!IsContinuation(byte(i))) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second > 0x9F;
  const bool too_large = lead == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : count;
}

void AppendCharacter(std::string_view character, std::string* json) {
  switch (character[0]) {
    case '"':
      *json += "\\\"";
      return;
    case '\\':
      *json += "\\\\";
      return;
    case '\n':
      *json += "\\n";
      return;
    case '\t':
      *json += "\\t";
      return;
    default:
      break;
  }
  const auto first = static_cast<unsigned char>(character[0]);
  if (first < 0x20) {
    *json += fmt::format("\\u{:04x}", first);
  } else {
    *json += character;
  }
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* json) {
  *json += '"';
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    AppendCharacter(bytes == 0 ? kReplacement : text.substr(0, bytes), json);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  *json += '"';
}

std::string JsonString(std::string_view text) {
  std::string json;
  AppendJsonString(text, &json);
  return json;
}

}  // namespace portacl::base
