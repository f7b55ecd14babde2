// The only place that names the nearest-exact upsampling kernels: best first, the reference last.
#include "ops/upsample_nearest_exact_impls.h"

#include "ref/upsample_nearest_exact.h"

namespace portacl::ops {

const KernelList<UpsampleNearestExactParams>& UpsampleNearestExactImpls() {
  static const auto* const list = new KernelList<UpsampleNearestExactParams>{
      &ref::kUpsampleNearestExact,
  };
  return *list;
}

}  // namespace portacl::ops
