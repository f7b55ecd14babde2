// The 4 x 4 x 4 taps of tricubic points, in both directions. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_3D_CUBIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_3D_CUBIC_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_3D_CUBIC_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_3D_CUBIC_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_2d_taps-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_taps-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Of a group of points, for the axes x, y and z: each tap's weight, its slope, and its index, -1
// outside the volume.
template <class F>
struct CubicGroup3D {
  HWY_ALIGN F weight[3][4][kGroup];
  HWY_ALIGN F slope[3][4][kGroup];
  HWY_ALIGN int32_t index[3][4][kGroup];
};

// One axis of a vector of points from place `i` of the group on. Returns where all four taps are
// inside; far beyond, reflected ones may be rounded.
template <class F, class D = PointTag<F>, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> PlaceCubicAxis(V at, const AxisExtent<F>& extent, const PointRule& rule,
                                      size_t axis, size_t i, CubicGroup3D<F>* group) {
  const D d;
  const V first = hn::Floor(at);
  StoreWeights(d, at, first, i, group->weight[axis], group->slope[axis]);
  for (size_t tap = 0; tap < 4; ++tap) {
    const V place = hn::Add(first, Constant(d, static_cast<double>(tap) - 1));
    hn::Store(ToIndex(d, CubicTap(d, place, extent, rule)), IndexTag<D>(),
              group->index[axis][tap] + i);
  }
  constexpr F kExact = F{1 << 22};
  return hn::And(hn::Ge(first, Constant(d, 1)),
                 hn::Le(first, hn::Set(d, std::min(extent.last - F{2}, kExact))));
}

// Points whose coordinates LocatePoints() made. True where all taps of all of them are inside.
template <class F, class V = hn::Vec<PointTag<F>>>
HWY_INLINE bool PlaceCubic(const VolumeGeometry<F>& geometry, V x, V y, V z, size_t i,
                           CubicGroup3D<F>* group) {
  const PointTag<F> d;
  const auto in_x = PlaceCubicAxis(x, geometry.x, geometry.rule, 0, i, group);
  const auto in_y = PlaceCubicAxis(y, geometry.y, geometry.rule, 1, i, group);
  const auto in_z = PlaceCubicAxis(z, geometry.z, geometry.rule, 2, i, group);
  return hn::AllTrue(d, hn::And(hn::And(in_x, in_y), in_z));
}

// Not 0 where the indices of an axis from place i on are four neighbours inside the volume.
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

// Not 0 where points from place i on have a tap in planes [first, end).
template <class F, class VI = hn::Vec<IndexTag<PointTag<F>>>>
HWY_INLINE VI TapsInSlab(const CubicGroup3D<F>& group, size_t i, int64_t first, int64_t end) {
  const IndexTag<PointTag<F>> di;
  VI taps = hn::Zero(di);
  for (const auto& plane : group.index[2]) {
    const VI own = hn::Sub(hn::Load(di, plane + i), hn::Set(di, static_cast<int32_t>(first)));
    taps = hn::Or(taps, BitsBelow(di, own, end - first, 1));
  }
  return taps;
}

// The weight of tap (k, j, i) of a vector of points, from place p of the group on.
template <class F>
HWY_INLINE hn::Vec<PointTag<F>> CubicWeight(const CubicGroup3D<F>& group, size_t k, size_t j,
                                            size_t i, size_t p) {
  const PointTag<F> d;
  return hn::Mul(hn::Mul(hn::Load(d, group.weight[0][i] + p), hn::Load(d, group.weight[1][j] + p)),
                 hn::Load(d, group.weight[2][k] + p));
}

