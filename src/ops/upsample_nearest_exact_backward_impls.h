// The list of nearest-exact backward kernels.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_IMPLS_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_IMPLS_H_

#include "ops/select_kernel.h"
#include "ops/upsample_nearest_exact_backward_params.h"

namespace portacl::ops {

const KernelList<UpsampleNearestExactBackwardParams>& UpsampleNearestExactBackwardImpls();

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_IMPLS_H_
