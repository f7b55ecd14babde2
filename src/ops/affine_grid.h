// The affine grid and its gradient: checks and plans.
#ifndef PORTACL_OPS_AFFINE_GRID_H_
#define PORTACL_OPS_AFFINE_GRID_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/plan.h"
#include "ops/surface.h"

namespace portacl::ops {

struct AffineGridCall {
  const char* op = "";  // the function's name in messages; a static string
  Surface surface = Surface::kNative;
  bool backward = false;                    // the gradient, which only the native API has
  const base::TensorDesc* theta = nullptr;  // (N, 2, 3) or (N, 3, 4); backward writes it
  const base::TensorDesc* grid = nullptr;   // (N, H, W, 2) or (N, D, H, W, 3); backward reads it
  const std::vector<int64_t>* size = nullptr;  // (N, C, H, W) or (N, C, D, H, W); native: none
  bool align_corners = false;
  // The two result pointers of an aclnn phase 1: only whether they are null matters.
  bool has_workspace_size = true;
  bool has_executor = true;
};

// The checks alone, in the order of docs/ops/affine_grid.md.
base::Status CheckAffineGrid(const AffineGridCall& call);

base::Status PlanAffineGrid(const AffineGridCall& call, std::shared_ptr<const Plan>* plan);
// The same for a call that has passed CheckAffineGrid.
base::Status PlanCheckedAffineGrid(const AffineGridCall& call, std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_AFFINE_GRID_H_
