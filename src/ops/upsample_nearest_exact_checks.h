// What the checks of nearest-exact and of its gradient share with their plans. The checks
// themselves are declared beside the calls, in upsample_nearest_exact.h and
// upsample_nearest_exact_backward.h.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_CHECKS_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_CHECKS_H_

#include <array>

#include "ops/upsample_nearest_exact.h"
#include "ops/upsample_nearest_exact_backward.h"

namespace portacl::ops::nearest {

// The parameters as the caller's API calls them.
struct BackwardNames {
  const char* grad_output;
  const char* output_size;
  const char* input_size;
  const char* grad_input;
  std::array<const char*, 3> scale;
};
BackwardNames NamesOf(const UpsampleNearestExactBackwardCall& call);

struct ForwardNames {
  const char* input;
  const char* output;
  const char* output_size;
  std::array<const char*, 3> scale;
};
ForwardNames NamesOf(const UpsampleNearestExactCall& call);

}  // namespace portacl::ops::nearest

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_CHECKS_H_
