// Sums, means, extrema and losses over some or all axes. No thread count changes the order of sums.
#ifndef PORTACL_COMPANION_REDUCE_H_
#define PORTACL_COMPANION_REDUCE_H_

#include <memory>

#include "base/status.h"
#include "companion/call.h"

namespace portacl::companion {

// `shape`: the inputs' broadcast shape. `reduced`: true for each axis that the reduction removes.
// `common`: for losses the inputs' type, else the result's type.
base::Status PlanReduction(const Call& call, const base::Dims& shape,
                           const std::vector<bool>& reduced, base::DType common,
                           std::shared_ptr<const ops::Plan>* plan);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_REDUCE_H_
