// Makes entries for the lists of kernels from the backend's planning functions.
#include "cuda/kernels.h"

#include "base/per_thread.h"
#include "cuda/backend.h"
#include "cuda/library.h"

namespace portacl::cuda {
namespace {

PORTACL_STARTS_WITH_THREAD thread_local const char* plan_error = "";

bool IsThere() { return LoadedBackend() != nullptr; }

template <class Params, PlanFunction<Params> Backend::*kFunction>
std::unique_ptr<const base::KernelPlan<Params>> MakePlan(const Params& params,
                                                         std::string_view path) {
  plan_error = "";
  Scope scope(ThreadDevice(), nullptr);
  auto plan = scope.error() == nullptr ? (LoadedBackend()->*kFunction)(params, path) : nullptr;
  const char* const error = scope.Leave();
  plan_error = error == nullptr ? "" : error;
  return error == nullptr ? std::move(plan) : nullptr;
}

template <class Params, PlanFunction<Params> Backend::*kFunction>
constexpr base::Kernel<Params> kKernel = {kKernelName, IsThere, {}, MakePlan<Params, kFunction>};

}  // namespace

const char* PlanError() { return plan_error; }

#define PORTACL_CUDA_KERNEL(Params, function)         \
  template <>                                         \
  const base::Kernel<ops::Params>* KernelFor() {      \
    return &kKernel<ops::Params, &Backend::function>; \
  }
PORTACL_CUDA_OPERATORS(PORTACL_CUDA_KERNEL)
#undef PORTACL_CUDA_KERNEL

}  // namespace portacl::cuda
