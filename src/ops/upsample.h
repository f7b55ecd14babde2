// Resizing by linear, cubic and nearest interpolation, and its gradients: checks and plans.
#ifndef PORTACL_OPS_UPSAMPLE_H_
#define PORTACL_OPS_UPSAMPLE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/plan.h"
#include "ops/surface.h"

namespace portacl::ops {

enum class UpsampleMode { kNearest, kLinear, kCubic };

// `from` is read and `to` written: input and output, or gradOutput and gradInput.
struct UpsampleCall {
  const char* op = "";  // the function's name in messages; a static string
  Surface surface = Surface::kNative;
  UpsampleMode mode = UpsampleMode::kLinear;
  bool backward = false;
  bool antialias = false;
  bool align_corners = false;
  int spatial = 2;  // axes: 1, 2 or 3; the native API has as many as the tensors
  const base::TensorDesc* from = nullptr;
  const base::TensorDesc* to = nullptr;
  // Null where the caller gave none; the native API has neither.
  const std::vector<int64_t>* output_size = nullptr;
  const std::vector<int64_t>* input_size = nullptr;
  // Output extent / input extent; 0: from the extents. 1D: L; 2D: H, W; 3D: D, H, W.
  std::array<double, 3> scales{};
  // The two result pointers of an aclnn phase 1: only whether they are null matters.
  bool has_workspace_size = true;
  bool has_executor = true;
};

// The checks alone, in the order of docs/ops/upsample_linear.md.
base::Status CheckUpsample(const UpsampleCall& call);

base::Status PlanUpsample(const UpsampleCall& call, std::shared_ptr<const Plan>* plan);
// The same for a call that has passed CheckUpsample.
base::Status PlanCheckedUpsample(const UpsampleCall& call, std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_UPSAMPLE_H_
