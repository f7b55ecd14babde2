// The list of nearest-exact upsampling kernels.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_IMPLS_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_IMPLS_H_

#include "ops/select_kernel.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ops {

const KernelList<UpsampleNearestExactParams>& UpsampleNearestExactImpls();

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_IMPLS_H_
