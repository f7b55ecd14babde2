// What the checks of grid sampling and of its gradients share with their plans. The checks
// themselves are declared beside the calls, in grid_sampler.h and grid_sampler_backward.h.
#ifndef PORTACL_OPS_GRID_SAMPLER_CHECKS_H_
#define PORTACL_OPS_GRID_SAMPLER_CHECKS_H_

#include "ops/grid_sampler_backward.h"

namespace portacl::ops {

// The parameters as the caller's API calls them.
struct GridSamplerNames {
  const char* grad_output;
  const char* input;
  const char* grid;
  const char* input_grad;
  const char* grid_grad;
  const char* interpolation;
  const char* padding;
  const char* output_mask;
};
GridSamplerNames GridSamplerNamesOf(const GridSamplerBackwardCall& call);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_CHECKS_H_
