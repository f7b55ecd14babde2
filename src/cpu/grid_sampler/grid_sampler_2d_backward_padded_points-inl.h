// Points of images with padded planes: batches with their weights, and the places of their taps in
// the planes. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_POINTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_POINTS_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_POINTS_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_POINTS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "ops/grid_sampler_2d_backward_params.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;
using D = PointTag<float>;
using DI = IndexTag<D>;
using V = hn::Vec<D>;

// Points that are prepared together: enough that the latencies of the preparation, some 100 cycles
// per vector, overlap.
inline constexpr size_t kBatch = 64;

// Whether a point's coordinates are infinite (it touches nothing) or unusable (its gradient is
// NaN).
enum Facts : int32_t { kInfinite = 1, kUnusable = 2 };

// A batch of points, one array per quantity. A point's taps are two pairs of neighbouring pixels,
// nw ne from cell[k] on and sw se a row below.
struct Batch {
  HWY_ALIGN float tx[kBatch];
  HWY_ALIGN float ux[kBatch];
  HWY_ALIGN float ty[kBatch];
  HWY_ALIGN float uy[kBatch];
  HWY_ALIGN float slope_x[kBatch];
  HWY_ALIGN float slope_y[kBatch];
  HWY_ALIGN float weights[4 * kBatch];  // all of nw, ne, sw, se; of paired planes point by point
  HWY_ALIGN int32_t facts[kBatch];
  HWY_ALIGN int32_t cell[kBatch];

  // Of a tap, if planes are not paired.
  float* weight(int tap) { return weights + static_cast<size_t>(tap) * kBatch; }
  const float* weight(int tap) const { return weights + static_cast<size_t>(tap) * kBatch; }
};

// Distances to the taps and the taps' weights of the vector of points at x, y.
template <bool kPaired>
HWY_INLINE void StoreBatchWeights(V x, V y, size_t i, Batch* HWY_RESTRICT batch, V& x0, V& y0) {
  const D d;
  x0 = hn::Floor(x);
  y0 = hn::Floor(y);
  V tx, ux, ty, uy;
  BilinearDistances(d, x, x0, tx, ux);
  BilinearDistances(d, y, y0, ty, uy);
  hn::Store(tx, d, batch->tx + i);
  hn::Store(ty, d, batch->ty + i);
  hn::Store(ux, d, batch->ux + i);
  hn::Store(uy, d, batch->uy + i);
  V nw, ne, sw, se;
  BilinearWeights(d, tx, ux, ty, uy, nw, ne, sw, se);
  if constexpr (kPaired) {
    hn::StoreInterleaved4(nw, ne, sw, se, d, batch->weights + 4 * i);
  } else {
    hn::Store(nw, d, batch->weight(0) + i);
    hn::Store(ne, d, batch->weight(1) + i);
    hn::Store(sw, d, batch->weight(2) + i);
    hn::Store(se, d, batch->weight(3) + i);
  }
}

// Everything of the `count` points at `grid`, pairs (x, y).
template <bool kPaired>
HWY_NOINLINE void PrepareBatch(const Params& p, const PointGeometry<float>& geometry, int64_t pitch,
                               const float* HWY_RESTRICT grid, size_t count,
                               Batch* HWY_RESTRICT batch) {
  const D d;
  const DI di;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    V x, y, slope_x, slope_y;
    hn::Mask<D> unusable, infinite;
    LoadDeinterleaved2(d, grid + 2 * i, x, y);
    LocatePoints(d, geometry, Axes(x, y), Axes(slope_x, slope_y), unusable, infinite);
    hn::Store(slope_x, d, batch->slope_x + i);
    hn::Store(slope_y, d, batch->slope_y + i);
    V x0, y0;
    StoreBatchWeights<kPaired>(x, y, i, batch, x0, y0);

    // Far away the index is one of the least or greatest: outside as well.
    const auto column0 = ToIndex(d, x0);
    const auto row0 = ToIndex(d, y0);
    const auto states =
        hn::Or(hn::IfThenElseZero(hn::RebindMask(di, infinite), hn::Set(di, kInfinite)),
               hn::IfThenElseZero(hn::RebindMask(di, unusable), hn::Set(di, kUnusable)));
    hn::Store(states, di, batch->facts + i);
    hn::Store(PaddedCells(di, p.shape, pitch, column0, row0), di, batch->cell + i);
  }
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
