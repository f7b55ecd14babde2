// The forward function of nearest-exact (native API only): checks and plans.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_H_

#include <array>
#include <memory>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/plan.h"

namespace portacl::ops {

// output[n, c, o] = input[n, c, src(o)] with the index rule of the backward function.
// Tensors (N, C, L) or (N, C, H, W), any floating dtype; scales 0 or output / input extent.
base::Status PlanUpsampleNearestExact(const base::TensorDesc* input, const base::TensorDesc* output,
                                      const std::array<double, 2>& scales,
                                      std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_H_
