// Reference kernels of grid sampling, on images and volumes: scalar, any strides, written for
// reading.
#ifndef PORTACL_REF_GRID_SAMPLER_H_
#define PORTACL_REF_GRID_SAMPLER_H_

#include "base/kernel.h"
#include "ops/grid_sampler_2d_params.h"
#include "ops/grid_sampler_3d_params.h"

namespace portacl::ref {

extern const base::Kernel<ops::GridSampler2DParams> kGridSampler2D;
extern const base::Kernel<ops::GridSampler3DParams> kGridSampler3D;

}  // namespace portacl::ref

#endif  // PORTACL_REF_GRID_SAMPLER_H_
