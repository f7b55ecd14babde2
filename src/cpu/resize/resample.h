// The fast kernels of linear, cubic and antialiased resizing and of their gradients.
#ifndef PORTACL_CPU_RESIZE_RESAMPLE_H_
#define PORTACL_CPU_RESIZE_RESAMPLE_H_

#include <span>

#include "base/kernel.h"
#include "ops/resample_params.h"

namespace portacl::cpu {

// One per instruction set, best first.
std::span<const base::Kernel<ops::ResampleParams>> ResampleKernels();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_RESAMPLE_H_
