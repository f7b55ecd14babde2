// Compiles the nearest backward kernel for every instruction set, and lists them.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/nearest_backward.cc"
#include "cpu/vector/highway.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
// Highway first.
#include "cpu/resize/nearest_backward-inl.h"

#if HWY_ONCE
namespace portacl::cpu {

PORTACL_KERNELS(UpsampleNearestExactBackward, Plan, Run)

}  // namespace portacl::cpu
#endif  // HWY_ONCE
