// Reference kernel of linear, cubic and antialiased resizing, in both directions: scalar, any
// strides, written for reading.
#ifndef PORTACL_REF_RESAMPLE_H_
#define PORTACL_REF_RESAMPLE_H_

#include "base/kernel.h"
#include "ops/resample_params.h"

namespace portacl::ref {

extern const base::Kernel<ops::ResampleParams> kResample;

}  // namespace portacl::ref

#endif  // PORTACL_REF_RESAMPLE_H_
