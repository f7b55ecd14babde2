// Vectors of points: locates them in the image by the expressions of
// ref/grid_sampler_point.h, operation by operation, and reads and writes tensors of points.
// Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_POINT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_POINT_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_POINT_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_POINT_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "ops/grid_sampler_params.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// A vector of points: one vector of 16 floats on AVX-512, half as many on AVX2.
template <class F>
using PointTag = hn::CappedTag<F, kGroup>;

template <class D>
using IndexTag = hn::Rebind<int32_t, D>;

// Truncates coordinates to indices. Coordinates beyond 32 bits become the least or greatest index.
// On x86 it is not defined which of the two, which saves four instructions of Highway.
template <class D>
HWY_INLINE hn::Vec<IndexTag<D>> ToIndex(D d, hn::Vec<D> v) {
  const IndexTag<D> di;
  static_cast<void>(d);
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::DemoteTo(di, v);
  } else {
#if HWY_TARGET == HWY_AVX3
    if constexpr (sizeof(v) == 64) return hn::Vec<IndexTag<D>>{_mm512_cvttps_epi32(v.raw)};
#endif
#if HWY_ARCH_X86
    if constexpr (sizeof(v) == 32) return hn::Vec<IndexTag<D>>{_mm256_cvttps_epi32(v.raw)};
#endif
    return hn::ConvertTo(di, v);
  }
}

// Returns lanes with 0 <= at < extent.
template <class DI>
HWY_INLINE hn::Mask<DI> IsBelow(DI di, hn::Vec<DI> at, hn::Vec<DI> extent) {
  const hn::RebindToUnsigned<DI> du;
  return hn::RebindMask(di, hn::Lt(hn::BitCast(du, at), hn::BitCast(du, extent)));
}

// Clips to [0, last] as ref's Clip() does: -0 becomes +0. `at` must not be NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Clip(D d, V at, V last) {
  const V zero = hn::Zero(d);
  const V low = hn::IfThenElse(hn::Le(at, zero), zero, at);
  return hn::IfThenElse(hn::Ge(low, last), last, low);
}

// Reflects as ref's Reflect() does. `sign` gets the factor of the derivative: -1, 0 or 1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Reflect(D d, V at, const AxisExtent<hn::TFromD<D>>& axis, V& sign) {
  using F = hn::TFromD<D>;
  const V zero = hn::Zero(d);
  sign = zero;
  if (axis.span == 0) return zero;
  const V span = hn::Set(d, axis.span);
  const V lo = hn::Set(d, axis.lo);
  const V last = hn::Set(d, axis.last);
  const V distance = hn::Abs(hn::Sub(at, lo));
  auto odd = hn::Ge(distance, span);
  V rest = hn::IfThenElse(odd, hn::Sub(distance, span), distance);
  // Most points are reflected at most once and need no division. Both ways have the same bits.
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(distance, hn::Add(span, span))))) {
    const V folds = hn::Floor(hn::Div(distance, span));
    const V half = hn::Floor(hn::Mul(folds, hn::Set(d, F{0.5})));
    odd = hn::Eq(hn::Sub(folds, hn::Add(half, half)), hn::Set(d, F{1}));
    rest = hn::Clamp(hn::NegMulAdd(folds, span, distance), zero, span);
  }
  const V reflected = hn::Add(hn::IfThenElse(odd, hn::Sub(span, rest), rest), lo);
  const auto low = hn::Le(reflected, zero);
  const auto high = hn::Ge(reflected, last);
  const V one = hn::Set(d, F{1});
  const V minus_one = hn::Set(d, F{-1});
  const V direction = hn::IfThenElse(hn::Lt(at, lo), minus_one, one);
  sign = hn::IfThenElse(odd, hn::Neg(direction), direction);
  sign = hn::IfThenZeroElse(hn::Or(low, high), sign);
  return hn::IfThenElse(high, last, hn::IfThenZeroElse(low, reflected));
}

// Wraps as ref's Wrap() does. The result for an infinity is undefined.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Wrap(D d, V at, V period) {
  const V rest = hn::NegMulAdd(hn::Floor(hn::Div(at, period)), period, at);
  const auto ends = hn::Or(hn::Le(rest, hn::Zero(d)), hn::Ge(rest, period));
  const auto inside = hn::And(hn::Ge(at, hn::Set(d, hn::TFromD<D>{-1})), hn::Lt(at, period));
  return hn::IfThenElse(inside, at, hn::IfThenZeroElse(ends, rest));
}