// One channel's slopes of tricubic points or, in other lanes, many channels' of one: along x and y
// from each plane's slopes, along z from its value. row(k, j, v0, v1, v2, v3) reads a row of taps;
// weight(axis, tap) and slope(axis, tap) are the coefficients'.
template <class D, class Row, class Weight, class Slope, class V = hn::Vec<D>>
HWY_INLINE void CubicSlopes(D d, const Row& row, const Weight& weight, const Slope& slope, V& x,
                            V& y, V& z) {
  const auto add = [&](bool first, V factor, V v, V sum) PORTACL_INLINE_LAMBDA {
    return first ? hn::Mul(factor, v) : hn::MulAdd(factor, v, sum);
  };
  x = hn::Zero(d);
  y = x;
  z = x;
  for (size_t k = 0; k < 4; ++k) {
    V plane_x = hn::Zero(d);
    V plane_y = plane_x;
    V plane_value = plane_x;
    for (size_t j = 0; j < 4; ++j) {
      V v0, v1, v2, v3;
      row(k, j, v0, v1, v2, v3);
      const auto combine = [&](const auto& factor) PORTACL_INLINE_LAMBDA {
        V sum = hn::Mul(factor(0, 0), v0);
        sum = hn::MulAdd(factor(0, 1), v1, sum);
        sum = hn::MulAdd(factor(0, 2), v2, sum);
        return hn::MulAdd(factor(0, 3), v3, sum);
      };
      const V value = combine(weight);
      plane_x = add(j == 0, weight(1, j), combine(slope), plane_x);
      plane_y = add(j == 0, slope(1, j), value, plane_y);
      plane_value = add(j == 0, weight(1, j), value, plane_value);
    }
    x = add(k == 0, weight(2, k), plane_x, x);
    y = add(k == 0, weight(2, k), plane_y, y);
    z = add(k == 0, slope(2, k), plane_value, z);
  }
}

// The offset of the first tap of points whose taps are all inside.
template <class F>
HWY_INLINE hn::Vec<IndexTag<PointTag<F>>> FirstTapOf(const VolumeSource<F>& source,
                                                     const CubicGroup3D<F>& group) {
  const IndexTag<PointTag<F>> di;
  return source.OffsetsOf(hn::Load(di, group.index[0][0]), hn::Load(di, group.index[1][0]),
                          hn::Load(di, group.index[2][0]));
}

// Row j of plane k of the taps of a vector of points that are all inside; `first`: FirstTapOf().
template <bool kPairs, class F, class T, class V = hn::Vec<PointTag<F>>>
HWY_INLINE void GatherCubicRow(const VolumeSource<F>& source, const T* volume,
                               hn::Vec<IndexTag<PointTag<F>>> first, size_t k, size_t j, V& v0,
                               V& v1, V& v2, V& v3) {
  const PointTag<F> d;
  const VolumeStrides& size = source.size;
  const T* row = volume + static_cast<int64_t>(k) * size.plane + static_cast<int64_t>(j) * size.row;
  GatherRow<kPairs>(d, row, first, size.pixel, v0, v1);
  GatherRow<kPairs>(d, row + 2 * int64_t{size.pixel}, first, size.pixel, v2, v3);
}

// Tap (k, j, i) of a vector of points anywhere: `nothing` where it is outside, which `outside`
// says.
template <class F, class T, class V = hn::Vec<PointTag<F>>, class M = hn::Mask<PointTag<F>>>
HWY_INLINE V GatherCubicTap(const VolumeSource<F>& source, const T* volume,
                            const CubicGroup3D<F>& group, size_t k, size_t j, size_t i, V nothing,
                            M& outside) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  const auto column = hn::Load(di, group.index[0][i]);
  const auto row = hn::Load(di, group.index[1][j]);
  const auto plane = hn::Load(di, group.index[2][k]);
  const auto none = hn::Lt(hn::Or(hn::Or(column, row), plane), hn::Zero(di));
  outside = ValueMask(d, none);
  const auto at = hn::IfThenZeroElse(none, source.OffsetsOf(column, row, plane));
  return hn::IfThenElse(outside, nothing, GatherElements(d, volume, at));
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
