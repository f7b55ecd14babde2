// The vectorised kernels of grid sampling and its gradients, on images and volumes.
#ifndef PORTACL_CPU_GRID_SAMPLER_H_
#define PORTACL_CPU_GRID_SAMPLER_H_

#include <span>

#include "base/kernel.h"
#include "ops/grid_sampler_2d_backward_params.h"
#include "ops/grid_sampler_2d_params.h"
#include "ops/grid_sampler_3d_params.h"

namespace portacl::cpu {

// One kernel per compiled instruction set, best first; bit-identical to ref.
std::span<const base::Kernel<ops::GridSampler2DParams>> GridSampler2DKernels();
std::span<const base::Kernel<ops::GridSampler2DBackwardParams>> GridSampler2DBackwardKernels();
std::span<const base::Kernel<ops::GridSampler3DParams>> GridSampler3DKernels();
std::span<const base::Kernel<ops::GridSampler3DBackwardParams>> GridSampler3DBackwardKernels();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_H_
