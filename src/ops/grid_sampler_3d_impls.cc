// The only place that names the kernels of the grid sampler on volumes.
#include "ops/grid_sampler_3d_impls.h"

#include "ref/grid_sampler.h"

namespace portacl::ops {

const KernelList<GridSampler3DParams>& GridSampler3DImpls() {
  static const auto* const list = new KernelList<GridSampler3DParams>{&ref::kGridSampler3D};
  return *list;
}

}  // namespace portacl::ops
