// Cells of the taps in a slab and their weights, for a group of points; for bilinear, nearest and
// bicubic. All channels share them. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_TAPS_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_TAPS_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_TAPS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// The number under which a point's sums are stored: the point's own if the strip owns its gridGrad,
// else a number behind the last point.
template <class F, class M>
HWY_INLINE void StoreTargets(const SlabPoints<F>& job, int64_t first, size_t i, M owned,
                             int32_t* HWY_RESTRICT targets) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  const auto number =
      job.index != nullptr
          ? hn::LoadU(di, job.index + first + static_cast<int64_t>(i))
          : hn::Iota(di, static_cast<int32_t>(job.first + first + static_cast<int64_t>(i)));
  const auto foreign = hn::Set(di, static_cast<int32_t>(job.foreign));
  const auto flag = ToIndex(d, hn::IfThenElseZero(owned, hn::Set(d, F{1})));
  hn::StoreU(hn::IfThenElse(hn::Ne(flag, hn::Zero(di)), number, foreign), di, targets + i);
}

// ---- bilinear ----------------------------------------------------------------------------------

// What the points of a group need, one array per quantity so that vectors fill them.
template <class F>
struct BilinearGroup {
  HWY_ALIGN F nw[kGroup];
  HWY_ALIGN F ne[kGroup];
  HWY_ALIGN F sw[kGroup];
  HWY_ALIGN F se[kGroup];
  HWY_ALIGN F tx[kGroup];
  HWY_ALIGN F ux[kGroup];
  HWY_ALIGN F ty[kGroup];
  HWY_ALIGN F uy[kGroup];
  HWY_ALIGN int32_t cell[kGroup];    // of the upper left tap
  HWY_ALIGN int32_t target[kGroup];  // where the group's gridGrad sums go
};

// Pixel (y, x) is cell (y - s + 2, x + 1) of the slab, all in floating point. Rows and columns
// outside the image or the strip must be `nowhere`.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE hn::Vec<IndexTag<D>> CellOf(D d, V x, V y, M inside, int64_t pitch, int64_t first_row) {
  using F = hn::TFromD<D>;
  const IndexTag<D> di;
  const auto above = hn::Set(d, static_cast<F>(first_row - 2));
  const auto row = ToIndex(d, hn::IfThenElseZero(inside, hn::Sub(y, above)));
  const auto column = ToIndex(d, hn::IfThenElseZero(inside, hn::Add(x, hn::Set(d, F{1}))));
  return hn::Add(hn::Mul(row, hn::Set(di, static_cast<int32_t>(pitch))), column);
}

// Not inlined: the compiler would keep the weights in vector registers and extract them lane by
// lane, at twice the cost of loading them.
template <class F>
HWY_NOINLINE void PrepareBilinear(const SlabPoints<F>& job, int64_t first,
                                  BilinearGroup<F>* group) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  const auto one = hn::Set(d, F{1});
  const auto minus_one = hn::Set(d, F{-1});
  const auto first_row = hn::Set(d, static_cast<F>(job.first_row));
  const auto end_row = hn::Set(d, static_cast<F>(job.end_row));
  for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, job.x + first + static_cast<int64_t>(i));
    const auto y = hn::LoadU(d, job.y + first + static_cast<int64_t>(i));
    const auto x0 = hn::Floor(x);
    const auto y0 = hn::Floor(y);
    auto tx = one, ux = one, ty = one, uy = one;
    BilinearDistances(d, x, x0, tx, ux);
    BilinearDistances(d, y, y0, ty, uy);
    auto nw = one, ne = one, sw = one, se = one;
    BilinearWeights(d, tx, ux, ty, uy, nw, ne, sw, se);
    hn::Store(nw, d, group->nw + i);
    hn::Store(ne, d, group->ne + i);
    hn::Store(sw, d, group->sw + i);
    hn::Store(se, d, group->se + i);
    hn::Store(tx, d, group->tx + i);
    hn::Store(ty, d, group->ty + i);
    hn::Store(ux, d, group->ux + i);
    hn::Store(uy, d, group->uy + i);
    const auto inside_x =
        hn::And(hn::Ge(x0, minus_one), hn::Le(x0, hn::Set(d, job.geometry.x.last)));
    // With a tap in a row of this strip; y0 <= last if the strip is the last one.
    const auto inside_y = hn::And(hn::Ge(y0, hn::Sub(first_row, one)), hn::Lt(y0, end_row));
    const auto inside = hn::And(inside_x, inside_y);
    hn::Store(CellOf(d, x0, y0, inside, job.pitch, job.first_row), di, group->cell + i);
    // The strip of the upper tap owns the point; if that tap is outside, the strip of the nearest
    // row.
    const auto row = hn::Min(hn::Max(y0, hn::Zero(d)), hn::Set(d, job.geometry.y.last));
    const auto owned = hn::And(hn::Ge(row, first_row), hn::Lt(row, end_row));
    StoreTargets(job, first, i, owned, group->target);
  }
}

