// Grid sampling by the native API, of images or of volumes: the grid's rank says which.
#ifndef PORTACL_TESTS_SUPPORT_API_NATIVE_GRID_H_
#define PORTACL_TESTS_SUPPORT_API_NATIVE_GRID_H_

#include "portacl/portacl.h"
#include "support/api/grid_oracle.h"

namespace portacl_test {

inline portacl::Status SampleGrid(const portacl::Tensor& input, const portacl::Tensor& grid,
                                  const portacl::Tensor& output, const GridMode& mode) {
  const auto call = grid.rank() == 5 ? portacl::grid_sampler_3d : portacl::grid_sampler_2d;
  return call(input, grid, output, static_cast<portacl::Interpolation>(mode.interpolation),
              static_cast<portacl::Padding>(mode.padding), mode.align_corners);
}

// Tensor() for a gradient that is not wanted.
inline portacl::Status SampleGridBackward(const portacl::Tensor& grad_output,
                                          const portacl::Tensor& input, const portacl::Tensor& grid,
                                          const portacl::Tensor& input_grad,
                                          const portacl::Tensor& grid_grad, const GridMode& mode) {
  const auto call =
      grid.rank() == 5 ? portacl::grid_sampler_3d_backward : portacl::grid_sampler_2d_backward;
  return call(grad_output, input, grid, input_grad, grid_grad,
              static_cast<portacl::Interpolation>(mode.interpolation),
              static_cast<portacl::Padding>(mode.padding), mode.align_corners);
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_NATIVE_GRID_H_