// Returns the index of a tap beside a wrapped point: -1 becomes the last one, `extent` becomes 0.
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI WrappedIndex(DI di, VI at, int64_t extent) {
  const VI end = hn::Set(di, static_cast<int32_t>(extent));
  const VI one = hn::Set(di, 1);
  const VI low = hn::IfThenElse(hn::Eq(at, hn::Sub(hn::Zero(di), one)), hn::Sub(end, one), at);
  return hn::IfThenZeroElse(hn::Eq(low, end), low);
}

// Turns finite grid coordinates into pixels, before the padding.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Unpadded(D d, V x, const AxisExtent<hn::TFromD<D>>& axis, const PointRule& rule) {
  using F = hn::TFromD<D>;
  const V one = hn::Set(d, F{1});
  const V half = hn::Set(d, F{0.5});
  if (rule.align_corners) return hn::Mul(hn::Mul(hn::Add(x, one), half), hn::Set(d, axis.last));
  return hn::Mul(hn::Sub(hn::Mul(hn::Add(x, one), hn::Set(d, axis.size)), one), half);
}

// Locates points on one axis as ref's Locate() does. Adds lanes to `unusable` and `outside`; in
// these lanes the returned coordinate has no meaning. `slope` gets d coordinate / d x.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE V Locate(D d, V x, const AxisExtent<hn::TFromD<D>>& axis, const PointRule& rule,
                    V& slope, M& unusable, M& outside) {
  const V last = hn::Set(d, axis.last);
  V at = hn::IfThenElse(hn::IsInf(x), x, Unpadded(d, x, axis, rule));
  unusable = hn::Or(unusable, hn::IsNaN(x));
  slope = hn::Set(d, axis.pixels_per_unit);
  if (rule.padding == ops::Padding::kZeros) {
    outside = hn::Or(outside, hn::IsInf(at));
    return at;
  }
  if (rule.padding == ops::Padding::kConstant) {
    const V reach = hn::Set(d, hn::TFromD<D>(rule.bicubic ? 2 : 1));
    const auto touches = hn::And(hn::Ge(at, hn::Neg(reach)), hn::Lt(at, hn::Add(last, reach)));
    outside = hn::Or(outside, hn::Not(touches));
    return at;
  }
  if (rule.padding == ops::Padding::kCircular) {
    unusable = hn::Or(unusable, hn::IsInf(at));
    return Wrap(d, at, hn::Set(d, axis.size));
  }
  if (rule.padding == ops::Padding::kReflection || rule.bicubic) {
    unusable = hn::Or(unusable, hn::IsInf(at));
  }
  if (rule.bicubic) return at;
  if (rule.padding == ops::Padding::kBorder) {
    const auto clipped = hn::Or(hn::Le(at, hn::Zero(d)), hn::Ge(at, last));
    slope = hn::IfThenZeroElse(clipped, slope);
    return Clip(d, at, last);
  }
  V sign;
  at = Reflect(d, at, axis, sign);
  slope = hn::Mul(sign, slope);
  return at;
}

// Computes the distances of coordinates from pixel `before` (t) and from the next pixel (u). In a
// bilinear sum t is the weight of the next pixel, and u is the weight of `before`.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void BilinearDistances(D d, V at, V before, V& t, V& u) {
  t = hn::Sub(at, before);
  u = hn::Sub(hn::Add(before, hn::Set(d, hn::TFromD<D>{1})), at);
}

// Computes the weights of a bilinear point's four taps.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void BilinearWeights(D, V tx, V ux, V ty, V uy, V& nw, V& ne, V& sw, V& se) {
  nw = hn::Mul(ux, uy);
  ne = hn::Mul(tx, uy);
  sw = hn::Mul(ux, ty);
  se = hn::Mul(tx, ty);
}

// Returns the slope of a bilinear value along x; t and u are the distances along y. For the slope
// along y, swap `ne` and `sw` and pass the distances along x.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TapSlope(D, V nw, V ne, V sw, V se, V t, V u) {
  return hn::MulAdd(hn::Sub(se, sw), t, hn::Mul(hn::Sub(ne, nw), u));
}

