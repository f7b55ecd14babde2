// Writes JSON text piece by piece. The library builds no tree of values: the trees of common
// libraries allocate in their destructors, and this ends the process if memory has run out.
#ifndef PORTACL_BASE_JSON_TEXT_H_
#define PORTACL_BASE_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace portacl::base {

// Returns or appends a string in quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);
void AppendJsonString(std::string_view text, std::string* json);

// Returns a list of strings: ["a","b","c"].
template <class Strings>
std::string JsonStrings(const Strings& strings) {
  std::string list = "[";
  for (const auto& text : strings) {
    if (list.size() > 1) list += ',';
    AppendJsonString(text, &list);
  }
  return list + "]";
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_JSON_TEXT_H_
