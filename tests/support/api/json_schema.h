// Checks JSON against the keywords of JSON Schema that tests/data/*.schema.json use.
#ifndef PORTACL_TESTS_SUPPORT_API_JSON_SCHEMA_H_
#define PORTACL_TESTS_SUPPORT_API_JSON_SCHEMA_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace portacl_test {

// The first place where `value` breaks `schema`, as "path: reason"; "" if there is none. Throws
// std::invalid_argument for a keyword that it does not know.
inline std::string SchemaError(const nlohmann::json& value, const nlohmann::json& schema,
                               const std::string& path = "$") {
  using nlohmann::json;
  const auto is = [&](const std::string& type) {
    return type == "integer"  ? value.is_number_integer()
           : type == "number" ? value.is_number()
                              : value.type_name() == type;
  };
  for (const auto& [keyword, rule] : schema.items()) {
    if (keyword == "$schema" || keyword == "title" || keyword == "additionalProperties") continue;
    if (keyword == "type") {
      if (!is(rule)) return path + ": is no " + rule.get<std::string>();
    } else if (keyword == "const") {
      if (value != rule) return path + ": is not " + rule.dump();
    } else if (keyword == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) {
        return path + ": is none of " + rule.dump();
      }
    } else if (keyword == "minimum") {
      if (value.is_number() && value < rule) return path + ": is below " + rule.dump();
    } else if (keyword == "required") {
      for (const json& name : rule) {
        if (value.is_object() && !value.contains(name)) return path + ": has no " + name.dump();
      }
    } else if (keyword == "properties") {
      if (!value.is_object()) continue;
      const bool closed = !schema.value("additionalProperties", true);
      for (const auto& [name, member] : value.items()) {
        if (rule.contains(name)) {
          const std::string error = SchemaError(member, rule[name], path + "." + name);
          if (!error.empty()) return error;
        } else if (closed) {
          return path + ": has the unknown member " + name;
        }
      }
    } else if (keyword == "items") {
      for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
        const std::string error = SchemaError(value[i], rule, path + "[" + std::to_string(i) + "]");
        if (!error.empty()) return error;
      }
    } else if (keyword == "anyOf") {
      std::string errors;
      const auto fits = [&](const json& choice) {
        const std::string error = SchemaError(value, choice, path);
        errors += (errors.empty() ? "" : "; or ") + error;
        return error.empty();
      };
      if (std::none_of(rule.begin(), rule.end(), fits)) return errors;
    } else {
      throw std::invalid_argument("unknown schema keyword " + keyword);
    }
  }
  return "";
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_JSON_SCHEMA_H_
