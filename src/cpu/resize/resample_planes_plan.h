// Plans of the path "planes": small planes, a block of them at a time.
#ifndef PORTACL_CPU_RESIZE_RESAMPLE_PLANES_PLAN_H_
#define PORTACL_CPU_RESIZE_RESAMPLE_PLANES_PLAN_H_

#include <optional>

#include "cpu/resize/resample_plan.h"

namespace portacl::cpu {

// No plan if the used parts of planes are not small. Otherwise a block of planes is done at once,
// and the tables of `plan` become the tables of the used parts.
template <class F>
std::optional<ResamplePlanes> MakePlanes(const ResampleTarget& target, ResampleKernelPlan<F>* plan);

// Whether planes are too narrow for their rows to fill vectors, and fill a block of planes instead.
template <class F>
bool AreRowsTiny(const ResampleTarget& target, const ResampleKernelPlan<F>& plan);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_RESAMPLE_PLANES_PLAN_H_
