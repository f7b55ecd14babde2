/**
 * @file
 * The vendor's hardware for video and images, which a CPU does not have: nothing is declared here.
 * Programs that include this header and use none of its names compile. If a program uses a name,
 * the compiler reports it as unknown.
 */
#ifndef PORTACL_ACL_OPS_ACL_DVPP_H_
#define PORTACL_ACL_OPS_ACL_DVPP_H_

#include "acl/acl.h"

#endif  // PORTACL_ACL_OPS_ACL_DVPP_H_
