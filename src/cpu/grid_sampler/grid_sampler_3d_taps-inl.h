// The eight taps of trilinear points, a batch of them at a time: where they are and their weights,
// for kernels that then go point by point. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_3D_TAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_3D_TAPS_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_3D_TAPS_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_3D_TAPS_INL_H_
#endif

#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_3d_gather-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Points that are located together, so that the latencies of that overlap.
inline constexpr int64_t kBatch = 64;

// All taps of a point: bit i is tap i.
//
//   tap     0    1    2    3    4    5    6    7
//         tnw  tne  tsw  tse  bnw  bne  bsw  bse
inline constexpr int32_t kAllTaps = 0xFF;

// `value` where 0 <= at < extent.
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI BitsBelow(DI di, VI at, int64_t extent, int32_t value) {
  return hn::IfThenElseZero(IsBelow(di, at, hn::Set(di, static_cast<int32_t>(extent))),
                            hn::Set(di, value));
}

// Coordinates after the padding; of points without taps they are nowhere. Returns which points are
// unusable.
template <class F, class V = hn::Vec<PointTag<F>>>
HWY_INLINE hn::Mask<PointTag<F>> LocateTaps(const VolumeGeometry<F>& geometry, V& x, V& y, V& z) {
  const PointTag<F> d;
  V at_x, at_y, at_z;
  if (HWY_LIKELY(LocateInside(d, geometry, x, y, z, at_x, at_y, at_z))) {
    x = at_x;
    y = at_y;
    z = at_z;
    return hn::MaskFromVec(hn::Zero(d));
  }
  V slope_x, slope_y, slope_z;
  hn::Mask<PointTag<F>> unusable;
  hn::Mask<PointTag<F>> outside;
  LocatePoints(d, geometry, x, y, z, slope_x, slope_y, slope_z, unusable, outside);
  return unusable;
}

// Of a batch's points, one array per quantity.
template <class F>
struct TapBatch {
  HWY_ALIGN F weight[8][kBatch];
  HWY_ALIGN F above[3][kBatch];    // along x, y and z: from the tap before the point
  HWY_ALIGN F below[3][kBatch];    // to the tap behind it
  HWY_ALIGN int32_t cell[kBatch];  // of tap 0, from the volume's first element
};

// Along one axis: the first taps' indices, and how far points are from them and to the next ones.
// Far away the index is one of the least or greatest: outside as well.
template <class D, class F = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE hn::Vec<IndexTag<D>> PlaceAxis(D d, V at, size_t axis, int64_t i, TapBatch<F>* batch,
                                          V& t, V& u) {
  const V first = hn::Floor(at);
  BilinearDistances(d, at, first, t, u);
  hn::Store(t, d, batch->above[axis] + i);
  hn::Store(u, d, batch->below[axis] + i);
  return ToIndex(d, first);
}

// Which taps of points whose first one is at (column, row) are inside the image, whatever the
// plane.
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI TapsInImage(DI di, VI column, VI row, int64_t height, int64_t width) {
  const VI one = hn::Set(di, 1);
  const VI columns =
      hn::Or(BitsBelow(di, column, width, 0x55), BitsBelow(di, hn::Add(column, one), width, 0xAA));
  const VI rows =
      hn::Or(BitsBelow(di, row, height, 0x33), BitsBelow(di, hn::Add(row, one), height, 0xCC));
  return hn::And(columns, rows);
}

// Which are in planes [first, end), whatever the place there.
template <class DI, class VI = hn::Vec<DI>>
HWY_INLINE VI TapsInPlanes(DI di, VI plane, int64_t first, int64_t end) {
  const VI own = hn::Sub(plane, hn::Set(di, static_cast<int32_t>(first)));
  return hn::Or(BitsBelow(di, own, end - first, 0x0F),
                BitsBelow(di, hn::Add(own, hn::Set(di, 1)), end - first, 0xF0));
}

// Fills place i of the batch with a vector of points. The result is which of their taps are in the
// image, whatever the plane: `plane`, the plane of their first taps.
template <class F, class V = hn::Vec<PointTag<F>>, class VI = hn::Vec<IndexTag<PointTag<F>>>>
HWY_INLINE VI PlaceTaps(const VolumeStrides& size, V x, V y, V z, int64_t i, TapBatch<F>* batch,
                        VI& plane) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  V tx, ux, ty, uy, tz, uz;
  const VI column = PlaceAxis(d, x, 0, i, batch, tx, ux);
  const VI row = PlaceAxis(d, y, 1, i, batch, ty, uy);
  plane = PlaceAxis(d, z, 2, i, batch, tz, uz);
  V nw, ne, sw, se;
  BilinearWeights(d, tx, ux, ty, uy, nw, ne, sw, se);
  const auto store = [&](V share, F(*to)[kBatch]) HWY_ATTR {
    hn::Store(hn::Mul(nw, share), d, to[0] + i);
    hn::Store(hn::Mul(ne, share), d, to[1] + i);
    hn::Store(hn::Mul(sw, share), d, to[2] + i);
    hn::Store(hn::Mul(se, share), d, to[3] + i);
  };
  store(uz, batch->weight);
  store(tz, batch->weight + 4);
  hn::Store(ElementsAt(size, column, row, plane), di, batch->cell + i);
  return TapsInImage(di, column, row, size.height, size.width);
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
