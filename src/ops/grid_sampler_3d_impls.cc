// The only place that names the kernels of the grid sampler on volumes: best first, the
// reference last.
#include "ops/grid_sampler_3d_impls.h"

#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/grid_sampler_3d.h"
#endif
#include "ref/grid_sampler.h"

namespace portacl::ops {

const KernelList<GridSampler3DParams>& GridSampler3DImpls() {
  static const auto* const list = [] {
    auto* made = new KernelList<GridSampler3DParams>;
#if !defined(PORTACL_SCALAR_ONLY)
    for (const auto& kernel : cpu::GridSampler3DKernels()) made->push_back(&kernel);
#endif
    made->push_back(&ref::kGridSampler3D);
    return made;
  }();
  return *list;
}

}  // namespace portacl::ops
