// Plans of kPlanes: small planes, a block of them at a time.
#ifndef PORTACL_CPU_RESIZE_RESAMPLE_PLANES_PLAN_H_
#define PORTACL_CPU_RESIZE_RESAMPLE_PLANES_PLAN_H_

#include "cpu/resize/resample_plan.h"

namespace portacl::cpu {

// Whether planes are small as far as they are used, so that a block of them can be done at once:
// then it makes that the plan's path.
template <class F>
bool MakePlanes(const ResampleTarget& target, ResampleKernelPlan<F>* plan);

// Whether planes are too narrow for their rows to fill vectors, and fill a block of planes instead.
template <class F>
bool AreRowsTiny(const ResampleTarget& target, const ResampleKernelPlan<F>& plan);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_RESAMPLE_PLANES_PLAN_H_