// Returns the cells of the north-western taps of points, in a padded plane or a slab that holds all
// rows of the image. Two rows lie above the image, one below. A row has `pitch` cells, one on
// either side of the image. Points without taps get cell 0.
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI PaddedCells(DI di, const ops::GridSampler2DShape& s, int64_t pitch, VI column,
                          VI row) {
  const VI one = hn::Set(di, 1);
  const VI column1 = hn::Add(column, one);
  const VI row1 = hn::Add(row, one);
  const auto touches = hn::And(IsBelow(di, column1, hn::Set(di, static_cast<int32_t>(s.w + 1))),
                               IsBelow(di, row1, hn::Set(di, static_cast<int32_t>(s.h + 1))));
  const VI above = hn::Mul(hn::Add(row1, one), hn::Set(di, static_cast<int32_t>(pitch)));
  return hn::IfThenElseZero(touches, hn::Add(above, column1));
}

// Returns the index of a bicubic tap on one axis after the padding, as a float. Taps outside the
// image, and NaN, give -1.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V CubicTap(D d, V at, const AxisExtent<hn::TFromD<D>>& axis, const PointRule& rule) {
  using F = hn::TFromD<D>;
  const V last = hn::Set(d, axis.last);
  const auto usable = hn::Eq(at, at);
  if (rule.padding == ops::Padding::kCircular) {  // exact: whole numbers below 2^24
    const V period = hn::Set(d, axis.size);
    at = hn::NegMulAdd(hn::Floor(hn::Div(at, period)), period, at);
  }
  if (rule.padding == ops::Padding::kBorder) at = Clip(d, at, last);
  if (rule.padding == ops::Padding::kReflection) {
    V sign;
    at = hn::Trunc(Reflect(d, at, axis, sign));
  }
  const auto inside = hn::And(usable, hn::And(hn::Ge(at, hn::Zero(d)), hn::Le(at, last)));
  return hn::IfThenElse(inside, at, hn::Set(d, F{-1}));
}

// A vector of coordinates for each axis, as references: SVE's vectors cannot be members of a
// struct. Images do not use z.
template <class V>
struct Axes {
  Axes(V& of_x, V& of_y) : x(of_x), y(of_y), z(of_y) {}
  Axes(V& of_x, V& of_y, V& of_z) : x(of_x), y(of_y), z(of_z) {}

  V& x;
  V& y;
  V& z;
};

// Calls use(x, y) or use(x, y, z).
template <int kAxes, class V, class Use>
HWY_INLINE void WithAxes(const Axes<V>& axes, const Use& use) {
  if constexpr (kAxes == 2) {
    use(axes.x, axes.y);
  } else {
    use(axes.x, axes.y, axes.z);
  }
}

// Calls use(axis number, its coordinates, its extent) for each axis.
template <class Geometry, class V, class Use>
HWY_INLINE void ForAxes(const Geometry& geometry, const Axes<V>& at, const Use& use) {
  use(size_t{0}, at.x, geometry.x);
  use(size_t{1}, at.y, geometry.y);
  if constexpr (Geometry::kAxes == 3) use(size_t{2}, at.z, geometry.z);
}

// Returns points that the rule replaces: outside on any axis, as ref's IsOutside() says.
template <class D, class Geometry, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> AreReplaced(D d, const Geometry& geometry, const Axes<V>& grid) {
  using F = hn::TFromD<D>;
  const PointRule& rule = geometry.rule;
  auto replaced = hn::MaskFromVec(hn::Zero(d));
  if (!rule.replaces_outside) return replaced;
  ForAxes(geometry, grid, [&](size_t, V x, const auto& axis) PORTACL_INLINE_LAMBDA {
    const V at = hn::IfThenElse(hn::IsInf(x), x, Unpadded(d, x, axis, rule));
    const F edge = rule.align_corners ? F{0} : F{0.5};
    const auto low = hn::Lt(at, hn::Set(d, -edge));
    replaced = hn::Or(replaced, hn::Or(low, hn::Gt(at, hn::Set(d, axis.last + edge))));
  });
  return replaced;
}

