// Grid sampling itself, of images and volumes: checks and plans.
#ifndef PORTACL_OPS_GRID_SAMPLER_H_
#define PORTACL_OPS_GRID_SAMPLER_H_

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/plan.h"
#include "ops/surface.h"

namespace portacl::ops {

struct GridSamplerCall {
  const Signature* signature = nullptr;
  const char* op = "";  // the function's name in messages; a static string
  Surface surface = Surface::kNative;
  int spatial = 2;                           // axes of an image: 2 or 3
  const base::TensorDesc* input = nullptr;   // (N, C, H, W) or (N, C, D, H, W)
  const base::TensorDesc* grid = nullptr;    // (N, OH, OW, 2) or (N, OD, OH, OW, 3)
  const base::TensorDesc* output = nullptr;  // (N, C, OH, OW) or (N, C, OD, OH, OW)
  int64_t interpolation = 0;
  int64_t padding = 0;
  bool align_corners = false;
  // The two result pointers of an aclnn phase 1: only whether they are null matters.
  bool has_workspace_size = true;
  bool has_executor = true;
};

// The checks alone: those of the backward operator, with every mode in every profile
// but for cubic interpolation of volumes, which `open` alone has.
base::Status CheckGridSampler(const GridSamplerCall& call);

// The plan of a call that has passed CheckGridSampler(). Errors: see docs/ops/grid_sampler_2d.md
// and grid_sampler_3d.md.
base::Status PlanCheckedGridSampler(const GridSamplerCall& call, std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_H_
