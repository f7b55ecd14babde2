// The only place that names the nearest-exact upsampling kernels: best first, the reference last.
#include "ops/upsample_nearest_exact_impls.h"

#include <memory>

#include "base/fork.h"
#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/resize/upsample_nearest_exact.h"
#endif
#include "ref/upsample_nearest_exact.h"

namespace portacl::ops {

const KernelList<UpsampleNearestExactParams>& UpsampleNearestExactImpls() {
  static constinit base::Immortal<const KernelList<UpsampleNearestExactParams>> list;
  return list.Get([] {
    auto made = std::make_unique<KernelList<UpsampleNearestExactParams>>();
#if !defined(PORTACL_SCALAR_ONLY)
    for (const auto& kernel : cpu::UpsampleNearestExactKernels()) made->push_back(&kernel);
#endif
    made->push_back(&ref::kUpsampleNearestExact);
    return made.release();
  });
}

}  // namespace portacl::ops