// ---- nearest -----------------------------------------------------------------------------------

template <class F>
HWY_NOINLINE void PrepareNearest(const SlabPoints<F>& job, int64_t first,
                                 int32_t* HWY_RESTRICT cells) {
  const PointTag<F> d;
  const auto zero = hn::Zero(d);
  const auto first_row = hn::Set(d, static_cast<F>(job.first_row));
  const auto end_row = hn::Set(d, static_cast<F>(job.end_row));
  for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
    const auto x = hn::Round(hn::LoadU(d, job.x + first + static_cast<int64_t>(i)));
    const auto y = hn::Round(hn::LoadU(d, job.y + first + static_cast<int64_t>(i)));
    const auto inside_x = hn::And(hn::Ge(x, zero), hn::Le(x, hn::Set(d, job.geometry.x.last)));
    const auto inside_y = hn::And(hn::Ge(y, first_row), hn::Lt(y, end_row));
    hn::Store(CellOf(d, x, y, hn::And(inside_x, inside_y), job.pitch, job.first_row),
              IndexTag<PointTag<F>>(), cells + i);
  }
}

// ---- bicubic -----------------------------------------------------------------------------------

// As BilinearGroup.
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

// Keys' kernel with A = -0.75 and its slope at distance s, as ref/grid_sampler_point.h.
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

// The distances of a coordinate from its four taps; the second tap is `first`.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void CubicDistances(D d, V at, V first, V& far_low, V& near_low, V& near_high,
                               V& far_high) {
  const V one = Constant(d, 1);
  near_low = hn::Sub(at, first);
  far_low = hn::Add(near_low, one);
  // Only between -1 and 0 is near_low rounded; the coordinate is the distance from tap 0 there.
  const auto below = hn::Eq(first, Constant(d, -1));
  near_high = hn::IfThenElse(below, hn::Neg(at), hn::Sub(one, near_low));
  far_high = hn::IfThenElse(below, hn::Sub(one, at), hn::Sub(Constant(d, 2), near_low));
}

// Weights of the four taps of one axis and, unless `slope` is null, their slopes.
template <class D, class F, size_t kCount, class V = hn::Vec<D>>
HWY_INLINE void StoreWeights(D d, V at, V first, size_t i, F (*weight)[kCount],
                             F (*slope)[kCount]) {
  V far_low, t, near_high, far_high;
  CubicDistances(d, at, first, far_low, t, near_high, far_high);
  hn::Store(CubicFar(d, far_low), d, weight[0] + i);
  hn::Store(CubicNear(d, t), d, weight[1] + i);
  hn::Store(CubicNear(d, near_high), d, weight[2] + i);
  hn::Store(CubicFar(d, far_high), d, weight[3] + i);
  if (slope == nullptr) return;
  hn::Store(CubicFarSlope(d, far_low), d, slope[0] + i);
  hn::Store(CubicNearSlope(d, t), d, slope[1] + i);
  hn::Store(hn::Neg(CubicNearSlope(d, near_high)), d, slope[2] + i);
  hn::Store(hn::Neg(CubicFarSlope(d, far_high)), d, slope[3] + i);
}

// The image's nearest row to row y, a whole number; 0 for NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NearestRow(D d, V y, V last) {
  const V usable = hn::IfThenElseZero(hn::Eq(y, y), y);
  return hn::Clamp(usable, hn::Zero(d), last);
}

// The cells of points that have all taps inside, from column x0 - 1 and row `lowest` on.
template <class D, class F, class V = hn::Vec<D>>
HWY_INLINE void StoreSquare(D d, const SlabPoints<F>& job, V x0, V lowest, size_t i,
                            BicubicGroup<F>* group) {
  const IndexTag<D> di;
  const auto pitch = hn::Set(di, static_cast<int32_t>(job.pitch));
  auto column = ToIndex(d, x0);  // cell 0 is left of the image
  auto row =
      hn::Mul(ToIndex(d, hn::Sub(lowest, hn::Set(d, static_cast<F>(job.first_row - 2)))), pitch);
  for (int tap = 0; tap < 4; ++tap) {
    hn::Store(column, di, group->column[tap] + i);
    hn::Store(row, di, group->row[tap] + i);
    column = hn::Add(column, hn::Set(di, 1));
    row = hn::Add(row, pitch);
  }
}

