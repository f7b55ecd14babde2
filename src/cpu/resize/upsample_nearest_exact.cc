// Compiles the nearest-exact forward kernel for every instruction set, and lists them.
#include "cpu/resize/upsample_nearest_exact.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/upsample_nearest_exact.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/resize/upsample_nearest_exact-inl.h"

#if HWY_ONCE
namespace portacl::cpu {

std::span<const base::Kernel<ops::UpsampleNearestExactParams>> UpsampleNearestExactKernels() {
  static constexpr base::Kernel<ops::UpsampleNearestExactParams> kKernels[] = {
      PORTACL_KERNELS(Plan, Run)};
  return kKernels;
}

}  // namespace portacl::cpu
#endif  // HWY_ONCE