// Turns grid coordinates into padded coordinates, and computes slopes. Points without taps get
// kNowhere. `infinite` gets such points if their value is defined, else `unusable` gets them.
template <class D, class Geometry, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE void LocatePoints(D d, const Geometry& geometry, const Axes<V>& at, const Axes<V>& slope,
                             M& unusable, M& infinite) {
  using F = hn::TFromD<D>;
  constexpr bool kVolume = Geometry::kAxes == 3;
  const PointRule& rule = geometry.rule;
  const M replaced = AreReplaced(d, geometry, at);
  unusable = hn::MaskFromVec(hn::Zero(d));
  infinite = unusable;
  at.x = Locate(d, at.x, geometry.x, rule, slope.x, unusable, infinite);
  at.y = Locate(d, at.y, geometry.y, rule, slope.y, unusable, infinite);
  if constexpr (kVolume) at.z = Locate(d, at.z, geometry.z, rule, slope.z, unusable, infinite);
  if (HWY_UNLIKELY(rule.replaces_outside)) {
    unusable = hn::AndNot(replaced, unusable);
    infinite = hn::Or(infinite, replaced);
  }
  const auto none = hn::Or(unusable, infinite);
  const V nowhere = hn::Set(d, rule.bicubic ? std::numeric_limits<F>::quiet_NaN() : F{kNowhere});
  at.x = hn::IfThenElse(none, nowhere, at.x);
  at.y = hn::IfThenElse(none, nowhere, at.y);
  if constexpr (kVolume) at.z = hn::IfThenElse(none, nowhere, at.z);
}

// Locates points without slopes. Returns the unusable points.
template <class D, class Geometry, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> LocatePoints(D d, const Geometry& geometry, const Axes<V>& at) {
  V slope_x, slope_y, slope_z;
  hn::Mask<D> unusable, infinite;
  LocatePoints(d, geometry, at, Axes(slope_x, slope_y, slope_z), unusable, infinite);
  return unusable;
}

// Locates points that need values only. Returns the points without taps. `instead` gets the values
// of these points (`unusable_value` for unusable ones), and for others the value of a tap outside.
template <class D, class Geometry, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> LocateValues(D d, const Geometry& geometry, const Axes<V>& at,
                                    V unusable_value, V& instead) {
  using F = hn::TFromD<D>;
  const PointRule& rule = geometry.rule;
  const auto replaced = AreReplaced(d, geometry, at);
  V slope_x, slope_y, slope_z;
  hn::Mask<D> unusable, infinite;
  LocatePoints(d, geometry, at, Axes(slope_x, slope_y, slope_z), unusable, infinite);
  instead = hn::IfThenElse(replaced, hn::Set(d, static_cast<F>(rule.outside_value)),
                           hn::Set(d, static_cast<F>(rule.fill)));
  instead = hn::IfThenElse(unusable, unusable_value, instead);
  return hn::Or(unusable, infinite);
}

// Returns whether all points lie strictly inside, so that padding changes none of them. Only then
// `to` gets their coordinates. False for reflection, which rounds even points inside.
template <class D, class Geometry, class V = hn::Vec<D>>
HWY_INLINE bool LocateInside(D d, const Geometry& geometry, const Axes<V>& grid,
                             const Axes<V>& to) {
  const auto locate = [&](V from, const auto& axis, V& at) PORTACL_INLINE_LAMBDA {
    at = Unpadded(d, from, axis, geometry.rule);
    return hn::And(hn::Gt(at, hn::Zero(d)), hn::Lt(at, hn::Set(d, axis.last)));
  };
  auto inside = hn::And(locate(grid.x, geometry.x, to.x), locate(grid.y, geometry.y, to.y));
  if constexpr (Geometry::kAxes == 3) inside = hn::And(inside, locate(grid.z, geometry.z, to.z));
  return geometry.rule.padding != ops::Padding::kReflection && hn::AllTrue(d, inside);
}

// Replaces the coordinates `at`, as LocateInside(), if padding changes none of the points.
template <class D, class Geometry, class V = hn::Vec<D>>
HWY_INLINE bool MoveInside(D d, const Geometry& geometry, const Axes<V>& at) {
  V x, y, z;
  const bool inside = LocateInside(d, geometry, at, Axes(x, y, z));
  if (HWY_LIKELY(inside)) {
    at.x = x;
    at.y = y;
    if constexpr (Geometry::kAxes == 3) at.z = z;
  }
  return inside;
}

// Does the same as LocatePoints(), faster if all points are inside.
template <class D, class Geometry, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> LocateTaps(D d, const Geometry& geometry, const Axes<V>& at) {
  if (HWY_LIKELY(MoveInside(d, geometry, at))) return hn::MaskFromVec(hn::Zero(d));
  return LocatePoints(d, geometry, at);
}

