// What the current profile accepts of each row of the list of operators: the function, its dtypes
// and its formats. Also the words of refusals.
#ifndef PORTACL_OPS_PROFILE_RULES_H_
#define PORTACL_OPS_PROFILE_RULES_H_

#include "base/dtype.h"
#include "base/status.h"
#include "ops/operator_list.h"
#include "ops/refusal.h"

namespace portacl::ops {

// The dtypes that a call through `surface` may have now; the native API has no profile.
const DTypeWords& DTypesOf(const Signature& signature, Surface surface);

// Refused if the current profile does not have the function.
base::Status CheckAvailable(const Refusals& refusals, const Signature& signature, Surface surface);

// The same for one tensor of the function: it may have dtypes of its own.
const DTypeWords& DTypesOf(const Signature& signature, const Parameter& tensor, Surface surface);

// Refused if a tensor has another dtype than `dtypes`.
base::Status CheckDType(const Refusals& refusals, const DTypeWords& dtypes, Surface surface,
                        const char* tensor, base::DType dtype);

// The formats that a call through the aclnn or graph API may have now.
const FormatWords& FormatsOf(const Signature& signature);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_PROFILE_RULES_H_
