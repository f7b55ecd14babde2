/**
 * @file
 * The vendor's library of matrix products, which portacl does not have: nothing is declared here.
 * Programs that include this header beside acl/acl.h and use nothing of it compile; one that does
 * use it is told so by the compiler, at the first name.
 */
#ifndef PORTACL_ACL_OPS_ACL_CBLAS_H_
#define PORTACL_ACL_OPS_ACL_CBLAS_H_

#include "acl/acl.h"

#endif  // PORTACL_ACL_OPS_ACL_CBLAS_H_
