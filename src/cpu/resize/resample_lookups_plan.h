// Plans of the path "lookup" and of the borders of "expand".
#ifndef PORTACL_CPU_RESIZE_RESAMPLE_LOOKUPS_PLAN_H_
#define PORTACL_CPU_RESIZE_RESAMPLE_LOOKUPS_PLAN_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "cpu/resize/resample_plan.h"

namespace portacl::cpu {

inline constexpr double kAnyCost = std::numeric_limits<double>::infinity();

// Sums a row of `lanes` destinations each in a window of one or two vectors, up to `longest`
// elements; none if that is too short, or if a row costs `most` or more.
template <class F>
std::optional<ResampleLookups<F>> MakeLookups(const ResampleTaps<F>& w, int64_t lanes,
                                              int64_t longest, double most);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_RESAMPLE_LOOKUPS_PLAN_H_
