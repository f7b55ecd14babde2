// Plans of nearest resizing and of its gradient, whatever the index rule.
#ifndef PORTACL_OPS_NEAREST_PLAN_H_
#define PORTACL_OPS_NEAREST_PLAN_H_

#include <array>
#include <memory>

#include "ops/call.h"
#include "ops/nearest_axis.h"
#include "ops/plan.h"

namespace portacl::ops {

// The arguments of a checked call beside its tensors.
struct NearestCall {
  Nearest rule = Nearest::kExact;
  bool backward = false;
  std::array<double, 3> scales{};  // 0 if the extents decide
  bool logged = true;              // as the operator's function of the aclnn API
};

base::Status PlanNearest(const Call& call, const NearestCall& wanted,
                         std::shared_ptr<const Plan>* plan);

// The same of bytes, with the kernels of weighted resizing.
base::Status PlanNearestOfBytes(const Call& call, const NearestCall& wanted,
                                std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_NEAREST_PLAN_H_
