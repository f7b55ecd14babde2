// Reference kernel of nearest-exact upsampling: scalar, any strides, written for reading.
#ifndef PORTACL_REF_UPSAMPLE_NEAREST_EXACT_H_
#define PORTACL_REF_UPSAMPLE_NEAREST_EXACT_H_

#include "base/kernel.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ref {

extern const base::Kernel<ops::UpsampleNearestExactParams> kUpsampleNearestExact;

}  // namespace portacl::ref

#endif  // PORTACL_REF_UPSAMPLE_NEAREST_EXACT_H_
