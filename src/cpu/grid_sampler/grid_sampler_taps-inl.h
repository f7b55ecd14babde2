// Computes places and weights of taps for several points at once; kernels then go point by point.
// On slabs, a group of points gets cells, which all channels share. Batches get elements. Per
// target.
#if defined(PORTACL_CPU_GRID_SAMPLER_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_TAPS_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_TAPS_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_TAPS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/grid_sampler/grid_sampler_source-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Stores the number under which the gridGrad sums of each point are written: the point's own number
// if this strip owns its gridGrad, else job.foreign.
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

// ---- bilinear points on slabs -------------------------------------------------------------------

// Weights, distances and cells of a group of points; one array per quantity, so vectors fill it.
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
  HWY_ALIGN int32_t cell[kGroup];    // of the north-western tap
  HWY_ALIGN int32_t target[kGroup];  // number to store gridGrad sums under
};

// Returns the slab's cells of pixels (y, x): row y - first_row + 2, column x + 1. Points that are
// not `inside` get cell 0.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE hn::Vec<IndexTag<D>> CellOf(D d, V x, V y, M inside, int64_t pitch, int64_t first_row) {
  using F = hn::TFromD<D>;
  const IndexTag<D> di;
  const auto above = hn::Set(d, static_cast<F>(first_row - 2));
  const auto row = ToIndex(d, hn::IfThenElseZero(inside, hn::Sub(y, above)));
  const auto column = ToIndex(d, hn::IfThenElseZero(inside, hn::Add(x, hn::Set(d, F{1}))));
  return hn::Add(hn::Mul(row, hn::Set(di, static_cast<int32_t>(pitch))), column);
}

// Fills the group with points from `first` on. Not inlined: the compiler would extract the weights
// lane by lane from registers, at twice the cost of loading them.
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
    // The point has a tap in a row of this strip. In the last strip y0 is at most the last row.
    const auto inside_y = hn::And(hn::Ge(y0, hn::Sub(first_row, one)), hn::Lt(y0, end_row));
    const auto inside = hn::And(inside_x, inside_y);
    hn::Store(CellOf(d, x0, y0, inside, job.pitch, job.first_row), di, group->cell + i);
    // The strip of the upper tap owns the point's gridGrad. If that tap is outside the image, the
    // strip of the nearest row does.
    const auto row = hn::Min(hn::Max(y0, hn::Zero(d)), hn::Set(d, job.geometry.y.last));
    const auto owned = hn::And(hn::Ge(row, first_row), hn::Lt(row, end_row));
    StoreTargets(job, first, i, owned, group->target);
  }
}

// ---- nearest points on slabs --------------------------------------------------------------------

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

// ---- bicubic points on slabs --------------------------------------------------------------------

// Weights of a group of bicubic points, and their slopes.
template <class F>
struct BicubicGroup {
  HWY_ALIGN F weight[16][kGroup];  // tap (row j, column i) is [4 j + i]
  HWY_ALIGN F wx[4][kGroup];
  HWY_ALIGN F wy[4][kGroup];
  HWY_ALIGN F dx[4][kGroup];  // slopes of wx
  HWY_ALIGN F dy[4][kGroup];
  HWY_ALIGN int32_t column[4][kGroup];  // column of the slab; 0 outside
  HWY_ALIGN int32_t row[4][kGroup];     // first cell of the row; 0 outside
  HWY_ALIGN int32_t target[kGroup];     // number to store gridGrad sums under
};

// Keys' cubic kernel with A = -0.75, and its slopes, at distance s; see ref/grid_sampler_point.h.
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

// Computes the distances of a coordinate from its four taps. `first` is its second tap.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void CubicDistances(D d, V at, V first, V& far_low, V& near_low, V& near_high,
                               V& far_high) {
  const V one = Constant(d, 1);
  near_low = hn::Sub(at, first);
  far_low = hn::Add(near_low, one);
  // near_low is rounded only between -1 and 0. There the distance from pixel 0 is -at, exactly.
  const auto below = hn::Eq(first, Constant(d, -1));
  near_high = hn::IfThenElse(below, hn::Neg(at), hn::Sub(one, near_low));
  far_high = hn::IfThenElse(below, hn::Sub(one, at), hn::Sub(Constant(d, 2), near_low));
}

// Stores the weights of the four taps of one axis and, unless `slope` is null, their slopes.
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

