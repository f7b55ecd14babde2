// The fast kernels of the affine grid and of its gradient.
#ifndef PORTACL_CPU_AFFINE_GRID_AFFINE_GRID_H_
#define PORTACL_CPU_AFFINE_GRID_AFFINE_GRID_H_

#include <span>

#include "base/kernel.h"
#include "ops/affine_grid_params.h"

namespace portacl::cpu {

// One per instruction set, best first.
std::span<const base::Kernel<ops::AffineGridParams>> AffineGridKernels();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_AFFINE_GRID_AFFINE_GRID_H_
