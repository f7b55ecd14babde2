// The list of kernels of the grid sampler on volumes.
#ifndef PORTACL_OPS_GRID_SAMPLER_3D_IMPLS_H_
#define PORTACL_OPS_GRID_SAMPLER_3D_IMPLS_H_

#include "ops/grid_sampler_3d_params.h"
#include "ops/select_kernel.h"

namespace portacl::ops {

const KernelList<GridSampler3DParams>& GridSampler3DImpls();

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_3D_IMPLS_H_
