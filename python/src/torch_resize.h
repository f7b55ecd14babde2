// The operators of aten that resize, row by row: names, layouts, and kernels on PyTorch's stack.
#ifndef PORTACL_PYTHON_TORCH_RESIZE_H_
#define PORTACL_PYTHON_TORCH_RESIZE_H_

#include <array>
#include <cstddef>

#include "plan_cache.h"
#include "torch_abi.h"

namespace portacl_python::torch_resize {

// (Tensor input, SymInt[] output_size, [bool align_corners,] float? scale, ...) -> Tensor, or
// (Tensor grad_output, SymInt[] output_size, SymInt[] input_size, ...) -> Tensor
struct Row {
  const char* name;
  Op op;
  int axes;
  bool backward = false;
  bool has_align_corners = false;
  bool antialias = false;
  bool row_major = false;  // the result, whatever the layout of the operand
  bool newest = false;     // PyTorch before 2.15 lacks it
  // (Tensor input, SymInt[] output_size) -> Tensor, or (Tensor grad_output, Tensor input) -> Tensor
  bool pools = false;
};

inline constexpr std::array kRows = {
    Row{"upsample_nearest1d", Op::kUpsampleNearest, 1, false},
    Row{"upsample_nearest2d", Op::kUpsampleNearest, 2, false},
    Row{"upsample_nearest3d", Op::kUpsampleNearest, 3, false},
    Row{"_upsample_nearest_exact1d", Op::kUpsampleNearestExact, 1, false},
    Row{"_upsample_nearest_exact2d", Op::kUpsampleNearestExact, 2, false},
    Row{"_upsample_nearest_exact3d", Op::kUpsampleNearestExact, 3, false},
    Row{"upsample_linear1d", Op::kUpsampleLinear, 1, false, true},
    Row{"upsample_bilinear2d", Op::kUpsampleLinear, 2, false, true},
    Row{"upsample_trilinear3d", Op::kUpsampleLinear, 3, false, true},
    Row{"upsample_bicubic2d", Op::kUpsampleCubic, 2, false, true},
    Row{"_upsample_bilinear2d_aa", Op::kUpsampleLinear, 2, false, true, true},
    Row{"_upsample_bicubic2d_aa", Op::kUpsampleCubic, 2, false, true, true},
    Row{"_upsample_lanczos2d_aa", Op::kUpsampleLanczos, 2, false, true, true, false, true},
    Row{"upsample_nearest1d_backward", Op::kUpsampleNearestBackward, 1, true},
    Row{"upsample_nearest2d_backward", Op::kUpsampleNearestBackward, 2, true},
    Row{"upsample_nearest3d_backward", Op::kUpsampleNearestBackward, 3, true, false, false, true},
    Row{"_upsample_nearest_exact1d_backward", Op::kUpsampleNearestExactBackward, 1, true},
    Row{"_upsample_nearest_exact2d_backward", Op::kUpsampleNearestExactBackward, 2, true},
    Row{"_upsample_nearest_exact3d_backward", Op::kUpsampleNearestExactBackward, 3, true, false,
        false, true},
    Row{"upsample_linear1d_backward", Op::kUpsampleLinearBackward, 1, true, true},
    Row{"upsample_bilinear2d_backward", Op::kUpsampleLinearBackward, 2, true, true},
    Row{"upsample_trilinear3d_backward", Op::kUpsampleLinearBackward, 3, true, true},
    Row{"upsample_bicubic2d_backward", Op::kUpsampleCubicBackward, 2, true, true, false, true},
    Row{"_upsample_bilinear2d_aa_backward", Op::kUpsampleLinearBackward, 2, true, true, true},
    Row{"_upsample_bicubic2d_aa_backward", Op::kUpsampleCubicBackward, 2, true, true, true, true},
    Row{"_upsample_lanczos2d_aa_backward", Op::kUpsampleLanczosBackward, 2, true, true, true, true,
        true},
    Row{.name = "_adaptive_avg_pool2d", .op = Op::kAdaptiveAvgPool, .axes = 2, .pools = true},
    Row{.name = "_adaptive_avg_pool3d",
        .op = Op::kAdaptiveAvgPool,
        .axes = 3,
        .row_major = true,
        .pools = true},
    Row{.name = "_adaptive_avg_pool2d_backward",
        .op = Op::kAdaptiveAvgPoolBackward,
        .axes = 2,
        .backward = true,
        .pools = true},
    Row{.name = "_adaptive_avg_pool3d_backward",
        .op = Op::kAdaptiveAvgPoolBackward,
        .axes = 3,
        .backward = true,
        .row_major = true,
        .pools = true},
};

// Whether portacl has the element type of the call's tensor. PyTorch keeps integers other than
// uint8. In pooling it keeps empty tensors, tensors without a batch, and a few long rows.
bool Serves(const Row& row, const torch_abi::Value* stack);

void Call(const Row& row, torch_abi::Value* stack);

// (Tensor theta, SymInt[] size, bool align_corners) -> Tensor
void AffineGrid(torch_abi::Value* stack);

}  // namespace portacl_python::torch_resize

#endif  // PORTACL_PYTHON_TORCH_RESIZE_H_
