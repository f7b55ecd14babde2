// Places and weights of taps, for a batch of bilinear, trilinear, bicubic
// or tricubic points at a time. Kernels then go point by point. Per
// target.
#if defined(PORTACL_CPU_GRID_SAMPLER_TAP_BATCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_TAP_BATCH_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_TAP_BATCH_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_TAP_BATCH_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_2d_taps-inl.h"
#include "cpu/grid_sampler/grid_sampler_source-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Points that are located together, so that the latencies of that overlap.
inline constexpr int64_t kBatch = 64;

// All taps of a point of an image or a volume: bit i is tap i.
//
//   tap     0    1    2    3    4    5    6    7
//         tnw  tne  tsw  tse  bnw  bne  bsw  bse
template <int kAxes>
inline constexpr int32_t kAllTaps = (1 << (1 << kAxes)) - 1;

// `value` if 0 <= at < extent.
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI BitsBelow(DI di, VI at, int64_t extent, int32_t value) {
  return hn::IfThenElseZero(IsBelow(di, at, hn::Set(di, static_cast<int32_t>(extent))),
                            hn::Set(di, value));
}

// Which taps of points are in [first, end) of axis kAxis; the other axes are not checked. `at`: the
// points' first taps on that axis.
template <int kAxes, int kAxis, class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI TapsAlong(DI di, VI at, int64_t first, int64_t end) {
  constexpr int32_t kLow = (kAxis == 0 ? 0x55 : kAxis == 1 ? 0x33 : 0x0F) & kAllTaps<kAxes>;
  constexpr int32_t kHigh = kAllTaps<kAxes> & ~kLow;
  const VI own = first == 0 ? at : hn::Sub(at, hn::Set(di, static_cast<int32_t>(first)));
  return hn::Or(BitsBelow(di, own, end - first, kLow),
                BitsBelow(di, hn::Add(own, hn::Set(di, 1)), end - first, kHigh));
}

// The same on a circular axis of `extent` elements, for first taps that WrappedIndex() made.
template <int kAxes, int kAxis, class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI WrappedTapsAlong(DI di, VI at, int64_t first, int64_t end, int64_t extent) {
  constexpr int32_t kLow = (kAxis == 0 ? 0x55 : kAxis == 1 ? 0x33 : 0x0F) & kAllTaps<kAxes>;
  constexpr int32_t kHigh = kAllTaps<kAxes> & ~kLow;
  const VI begin = hn::Set(di, static_cast<int32_t>(first));
  const VI next = WrappedIndex(di, hn::Add(at, hn::Set(di, 1)), extent);
  return hn::Or(BitsBelow(di, hn::Sub(at, begin), end - first, kLow),
                BitsBelow(di, hn::Sub(next, begin), end - first, kHigh));
}

// Bits above the taps: bit kWrapBit + a says that the point's first tap is the last one of axis a,
// and its second tap the first one.
inline constexpr int kWrapBit = 8;

template <int kAxis, class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI WrapsAlong(DI di, VI at, int64_t extent) {
  const VI last = hn::Set(di, static_cast<int32_t>(extent - 1));
  return hn::IfThenElseZero(hn::Eq(at, last), hn::Set(di, 1 << (kWrapBit + kAxis)));
}

// How far tap `tap` of such a point is from where its neighbours would have it, in elements.
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

// Of a batch's points, one array per quantity.
template <class F, int kAxes>
struct TapBatch {
  HWY_ALIGN F weight[1 << kAxes][kBatch];
  HWY_ALIGN int32_t cell[kBatch];  // of tap 0, from the channel's first element
};

// The same with the distances that slopes need.
template <class F>
struct SlopeBatch : TapBatch<F, 3> {
  HWY_ALIGN F above[3][kBatch];  // along x, y and z: from the tap before the point
  HWY_ALIGN F below[3][kBatch];  // to the tap behind it
};

// Along one axis: how far points are from their first taps and from the next ones.
template <class F, class Batch, class V = hn::Vec<PointTag<F>>>
HWY_INLINE void PlaceAxis(V at, size_t axis, int64_t i, Batch* batch, V& t, V& u) {
  const PointTag<F> d;
  BilinearDistances(d, at, hn::Floor(at), t, u);
  if constexpr (std::is_base_of_v<SlopeBatch<F>, Batch>) {
    hn::Store(t, d, batch->above[axis] + i);
    hn::Store(u, d, batch->below[axis] + i);
  }
}

// Fills place i of the batch with a vector of points. Their first taps are at (column, row, plane).
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

