// The fast kernels of multi-scale deformable attention and of its gradient.
#ifndef PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_H_
#define PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_H_

#include <span>

#include "base/kernel.h"
#include "ops/ms_deform_attn_params.h"

namespace portacl::cpu {

// One per instruction set, best first.
std::span<const base::Kernel<ops::MsDeformAttnParams>> MsDeformAttnKernels();
std::span<const base::Kernel<ops::MsDeformAttnBackwardParams>> MsDeformAttnBackwardKernels();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_H_
