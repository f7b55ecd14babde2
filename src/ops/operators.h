// The list of operators (operator_list.h) in the library's own terms: what a profile has of each
// function, and every operator's kernels.
#ifndef PORTACL_OPS_OPERATORS_H_
#define PORTACL_OPS_OPERATORS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "ops/operator_list.h"
#include "ops/refusal.h"
#include "ops/surface.h"

namespace portacl::ops {

// The signature of a graph name; null where no operator has it.
const Signature* FindByGraphName(std::string_view name);

// ---- profiles ----------------------------------------------------------------------------------

// What a call through `surface` may have now; the native API has no profile.
const DTypeWords& DTypesOf(const Signature& signature, Surface surface);

// Refused where the current profile does not have the function.
base::Status CheckAvailable(const Refusals& refusals, const Signature& signature, Surface surface);

// Refused where a tensor has another dtype than DTypesOf().
base::Status CheckDType(const Refusals& refusals, const Signature& signature, Surface surface,
                        const char* tensor, base::DType dtype);

// The formats that a call through the aclnn or graph API may have now.
const FormatWords& FormatsOf(const Signature& signature);

// ---- kernels -----------------------------------------------------------------------------------

struct KernelState {
  std::string name;
  bool available;  // this CPU can run it
};

// An operator's kernels, best first.
std::vector<KernelState> KernelsOf(Op op);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_OPERATORS_H_
