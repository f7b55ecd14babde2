// The only place that names the grid sampler backward kernels: best first, the reference last.
#include "ops/grid_sampler_2d_backward_impls.h"

#include <memory>

#include "base/fork.h"
#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/grid_sampler/grid_sampler_2d_backward.h"
#endif
#include "ref/grid_sampler_backward.h"

namespace portacl::ops {

const KernelList<GridSampler2DBackwardParams>& GridSampler2DBackwardImpls() {
  static constinit base::Immortal<const KernelList<GridSampler2DBackwardParams>> list;
  return list.Get([] {
    auto made = std::make_unique<KernelList<GridSampler2DBackwardParams>>();
#if !defined(PORTACL_SCALAR_ONLY)
    for (const auto& kernel : cpu::GridSampler2DBackwardKernels()) made->push_back(&kernel);
#endif
    made->push_back(&ref::kGridSampler2DBackward);
    return made.release();
  });
}

}  // namespace portacl::ops
