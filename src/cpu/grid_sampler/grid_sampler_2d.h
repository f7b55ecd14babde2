// The vectorised kernels of grid sampling.
#ifndef PORTACL_CPU_GRID_SAMPLER_2D_H_
#define PORTACL_CPU_GRID_SAMPLER_2D_H_

#include <span>

#include "base/kernel.h"
#include "ops/grid_sampler_2d_params.h"

namespace portacl::cpu {

// One kernel per compiled instruction set, best first; bit-identical to ref/grid_sampler.
std::span<const base::Kernel<ops::GridSampler2DParams>> GridSampler2DKernels();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_2D_H_
