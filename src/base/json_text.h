// JSON text written piece by piece. The library builds no tree of values: common libraries' trees
// ask for memory in their destructors, which ends the process if there is none.
#ifndef PORTACL_BASE_JSON_TEXT_H_
#define PORTACL_BASE_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace portacl::base {

// A string in quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);
void AppendJsonString(std::string_view text, std::string* json);

// "[a,b,c]" of strings.
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
