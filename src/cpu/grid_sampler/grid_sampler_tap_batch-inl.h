// The taps of bilinear and trilinear points, a batch of them at a time: where they are and their
// weights, for kernels that then go point by point. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_TAP_BATCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_TAP_BATCH_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_TAP_BATCH_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_TAP_BATCH_INL_H_
#endif

#include <cstdint>
#include <type_traits>

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

// Which taps of points are in [first, end) of axis kAxis, wherever they are on the other axes.
// `at`: the points' first taps on that axis.
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

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
