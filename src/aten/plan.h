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

// The plan of a recent equal call with this call's addresses, or a new plan. A new plan is checked
// in this order: whether the library is there (ACLNN_ERR_INNER_NULLPTR); PyTorch's checks of types,
// strides and shapes (ACLNN_ERR_PARAM_INVALID); memory. `results` is empty, or has a view at the
// number of each tensor that gets its shape from the run.
base::Status MakePlan(const Row& row, std::span<const Value> values,
                      std::span<const std::shared_ptr<base::TensorDesc>> results,
                      ops::PlannedCall* planned);

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_PLAN_H_
