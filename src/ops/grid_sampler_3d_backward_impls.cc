// The only place that names the kernels of the grid sampler's gradients on volumes.
#include "ops/grid_sampler_3d_backward_impls.h"

#include "ref/grid_sampler_backward.h"

namespace portacl::ops {

const KernelList<GridSampler3DBackwardParams>& GridSampler3DBackwardImpls() {
  static const auto* const list =
      new KernelList<GridSampler3DBackwardParams>{&ref::kGridSampler3DBackward};
  return *list;
}

}  // namespace portacl::ops
