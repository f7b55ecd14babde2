// SIMD kernels of the gradients of nearest and nearest-exact, one per instruction set.
#ifndef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_H_
#define PORTACL_CPU_RESIZE_NEAREST_BACKWARD_H_

#include <span>

#include "base/kernel.h"
#include "ops/upsample_nearest_exact_backward_params.h"

namespace portacl::cpu {

// Best instruction set first. The bits are ref::kUpsampleNearestExactBackward's. The kernels need
// no workspace, keep at most kNearestStackBytes on the stack, and serve every shape, dtype and
// stride but those named in README.md.
std::span<const base::Kernel<ops::UpsampleNearestExactBackwardParams>>
UpsampleNearestExactBackwardKernels();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_NEAREST_BACKWARD_H_
