// The only place that names the nearest-exact backward kernels: best first, the reference last.
#include "ops/upsample_nearest_exact_backward_impls.h"

#include "ref/upsample_nearest_exact_backward.h"

namespace portacl::ops {

const KernelList<UpsampleNearestExactBackwardParams>& UpsampleNearestExactBackwardImpls() {
  static const auto* const list = new KernelList<UpsampleNearestExactBackwardParams>{
      &ref::kUpsampleNearestExactBackward,
  };
  return *list;
}

}  // namespace portacl::ops
