// SIMD kernels of nearest and nearest-exact, one per instruction set.
#ifndef PORTACL_CPU_RESIZE_NEAREST_H_
#define PORTACL_CPU_RESIZE_NEAREST_H_

#include <span>

#include "base/kernel.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::cpu {

// Best instruction set first. Elements are copied bit by bit, as ref::kUpsampleNearestExact does.
std::span<const base::Kernel<ops::UpsampleNearestExactParams>> UpsampleNearestExactKernels();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_NEAREST_H_
