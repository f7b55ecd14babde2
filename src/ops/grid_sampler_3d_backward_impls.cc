// The only place that names the kernels of the grid sampler's gradients on volumes: best
// first, the reference last.
#include "ops/grid_sampler_3d_backward_impls.h"

#include <memory>

#include "base/fork.h"
#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/grid_sampler/grid_sampler_3d_backward.h"
#endif
#include "ref/grid_sampler_backward.h"

namespace portacl::ops {

const KernelList<GridSampler3DBackwardParams>& GridSampler3DBackwardImpls() {
  static constinit base::Immortal<const KernelList<GridSampler3DBackwardParams>> list;
  return list.Get([] {
    auto made = std::make_unique<KernelList<GridSampler3DBackwardParams>>();
#if !defined(PORTACL_SCALAR_ONLY)
    for (const auto& kernel : cpu::GridSampler3DBackwardKernels()) made->push_back(&kernel);
#endif
    made->push_back(&ref::kGridSampler3DBackward);
    return made.release();
  });
}

}  // namespace portacl::ops
