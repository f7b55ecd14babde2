// Refuses functions that a CPU cannot have.
#ifndef PORTACL_API_UNSUPPORTED_H_
#define PORTACL_API_UNSUPPORTED_H_

#include "acl/acl_base.h"
#include "api/shim.h"
#include "runtime/error.h"

namespace portacl::api {

// Returns ACL_ERROR_API_NOT_SUPPORT with the message `reason`. Not
// ACL_ERROR_RT_FEATURE_NOT_SUPPORT, which clients read as "this operator is not supported".
inline aclError Unsupported(const char* function, const char* reason) {
  return Guarded(function, [&] {
    return runtime::Error(ACL_ERROR_API_NOT_SUPPORT, "not supported by portacl: {}", reason);
  });
}

}  // namespace portacl::api

#endif  // PORTACL_API_UNSUPPORTED_H_
