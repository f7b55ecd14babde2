// Reference kernel of grid sampling: scalar, any strides, written for reading.
#ifndef PORTACL_REF_GRID_SAMPLER_2D_H_
#define PORTACL_REF_GRID_SAMPLER_2D_H_

#include "base/kernel.h"
#include "ops/grid_sampler_2d_params.h"

namespace portacl::ref {

extern const base::Kernel<ops::GridSampler2DParams> kGridSampler2D;

}  // namespace portacl::ref

#endif  // PORTACL_REF_GRID_SAMPLER_2D_H_
