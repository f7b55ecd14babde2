// Inputs for grid sampler tests.
#ifndef PORTACL_TESTS_SUPPORT_API_GRID_CASE_H_
#define PORTACL_TESTS_SUPPORT_API_GRID_CASE_H_

#include <array>
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

// Fills `grid`, (N, OH, OW, 2) or (N, OD, OH, OW, 3). Volumes turn about their z axis.
inline void FillGrid(GridKind kind, Random& random, Tensor* grid) {
  const int64_t axes = grid->shape().back();
  const double angle = random.Uniform(-0.3, 0.3);
  const double zoom = random.Uniform(0.9, 1.1);
  double cell[3];
  for (int64_t axis = 0; axis < axes; ++axis) cell[axis] = random.Uniform(-0.5, 0.5);
  grid->Fill([&](int64_t i) {
    const int64_t axis = i % axes;
    double place[3] = {};  // of the point on the identity grid: x, y, z
    int64_t rest = i / axes;
    for (int64_t k = 0; k < axes; ++k) {
      const int64_t points = grid->shape()[static_cast<size_t>(axes - k)];
      place[k] = (2.0 * static_cast<double>(rest % points) + 1) / static_cast<double>(points) - 1;
      rest /= points;
    }
    const double turned[3] = {std::cos(angle) * place[0] - std::sin(angle) * place[1],
                              std::sin(angle) * place[0] + std::cos(angle) * place[1], place[2]};
    switch (kind) {
      case GridKind::kSmooth:
        return zoom * turned[axis];
      case GridKind::kOneCell:
        return cell[axis] + random.Uniform(-1e-3, 1e-3);
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

  // Images.
  GridCase(Element element, int64_t n, int64_t c, int64_t h, int64_t w, int64_t oh, int64_t ow,
           Layout layout = Layout::kContiguous)
      : grad_output(element, {n, c, oh, ow}, layout),
        input(element, {n, c, h, w}, layout),
        grid(element, {n, oh, ow, 2}, layout) {}
  // Volumes: extents and points are (D, H, W).
  GridCase(Element element, int64_t n, int64_t c, const std::array<int64_t, 3>& extents,
           const std::array<int64_t, 3>& points, Layout layout = Layout::kContiguous)
      : grad_output(element, {n, c, points[0], points[1], points[2]}, layout),
        input(element, {n, c, extents[0], extents[1], extents[2]}, layout),
        grid(element, {n, points[0], points[1], points[2], 3}, layout) {}

  GridCase& Fill(GridKind kind, Random& random) {
    grad_output.FillUniform(random, -1, 1);
    input.FillUniform(random, -1, 1);
    FillGrid(kind, random, &grid);
    return *this;
  }
};

// Rows of `points` points of a grid: one to three, if these are of one length.
inline int64_t RowsOf(int64_t points, Random& random) {
  const int64_t rows = random.Integer(1, 3);
  return points % rows == 0 ? rows : 1;
}

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
