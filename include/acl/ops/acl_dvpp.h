/**
 * @file
 * The vendor's hardware for video and images, which a CPU does not have: nothing is declared here.
 * Programs that include this header beside acl/acl.h and use nothing of it compile; one that does
 * use it is told so by the compiler, at the first name.
 */
#ifndef PORTACL_ACL_OPS_ACL_DVPP_H_
#define PORTACL_ACL_OPS_ACL_DVPP_H_

#include "acl/acl.h"

#endif  // PORTACL_ACL_OPS_ACL_DVPP_H_
