// Which of a kernel's paths a test means, and which have run in it.
#ifndef PORTACL_TESTS_SUPPORT_KERNEL_PATHS_H_
#define PORTACL_TESTS_SUPPORT_KERNEL_PATHS_H_

#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/kernel.h"
#include "support/api/random.h"

namespace portacl_test {

// Names of paths; each must serve the call. No names: all that serve it, at least one.
using Paths = std::vector<std::string_view>;
inline const Paths kServing = {};

// How often which path has run in the test at hand: "avx2:slab".
inline std::map<std::string, int> paths_run;

// The plan by a path, which is counted; null where the path does not serve the parameters.
template <class Params>
auto PlanPath(const portacl::base::Kernel<Params>& kernel, const Params& params,
              std::string_view path) {
  auto plan = kernel.plan(params, path);
  if (plan != nullptr) {
    const bool by_name = portacl::base::PathChoice(path).ByName();
    EXPECT_TRUE(!by_name || path == plan->path()) << kernel.name << " took " << plan->path();
    ++paths_run[std::string(kernel.name) + ":" + plan->path()];
  }
  return plan;
}

// Calls run(kernel, path) for the paths that the test names; run() is false if the path does not
// serve.
template <class Params, class Run>
void ForPaths(const portacl::base::Kernel<Params>& kernel, const Paths& paths, const Run& run) {
  bool served = false;
  for (const std::string_view path : paths) {
    EXPECT_TRUE(run(kernel, path)) << kernel.name << ":" << path << " does not serve the call";
    served = true;
  }
  if (!paths.empty()) return;
  for (const char* const path : kernel.paths) served = run(kernel, path) || served;
  EXPECT_TRUE(served) << kernel.name << " has no path that serves the call";
}

// Expects that each of these paths has run at least this often in this test (a short run: half as
// often), in every kernel that this CPU has.
template <class Params>
void ExpectRan(std::span<const portacl::base::Kernel<Params>> kernels, const Paths& paths,
               int times = 1) {
  for (const auto& kernel : kernels) {
    if (!kernel.available()) continue;
    for (const std::string_view path : paths) {
      const std::string name = std::string(kernel.name) + ":" + std::string(path);
      EXPECT_GE(paths_run[name], ByRunLength(times, (times + 1) / 2))
          << name << " ran too seldom for this test's purpose";
    }
  }
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_KERNEL_PATHS_H_
