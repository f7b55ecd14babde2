// The only place that names the nearest-exact backward kernels: best first, the reference last.
#include "ops/upsample_nearest_exact_backward_impls.h"

#include <memory>

#include "base/fork.h"
#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/resize/upsample_nearest_exact_backward.h"
#endif
#include "ref/upsample_nearest_exact_backward.h"

namespace portacl::ops {

const KernelList<UpsampleNearestExactBackwardParams>& UpsampleNearestExactBackwardImpls() {
  static constinit base::Immortal<const KernelList<UpsampleNearestExactBackwardParams>> list;
  return list.Get([] {
    auto made = std::make_unique<KernelList<UpsampleNearestExactBackwardParams>>();
#if !defined(PORTACL_SCALAR_ONLY)
    for (const auto& kernel : cpu::UpsampleNearestExactBackwardKernels()) made->push_back(&kernel);
#endif
    made->push_back(&ref::kUpsampleNearestExactBackward);
    return made.release();
  });
}

}  // namespace portacl::ops
