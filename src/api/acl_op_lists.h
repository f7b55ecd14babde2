// Reads inputs that are lists of integers, for operators called by name. Lists decide shapes, so
// they are read while the call is planned.
#ifndef PORTACL_API_ACL_OP_LISTS_H_
#define PORTACL_API_ACL_OP_LISTS_H_

#include "acl/acl_base.h"
#include "api/acl_op_handles.h"
#include "api/acl_op_registry.h"
#include "base/status.h"

namespace portacl::api {

// `inputs` is null if the call is only compiled. Then only lists in constants have known values.
base::Status ReadHostLists(const GraphOperator& op, const GraphRow& row,
                           const aclDataBuffer* const inputs[], HostLists* lists);

}  // namespace portacl::api

#endif  // PORTACL_API_ACL_OP_LISTS_H_
