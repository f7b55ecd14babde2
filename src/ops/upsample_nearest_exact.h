// Nearest-exact upsampling itself: checks and plans.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/plan.h"
#include "ops/surface.h"

namespace portacl::ops {

struct UpsampleNearestExactCall {
  const Signature* signature = nullptr;
  const char* op = "";  // the function's name in messages; a static string
  Surface surface = Surface::kNative;
  int spatial = 2;  // axes: 1, 2 or 3; the native API has as many as the input
  const base::TensorDesc* input = nullptr;
  const base::TensorDesc* output = nullptr;
  const std::vector<int64_t>* output_size = nullptr;  // the native API has none
  std::array<double, 3> scales{};  // 0, or output / input extent; 1D: L; 2D: H, W; 3D: D, H, W
  // The two result pointers of an aclnn phase 1: only whether they are null matters.
  bool has_workspace_size = true;
  bool has_executor = true;
};

// The checks alone, in the order of docs/ops/upsample_nearest_exact.md.
base::Status CheckUpsampleNearestExact(const UpsampleNearestExactCall& call);

// output[n, c, o] = input[n, c, src(o)] with the index rule of the backward function.
// Tensors (N, C, L), (N, C, H, W) or (N, C, D, H, W); format NHWC: (N, H, W, C). Any floating
// dtype, without DOUBLE in the aclnn and graph APIs. For a call that has passed
// CheckUpsampleNearestExact().
base::Status PlanCheckedUpsampleNearestExact(const UpsampleNearestExactCall& call,
                                             std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_H_
