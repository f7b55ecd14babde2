// The kernel "cuda" of each kind of parameters.
#ifndef PORTACL_CUDA_KERNELS_H_
#define PORTACL_CUDA_KERNELS_H_

#include "base/kernel.h"
#include "ops/affine_grid_params.h"
#include "ops/grid_sampler_2d_backward_params.h"
#include "ops/grid_sampler_3d_params.h"
#include "ops/resample_params.h"
#include "ops/upsample_nearest_exact_backward_params.h"

namespace portacl::cuda {

// Null: there is none.
template <class Params>
const base::Kernel<Params>* KernelFor() {
  return nullptr;
}

#define PORTACL_CUDA_KERNEL(Params) \
  template <>                       \
  const base::Kernel<ops::Params>* KernelFor();
PORTACL_CUDA_KERNEL(AffineGridParams)
PORTACL_CUDA_KERNEL(GridSampler2DParams)
PORTACL_CUDA_KERNEL(GridSampler2DBackwardParams)
PORTACL_CUDA_KERNEL(GridSampler3DParams)
PORTACL_CUDA_KERNEL(GridSampler3DBackwardParams)
PORTACL_CUDA_KERNEL(ResampleParams)
PORTACL_CUDA_KERNEL(UpsampleNearestExactParams)
PORTACL_CUDA_KERNEL(UpsampleNearestExactBackwardParams)
#undef PORTACL_CUDA_KERNEL

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_KERNELS_H_
