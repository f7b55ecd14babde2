// The library's facts about itself: portaclGetInfo(), parsed.
#ifndef PORTACL_TOOLS_LIBRARY_INFO_H_
#define PORTACL_TOOLS_LIBRARY_INFO_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace portacl::cli {

struct KernelInfo {
  std::string name;
  bool available = false;  // on this machine
};

// Throws RuntimeFailure if it is no JSON object.
nlohmann::ordered_json LibraryInfo();

// Kernels of an entry of LibraryInfo()["operators"], best first.
std::vector<KernelInfo> KernelsOf(const nlohmann::ordered_json& kernels);

// The kernels that an operator of the list has on this machine, best first; ref is the last. Throws
// RuntimeFailure if the library does not list the operator.
std::vector<std::string> AvailableKernels(const char* op);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_LIBRARY_INFO_H_
