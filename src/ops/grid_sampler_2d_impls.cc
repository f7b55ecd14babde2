// The only place that names the grid sampler kernels: best first, the reference last.
#include "ops/grid_sampler_2d_impls.h"

#include <memory>

#include "base/fork.h"
#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/grid_sampler/grid_sampler_2d.h"
#endif
#include "ref/grid_sampler.h"

namespace portacl::ops {

const KernelList<GridSampler2DParams>& GridSampler2DImpls() {
  static constinit base::Immortal<const KernelList<GridSampler2DParams>> list;
  return list.Get([] {
    auto made = std::make_unique<KernelList<GridSampler2DParams>>();
#if !defined(PORTACL_SCALAR_ONLY)
    for (const auto& kernel : cpu::GridSampler2DKernels()) made->push_back(&kernel);
#endif
    made->push_back(&ref::kGridSampler2D);
    return made.release();
  });
}

}  // namespace portacl::ops