// Returns the image row nearest to row y, which is whole or NaN; row 0 for NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NearestRow(D d, V y, V last) {
  const V usable = hn::IfThenElseZero(hn::Eq(y, y), y);
  return hn::Clamp(usable, hn::Zero(d), last);
}

// Stores the cells of points with all taps inside; taps begin at column x0 - 1, row `lowest`.
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

// Stores the cells of points anywhere. Returns the first row with a tap in the image. If there is
// none, returns the nearest row.
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

// Not inlined: the pass then loads the weights, and does not extract them from registers.
template <class F>
HWY_NOINLINE void PrepareBicubic(const SlabPoints<F>& job, int64_t first, BicubicGroup<F>* group) {
  const PointTag<F> d;
  const auto first_row = hn::Set(d, static_cast<F>(job.first_row));
  const auto end_row = hn::Set(d, static_cast<F>(job.end_row));
  // Limits for 16 taps inside image and slab. Taps reflected from beyond kExact are rounded.
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

// ---- batches of points
// ---------------------------------------------------------------------------

// Points of a batch. They are located together, so the latencies of locating them overlap.
inline constexpr int64_t kBatch = 64;

// Bits of all taps of a point in an image or a volume: bit i is tap i.
//
//   tap     0    1    2    3    4    5    6    7
//         tnw  tne  tsw  tse  bnw  bne  bsw  bse
template <int kAxes>
inline constexpr int32_t kAllTaps = (1 << (1 << kAxes)) - 1;

// Returns `value` in lanes with 0 <= at < extent, else 0.
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI BitsBelow(DI di, VI at, int64_t extent, int32_t value) {
  return hn::IfThenElseZero(IsBelow(di, at, hn::Set(di, static_cast<int32_t>(extent))),
                            hn::Set(di, value));
}

// Returns bits of the taps in [first, end) of axis kAxis; other axes are not checked. `at`: index
// of each point's first tap on that axis. kWraps: the axis is circular, it has `extent` elements,
// and `at` comes from WrappedIndex().
template <int kAxes, int kAxis, bool kWraps = false, class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI TapsAlong(DI di, VI at, int64_t first, int64_t end, int64_t extent = 0) {
  constexpr int32_t kLow = (kAxis == 0 ? 0x55 : kAxis == 1 ? 0x33 : 0x0F) & kAllTaps<kAxes>;
  constexpr int32_t kHigh = kAllTaps<kAxes> & ~kLow;
  const VI one = hn::Set(di, 1);
  const VI begin = hn::Set(di, static_cast<int32_t>(first));
  const VI own = first == 0 ? at : hn::Sub(at, begin);
  VI next = hn::Add(own, one);
  if constexpr (kWraps) next = hn::Sub(WrappedIndex(di, hn::Add(at, one), extent), begin);
  return hn::Or(BitsBelow(di, own, end - first, kLow), BitsBelow(di, next, end - first, kHigh));
}

// Bit kWrapBit + a is above the taps' bits. It says that a point wraps on axis a: its first tap is
// the last element of the axis, its second tap the first element.
inline constexpr int kWrapBit = 8;

template <int kAxis, class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI WrapsAlong(DI di, VI at, int64_t extent) {
  const VI last = hn::Set(di, static_cast<int32_t>(extent - 1));
  return hn::IfThenElseZero(hn::Eq(at, last), hn::Set(di, 1 << (kWrapBit + kAxis)));
}

// Returns the shift, in elements, of tap `tap` of a point that wraps, from where it would lie else.
template <int kAxes>
HWY_NOINLINE int64_t WrapOf(const VolumeStrides& size, int32_t taps, size_t tap) {
  const int32_t extents[] = {size.width, size.height, size.depth};
  const int32_t strides[] = {size.pixel, size.row, size.plane};
  const size_t wraps = static_cast<size_t>(taps >> kWrapBit) & tap;
  int64_t shift = 0;
  for (size_t axis = 0; axis < size_t{kAxes}; ++axis) {
    if ((wraps >> axis & 1) != 0) shift -= int64_t{extents[axis]} * strides[axis];
  }
  return shift;
}

// Weights and cells of a batch of points, one array per quantity.
template <class F, int kAxes>
struct TapBatch {
  HWY_ALIGN F weight[1 << kAxes][kBatch];
  HWY_ALIGN int32_t cell[kBatch];  // offset of tap 0 in the channel
};

// Adds the distances that slopes need to the weights and cells. Axes are x, y, z.
template <class F>
struct SlopeBatch : TapBatch<F, 3> {
  HWY_ALIGN F above[3][kBatch];  // from the first tap to the point
  HWY_ALIGN F below[3][kBatch];  // from the point to the second tap
};

// Computes the distances of points on one axis from their first taps (t) and second taps (u).
template <class F, class Batch, class V = hn::Vec<PointTag<F>>>
HWY_INLINE void PlaceAxis(V at, size_t axis, int64_t i, Batch* batch, V& t, V& u) {
  const PointTag<F> d;
  BilinearDistances(d, at, hn::Floor(at), t, u);
  if constexpr (std::is_base_of_v<SlopeBatch<F>, Batch>) {
    hn::Store(t, d, batch->above[axis] + i);
    hn::Store(u, d, batch->below[axis] + i);
  }
}

// Fills place i of the batch with a vector of points. `first`: indices of the first taps.
template <int kAxes, class F, class Batch, class V = hn::Vec<PointTag<F>>,
          class VI = hn::Vec<IndexTag<PointTag<F>>>>
HWY_INLINE void PlaceTaps(const VolumeStrides& size, const Axes<V>& at, const Axes<VI>& first,
                          int64_t i, Batch* batch) {
  const PointTag<F> d;
  V tx, ux, ty, uy;
  PlaceAxis<F>(at.x, 0, i, batch, tx, ux);
  PlaceAxis<F>(at.y, 1, i, batch, ty, uy);
  V nw, ne, sw, se;
  BilinearWeights(d, tx, ux, ty, uy, nw, ne, sw, se);
  const auto store = [&](const auto& share, F(*to)[kBatch]) HWY_ATTR {
    hn::Store(share(nw), d, to[0] + i);
    hn::Store(share(ne), d, to[1] + i);
    hn::Store(share(sw), d, to[2] + i);
    hn::Store(share(se), d, to[3] + i);
  };
  if constexpr (kAxes == 2) {
    store([](V weight) PORTACL_INLINE_LAMBDA { return weight; }, batch->weight);
  } else {
    V tz, uz;
    PlaceAxis<F>(at.z, 2, i, batch, tz, uz);
    store([&](V weight) PORTACL_INLINE_LAMBDA { return hn::Mul(weight, uz); }, batch->weight);
    store([&](V weight) PORTACL_INLINE_LAMBDA { return hn::Mul(weight, tz); }, batch->weight + 4);
  }
  hn::Store(ElementsAt<kAxes>(size, first.x, first.y, first.z), IndexTag<PointTag<F>>(),
            batch->cell + i);
}

// ---- bicubic and tricubic points: 4 x 4 and 4 x 4 x 4 taps, in both directions ------------------

// For a group of points and each axis: weight, slope and index of every tap (index -1: outside).
template <class F, int kAxes>
struct CubicGroup {
  static constexpr size_t kTaps = kAxes == 2 ? 16 : 64;  // tap (k, j, i) is 16 k + 4 j + i
  HWY_ALIGN F weight[kAxes][4][kGroup];
  HWY_ALIGN F slope[kAxes][4][kGroup];
  HWY_ALIGN int32_t index[kAxes][4][kGroup];
};

// Stores weights (with kSlopes also slopes) of located points, from place `i` of the group on.
// Returns whether all taps are inside; far outside, reflected taps may be rounded: not inside.
template <bool kSlopes, class Geometry, class F, class V = hn::Vec<PointTag<F>>>
HWY_INLINE bool WeighCubic(const Geometry& geometry, const Axes<V>& at, size_t i,
                           CubicGroup<F, Geometry::kAxes>* group) {
  const PointTag<F> d;
  constexpr F kExact = F{1 << 22};
  auto inside = hn::Eq(hn::Zero(d), hn::Zero(d));
  ForAxes(geometry, at, [&](size_t axis, V v, const auto& extent) PORTACL_INLINE_LAMBDA {
    const V first = hn::Floor(v);
    F(*const no_slope)[kGroup] = nullptr;
    StoreWeights(d, v, first, i, group->weight[axis], kSlopes ? group->slope[axis] : no_slope);
    const V last = hn::Set(d, std::min(extent.last - F{2}, kExact));
    inside = hn::And(inside, hn::And(hn::Ge(first, Constant(d, 1)), hn::Le(first, last)));
  });
  return hn::AllTrue(d, inside);
}

// Stores the indices of the taps of located points, from place `i` of the group on.
template <class Geometry, class F, class V = hn::Vec<PointTag<F>>>
HWY_INLINE void IndexCubic(const Geometry& geometry, const Axes<V>& at, size_t i,
                           CubicGroup<F, Geometry::kAxes>* group) {
  const PointTag<F> d;
  ForAxes(geometry, at, [&](size_t axis, V v, const auto& extent) PORTACL_INLINE_LAMBDA {
    const V first = hn::Floor(v);
    for (size_t tap = 0; tap < 4; ++tap) {
      const V place = hn::Add(first, Constant(d, static_cast<double>(tap) - 1));
      hn::Store(ToIndex(d, CubicTap(d, place, extent, geometry.rule)), IndexTag<PointTag<F>>(),
                group->index[axis][tap] + i);
    }
  });
}

// Stores indices, weights and slopes. Returns whether all taps of all points are inside.
template <bool kSlopes, class Geometry, class F, class V = hn::Vec<PointTag<F>>>
HWY_INLINE bool PlaceCubic(const Geometry& geometry, const Axes<V>& at, size_t i,
                           CubicGroup<F, Geometry::kAxes>* group) {
  IndexCubic(geometry, at, i, group);
  return WeighCubic<kSlopes>(geometry, at, i, group);
}

// Returns -1 in lanes with four adjacent indices on the axis, all inside; else 0. Reads from i on.
template <class F, class VI = hn::Vec<IndexTag<PointTag<F>>>>
HWY_INLINE VI AreAdjacent(const int32_t (*index)[kGroup], size_t i) {
  const IndexTag<PointTag<F>> di;
  const VI first = hn::Load(di, index[0] + i);
  auto adjacent = hn::Gt(first, hn::Set(di, -1));
  for (int32_t tap = 1; tap < 4; ++tap) {
    const VI next = hn::Add(first, hn::Set(di, tap));
    adjacent = hn::And(adjacent, hn::Eq(hn::Load(di, index[tap] + i), next));
  }
  return hn::VecFromMask(di, adjacent);
}

// Returns not 0 in lanes with a tap in rows (images) or planes (volumes) [first, end).
template <class F, int kAxes, class VI = hn::Vec<IndexTag<PointTag<F>>>>
HWY_INLINE VI TapsInSlab(const CubicGroup<F, kAxes>& group, size_t i, int64_t first, int64_t end) {
  const IndexTag<PointTag<F>> di;
  VI taps = hn::Zero(di);
  for (const auto& line : group.index[kAxes - 1]) {
    const VI own = hn::Sub(hn::Load(di, line + i), hn::Set(di, static_cast<int32_t>(first)));
    taps = hn::Or(taps, BitsBelow(di, own, end - first, 1));
  }
  return taps;
}

// Returns the weights of tap `tap` for a vector of points, from place p of the group on.
template <class F, int kAxes>
HWY_INLINE hn::Vec<PointTag<F>> CubicWeight(const CubicGroup<F, kAxes>& group, size_t tap,
                                            size_t p) {
  const PointTag<F> d;
  const auto in_plane = hn::Mul(hn::Load(d, group.weight[0][tap % 4] + p),
                                hn::Load(d, group.weight[1][tap / 4 % 4] + p));
  if constexpr (kAxes == 2) return in_plane;
  return hn::Mul(in_plane, hn::Load(d, group.weight[kAxes - 1][tap / 16] + p));
}

// Adds factor * v to `sum`, or starts `sum` with the product if `is_first`.
template <class V>
HWY_INLINE void AddProduct(bool is_first, V factor, V v, V& sum) {
  sum = is_first ? hn::Mul(factor, v) : hn::MulAdd(factor, v, sum);
}

// Computes slopes and value of bicubic points, or of tricubic points in plane `k`. Lanes: many
// points of one channel, or many channels of one point. row(k, j, v0, v1, v2, v3) reads a row of
// taps; weight(axis, tap) and slope(axis, tap) return the factors of one axis.
template <class D, class Row, class Weight, class Slope, class V = hn::Vec<D>>
HWY_INLINE void PlaneSlopes(D d, size_t k, const Row& row, const Weight& weight, const Slope& slope,
                            V& x, V& y, V& value) {
  x = hn::Zero(d);
  y = x;
  value = x;
  for (size_t j = 0; j < 4; ++j) {
    V v0, v1, v2, v3;
    row(k, j, v0, v1, v2, v3);
    const auto combine = [&](const auto& factor) PORTACL_INLINE_LAMBDA {
      V sum = hn::Mul(factor(0, 0), v0);
      sum = hn::MulAdd(factor(0, 1), v1, sum);
      sum = hn::MulAdd(factor(0, 2), v2, sum);
      return hn::MulAdd(factor(0, 3), v3, sum);
    };
    const V of_row = combine(weight);
    AddProduct(j == 0, weight(1, j), combine(slope), x);
    AddProduct(j == 0, slope(1, j), of_row, y);
    AddProduct(j == 0, weight(1, j), of_row, value);
  }
}

// Computes the slopes of bicubic points along x and y.
template <class D, class Row, class Weight, class Slope, class V = hn::Vec<D>>
HWY_INLINE void CubicSlopes(D d, const Row& row, const Weight& weight, const Slope& slope, V& x,
                            V& y) {
  V value;
  PlaneSlopes(d, 0, row, weight, slope, x, y, value);
}

// Computes slopes of tricubic points: x and y from slopes in each plane, z from the planes' values.
template <class D, class Row, class Weight, class Slope, class V = hn::Vec<D>>
HWY_INLINE void CubicSlopes(D d, const Row& row, const Weight& weight, const Slope& slope, V& x,
                            V& y, V& z) {
  x = hn::Zero(d);
  y = x;
  z = x;
  for (size_t k = 0; k < 4; ++k) {
    V plane_x, plane_y, plane_value;
    PlaneSlopes(d, k, row, weight, slope, plane_x, plane_y, plane_value);
    AddProduct(k == 0, weight(2, k), plane_x, x);
    AddProduct(k == 0, weight(2, k), plane_y, y);
    AddProduct(k == 0, slope(2, k), plane_value, z);
  }
}

// Returns the offset of the first tap of located points. All their taps must be inside.
template <class Source, class V>
HWY_INLINE typename Source::VI FirstTapOf(const Source& source, const Axes<V>& at) {
  const typename Source::D d;
  const auto first = [&](V v) HWY_ATTR {
    return hn::Sub(ToIndex(d, hn::Floor(v)), hn::Set(IndexTag<decltype(d)>(), 1));
  };
  return source.OffsetsOf(first(at.x), first(at.y), first(at.z));
}

// Reads row `row` (tap / 4) of taps that are all inside. `first` comes from FirstTapOf().
template <class Source, class T, class V = typename Source::V>
HWY_INLINE void GatherCubicRow(const Source& source, const T* channel, typename Source::VI first,
                               size_t row, V& v0, V& v1, V& v2, V& v3) {
  const typename Source::D d;
  const VolumeStrides& size = source.size;
  const T* from = channel + static_cast<int64_t>(row / 4) * size.plane +
                  static_cast<int64_t>(row % 4) * size.row;
  GatherRow<Source::kInPairs>(d, from, first, size.pixel, v0, v1);
  GatherRow<Source::kInPairs>(d, from + 2 * int64_t{size.pixel}, first, size.pixel, v2, v3);
}

// Reads tap `tap` of a vector of points anywhere. Taps outside get the value `nothing` and a bit in
// the mask `outside`. `image`: as for WithTaps().
template <class Source, class T, class Group, class V = typename Source::V,
          class M = hn::Mask<typename Source::D>>
HWY_INLINE V GatherCubicTap(const Source& source, const T* channel, const Group& group, size_t tap,
                            typename Source::VI image, V nothing, M& outside) {
  const typename Source::D d;
  const typename Source::DI di;
  auto column = hn::Load(di, group.index[0][tap % 4]);
  auto row = hn::Load(di, group.index[1][tap / 4 % 4]);
  auto plane = hn::Zero(di);
  if constexpr (Source::kAxes == 3) plane = hn::Load(di, group.index[2][tap / 16]);
  const auto none = hn::Lt(hn::Or(hn::Or(column, row), plane), hn::Zero(di));
  outside = ValueMask(d, none);
  auto at = plane;
  auto east = plane;
  source.template PlaceElements<T>(hn::IfThenZeroElse(none, column), hn::IfThenZeroElse(none, row),
                                   hn::IfThenZeroElse(none, plane), at, east);
  at = hn::Add(at, image);
  return hn::IfThenElse(outside, nothing, source.Elements(channel, at, east));
}

// Returns the column of a pair inside that holds `column` and `next`, if these are inside.
template <class Source, class VI = typename Source::VI>
HWY_INLINE VI PairOf(const Source& source, VI column, VI next) {
  const typename Source::DI di;
  const hn::RebindToUnsigned<typename Source::DI> du;  // -1 is its greatest value
  const VI lower = hn::BitCast(di, hn::Min(hn::BitCast(du, column), hn::BitCast(du, next)));
  return hn::Min(hn::Max(lower, hn::Zero(di)), hn::Set(di, source.size.width - 2));
}

// Reads taps `tap` (even) and tap + 1 of points of images anywhere, as one pair. Taps outside get
// the value `nothing` and a bit in the masks. Needs ArePairs().
template <class Source, class T, class Group, class V = typename Source::V,
          class M = hn::Mask<typename Source::D>>
HWY_INLINE void GatherCubicPair(const Source& source, const T* channel, const Group& group,
                                size_t tap, typename Source::VI image, V nothing, V& first,
                                V& second, M& first_outside, M& second_outside) {
  static_assert(Source::kAxes == 2 && Source::kInPairs);
  const typename Source::D d;
  const typename Source::DI di;
  const auto zero = hn::Zero(di);
  const auto line = hn::Load(di, group.index[1][tap / 4]);
  const auto column = hn::Load(di, group.index[0][tap % 4]);
  const auto next = hn::Load(di, group.index[0][tap % 4 + 1]);
  const auto base = PairOf(source, column, next);
  const auto at = hn::Add(source.OffsetsOf(base, hn::Max(line, zero), zero), image);
  V west, east;
  GatherPairs(d, channel, at, west, east);
  const auto choose = [&](auto at_column, M& outside) PORTACL_INLINE_LAMBDA {
    outside = ValueMask(d, hn::Lt(hn::Or(at_column, line), zero));
    const V value = hn::IfThenElse(ValueMask(d, hn::Eq(at_column, base)), west, east);
    return hn::IfThenElse(outside, nothing, value);
  };
  first = choose(column, first_outside);
  second = choose(next, second_outside);
}

// Whether GatherCubicPair() serves a whole vector of points. It does not if taps reflected from far
// outside are no neighbours.
template <class Source, class Group>
HWY_INLINE bool ArePairs(const Source& source, const Group& group) {
  static_assert(Source::kAxes == 2 && Source::kInPairs);
  const typename Source::DI di;
  auto are = hn::Eq(hn::Zero(di), hn::Zero(di));
  for (size_t pair = 0; pair < 2; ++pair) {
    const auto column = hn::Load(di, group.index[0][2 * pair]);
    const auto next = hn::Load(di, group.index[0][2 * pair + 1]);
    const auto end = hn::Add(PairOf(source, column, next), hn::Set(di, 2));
    are = hn::And(are, hn::And(hn::Lt(column, end), hn::Lt(next, end)));
  }
  return hn::AllTrue(di, are);
}

// Calls use(read) for points anywhere. read(channel, row, v0, v1, v2, v3, none0, none1, none2,
// none3) reads row `row` (tap / 4) of the taps. Taps outside get the value `nothing` and a bit in
// the masks.
template <class Source, class Group, class V, class Use>
HWY_INLINE void WithCubicRows(const Source& source, const Group& group, typename Source::VI image,
                              V nothing, const Use& use) {
  using M = hn::Mask<typename Source::D>;
  if constexpr (Source::kAxes == 2 && Source::kInPairs) {
    if (HWY_LIKELY(ArePairs(source, group))) {
      return use([&](const auto* channel, size_t row, V& v0, V& v1, V& v2, V& v3, M& none0,
                     M& none1, M& none2, M& none3) PORTACL_INLINE_LAMBDA {
        const size_t tap = 4 * row;
        GatherCubicPair(source, channel, group, tap, image, nothing, v0, v1, none0, none1);
        GatherCubicPair(source, channel, group, tap + 2, image, nothing, v2, v3, none2, none3);
      });
    }
  }
  use([&](const auto* channel, size_t row, V& v0, V& v1, V& v2, V& v3, M& none0, M& none1, M& none2,
          M& none3) PORTACL_INLINE_LAMBDA {
    const size_t tap = 4 * row;
    v0 = GatherCubicTap(source, channel, group, tap, image, nothing, none0);
    v1 = GatherCubicTap(source, channel, group, tap + 1, image, nothing, none1);
    v2 = GatherCubicTap(source, channel, group, tap + 2, image, nothing, none2);
    v3 = GatherCubicTap(source, channel, group, tap + 3, image, nothing, none3);
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
