// Affine grids and their gradients: theta times the places of the points, -1 to 1 along each axis.
#include <cmath>

#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {
namespace {

constexpr int kRoundings = 4;  // in a term: a place, a product

// Where index i of n points lies.
template <class Wide>
Wide PlaceOf(int64_t i, int64_t n, bool align_corners) {
  if (n == 1) return 0;
  const auto steps = static_cast<Wide>(2 * i - (n - 1));
  return align_corners ? steps / static_cast<Wide>(n - 1) : steps / static_cast<Wide>(n);
}

template <class Float>
class AffineGrid {
 public:
  using Wide = typename WideOf<Float>::Type;

  // `grid` is (N, [D,] H, W, axes).
  AffineGrid(const Shape& grid, bool align_corners, DataType dtype)
      : grid_(grid),
        axes_(static_cast<size_t>(grid.back())),
        aligned_(align_corners),
        dtype_(dtype) {
    for (size_t axis = 1; axis + 1 < grid.size(); ++axis) points_ *= grid[axis];
  }

  Exact Forward(const std::vector<double>& theta) const {
    std::vector<Sum<Wide>> sums(Count());
    ForEachTerm([&](size_t point, size_t element, Wide place, bool exact) {
      Add(place, exact, theta[element], sums[point]);
    });
    return Finished<Float>(sums, dtype_, kRoundings);
  }

  Exact Backward(const std::vector<double>& grid_grad) const {
    const auto images = static_cast<size_t>(grid_[0]);
    std::vector<Sum<Wide>> sums(images * axes_ * (axes_ + 1));
    ForEachTerm([&](size_t point, size_t element, Wide place, bool exact) {
      Add(place, exact, grid_grad[point], sums[element]);
    });
    return Finished<Float>(sums, dtype_, kRoundings);
  }

 private:
  size_t Count() const { return static_cast<size_t>(grid_[0] * points_) * axes_; }

  static void Add(Wide place, bool exact, double value, Sum<Wide>& sum) {
    constexpr double kMoves = 4 * std::numeric_limits<Float>::epsilon();
    sum.value += place * static_cast<Wide>(value);
    sum.magnitude += static_cast<double>(Magnitude(place)) * std::fabs(value);
    ++sum.terms;
    const bool steady = static_cast<double>(Magnitude(place)) > 2 * kMoves;
    if (!exact && (std::isfinite(value) || !steady)) sum.spread += kMoves * std::fabs(value);
  }

  // Calls visit(element of the grid, element of theta, place, whether it is exact) for each
  // product.
  template <class Visit>
  void ForEachTerm(Visit visit) const {
    for (int64_t p = 0; p < grid_[0] * points_; ++p) {
      for (size_t k = 0; k <= axes_; ++k) {
        int64_t index = p % points_, extent = 1;
        for (size_t axis = 0; axis <= k && k < axes_; ++axis) {
          index /= extent;
          extent = grid_[axes_ - axis];
        }
        const Wide place = k == axes_ ? Wide{1} : PlaceOf<Wide>(index % extent, extent, aligned_);
        for (size_t j = 0; j < axes_; ++j) {
          const size_t row = static_cast<size_t>(p / points_) * axes_ + j;
          visit(static_cast<size_t>(p) * axes_ + j, row * (axes_ + 1) + k, place,
                k == axes_ || extent == 1);
        }
      }
    }
  }

  const Shape& grid_;
  size_t axes_;
  bool aligned_;
  DataType dtype_;
  int64_t points_ = 1;
};

template <class Float>
Exact ExactOf(const Call& call) {
  const bool backward = call.op->backward();
  const AffineGrid<Float> grid((backward ? call.input() : call.output()).shape(),
                               call.integer("alignCorners") != 0, call.source.dtype);
  return backward ? grid.Backward(call.input().Values()) : grid.Forward(call.input().Values());
}

}  // namespace

std::vector<Exact> ExactAffineGrid(const Call& call) {
  return {call.source.dtype == DataType::kFloat64 ? ExactOf<double>(call) : ExactOf<float>(call)};
}

}  // namespace portacl::golden
