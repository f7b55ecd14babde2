/**
 * @file
 * The vendor's library of matrix products, which portacl does not have: nothing is declared here.
 * Programs that include this header and use none of its names compile. If a program uses a name,
 * the compiler reports it as unknown.
 */
#ifndef PORTACL_ACL_OPS_ACL_CBLAS_H_
#define PORTACL_ACL_OPS_ACL_CBLAS_H_

#include "acl/acl.h"

#endif  // PORTACL_ACL_OPS_ACL_CBLAS_H_
