// The nearest-exact operators: checks in the order of the documents' table, and plans.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/plan.h"
#include "ops/surface.h"

namespace portacl::ops {

struct UpsampleNearestExactBackwardCall {
  const char* op = "";  // the function's name in messages; a static string
  Surface surface = Surface::kNative;
  int spatial = 2;  // axes: 1 or 2
  const base::TensorDesc* grad_output = nullptr;
  const base::TensorDesc* grad_input = nullptr;
  // Null where the caller gave none; the native API has neither.
  const std::vector<int64_t>* output_size = nullptr;
  const std::vector<int64_t>* input_size = nullptr;
  std::array<double, 2> scales{};  // 1D: [0] is L; 2D: H, W
  // The two result pointers of an aclnn phase 1: only whether they are null matters.
  bool has_workspace_size = true;
  bool has_executor = true;
  // Native only: the tensors are the forward function's output and input, and are called so.
  bool forward = false;
};

// The checks alone, in the order of the documents' table.
base::Status CheckUpsampleNearestExactBackward(const UpsampleNearestExactBackwardCall& call);

// Four shape or stride values of an (N, C, L) tensor, as (N, C, H, L), or of an (N, C, H, W) one.
std::array<int64_t, 4> As4D(const base::Dims& dims, int64_t h);

// Checks everything and plans. Errors: see docs/ops/upsample_nearest_exact_backward.md; aclnn and
// native calls use aclnn codes, the graph operator uses aclError codes.
base::Status PlanUpsampleNearestExactBackward(const UpsampleNearestExactBackwardCall& call,
                                              std::shared_ptr<const Plan>* plan);

// The same for a call that has passed CheckUpsampleNearestExactBackward().
base::Status PlanCheckedUpsampleNearestExactBackward(const UpsampleNearestExactBackwardCall& call,
                                                     std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_H_
