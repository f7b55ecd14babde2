// The list of kernels of linear, cubic and antialiased resizing, for both directions.
#ifndef PORTACL_OPS_RESAMPLE_IMPLS_H_
#define PORTACL_OPS_RESAMPLE_IMPLS_H_

#include "ops/resample_params.h"
#include "ops/select_kernel.h"

namespace portacl::ops {

const KernelList<ResampleParams>& ResampleImpls();

}  // namespace portacl::ops

#endif  // PORTACL_OPS_RESAMPLE_IMPLS_H_
