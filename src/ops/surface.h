// Which API a call came through: accepted arguments and error codes differ.
#ifndef PORTACL_OPS_SURFACE_H_
#define PORTACL_OPS_SURFACE_H_

namespace portacl::ops {

enum class Surface {
  kAclnn,   // two-phase C API, under the current profile
  kGraph,   // by operator name, under the current profile, aclError codes
  kNative,  // portacl.h: every extension, no profile
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_SURFACE_H_
