// Bicubic pass of the grid sampler's gradients over a row strip.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler_2d_backward_bicubic.cc"
#include "cpu/highway.h"
// Highway first.
#include "cpu/grid_sampler_2d_backward_strip-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class Cell>
struct Bicubic {
  using F = typename Cell::F;
  using D = typename Cell::Tag;
  using V = hn::Vec<D>;

  // One vector of channels of one point; taps may fall on one cell, so sums go through memory.
  static HWY_INLINE void Add(const BicubicGroup<F>& group, int64_t k, F* slab, V g, V& x, V& y) {
    const D d;
    V slope_x = hn::Zero(d);
    V slope_y = hn::Zero(d);
    for (int j = 0; j < 4; ++j) {
      V row = hn::Zero(d);
      V row_slope = hn::Zero(d);
      for (int i = 0; i < 4; ++i) {
        F* cell = slab + int64_t{group.row[j][k] + group.column[i][k]} * Cell::kSize;
        if constexpr (Cell::kInputGrad) {
          AddTo(d, cell + Cell::kSums, hn::Set(d, group.weight[4 * j + i][k]), g);
        }
        if constexpr (Cell::kGridGrad) {
          const V value = hn::Load(d, cell);
          const V weight = hn::Set(d, group.wx[i][k]);
          const V slope = hn::Set(d, group.dx[i][k]);
          row = i == 0 ? hn::Mul(weight, value) : hn::MulAdd(weight, value, row);
          row_slope = i == 0 ? hn::Mul(slope, value) : hn::MulAdd(slope, value, row_slope);
        }
      }
      if constexpr (Cell::kGridGrad) {
        const V weight = hn::Set(d, group.wy[j][k]);
        const V slope = hn::Set(d, group.dy[j][k]);
        slope_x = j == 0 ? hn::Mul(weight, row_slope) : hn::MulAdd(weight, row_slope, slope_x);
        slope_y = j == 0 ? hn::Mul(slope, row) : hn::MulAdd(slope, row, slope_y);
      }
    }
    x = hn::Mul(g, slope_x);
    y = hn::Mul(g, slope_y);
  }

  static void Run(const StripJob<F>& job) {
    BicubicGroup<F> group;
    ForGroups<Cell>(
        job, [&](int64_t first) HWY_ATTR { PrepareBicubic(job, first, &group); },
        [&](int64_t k, const F* HWY_RESTRICT g) HWY_ATTR {
          ForBlock<Cell>(
              [&](int r, V& x, V& y) HWY_ATTR {
                const int64_t lane = int64_t{r} * Cell::kLanes;
                Add(group, k, job.slab + lane, hn::Load(D(), g + lane), x, y);
              },
              job.partial + 2 * int64_t{group.target[k]});
        });
  }
};

}  // namespace

template <class F>
StripPass<F> BicubicPass(int lanes, bool input_grad, bool grid_grad) {
  return PassOf<Bicubic, F>(lanes, input_grad, grid_grad);
}
template StripPass<float> BicubicPass<float>(int, bool, bool);
template StripPass<double> BicubicPass<double>(int, bool, bool);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
