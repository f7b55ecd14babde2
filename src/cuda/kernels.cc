// The backend's planning functions as entries of the lists of kernels.
#include "cuda/kernels.h"

#include "base/per_thread.h"
#include "cuda/backend.h"
#include "cuda/library.h"
#include "cuda/loaded.h"

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
PORTACL_CUDA_KERNEL(AffineGridParams, affine_grid)
PORTACL_CUDA_KERNEL(GridSampler2DParams, grid_sampler_2d)
PORTACL_CUDA_KERNEL(GridSampler2DBackwardParams, grid_sampler_2d_backward)
PORTACL_CUDA_KERNEL(GridSampler3DParams, grid_sampler_3d)
PORTACL_CUDA_KERNEL(GridSampler3DBackwardParams, grid_sampler_3d_backward)
PORTACL_CUDA_KERNEL(ResampleParams, resample)
PORTACL_CUDA_KERNEL(UpsampleNearestExactParams, upsample_nearest_exact)
PORTACL_CUDA_KERNEL(UpsampleNearestExactBackwardParams, upsample_nearest_exact_backward)
#undef PORTACL_CUDA_KERNEL

}  // namespace portacl::cuda
