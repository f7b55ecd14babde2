// Parameters of the grid sampler backward kernels.
#ifndef PORTACL_OPS_GRID_SAMPLER_2D_BACKWARD_PARAMS_H_
#define PORTACL_OPS_GRID_SAMPLER_2D_BACKWARD_PARAMS_H_

#include <array>
#include <cstdint>

#include "ops/grid_sampler_2d_params.h"

namespace portacl::ops {

// Strides in elements, any sign; 0 only in inputs. Pointers are to element (0, 0, 0, 0). The order
// of every sum is part of the contract: see docs/ops/grid_sampler_2d_backward.md.
struct GridSampler2DBackwardParams {
  GridSampler2DShape shape;  // n, c, oh and ow may be 0
  bool want_input_grad = true;
  bool want_grid_grad = true;
  const void* grad_output = nullptr;            // (n, c, oh, ow)
  const void* input = nullptr;                  // (n, c, h, w)
  const void* grid = nullptr;                   // (n, oh, ow, 2), x first
  void* input_grad = nullptr;                   // (n, c, h, w); not touched unless wanted
  void* grid_grad = nullptr;                    // (n, oh, ow, 2); not touched unless wanted
  std::array<int64_t, 4> grad_output_stride{};  // Inputs that no gradient reads, or that are
  std::array<int64_t, 4> input_stride{};        // empty, may be null: their strides are 0, and
  std::array<int64_t, 4> grid_stride{};         // kernels step by 0 from null.
  std::array<int64_t, 4> input_grad_stride{};
  std::array<int64_t, 4> grid_grad_stride{};
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_2D_BACKWARD_PARAMS_H_
