// The only place that names the grid sampler kernels: best first, the reference last.
#include "ops/grid_sampler_2d_impls.h"

#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/grid_sampler_2d.h"
#endif
#include "ref/grid_sampler.h"

namespace portacl::ops {

const KernelList<GridSampler2DParams>& GridSampler2DImpls() {
  static const auto* const list = [] {
    auto* made = new KernelList<GridSampler2DParams>;
#if !defined(PORTACL_SCALAR_ONLY)
    for (const auto& kernel : cpu::GridSampler2DKernels()) made->push_back(&kernel);
#endif
    made->push_back(&ref::kGridSampler2D);
    return made;
  }();
  return *list;
}

}  // namespace portacl::ops
