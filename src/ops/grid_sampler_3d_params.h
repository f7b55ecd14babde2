// Parameters of the grid sampler kernels on volumes, forward and backward: as for images, with one
// axis more.
#ifndef PORTACL_OPS_GRID_SAMPLER_3D_PARAMS_H_
#define PORTACL_OPS_GRID_SAMPLER_3D_PARAMS_H_

#include <array>
#include <cstdint>

#include "ops/grid_sampler_2d_params.h"

namespace portacl::ops {

struct GridSampler3DShape : GridSampler2DShape {
  int64_t d = 0;   // input extent, at least 1
  int64_t od = 0;  // planes of points
};

// Strides in elements, any sign; 0 only in inputs. Pointers are to element (0, 0, 0, 0, 0).
struct GridSampler3DParams {
  GridSampler3DShape shape;
  const void* input = nullptr;  // (n, c, d, h, w)
  const void* grid = nullptr;   // (n, od, oh, ow, 3): x, y, z
  void* output = nullptr;       // (n, c, od, oh, ow)
  std::array<int64_t, 5> input_stride{};
  std::array<int64_t, 5> grid_stride{};
  std::array<int64_t, 5> output_stride{};
};

// The order of every sum is part of the contract: see docs/ops/grid_sampler_3d_backward.md.
struct GridSampler3DBackwardParams {
  GridSampler3DShape shape;  // n, c, od, oh and ow may be 0
  bool want_input_grad = true;
  bool want_grid_grad = true;
  const void* grad_output = nullptr;            // (n, c, od, oh, ow)
  const void* input = nullptr;                  // (n, c, d, h, w)
  const void* grid = nullptr;                   // (n, od, oh, ow, 3): x, y, z
  void* input_grad = nullptr;                   // (n, c, d, h, w); not touched unless wanted
  void* grid_grad = nullptr;                    // (n, od, oh, ow, 3); not touched unless wanted
  std::array<int64_t, 5> grad_output_stride{};  // Inputs that no gradient reads, or that are
  std::array<int64_t, 5> input_stride{};        // empty, may be null: their strides are 0, by
  std::array<int64_t, 5> grid_stride{};         // which kernels step from them all the same.
  std::array<int64_t, 5> input_grad_stride{};
  std::array<int64_t, 5> grid_grad_stride{};
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_3D_PARAMS_H_
