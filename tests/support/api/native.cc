#include "support/api/native.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "portacl/portacl.h"

namespace portacl_test {
namespace {

nlohmann::json Info() { return nlohmann::json::parse(portaclGetInfo()); }

}  // namespace

std::string InfoAt(const std::string& pointer) {
  const nlohmann::json value = Info().at(nlohmann::json::json_pointer(pointer));
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> ListedNames(const char* kind) {
  std::vector<std::string> names;
  const nlohmann::json info = Info();  // lives as long as the loop over a part of it
  for (const auto& functions : info.at("functions")) {
    for (const auto& name : functions.at(kind)) names.push_back(name.get<std::string>());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> AvailableImpls() {
  const nlohmann::json info = Info();  // lives as long as the loop over a part of it
  std::set<std::string> names;
  for (const auto& kernels : info.at("operators")) {
    for (const auto& kernel : kernels) {
      if (kernel.at("available").get<bool>()) names.insert(kernel.at("name").get<std::string>());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace portacl_test
