// What the current profile accepts of each function in the list of operators: whether it exists,
// its dtypes and its formats. Also makes the refusals.
#ifndef PORTACL_OPS_PROFILE_RULES_H_
#define PORTACL_OPS_PROFILE_RULES_H_

#include "base/dtype.h"
#include "base/status.h"
#include "ops/operator_list.h"
#include "ops/refusal.h"

namespace portacl::ops {

// Returns the dtypes that a call through `surface` may have now. The native API has no profile.
const DTypeWords& DTypesOf(const Signature& signature, Surface surface);

// Refuses a function that the current profile does not have.
base::Status CheckAvailable(const Refusals& refusals, const Signature& signature, Surface surface);

// Returns the dtypes that one tensor of the function may have now; it may have its own dtypes.
const DTypeWords& DTypesOf(const Signature& signature, const Parameter& tensor, Surface surface);

// Refuses a tensor with a dtype that is not in `dtypes`.
base::Status CheckDType(const Refusals& refusals, const DTypeWords& dtypes, Surface surface,
                        const char* tensor, base::DType dtype);

// Returns the formats that a call through the aclnn or graph API may have now.
const FormatWords& FormatsOf(const Signature& signature);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_PROFILE_RULES_H_
