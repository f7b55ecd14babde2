// Parsing of portaclGetInfo().
#include "tools/library_info.h"

#include <fmt/format.h>
#include <portacl/portacl.h>

#include "tools/cli_error.h"

namespace portacl::cli {

nlohmann::ordered_json LibraryInfo() {
  auto info = nlohmann::ordered_json::parse(portaclGetInfo(), nullptr, /*allow_exceptions=*/false);
  if (!info.is_object()) throw RuntimeFailure("portaclGetInfo() did not return a JSON object");
  return info;
}

std::vector<KernelInfo> KernelsOf(const nlohmann::ordered_json& kernels) {
  std::vector<KernelInfo> list;
  for (const auto& kernel : kernels) {
    list.push_back({kernel.value("name", "?"), kernel.value("available", false)});
  }
  return list;
}

std::vector<std::string> AvailableKernels(const char* op) {
  const auto info = LibraryInfo();
  if (!info.contains("operators") || !info["operators"].contains(op)) {
    throw RuntimeFailure(fmt::format("portaclGetInfo() does not list the kernels of {}", op));
  }
  std::vector<std::string> names;
  for (const KernelInfo& kernel : KernelsOf(info["operators"][op])) {
    if (kernel.available) names.push_back(kernel.name);
  }
  return names;
}

}  // namespace portacl::cli
