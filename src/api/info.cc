// Collects the facts for `portacl info`.
#include "api/info.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/grid_sampler_2d_backward_impls.h"
#include "ops/grid_sampler_2d_impls.h"
#include "ops/settings.h"
#include "ops/upsample_nearest_exact_backward_impls.h"
#include "ops/upsample_nearest_exact_impls.h"
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

template <class Params>
nlohmann::ordered_json Describe(const ops::KernelList<Params>& kernels,
                                std::set<std::string>* instruction_sets) {
  auto list = nlohmann::ordered_json::array();
  for (const auto* kernel : kernels) {
    const bool available = kernel->available();
    list.push_back({{"name", kernel->name}, {"available", available}});
    if (available && std::string(kernel->name) != "ref") instruction_sets->insert(kernel->name);
  }
  return list;
}

}  // namespace

std::string InfoJson() {
  std::set<std::string> instruction_sets;
  nlohmann::ordered_json operators;
  operators["upsample_nearest_exact_backward"] =
      Describe(ops::UpsampleNearestExactBackwardImpls(), &instruction_sets);
  operators["upsample_nearest_exact"] =
      Describe(ops::UpsampleNearestExactImpls(), &instruction_sets);
  operators["grid_sampler_2d_backward"] =
      Describe(ops::GridSampler2DBackwardImpls(), &instruction_sets);
  operators["grid_sampler_2d"] = Describe(ops::GridSampler2DImpls(), &instruction_sets);

  nlohmann::ordered_json info;
  info["version"] = PORTACL_VERSION_STRING;
  info["cpu"] = CpuName();
  info["instruction_sets"] = instruction_sets;
  info["threads"] = runtime::NumThreads();
  info["profile"] = ops::ProfileName(ops::CurrentProfile());
  info["strict"] = ops::Strict();
  info["impl"] = ops::ForcedImpl();
  info["operators"] = operators;
  return info.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace portacl::api
