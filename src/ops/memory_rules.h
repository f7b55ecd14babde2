// Rules on memory that hold for every output, for plans of several calls too; Plan has the others.
#ifndef PORTACL_OPS_MEMORY_RULES_H_
#define PORTACL_OPS_MEMORY_RULES_H_

#include <string>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/refusal.h"

namespace portacl::ops {

// Each element of the output called `name` has a place of its own.
base::Status CheckOwnPlaces(const Refusals& refusals, const char* name,
                            const base::TensorDesc& output);

// The output called `name` overlaps `other`.
base::Status OverlapError(const Refusals& refusals, const char* name, const std::string& other);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_MEMORY_RULES_H_
