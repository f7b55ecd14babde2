// Collects the facts for `portacl info`.
#include "api/info.h"

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "ops/operators.h"
#include "ops/settings.h"
#include "portacl/version.h"
#include "runtime/parallel.h"

namespace portacl::api {
namespace {

// The processor's name as the kernel tells it, or "unknown".
std::string CpuName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

nlohmann::ordered_json Kernels(const ops::OperatorRow& op, std::set<std::string>* sets) {
  auto list = nlohmann::ordered_json::array();
  for (const ops::KernelState& kernel : KernelsOf(op)) {
    list.push_back({{"name", kernel.name}, {"available", kernel.available}});
    if (kernel.available && kernel.name != "ref") sets->insert(kernel.name);
  }
  return list;
}

template <size_t kNames>
std::vector<std::string> Given(const std::array<const char*, kNames>& names) {
  std::vector<std::string> given;
  for (const char* const name : names) {
    if (name != nullptr) given.emplace_back(name);
  }
  return given;
}

}  // namespace

std::string InfoJson() {
  std::set<std::string> instruction_sets;
  nlohmann::ordered_json operators;
  nlohmann::ordered_json functions;
  for (const ops::OperatorRow& op : ops::kOperators) {
    operators[op.name] = Kernels(op, &instruction_sets);
    functions[op.name] = {{"native", Given(std::array{op.native})},
                          {"aclnn", Given(op.aclnn)},
                          {"graph", Given(op.graph)}};
  }

  nlohmann::ordered_json info;
  info["version"] = PORTACL_VERSION_STRING;
  info["cpu"] = CpuName();
  info["instruction_sets"] = instruction_sets;
  info["threads"] = runtime::NumThreads();
  info["thread_pool"] = runtime::ThreadPoolName();
  info["profile"] = ops::ProfileName(ops::CurrentProfile());
  info["strict"] = ops::Strict();
  info["impl"] = ops::ForcedImpl();
  info["operators"] = operators;
  info["functions"] = functions;
  return info.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace portacl::api
