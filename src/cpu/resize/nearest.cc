// Compiles the nearest forward kernel for every instruction set, and lists them.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/nearest.cc"
#include "cpu/vector/highway.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
// Highway first.
#include "cpu/resize/nearest-inl.h"

#if HWY_ONCE
namespace portacl::cpu {

PORTACL_KERNELS(UpsampleNearestExact, Plan, Run)

}  // namespace portacl::cpu
#endif  // HWY_ONCE
