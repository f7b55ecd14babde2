// The only place that names the grid sampler backward kernels: best first, the reference last.
#include "ops/grid_sampler_2d_backward_impls.h"

#include "ref/grid_sampler_2d_backward.h"

namespace portacl::ops {

const KernelList<GridSampler2DBackwardParams>& GridSampler2DBackwardImpls() {
  static const auto* const list = new KernelList<GridSampler2DBackwardParams>{
      &ref::kGridSampler2DBackward,
  };
  return *list;
}

}  // namespace portacl::ops
