// The kernels of each operator, and the kernel of a plan: the first kernel in the operator's list
// that this CPU has and that serves the parameters, or the kernel and path that the user forces.
// Keeps the kernel plan. Also makes plans (MakePlanOf).
#ifndef PORTACL_OPS_KERNELS_H_
#define PORTACL_OPS_KERNELS_H_

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/kernel.h"
#include "base/status.h"
#include "cuda/library.h"
#include "ops/call.h"
#include "ops/operator_list.h"
#include "ops/plan.h"
#include "ops/settings.h"
#include "runtime/fp_env.h"
#include "runtime/parallel.h"

namespace portacl::ops {

template <class Params>
using KernelList = std::vector<const base::Kernel<Params>*>;  // best first, "ref" last

// Returns the kernels of all operators with these parameters.
template <class Params>
const KernelList<Params>& KernelsFor();

// Operators with the same parameters share one list.
#define PORTACL_OPERATOR(Name, name, Checks, Params) \
  struct Params;                                     \
  template <>                                        \
  const KernelList<Params>& KernelsFor<Params>();
#include "ops/operator_list.inc"

struct KernelState {
  std::string name;
  bool available;  // this CPU can run it
  std::span<const char* const> paths;
  std::span<const char* const> variants;
};

// Returns an operator's kernels for CPUs, best first.
std::vector<KernelState> KernelsOf(Op op);

// Returns the names of all operators' kernels that this CPU can run.
std::vector<std::string> AvailableImpls();

// Checks the names behind each '-' in a path of PORTACL_IMPL. `unknown`: names that are no path or
// variant of any operator's kernel `kernel`. `known`: all right names.
struct LeftOutNames {
  std::vector<std::string> unknown;
  std::vector<std::string> known;
};
LeftOutNames CheckLeftOut(const std::string& kernel, const std::string& path);

// What PORTACL_IMPL or portaclSetImpl asks for: "avx2", "avx2:slab" or "avx2:-slab-gathered". Empty
// if nothing is forced.
struct ForcedKernel {
  std::string name;
  std::string path;  // a text of base::PathChoice
  bool ByName() const { return base::PathChoice(path).ByName(); }
  bool LeavesOut() const { return !path.empty() && !ByName(); }
};
inline ForcedKernel SplitForced(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Refuses a call because `forced` names a path that cannot serve it. `kernel` is null if the
// operator does not have the named kernel here.
template <class Params>
base::Status RefusePath(const Refusals& refusals, const ForcedKernel& forced,
                        const base::Kernel<Params>* kernel) {
  const auto paths = kernel == nullptr ? std::span<const char* const>{} : kernel->paths;
  if (std::find(paths.begin(), paths.end(), forced.path) != paths.end()) {
    return refusals.Refuse(Rule::kNoKernel,
                           "the path \"{}:{}\" was asked for (PORTACL_IMPL or portaclSetImpl), but "
                           "it does not serve this call; \"{}\" alone chooses a path that does",
                           forced.name, forced.path, forced.name);
  }
  return refusals.Refuse(Rule::kOther,
                         "the path \"{}:{}\" was asked for (PORTACL_IMPL or portaclSetImpl), but "
                         "this operator's paths of \"{}\" are: {}",
                         forced.name, forced.path, forced.name,
                         paths.empty() ? "none" : fmt::format("{}", fmt::join(paths, ", ")));
}

// Refuses a call if `forced` leaves out a name that is no path or variant.
inline base::Status CheckLeftOut(const Refusals& refusals, const ForcedKernel& forced) {
  const LeftOutNames names = CheckLeftOut(forced.name, forced.path);
  if (names.unknown.empty()) return {};
  return refusals.Refuse(
      Rule::kOther,
      "\"{}:{}\" was asked for (PORTACL_IMPL or portaclSetImpl), but no operator's "
      "\"{}\" has a \"{}\" to leave out; there are: {}",
      forced.name, forced.path, forced.name, names.unknown.front(), fmt::join(names.known, ", "));
}

// Returns true if the kernel computes on a GPU. Only this kernel serves plans for a GPU.
template <class Params>
bool IsOnGpu(const base::Kernel<Params>& kernel) {
  return *kernel.name == *cuda::kKernelName && std::strcmp(kernel.name, cuda::kKernelName) == 0;
}

// Sets `label` to "avx512:x2", or to the kernel's name if the plan names no path.
template <class Params>
void SetLabel(const base::Kernel<Params>& kernel, const base::KernelPlan<Params>& plan,
              std::string* label) {
  *label = kernel.name;
  if (*plan.path() != '\0') label->append(1, ':').append(plan.path());
}

// Makes the plan of the GPU's kernel; sets `label`.
template <class Params>
base::Status SelectGpuKernel(const Refusals& refusals, const KernelList<Params>& kernels,
                             const Params& params,
                             std::unique_ptr<const base::KernelPlan<Params>>* plan,
                             std::string* label) {
  for (const auto* kernel : kernels) {
    if (!IsOnGpu(*kernel) || !kernel->available()) continue;
    *plan = kernel->plan(params, {});
    if (*plan == nullptr) break;
    SetLabel(*kernel, **plan, label);
    return {};
  }
  if (const char* const error = cuda::PlanError(); *error != '\0')
    return RefuseCuda(refusals, error);
  return refusals.Refuse(Rule::kNoKernel,
                         "no kernel of the GPU serves this dtype, or an image of this size");
}

// Chooses the kernel and makes its plan; sets `label`. If a forced kernel does not serve the call
// or the operator lacks it, "ref" is taken. If a forced path does not serve the call, the call is
// refused. It is refused, too, if the left-out paths are the only paths that serve it.
template <class Params>
base::Status SelectKernel(const Refusals& refusals, const KernelList<Params>& kernels,
                          const Params& params,
                          std::unique_ptr<const base::KernelPlan<Params>>* plan,
                          std::string* label) {
  if (DeviceOf(refusals.surface()) != cuda::kCpu) {
    return SelectGpuKernel(refusals, kernels, params, plan, label);
  }
  const ForcedKernel forced = ImplIsForced() ? SplitForced(ForcedImpl()) : ForcedKernel();
  if (!forced.name.empty() || !forced.path.empty()) {
    const std::vector<std::string> names = AvailableImpls();
    if (std::find(names.begin(), names.end(), forced.name) == names.end()) {
      return refusals.Refuse(Rule::kOther,
                             "the implementation \"{}\" was asked for (PORTACL_IMPL or "
                             "portaclSetImpl), but this machine has: {}",
                             forced.name, fmt::join(names, ", "));
    }
    if (forced.LeavesOut()) PORTACL_RETURN_IF_ERROR(CheckLeftOut(refusals, forced));
  }
  const base::Kernel<Params>* named = nullptr;
  for (const auto* kernel : kernels) {
    const bool is_named = !forced.name.empty() && forced.name == kernel->name;
    if (is_named) named = kernel;
    const bool wanted =
        forced.ByName() ? is_named
                        : forced.name.empty() || is_named || std::strcmp(kernel->name, "ref") == 0;
    if (!wanted || IsOnGpu(*kernel) || !kernel->available()) continue;
    *plan = kernel->plan(params, forced.path);
    if (*plan == nullptr && forced.LeavesOut() && kernel->plan(params, {}) != nullptr) {
      return refusals.Refuse(
          Rule::kNoKernel,
          "\"{}:{}\" (PORTACL_IMPL or portaclSetImpl) leaves out every path that "
          "serves this call",
          forced.name, forced.path);
    }
    if (*plan == nullptr) continue;
    SetLabel(*kernel, **plan, label);
    return {};
  }
  if (forced.ByName()) return RefusePath(refusals, forced, named);
  return refusals.Refuse(Rule::kNoKernel,
                         "no kernel here can do this shape; the workspace would exceed 64 bits");
}

template <class Params>
class PlannedKernel {
 public:
  // `label` becomes "avx512:x2", or the kernel's name if the plan names no path.
  base::Status Choose(const Refusals& refusals, const KernelList<Params>& kernels,
                      const Params& params, std::string* label) {
    runtime::PrepareThreads();  // now, because a run allocates nothing
    return SelectKernel(refusals, kernels, params, &plan_, label);
  }

  // Does nothing if Choose() was not called.
  void Run(const Params& params, void* workspace) const noexcept {
    if (plan_ == nullptr) return;
    const uintptr_t aligned =
        (reinterpret_cast<uintptr_t>(workspace) + kAlign - 1) / kAlign * kAlign;
    plan_->Run(params, reinterpret_cast<void*>(aligned));
  }

  // Includes room to align the kernel's workspace, wherever the caller's workspace starts.
  uint64_t workspace_size() const {
    return plan_->workspace_size() == 0 ? 0 : plan_->workspace_size() + kAlign;
  }

 private:
  static constexpr uint64_t kAlign = 64;
  std::unique_ptr<const base::KernelPlan<Params>> plan_;
};

template <class Params, class Kernels>
base::Status Plan::Choose(const Kernels& kernels, const Params& params, int64_t small_elements,
                          PlannedKernel<Params>* kernel) {
  PORTACL_RETURN_IF_ERROR(kernel->Choose(refusals_, kernels, params, &kernel_));
  workspace_size_ = kernel->workspace_size();
  // Subtracts, because a sum may pass 64 bits. CheckMemory() has refused outputs of -1 elements.
  small_ = tensor(0).HasAtMost(small_elements - tensor(output(0)).elements);
  return {};
}

// Makes the plan of a checked call. `arguments` go to the constructor of MadePlan.
template <class MadePlan, class... Arguments>
base::Status MakePlanOf(std::shared_ptr<const Plan>* plan, const Arguments&... arguments) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  auto made = std::make_shared<MadePlan>(arguments...);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_KERNELS_H_
