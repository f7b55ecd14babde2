// aclnnResize: nearest or bilinear resizing of images by four scales and the name of the mode.
#ifndef PORTACL_OPS_RESIZE_H_
#define PORTACL_OPS_RESIZE_H_

#include "base/status.h"
#include "ops/call.h"

namespace portacl::ops::resize {

bool Is(const Call& call);

// Makes its own checks and the shared checks of all operators, in the order of its page.
base::Status Check(const Call& call);

// Returns the call of another function that computes the same. Plans are made for that call.
Call AsUpsample(const Call& call);

}  // namespace portacl::ops::resize

#endif  // PORTACL_OPS_RESIZE_H_
