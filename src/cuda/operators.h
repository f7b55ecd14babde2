// The operators of this backend, by the parameters of their kernels.
#ifndef PORTACL_CUDA_OPERATORS_H_
#define PORTACL_CUDA_OPERATORS_H_

#include "cuda/backend.h"

namespace portacl::cuda {

extern const PlanFunction<ops::AffineGridParams> kAffineGrid;
extern const PlanFunction<ops::GridSampler2DParams> kGridSampler2D;
extern const PlanFunction<ops::GridSampler2DBackwardParams> kGridSampler2DBackward;
extern const PlanFunction<ops::GridSampler3DParams> kGridSampler3D;
extern const PlanFunction<ops::GridSampler3DBackwardParams> kGridSampler3DBackward;
extern const PlanFunction<ops::ResampleParams> kResample;
extern const PlanFunction<ops::UpsampleNearestExactParams> kUpsampleNearestExact;
extern const PlanFunction<ops::UpsampleNearestExactBackwardParams> kUpsampleNearestExactBackward;

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_OPERATORS_H_
