// Parameters of the affine grid's kernels: the function and its gradient.
#ifndef PORTACL_OPS_AFFINE_GRID_PARAMS_H_
#define PORTACL_OPS_AFFINE_GRID_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace portacl::ops {

// With b = (x, y, 1), in volumes (x, y, z, 1), and T = float (double for double):
//   grid[n, d, h, w, j] = theta[n, j, :] . b
//   theta_grad[n, j, k] = sum over (d, h, w) of b[k] * grid_grad[n, d, h, w, j]
// An image has d = 1. Strides in elements, any sign; 0 only in tensors that are read.
struct AffineGridParams {
  base::DType dtype = base::DType::kFloat;
  bool backward = false;
  int64_t n = 0;
  int axes = 2;                        // spatial axes: 2 or 3
  std::array<int64_t, 3> extents{};    // d, h, w
  std::array<const void*, 3> place{};  // coordinates x (along w), y (h), z (d): T, made in the plan
  void* theta = nullptr;               // (n, axes, axes + 1); forward only reads it
  void* grid = nullptr;                // (n, d, h, w, axes); backward only reads it
  std::array<int64_t, 3> theta_stride{};
  std::array<int64_t, 5> grid_stride{};
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_AFFINE_GRID_PARAMS_H_
