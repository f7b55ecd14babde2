// The plan of a function that PyTorch's kernels compute.
#ifndef PORTACL_ATEN_PLAN_H_
#define PORTACL_ATEN_PLAN_H_

#include <memory>
#include <span>

#include "aten/backend.h"
#include "aten/row.h"
#include "base/status.h"
#include "ops/executor.h"

namespace portacl::aten {

// Returns the plan of a recent equal call with this call's addresses, or a new plan. Checks a new
// plan in this order: the library is loaded (else ACLNN_ERR_INNER_NULLPTR), PyTorch accepts types,
// strides and shapes (else ACLNN_ERR_PARAM_INVALID), memory. `results` is empty, or has a view at
// the index of each tensor that gets its shape from the run.
base::Status MakePlan(const Row& row, std::span<const Value> values,
                      std::span<const std::shared_ptr<base::TensorDesc>> results,
                      ops::PlannedCall* planned);

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_PLAN_H_
