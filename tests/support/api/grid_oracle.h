// Grid sampling of images and volumes and its gradients in double (long double for DOUBLE), from
// coordinates in the operator's own arithmetic. Each sum comes with the numbers that judge a
// result's error.
#ifndef PORTACL_TESTS_SUPPORT_API_GRID_ORACLE_H_
#define PORTACL_TESTS_SUPPORT_API_GRID_ORACLE_H_

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "support/api/tensor.h"
#include "support/api/tolerance.h"

namespace portacl_test {

enum Interpolation { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding { kZeros = 0, kBorder = 1, kReflection = 2 };

struct GridMode {
  int interpolation = kBilinear;
  int padding = kZeros;
  bool align_corners = false;
};
std::string NameOf(const GridMode& mode);
inline std::ostream& operator<<(std::ostream& out, const GridMode& mode) {
  return out << NameOf(mode);
}
// The 18 combinations.
std::vector<GridMode> AllGridModes();

struct GridGradients {
  std::vector<ExactSum> input_grad;  // like input, row-major
  std::vector<ExactSum> grid_grad;   // like grid
};
GridGradients GridBackward(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                           const GridMode& mode);

// The same with the contract's bits: its order of sums, its fused steps, its tree of 16 channels.
// Bilinear and nearest only: for bicubic the reference kernel defines the expressions.
struct GridBits {
  Tensor input_grad;
  Tensor grid_grad;
};
GridBits GridBackwardBits(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                          const GridMode& mode);

// The sampled values with the contract's bits, in a tensor of the given shape. Not for bicubic.
Tensor GridForwardBits(const Tensor& input, const Tensor& grid, const GridMode& mode,
                       const Shape& shape);

// output (N, C, OH, OW) or (N, C, OD, OH, OW), row-major.
std::vector<ExactSum> GridForward(const Tensor& input, const Tensor& grid, const GridMode& mode);

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_GRID_ORACLE_H_
