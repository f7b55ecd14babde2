// The only place that names the kernels of the grid sampler on volumes: best first, the
// reference last.
#include "ops/grid_sampler_3d_impls.h"

#include <memory>

#include "base/fork.h"
#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/grid_sampler/grid_sampler_3d.h"
#endif
#include "ref/grid_sampler.h"

namespace portacl::ops {

const KernelList<GridSampler3DParams>& GridSampler3DImpls() {
  static constinit base::Immortal<const KernelList<GridSampler3DParams>> list;
  return list.Get([] {
    auto made = std::make_unique<KernelList<GridSampler3DParams>>();
#if !defined(PORTACL_SCALAR_ONLY)
    for (const auto& kernel : cpu::GridSampler3DKernels()) made->push_back(&kernel);
#endif
    made->push_back(&ref::kGridSampler3D);
    return made.release();
  });
}

}  // namespace portacl::ops