// The cells of any points. Returns the first row with a tap; if no row has one, the nearest
// row.
template <class D, class F, class V = hn::Vec<D>>
HWY_INLINE V StoreTaps(D d, const SlabPoints<F>& job, V x0, V y0, size_t i,
                       BicubicGroup<F>* group) {
  const IndexTag<D> di;
  const auto first_row = hn::Set(d, static_cast<F>(job.first_row));
  const auto halo_end = hn::Set(d, static_cast<F>(job.halo_end));
  const auto pitch = hn::Set(di, static_cast<int32_t>(job.pitch));
  const auto bottom = hn::Set(d, job.geometry.y.last);
  auto lowest = bottom;
  auto none = hn::Eq(lowest, lowest);
  for (int tap = 0; tap < 4; ++tap) {
    const auto step = hn::Set(d, static_cast<F>(tap - 1));
    const auto column = CubicTap(d, hn::Add(x0, step), job.geometry.x, job.geometry.rule);
    hn::Store(ToIndex(d, hn::Add(column, Constant(d, 1))), di, group->column[tap] + i);
    const auto row = CubicTap(d, hn::Add(y0, step), job.geometry.y, job.geometry.rule);
    const auto own = hn::And(hn::Ge(row, first_row), hn::Lt(row, halo_end));
    const auto inside = hn::Ge(row, hn::Zero(d));
    lowest = hn::IfThenElse(inside, hn::Min(lowest, row), lowest);
    none = hn::AndNot(inside, none);
    const auto slab_row = hn::Add(hn::Sub(row, first_row), Constant(d, 2));
    hn::Store(hn::Mul(ToIndex(d, hn::IfThenElseZero(own, slab_row)), pitch), di,
              group->row[tap] + i);
  }
  return hn::IfThenElse(none, NearestRow(d, y0, bottom), lowest);
}

// Not inlined, so that the weights are loaded in the pass, not extracted from registers.
template <class F>
HWY_NOINLINE void PrepareBicubic(const SlabPoints<F>& job, int64_t first, BicubicGroup<F>* group) {
  const PointTag<F> d;
  const auto first_row = hn::Set(d, static_cast<F>(job.first_row));
  const auto end_row = hn::Set(d, static_cast<F>(job.end_row));
  // With all 16 taps inside both the image and the slab. Far beyond, reflected taps are rounded.
  constexpr F kExact = F{1 << 22};
  const auto last_x = hn::Set(d, std::min(job.geometry.x.last - F{2}, kExact));
  const auto last_y =
      hn::Set(d, std::min({job.geometry.y.last, static_cast<F>(job.halo_end - 1), kExact}) - F{2});
  const auto one = Constant(d, 1);
  for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, job.x + first + static_cast<int64_t>(i));
    const auto y = hn::LoadU(d, job.y + first + static_cast<int64_t>(i));
    const auto x0 = hn::Floor(x);
    const auto y0 = hn::Floor(y);
    StoreWeights(d, x, x0, i, group->wx, group->dx);
    StoreWeights(d, y, y0, i, group->wy, group->dy);
    auto lowest = hn::Sub(y0, one);
    const auto inside_x = hn::And(hn::Ge(x0, one), hn::Le(x0, last_x));
    const auto inside_y = hn::And(hn::Ge(lowest, first_row), hn::Le(y0, last_y));
    if (HWY_LIKELY(hn::AllTrue(d, hn::And(inside_x, inside_y)))) {
      StoreSquare(d, job, x0, lowest, i, group);
    } else {
      lowest = StoreTaps(d, job, x0, y0, i, group);
    }
    for (int tap = 0; tap < 16; ++tap) {
      hn::Store(hn::Mul(hn::Load(d, group->wx[tap % 4] + i), hn::Load(d, group->wy[tap / 4] + i)),
                d, group->weight[tap] + i);
    }
    const auto owned = hn::And(hn::Ge(lowest, first_row), hn::Lt(lowest, end_row));
    StoreTargets(job, first, i, owned, group->target);
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
