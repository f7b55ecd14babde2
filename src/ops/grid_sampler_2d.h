// Grid sampling itself (native API only): checks and plans.
#ifndef PORTACL_OPS_GRID_SAMPLER_2D_H_
#define PORTACL_OPS_GRID_SAMPLER_2D_H_

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/plan.h"

namespace portacl::ops {

struct GridSampler2DCall {
  const base::TensorDesc* input = nullptr;   // (N, C, H, W)
  const base::TensorDesc* grid = nullptr;    // (N, OH, OW, 2)
  const base::TensorDesc* output = nullptr;  // (N, C, OH, OW)
  int64_t interpolation = 0;
  int64_t padding = 0;
  bool align_corners = false;
};

base::Status PlanGridSampler2D(const GridSampler2DCall& call, std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_2D_H_
