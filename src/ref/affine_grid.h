// Reference kernel of the affine grid and of its gradient: scalar, any strides.
#ifndef PORTACL_REF_AFFINE_GRID_H_
#define PORTACL_REF_AFFINE_GRID_H_

#include "base/kernel.h"
#include "ops/affine_grid_params.h"

namespace portacl::ref {

extern const base::Kernel<ops::AffineGridParams> kAffineGrid;

}  // namespace portacl::ref

#endif  // PORTACL_REF_AFFINE_GRID_H_