// Does the same as LocateValues(), faster if all points are inside. Unusable points are NaN.
template <class D, class Geometry, class V = hn::Vec<D>>
HWY_INLINE hn::Mask<D> LocateTaps(D d, const Geometry& geometry, const Axes<V>& at, V& instead) {
  instead = hn::Zero(d);
  if (HWY_LIKELY(MoveInside(d, geometry, at))) return hn::MaskFromVec(instead);
  const V nan = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN());
  return LocateValues(d, geometry, at, nan, instead);
}

// Returns gridGrad along one axis of points anywhere. `sum`: sum of slopes over channels.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE V FinishGrad(D d, V sum, V slope, M unusable, M infinite) {
  const V nan = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::quiet_NaN());
  return hn::IfThenElse(unusable, nan, hn::IfThenZeroElse(infinite, hn::Mul(sum, slope)));
}

// ---- tensors of points --------------------------------------------------------------------------

// Calls run(first, last) for ranges that cover the points of one image or volume, on all threads.
template <class Run>
void ForChunks(const PointChunks& g, const Run& run) {
  runtime::ParallelFor(g.chunks, g.grain, [&](int64_t begin, int64_t end) {
    run(begin * g.chunk_points, std::min(end * g.chunk_points, g.points));
  });
}

// Calls Kernel(params).Run(n, first, last) for ranges that cover the points of all images or
// volumes, on all threads.
template <class Kernel, class Params>
void RunOverChunks(const Params& params, const PointChunks& g) {
  const Kernel kernel(params);
  runtime::ParallelFor(g.images * g.chunks, g.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % g.chunks * g.chunk_points;
      kernel.Run(i / g.chunks, first, std::min(first + g.chunk_points, g.points));
    }
  });
}

// Reads the coordinates x, y[, z] of `count` points of a grid, from point `first` on. Other lanes
// are undefined.
template <class D, class T, class... V>
HWY_INLINE void ReadPoints(D d, const PointStrides& at, const T* grid, int64_t first, int64_t count,
                           V&... axes) {
  constexpr int64_t kAxes = sizeof...(V);
  if (HWY_LIKELY(HasDensePoints(at, kAxes) && count == Length(d))) {
    if constexpr (kAxes == 2) {
      return LoadDeinterleaved2(d, grid + 2 * first, axes...);
    } else {
      return LoadDeinterleaved3(d, grid + 3 * first, axes...);
    }
  }
  HWY_ALIGN hn::TFromD<D> copy[kAxes][hn::MaxLanes(d)] = {};
  for (int64_t k = 0; k < count; ++k) {
    const T* from = grid + at.OffsetOf(first + k);
    for (auto& axis : copy) {
      axis[k] = base::Widen(*from);
      from += at.channel_stride;
    }
  }
  size_t axis = 0;
  ((axes = hn::Load(d, copy[axis++])), ...);
}

// Reads points into a vector for each axis; the number of axes is a constant.
template <int kAxes, class D, class T, class V = hn::Vec<D>>
HWY_INLINE void ReadPoints(D d, const PointStrides& at, const T* grid, int64_t first, int64_t count,
                           const Axes<V>& to) {
  WithAxes<kAxes>(to, [&](auto&... axes) PORTACL_INLINE_LAMBDA {
    ReadPoints(d, at, grid, first, count, axes...);
  });
}

// Reads one channel of `count` points from point `first` on. Other lanes are 0.
template <class D, class T>
HWY_INLINE hn::Vec<D> ReadChannel(D d, const PointStrides& at, const T* from, int64_t first,
                                  int64_t count) {
  if (HWY_LIKELY(at.flat && at.pixel_stride == 1 && count == Length(d))) {
    return LoadWide(d, from + first);
  }
  HWY_ALIGN hn::TFromD<D> copy[hn::MaxLanes(D())] = {};
  for (int64_t k = 0; k < count; ++k) copy[k] = base::Widen(from[at.OffsetOf(first + k)]);
  return hn::Load(d, copy);
}