// For a group of points and each axis: every tap's weight, slope and index (-1: outside).
template <class F, int kAxes>
struct CubicGroup {
  static constexpr size_t kTaps = kAxes == 2 ? 16 : 64;  // tap (k, j, i) is 16 k + 4 j + i
  HWY_ALIGN F weight[kAxes][4][kGroup];
  HWY_ALIGN F slope[kAxes][4][kGroup];
  HWY_ALIGN int32_t index[kAxes][4][kGroup];
};

// The weights and, with kSlopes, slopes of located points from place `i` of the group on. True if
// all taps of all points are inside. (Taps reflected from far outside may be rounded.)
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

// The indices of the same points' taps.
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

// Both.
template <bool kSlopes, class Geometry, class F, class V = hn::Vec<PointTag<F>>>
HWY_INLINE bool PlaceCubic(const Geometry& geometry, const Axes<V>& at, size_t i,
                           CubicGroup<F, Geometry::kAxes>* group) {
  IndexCubic(geometry, at, i, group);
  return WeighCubic<kSlopes>(geometry, at, i, group);
}

// Not 0 if the indices of an axis from place i on are four neighbours inside the volume.
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

// Not 0 if points from place i on have a tap in rows or planes [first, end).
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

// The weight of a tap of a vector of points, from place p of the group on.
template <class F, int kAxes>
HWY_INLINE hn::Vec<PointTag<F>> CubicWeight(const CubicGroup<F, kAxes>& group, size_t tap,
                                            size_t p) {
  const PointTag<F> d;
  const auto in_plane = hn::Mul(hn::Load(d, group.weight[0][tap % 4] + p),
                                hn::Load(d, group.weight[1][tap / 4 % 4] + p));
  if constexpr (kAxes == 2) return in_plane;
  return hn::Mul(in_plane, hn::Load(d, group.weight[kAxes - 1][tap / 16] + p));
}

// sum + factor * v, if there is a sum.
template <class V>
HWY_INLINE void AddProduct(bool is_first, V factor, V v, V& sum) {
  sum = is_first ? hn::Mul(factor, v) : hn::MulAdd(factor, v, sum);
}

// Slopes and value of bicubic points, or of tricubic ones in plane `k`: one channel of many points,
// or many channels of one point in the lanes. row(k, j, v0, v1, v2, v3) reads a row of taps;
// weight(axis, tap) and slope(axis, tap) give the coefficients and their slopes.
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

// The slopes of bicubic points.
template <class D, class Row, class Weight, class Slope, class V = hn::Vec<D>>
HWY_INLINE void CubicSlopes(D d, const Row& row, const Weight& weight, const Slope& slope, V& x,
                            V& y) {
  V value;
  PlaneSlopes(d, 0, row, weight, slope, x, y, value);
}

// The slopes of tricubic points: along x and y from each plane's slopes, along z from its value.
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

// The offset of the first tap of located points that have all taps inside.
template <class Source, class V>
HWY_INLINE typename Source::VI FirstTapOf(const Source& source, const Axes<V>& at) {
  const typename Source::D d;
  const auto first = [&](V v) HWY_ATTR {
    return hn::Sub(ToIndex(d, hn::Floor(v)), hn::Set(IndexTag<decltype(d)>(), 1));
  };
  return source.OffsetsOf(first(at.x), first(at.y), first(at.z));
}

// Row `row` (tap / 4) of the taps of a vector of points that are all inside; `first`: FirstTapOf().
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

// A tap of a vector of points anywhere. The mask `outside` gets the taps outside; their value is
// `nothing`. `image`: as for WithTaps().
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

// The column of the pair inside that has two taps of a row, as far as these are inside.
template <class Source, class VI = typename Source::VI>
HWY_INLINE VI PairOf(const Source& source, VI column, VI next) {
  const typename Source::DI di;
  const hn::RebindToUnsigned<typename Source::DI> du;  // its greatest value is -1
  const VI lower = hn::BitCast(di, hn::Min(hn::BitCast(du, column), hn::BitCast(du, next)));
  return hn::Min(hn::Max(lower, hn::Zero(di)), hn::Set(di, source.size.width - 2));
}

// Taps `tap` (even) and tap + 1 of a vector of points of images anywhere. The masks get the taps
// outside; their value is `nothing`. Only if ArePairs() is true.
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

// Whether GatherCubicPair() serves a whole vector of points: taps reflected from far away may not
// be neighbours.
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

// Calls use(read) for points anywhere: read(channel, row, v0, v1, v2, v3, none0, none1, none2,
// none3) reads row `row` (tap / 4) of their taps. Taps outside have the value `nothing`; the masks
// name them.
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
