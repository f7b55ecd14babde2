// What few channels' gradients work with: batches of points with their weights, and padded copies
// of an image's planes in a slot of the workspace. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_2d_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "ops/grid_sampler_params.h"

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

// Elements of a cache line.
inline constexpr auto kLine = int64_t{kStreamAlignment / sizeof(float)};

// Elements between the start of a cache line and `at`.
HWY_INLINE int64_t LineOffset(const float* at) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) % kStreamAlignment / sizeof *at);
}

// Copies n elements, `step` apart in one image row, to a row of a padded plane, and back.
HWY_INLINE void CopyRow(const float* from, int64_t from_step, float* to, int64_t to_step,
                        int64_t n) {
  int64_t i = 0;
  if (from_step == 1 && to_step == 1) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (n >= lanes) {
      hn::StoreU(hn::LoadU(d, from + n - lanes), d, to + n - lanes);
      return;
    }
  }
  for (; i < n; ++i) to[i * to_step] = from[i * from_step];
}

// A row of whole lines past the caches.
HWY_INLINE void StreamRow(const float* from, float* to, int64_t n) {
  const D d;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::Stream(hn::LoadU(d, from + i), d, to + i);
  }
}

// CopyRow for paired planes: a pixel holds two channels.
HWY_INLINE void PairRows(const float* from0, const float* from1, int64_t step, float* to,
                         int64_t n) {
  int64_t i = 0;
  if (step == 1) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) {
      hn::StoreInterleaved2(hn::LoadU(d, from0 + i), hn::LoadU(d, from1 + i), d, to + 2 * i);
    }
  }
  for (; i < n; ++i) {
    to[2 * i] = from0[i * step];
    to[2 * i + 1] = from1[i * step];
  }
}

HWY_INLINE void PartRows(const float* from, float* to0, float* to1, int64_t step, int64_t n) {
  int64_t i = 0;
  if (step == 1) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) {
      auto v0 = hn::Zero(d);
      auto v1 = hn::Zero(d);
      hn::LoadInterleaved2(d, from + 2 * i, v0, v1);
      hn::StoreU(v0, d, to0 + i);
      hn::StoreU(v1, d, to1 + i);
    }
  }
  for (; i < n; ++i) {
    to0[i * step] = from[2 * i];
    to1[i * step] = from[2 * i + 1];
  }
}

// The planes of one image with C = 1 or 2 channels. Planes of two channels are paired: one plane,
// each pixel with both channels.
template <int C, bool kInputGrad, bool kGridGrad>
class ImagePlanes {
  static constexpr bool kPaired = C == 2;

 public:
  // `slot`: planes.image elements.
  ImagePlanes(const Params& p, int64_t n, const PaddedGeometry& planes, float* slot)
      : p_(p),
        planes_(planes),
        input_(static_cast<const float*>(p.input) + n * p.input_stride[0]),
        input_grad_(kInputGrad ? static_cast<float*>(p.input_grad) + n * p.input_grad_stride[0]
                               : nullptr),
        values_(slot),
        sums_(slot + (kGridGrad ? C * planes.plane : 0)) {}

  // Values of input, if gridGrad is wanted, and sums of 0.
  void Fill() const {
    if constexpr (kInputGrad) Clear(sums_, C * planes_.plane);
    if constexpr (!kGridGrad) return;
    const auto& stride = p_.input_stride;
    Clear(values_, 2 * C * planes_.pitch);
    for (int64_t y = 0; y < p_.shape.h; ++y) {
      const float* from = input_ + y * stride[2];
      float* row = PaddedRow(values_, y);
      Clear(row - C, C);
      if constexpr (kPaired) {
        PairRows(from, from + stride[1], stride[3], row, p_.shape.w);
      } else {
        CopyRow(from, stride[3], row, 1, p_.shape.w);
      }
      Clear(row + C * p_.shape.w, C);
    }
    Clear(PaddedRow(values_, p_.shape.h) - C, C * planes_.pitch);
  }

  // The sums, to inputGrad.
  void StoreSums() const {
    if constexpr (!kInputGrad) return;
    const auto& stride = p_.input_grad_stride;
    const bool stream = planes_.stream && stride[3] == 1 && p_.shape.w % kLine == 0 &&
                        stride[2] % kLine == 0 && LineOffset(input_grad_) == 0;
    for (int64_t y = 0; y < p_.shape.h; ++y) {
      const float* row = PaddedRow(sums_, y);
      float* to = input_grad_ + y * stride[2];
      if constexpr (kPaired) {
        PartRows(row, to, to + stride[1], stride[3], p_.shape.w);
      } else if (stream) {
        StreamRow(row, to, p_.shape.w);
      } else {
        CopyRow(row, 1, to, stride[3], p_.shape.w);
      }
    }
  }

  const float* values() const { return values_; }
  float* sums() const { return sums_; }

 private:
  // Row y of the image, from column 0 on.
  float* PaddedRow(float* plane, int64_t y) const {
    return plane + ((y + 2) * planes_.pitch + 1) * C;
  }

  const Params& p_;
  const PaddedGeometry& planes_;
  const float* input_;
  float* input_grad_;
  float* values_;
  float* sums_;
};

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
