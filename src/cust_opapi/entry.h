// What libcust_opapi.so asks libportacl.so for: both phases of a function by its name.
#ifndef PORTACL_CUST_OPAPI_ENTRY_H_
#define PORTACL_CUST_OPAPI_ENTRY_H_

#include <stdint.h>

#include "aclnn/aclnn_base.h"
#include "portacl/export.h"

extern "C" {

// Phase 1. `arguments` are the addresses of the arguments, in the order and with the types of the
// function's row in api/cust_opapi.cc.
PORTACL_API aclnnStatus portaclCustomPlan(const char* function, const void* const* arguments,
                                          uint64_t* workspaceSize, aclOpExecutor** executor);

// Phase 2.
PORTACL_API aclnnStatus portaclCustomRun(const char* function, void* workspace,
                                         uint64_t workspaceSize, aclOpExecutor* executor,
                                         aclrtStream stream);

}  // extern "C"

#endif  // PORTACL_CUST_OPAPI_ENTRY_H_
