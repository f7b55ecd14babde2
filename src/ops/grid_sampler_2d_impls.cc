// The only place that names the grid sampler kernels: best first, the reference last.
#include "ops/grid_sampler_2d_impls.h"

#include "ref/grid_sampler_2d.h"

namespace portacl::ops {

const KernelList<GridSampler2DParams>& GridSampler2DImpls() {
  static const auto* const list = new KernelList<GridSampler2DParams>{
      &ref::kGridSampler2D,
  };
  return *list;
}

}  // namespace portacl::ops
