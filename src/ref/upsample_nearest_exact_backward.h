// Reference kernel of nearest-exact backward: scalar, any strides, written for reading.
#ifndef PORTACL_REF_UPSAMPLE_NEAREST_EXACT_BACKWARD_H_
#define PORTACL_REF_UPSAMPLE_NEAREST_EXACT_BACKWARD_H_

#include "base/kernel.h"
#include "ops/upsample_nearest_exact_backward_params.h"

namespace portacl::ref {

extern const base::Kernel<ops::UpsampleNearestExactBackwardParams> kUpsampleNearestExactBackward;

}  // namespace portacl::ref

#endif  // PORTACL_REF_UPSAMPLE_NEAREST_EXACT_BACKWARD_H_
