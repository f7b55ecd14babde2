// Replaces words of the library's messages.
#include "message.h"

#include <portacl/portacl.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "src/ops/operator_list.h"

namespace portacl_python {
namespace {

constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"FLOAT", "float32"},  {"FLOAT16", "float16"}, {"BF16", "bfloat16"}, {"BFLOAT16", "bfloat16"},
    {"DOUBLE", "float64"}, {"UINT8", "uint8"},     {"INT32", "int32"},   {"INT64", "int64"}};

bool IsParameter(std::string_view word) {
  static const std::set<std::string_view> kNames = [] {
    std::set<std::string_view> names;
#define PORTACL_NATIVE(function, ...)                                           \
  for (const auto& parameter : portacl::ops::signatures::function.parameters) { \
    names.insert(parameter.name);                                               \
  }
#include "src/ops/operator_list.inc"
    return names;
  }();
  return kNames.count(word) != 0;
}

std::string PythonWord(std::string_view word) {
  for (const auto& [name, numpy] : kTypes) {
    if (word == name) return std::string(numpy);
  }
  return IsParameter(word) ? PythonName(word) : std::string(word);
}

bool IsLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string PythonName(std::string_view name) {
  std::string made;
  for (const char c : name) {
    const bool capital = c >= 'A' && c <= 'Z';
    if (capital) made += '_';
    made += static_cast<char>(capital ? c - 'A' + 'a' : c);
  }
  return made;
}

std::string Message() {
  std::string_view text = portaclGetErrorMessage();
  std::string made;
  constexpr std::string_view kSpace = "portacl::";  // before the name of a function
  if (text.substr(0, kSpace.size()) == kSpace) {
    made = "portacl.";
    text.remove_prefix(kSpace.size());
  }
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), IsLetter);
    if (end == at) {
      made += *at++;
    } else {
      made += PythonWord(text.substr(at - text.begin(), end - at));
      at = end;
    }
  }
  return made;
}

bool IsAboutType(std::string_view message) {
  return message.find(" has dtype ") != std::string_view::npos;
}

}  // namespace portacl_python
