// Grid sampling itself: checks and plans.
#ifndef PORTACL_OPS_GRID_SAMPLER_2D_H_
#define PORTACL_OPS_GRID_SAMPLER_2D_H_

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/plan.h"
#include "ops/surface.h"

namespace portacl::ops {

struct GridSampler2DCall {
  const char* op = "portacl::grid_sampler_2d";  // the function's name in messages; a static string
  Surface surface = Surface::kNative;
  const base::TensorDesc* input = nullptr;   // (N, C, H, W)
  const base::TensorDesc* grid = nullptr;    // (N, OH, OW, 2)
  const base::TensorDesc* output = nullptr;  // (N, C, OH, OW)
  int64_t interpolation = 0;
  int64_t padding = 0;
  bool align_corners = false;
  // The two result pointers of an aclnn phase 1: only whether they are null matters.
  bool has_workspace_size = true;
  bool has_executor = true;
};

// The checks alone: those of the backward operator, with every mode in every profile.
base::Status CheckGridSampler2D(const GridSampler2DCall& call);

// Errors: see docs/ops/grid_sampler_2d.md.
base::Status PlanGridSampler2D(const GridSampler2DCall& call, std::shared_ptr<const Plan>* plan);
// The same for a call that has passed CheckGridSampler2D.
base::Status PlanCheckedGridSampler2D(const GridSampler2DCall& call,
                                      std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_2D_H_
