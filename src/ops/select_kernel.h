// Chooses the kernel of a plan: the first in the operator's list that this CPU has and that serves
// the parameters, or the forced one.
#ifndef PORTACL_OPS_SELECT_KERNEL_H_
#define PORTACL_OPS_SELECT_KERNEL_H_

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/kernel.h"
#include "base/status.h"
#include "ops/refusal.h"
#include "ops/settings.h"

namespace portacl::ops {

template <class Params>
using KernelList = std::vector<const base::Kernel<Params>*>;  // best first, "ref" last

// The names of the kernels that this CPU can run, of any operator. In operators.cc.
std::vector<std::string> AvailableImpls();

// `*chosen` runs with `plan`. A forced family falls to "ref" for parameters that it does not serve,
// and for operators that it lacks.
template <class Params>
base::Status SelectKernel(const Refusals& refusals, const KernelList<Params>& kernels,
                          const Params& params, const base::Kernel<Params>** chosen,
                          base::KernelPlan* plan) {
  const std::string forced = ForcedImpl();
  if (!forced.empty()) {
    const std::vector<std::string> names = AvailableImpls();
    if (std::find(names.begin(), names.end(), forced) == names.end()) {
      return refusals.Refuse(Rule::kOther,
                             "the implementation \"{}\" was asked for (PORTACL_IMPL or "
                             "portaclSetImpl), but this machine has: {}",
                             forced, fmt::join(names, ", "));
    }
  }
  for (const auto* kernel : kernels) {
    const bool wanted =
        forced.empty() || forced == kernel->name || std::strcmp(kernel->name, "ref") == 0;
    if (!wanted || !kernel->available()) continue;
    *plan = base::KernelPlan{};
    if (kernel->plan(params, plan)) {
      *chosen = kernel;
      return {};
    }
  }
  return refusals.Refuse(Rule::kNoKernel,
                         "no kernel here can do this shape; the workspace would exceed 64 bits");
}

// "avx512:x2", or the name alone where the plan has no path of its own.
template <class Params>
std::string KernelLabel(const base::Kernel<Params>& kernel, const base::KernelPlan& plan) {
  return *plan.path == '\0' ? std::string(kernel.name)
                            : fmt::format("{}:{}", kernel.name, plan.path);
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_SELECT_KERNEL_H_
