// aclnnResize: nearest or bilinear resizing of pictures by four scales and the mode's name.
#ifndef PORTACL_OPS_RESIZE_H_
#define PORTACL_OPS_RESIZE_H_

#include "base/status.h"
#include "ops/call.h"

namespace portacl::ops::resize {

bool Is(const Call& call);

// Its own checks and the shared checks of all operators, in the order of its page.
base::Status Check(const Call& call);

// A checked call is planned as this call of another function.
Call AsUpsample(const Call& call);

}  // namespace portacl::ops::resize

#endif  // PORTACL_OPS_RESIZE_H_
