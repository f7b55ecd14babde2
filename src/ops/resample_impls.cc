// The only place that names the resampling kernels: best first, the reference last.
#include "ops/resample_impls.h"

#include <memory>

#include "base/fork.h"
#include "ref/resample.h"

namespace portacl::ops {

const KernelList<ResampleParams>& ResampleImpls() {
  static constinit base::Immortal<const KernelList<ResampleParams>> list;
  return list.Get([] {
    auto made = std::make_unique<KernelList<ResampleParams>>();
    made->push_back(&ref::kResample);
    return made.release();
  });
}

}  // namespace portacl::ops
