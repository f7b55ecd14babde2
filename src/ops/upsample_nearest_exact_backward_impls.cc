// The only place that names the nearest-exact backward kernels: best first, the reference last.
#include "ops/upsample_nearest_exact_backward_impls.h"

#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/upsample_nearest_exact_backward.h"
#endif
#include "ref/upsample_nearest_exact_backward.h"

namespace portacl::ops {

const KernelList<UpsampleNearestExactBackwardParams>& UpsampleNearestExactBackwardImpls() {
  static const auto* const list = [] {
    auto* made = new KernelList<UpsampleNearestExactBackwardParams>;
#if !defined(PORTACL_SCALAR_ONLY)
    for (const auto& kernel : cpu::UpsampleNearestExactBackwardKernels()) made->push_back(&kernel);
#endif
    made->push_back(&ref::kUpsampleNearestExactBackward);
    return made;
  }();
  return *list;
}

}  // namespace portacl::ops