// Writes x, y[, z] of `count` points from point `first` on; rounds each value once.
template <class D, class T, class... V>
HWY_INLINE void WritePoints(D d, const PointStrides& at, T* out, int64_t first, int64_t count,
                            V... axes) {
  using F = hn::TFromD<D>;
  constexpr int64_t kAxes = sizeof...(V);
  const auto interleave = [&](F* to) PORTACL_INLINE_LAMBDA {
    if constexpr (kAxes == 2) {
      hn::StoreInterleaved2(axes..., d, to);
    } else {
      hn::StoreInterleaved3(axes..., d, to);
    }
  };
  const bool dense = HasDensePoints(at, kAxes) && count == Length(d);
  if constexpr (std::is_same_v<T, F>) {
    if (HWY_LIKELY(dense)) return interleave(out + kAxes * first);
  }
  HWY_ALIGN F points[kAxes * hn::MaxLanes(d)];
  interleave(points);
  if (HWY_LIKELY(dense)) {
    for (int64_t part = 0; part < kAxes; ++part) {
      StoreNarrow(hn::Load(d, points + part * count), d, out + kAxes * first + part * count);
    }
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    T* to = out + at.OffsetOf(first + k);
    for (int64_t axis = 0; axis < kAxes; ++axis) {
      to[axis * at.channel_stride] = base::Narrow<T>(points[kAxes * k + axis]);
    }
  }
}

template <int kAxes, class D, class T, class V = hn::Vec<D>>
HWY_INLINE void WritePoints(D d, const PointStrides& at, T* out, int64_t first, int64_t count,
                            const Axes<V>& from) {
  WithAxes<kAxes>(from, [&](const auto&... axes) PORTACL_INLINE_LAMBDA {
    WritePoints(d, at, out, first, count, axes...);
  });
}

// Writes zeros as gridGrad of nearest points: a small move keeps the nearest pixel.
template <class Params, class T>
class NoGridGrad {
 public:
  explicit NoGridGrad(const Params& p) : p_(p), at_(GridPointsOf(p.shape, p.grid_grad_stride)) {}

  // Points [first, last) of image or volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    constexpr int64_t kAxes = kAxesOf<Params>;
    T* const out = static_cast<T*>(p_.grid_grad) + n * p_.grid_grad_stride[0];
    if (HasDensePoints(at_, kAxes)) return Clear(out + kAxes * first, kAxes * (last - first));
    for (int64_t p = first; p < last; ++p) {
      T* const point = out + at_.OffsetOf(p);
      for (int64_t axis = 0; axis < kAxes; ++axis) point[axis * at_.channel_stride] = T{};
    }
  }

 private:
  const Params& p_;
  PointStrides at_;
};

// ---- points by blocks of channels ---------------------------------------------------------------

// Some channels of the points of an image or volume.
template <class T>
struct PointBlock {
  T* base;  // point 0 of the first channel
  PointStrides at;
  int64_t channels;
};

// Copies points first, first + 1, ... or index[0], index[1], ... to to[count][L], exactly. Points
// that are neighbours in memory are transposed together; others are copied one by one.
template <int L, class T, class F = base::ComputeType<T>>
void ReadPointBlock(const PointBlock<const T>& from, int64_t first, const int32_t* index,
                    int64_t count, F* to) {
  Planar<const T> planar = {from.base, from.at.channel_stride, from.at.pixel_stride, from.channels,
                            count};
  if (index == nullptr && from.at.flat) {
    planar.base += first * from.at.pixel_stride;
    return ReadPixels<T, L>(planar, to, L);
  }
  planar.pixels = 1;
  if (planar.pixel_stride == 1) planar.pixel_stride = 2;  // one pixel: no tile
  for (int64_t k = 0; k < count; ++k) {
    planar.base = from.base + from.at.OffsetOf(index != nullptr ? index[k] : first + k);
    ReadPixels<T, L>(planar, to + k * L, L);
  }
}

// Copies values[count][L] to points first, first + 1, ...; rounds each value once.
template <int L, class T, class F = base::ComputeType<T>>
void WritePointBlock(const F* values, int64_t first, int64_t count, const PointBlock<T>& to) {
  Planar<T> planar = {to.base, to.at.channel_stride, to.at.pixel_stride, to.channels, count};
  if (to.at.flat) {
    planar.base += first * to.at.pixel_stride;
    return WritePixels<T, L>(values, L, planar);
  }
  planar.pixels = 1;
  if (planar.pixel_stride == 1) planar.pixel_stride = 2;  // one pixel: no tile
  for (int64_t k = 0; k < count; ++k) {
    planar.base = to.base + to.at.OffsetOf(first + k);
    WritePixels<T, L>(values + k * L, L, planar);
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
