// The vectorised kernels of the grid sampler's gradients on volumes.
#ifndef PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_H_
#define PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_H_

#include <span>

#include "base/kernel.h"
#include "ops/grid_sampler_3d_params.h"

namespace portacl::cpu {

// One kernel per compiled instruction set, best first; bit-identical to
// ref/grid_sampler_backward.
std::span<const base::Kernel<ops::GridSampler3DBackwardParams>> GridSampler3DBackwardKernels();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_H_
