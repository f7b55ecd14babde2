// The lists of kernels of the affine grid and of its gradient.
#ifndef PORTACL_OPS_AFFINE_GRID_IMPLS_H_
#define PORTACL_OPS_AFFINE_GRID_IMPLS_H_

#include "ops/affine_grid_params.h"
#include "ops/select_kernel.h"

namespace portacl::ops {

const KernelList<AffineGridParams>& AffineGridImpls();
const KernelList<AffineGridParams>& AffineGridBackwardImpls();

}  // namespace portacl::ops

#endif  // PORTACL_OPS_AFFINE_GRID_IMPLS_H_
