// The list of grid sampler backward kernels.
#ifndef PORTACL_OPS_GRID_SAMPLER_2D_BACKWARD_IMPLS_H_
#define PORTACL_OPS_GRID_SAMPLER_2D_BACKWARD_IMPLS_H_

#include "ops/grid_sampler_2d_backward_params.h"
#include "ops/select_kernel.h"

namespace portacl::ops {

const KernelList<GridSampler2DBackwardParams>& GridSampler2DBackwardImpls();

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_2D_BACKWARD_IMPLS_H_
