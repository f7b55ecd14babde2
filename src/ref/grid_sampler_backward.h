// Reference kernels of the grid sampler's gradients, on images and volumes: scalar, any strides,
// written for reading.
#ifndef PORTACL_REF_GRID_SAMPLER_BACKWARD_H_
#define PORTACL_REF_GRID_SAMPLER_BACKWARD_H_

#include "base/kernel.h"
#include "ops/grid_sampler_2d_backward_params.h"
#include "ops/grid_sampler_3d_params.h"

namespace portacl::ref {

extern const base::Kernel<ops::GridSampler2DBackwardParams> kGridSampler2DBackward;
extern const base::Kernel<ops::GridSampler3DBackwardParams> kGridSampler3DBackward;

}  // namespace portacl::ref

#endif  // PORTACL_REF_GRID_SAMPLER_BACKWARD_H_
