// The only place that names the nearest-exact upsampling kernels: best first, the reference last.
#include "ops/upsample_nearest_exact_impls.h"

#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/upsample_nearest_exact_backward.h"
#endif
#include "ref/upsample_nearest_exact.h"

namespace portacl::ops {

const KernelList<UpsampleNearestExactParams>& UpsampleNearestExactImpls() {
  static const auto* const list = [] {
    auto* made = new KernelList<UpsampleNearestExactParams>;
#if !defined(PORTACL_SCALAR_ONLY)
    // The families of the backward function can be forced here too; they serve no forward shape yet
    // and leave all of them to the reference.
    for (const auto& family : cpu::UpsampleNearestExactBackwardKernels()) {
      made->push_back(new base::Kernel<UpsampleNearestExactParams>{
          family.name, family.available,
          [](const UpsampleNearestExactParams&, base::KernelPlan*) { return false; }, nullptr});
    }
#endif
    made->push_back(&ref::kUpsampleNearestExact);
    return made;
  }();
  return *list;
}

}  // namespace portacl::ops
