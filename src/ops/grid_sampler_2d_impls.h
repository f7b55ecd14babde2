// The list of grid sampler kernels.
#ifndef PORTACL_OPS_GRID_SAMPLER_2D_IMPLS_H_
#define PORTACL_OPS_GRID_SAMPLER_2D_IMPLS_H_

#include "ops/grid_sampler_2d_params.h"
#include "ops/select_kernel.h"

namespace portacl::ops {

const KernelList<GridSampler2DParams>& GridSampler2DImpls();

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_2D_IMPLS_H_
