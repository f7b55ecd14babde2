// Inputs for grid sampler tests.
#ifndef PORTACL_TESTS_SUPPORT_API_GRID_CASE_H_
#define PORTACL_TESTS_SUPPORT_API_GRID_CASE_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/api/random.h"
#include "support/api/tensor.h"

namespace portacl_test {

// How the points lie on the image.
enum class GridKind {
  kRandom,   // anywhere, also outside
  kSmooth,   // a slightly rotated and enlarged identity
  kOneCell,  // all between the same four pixels
};

// Fills `grid` (N, OH, OW, 2).
inline void FillGrid(GridKind kind, Random& random, Tensor* grid) {
  const int64_t oh = grid->shape()[1];
  const int64_t ow = grid->shape()[2];
  const double angle = random.Uniform(-0.3, 0.3);
  const double zoom = random.Uniform(0.9, 1.1);
  const double cell_x = random.Uniform(-0.5, 0.5);
  const double cell_y = random.Uniform(-0.5, 0.5);
  grid->Fill([&](int64_t i) {
    const bool is_y = i % 2 != 0;
    const double x = (2.0 * static_cast<double>(i / 2 % ow) + 1) / static_cast<double>(ow) - 1;
    const double y = (2.0 * static_cast<double>(i / 2 / ow % oh) + 1) / static_cast<double>(oh) - 1;
    switch (kind) {
      case GridKind::kSmooth:
        return zoom * (is_y ? std::sin(angle) * x + std::cos(angle) * y
                            : std::cos(angle) * x - std::sin(angle) * y);
      case GridKind::kOneCell:
        return (is_y ? cell_y : cell_x) + random.Uniform(-1e-3, 1e-3);
      case GridKind::kRandom:
        break;
    }
    return random.Uniform(-1.7, 1.7);
  });
}

struct GridCase {
  Tensor grad_output;
  Tensor input;
  Tensor grid;

  GridCase(Element element, int64_t n, int64_t c, int64_t h, int64_t w, int64_t oh, int64_t ow,
           Layout layout = Layout::kContiguous)
      : grad_output(element, {n, c, oh, ow}, layout),
        input(element, {n, c, h, w}, layout),
        grid(element, {n, oh, ow, 2}, layout) {}

  GridCase& Fill(GridKind kind, Random& random) {
    grad_output.FillUniform(random, -1, 1);
    input.FillUniform(random, -1, 1);
    FillGrid(kind, random, &grid);
    return *this;
  }
};

// Every coordinate that is not an ordinary one: NaN, infinities, huge, tiny, zeros.
inline std::vector<double> StrangeCoordinates(Element element) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double largest = std::ldexp(1.0, InfoOf(element).max_exponent);
  const double smallest = std::ldexp(1.0, InfoOf(element).min_exponent);
  return {std::numeric_limits<double>::quiet_NaN(),
          infinity,
          -infinity,
          largest,
          -largest,
          std::min(1e9, largest),
          -std::min(1e9, largest),
          smallest,
          -0.0,
          0.25};
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_GRID_CASE_H_
