// The gradient of nearest-exact upsampling: checks in the order of the documents' table, and plans.
#ifndef PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_H_
#define PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_H_

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

struct UpsampleNearestExactBackwardCall {
  const Signature* signature = nullptr;
  const char* op = "";  // the function's name in messages; a static string
  Surface surface = Surface::kNative;
  int spatial = 2;  // axes: 1, 2 or 3
  const base::TensorDesc* grad_output = nullptr;
  const base::TensorDesc* grad_input = nullptr;
  // Null where the caller gave none; the native API has neither.
  const std::vector<int64_t>* output_size = nullptr;
  const std::vector<int64_t>* input_size = nullptr;
  std::array<double, 3> scales{};  // 1D: L; 2D: H, W; 3D: D, H, W
  // The two result pointers of an aclnn phase 1: only whether they are null matters.
  bool has_workspace_size = true;
  bool has_executor = true;
  // Native only: the tensors are the forward function's output and input, and are called so.
  bool forward = false;
};

// The checks alone, in the order of the documents' table.
base::Status CheckUpsampleNearestExactBackward(const UpsampleNearestExactBackwardCall& call);

// "L"; "H" or "W"; "D", "H" or "W": axis 0, 1, ... of an operator of `spatial` axes.
const char* AxisName(int spatial, int axis);

// The plan of a call that has passed CheckUpsampleNearestExactBackward(). Errors: see
// docs/ops/upsample_nearest_exact_backward.md; aclnn and native calls use aclnn codes, the graph
// operator uses aclError codes.
base::Status PlanCheckedUpsampleNearestExactBackward(const UpsampleNearestExactBackwardCall& call,
                                                     std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_NEAREST_EXACT_BACKWARD_H_
