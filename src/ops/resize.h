// aclnnResize: nearest or bilinear resizing of pictures by four scales and the mode's name.
#ifndef PORTACL_OPS_RESIZE_H_
#define PORTACL_OPS_RESIZE_H_

#include "base/status.h"
#include "ops/call.h"

namespace portacl::ops::resize {

bool Is(const Call& call);

// Its own checks and those that all operators share, in the order of its page.
base::Status Check(const Call& call);

// The call of another function as which a checked call is planned.
Call AsUpsample(const Call& call);

}  // namespace portacl::ops::resize

#endif  // PORTACL_OPS_RESIZE_H_
