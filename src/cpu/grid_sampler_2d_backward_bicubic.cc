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

// What the points of a group need, one array per quantity so that vectors fill them.
template <class F>
struct BicubicGroup {
  HWY_ALIGN F weight[16][kGroup];  // of tap (row j, column i): [4 j + i]
  HWY_ALIGN F wx[4][kGroup];
  HWY_ALIGN F wy[4][kGroup];
  HWY_ALIGN F dx[4][kGroup];  // derivatives of the weights
  HWY_ALIGN F dy[4][kGroup];
  HWY_ALIGN int32_t column[4][kGroup];  // cells, 0 outside
  HWY_ALIGN int32_t row[4][kGroup];     // cell of column 0, 0 outside
  HWY_ALIGN int32_t target[kGroup];     // where the group's gridGrad sums go
};

// Keys' kernel with A = -0.75 and its slope at distance s, as ref/grid_sampler_2d_point.h.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Constant(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V CubicNear(D d, V s) {
  const V inner = hn::Sub(hn::Mul(Constant(d, 1.25), s), Constant(d, 2.25));
  return hn::Add(hn::Mul(hn::Mul(inner, s), s), Constant(d, 1));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V CubicFar(D d, V s) {
  const V square = hn::Sub(hn::Mul(Constant(d, -0.75), s), Constant(d, -3.75));
  const V linear = hn::Add(hn::Mul(square, s), Constant(d, -6));
  return hn::Sub(hn::Mul(linear, s), Constant(d, -3));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V CubicNearSlope(D d, V s) {
  return hn::Mul(hn::Sub(hn::Mul(Constant(d, 3.75), s), Constant(d, 4.5)), s);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V CubicFarSlope(D d, V s) {
  const V linear = hn::Sub(hn::Mul(Constant(d, -2.25), s), Constant(d, -7.5));
  return hn::Add(hn::Mul(linear, s), Constant(d, -6));
}

// Weights and slopes of the four taps of one axis.
template <class D, class F, class V = hn::Vec<D>>
HWY_INLINE void StoreWeights(D d, V t, size_t i, F (*weight)[kGroup], F (*slope)[kGroup]) {
  const V one = Constant(d, 1);
  const V far_low = hn::Add(t, one);
  const V near_high = hn::Sub(one, t);
  const V far_high = hn::Sub(Constant(d, 2), t);
  hn::Store(CubicFar(d, far_low), d, weight[0] + i);
  hn::Store(CubicNear(d, t), d, weight[1] + i);
  hn::Store(CubicNear(d, near_high), d, weight[2] + i);
  hn::Store(CubicFar(d, far_high), d, weight[3] + i);
  hn::Store(CubicFarSlope(d, far_low), d, slope[0] + i);
  hn::Store(CubicNearSlope(d, t), d, slope[1] + i);
  hn::Store(hn::Neg(CubicNearSlope(d, near_high)), d, slope[2] + i);
  hn::Store(hn::Neg(CubicFarSlope(d, far_high)), d, slope[3] + i);
}

// Not inlined, so that the weights are loaded in the pass, not extracted from registers.
template <class F>
HWY_NOINLINE void PrepareBicubic(const StripJob<F>& job, int64_t first, BicubicGroup<F>* group) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  const auto first_row = hn::Set(d, static_cast<F>(job.first_row));
  const auto pitch = hn::Set(di, static_cast<int32_t>(job.pitch));
  for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, job.x + first + static_cast<int64_t>(i));
    const auto y = hn::LoadU(d, job.y + first + static_cast<int64_t>(i));
    const auto x0 = hn::Floor(x);
    const auto y0 = hn::Floor(y);
    StoreWeights(d, hn::Sub(x, x0), i, group->wx, group->dx);
    StoreWeights(d, hn::Sub(y, y0), i, group->wy, group->dy);
    auto second = hn::MaskFromVec(hn::Zero(d));
    for (int tap = 0; tap < 4; ++tap) {
      const auto step = hn::Set(d, static_cast<F>(tap - 1));
      const auto column = CubicTap(d, hn::Add(x0, step), job.geometry.x, job.geometry.rule);
      hn::Store(ToIndex(d, hn::Add(column, Constant(d, 1))), di, group->column[tap] + i);
      const auto row = CubicTap(d, hn::Add(y0, step), job.geometry.y, job.geometry.rule);
      const auto own = hn::Ge(row, first_row);  // or in the halo
      second = hn::Or(second, hn::And(hn::Lt(row, first_row), hn::Ge(row, hn::Zero(d))));
      const auto slab_row = hn::Add(hn::Sub(row, first_row), Constant(d, 2));
      hn::Store(hn::Mul(ToIndex(d, hn::IfThenElseZero(own, slab_row)), pitch), di,
                group->row[tap] + i);
    }
    for (int tap = 0; tap < 16; ++tap) {
      hn::Store(hn::Mul(hn::Load(d, group->wx[tap % 4] + i), hn::Load(d, group->wy[tap / 4] + i)),
                d, group->weight[tap] + i);
    }
    StoreTargets(job, first, i, second, group->target);
  }
}

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
