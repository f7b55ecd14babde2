// Path "padded": bilinear gradients of float images with one or two channels, in one pass
// over the points. Padded copies of the planes let every point read and add both taps of a
// row as a pair, unchecked. A batch of points serves both gradients and stays in the L1
// cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_padded.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <hwy/cache_control.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "ops/grid_sampler_params.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// ---- batches of points --------------------------------------------------------------------------

using Params = ops::GridSampler2DBackwardParams;
using D = PointTag<float>;
using DI = IndexTag<D>;
using V = hn::Vec<D>;

// Points that are prepared together, so that the latencies of preparing a vector, some 100 cycles,
// overlap.
inline constexpr size_t kBatch = 64;

// Facts about a point: a coordinate is infinite (no taps), or unusable (its gradient is
// NaN).
enum Facts : int32_t { kInfinite = 1, kUnusable = 2 };

// A batch of points, one array per quantity. The taps of point k are two pairs of pixels: nw ne
// from cell[k] on, sw se one row below.
struct Batch {
  HWY_ALIGN float tx[kBatch];
  HWY_ALIGN float ux[kBatch];
  HWY_ALIGN float ty[kBatch];
  HWY_ALIGN float uy[kBatch];
  HWY_ALIGN float slope_x[kBatch];
  HWY_ALIGN float slope_y[kBatch];
  HWY_ALIGN float weights[4 * kBatch];  // all nw, then ne, sw, se; of paired planes point by point
  HWY_ALIGN int32_t facts[kBatch];
  HWY_ALIGN int32_t cell[kBatch];

  // Returns the weights of one tap. Only if planes are not paired.
  float* weight(int tap) { return weights + static_cast<size_t>(tap) * kBatch; }
  const float* weight(int tap) const { return weights + static_cast<size_t>(tap) * kBatch; }
};

// Fills the batch with the `count` points at `grid`, pairs (x, y).
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
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    V tx, ux, ty, uy, nw, ne, sw, se;
    BilinearDistances(d, x, x0, tx, ux);
    BilinearDistances(d, y, y0, ty, uy);
    hn::Store(tx, d, batch->tx + i);
    hn::Store(ty, d, batch->ty + i);
    hn::Store(ux, d, batch->ux + i);
    hn::Store(uy, d, batch->uy + i);
    BilinearWeights(d, tx, ux, ty, uy, nw, ne, sw, se);
    if constexpr (kPaired) {
      hn::StoreInterleaved4(nw, ne, sw, se, d, batch->weights + 4 * i);
    } else {
      hn::Store(nw, d, batch->weight(0) + i);
      hn::Store(ne, d, batch->weight(1) + i);
      hn::Store(sw, d, batch->weight(2) + i);
      hn::Store(se, d, batch->weight(3) + i);
    }
    const auto states =
        hn::Or(hn::IfThenElseZero(hn::RebindMask(di, infinite), hn::Set(di, kInfinite)),
               hn::IfThenElseZero(hn::RebindMask(di, unusable), hn::Set(di, kUnusable)));
    hn::Store(states, di, batch->facts + i);
    // A coordinate far away gets the least or greatest index, which is outside as well.
    const auto cells = PaddedCells(di, p.shape, pitch, ToIndex(d, x0), ToIndex(d, y0));
    hn::Store(cells, di, batch->cell + i);
  }
}

// Floats of a cache line.
inline constexpr auto kLine = int64_t{kStreamAlignment / sizeof(float)};

// Returns how many floats lie between the start of a cache line and `at`.
HWY_INLINE int64_t LineOffset(const float* at) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) % kStreamAlignment / sizeof *at);
}

// Copies n pixels of an image row, `from_step` apart, to places `to_step` apart.
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

// Copies whole cache lines of a row past the caches.
HWY_INLINE void StreamRow(const float* from, float* to, int64_t n) {
  const D d;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::Stream(hn::LoadU(d, from + i), d, to + i);
  }
}

// Does the same as CopyRow() for paired planes: pixels of two rows become pairs of floats.
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

// Four taps of a point, or the sums at four taps.
using Taps = hn::FixedTag<float, 4>;
using Pair = hn::FixedTag<float, 2>;

HWY_INLINE hn::Vec<Taps> LoadTaps(const float* upper, const float* lower) {
  const Pair pair;
  return hn::Combine(Taps(), hn::LoadU(pair, lower), hn::LoadU(pair, upper));
}

// Does the same as hn::StoreInterleaved2(), past the caches.
HWY_INLINE void StreamInterleaved2(D d, V x, V y, float* to) {
  HWY_ALIGN float pairs[2 * hn::MaxLanes(D())];
  hn::StoreInterleaved2(x, y, d, pairs);
  StoreNarrow2(hn::Load(d, pairs), hn::Load(d, pairs + hn::Lanes(d)), d, to, true);
}

// Sums the gradients of an image with C = 1 or 2 channels, on padded planes. Two channels are
// paired: one plane, where each pixel has both channels.
template <int C, bool kInputGrad, bool kGridGrad>
class PaddedPlanes {
  static constexpr bool kPaired = C == 2;

 public:
  // `slot` has room for planes.image floats.
  PaddedPlanes(const Params& p, int64_t n, const PaddedGeometry& planes, float* slot)
      : p_(p),
        cut_(planes),
        geometry_(PointGeometryOf<float>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grid_grad_at_(GridPointsOf(p.shape, p.grid_grad_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        grad_output_(static_cast<const float*>(p.grad_output) + n * p.grad_output_stride[0]),
        grid_(static_cast<const float*>(p.grid) + n * p.grid_stride[0]),
        grid_grad_(kGridGrad ? static_cast<float*>(p.grid_grad) + n * p.grid_grad_stride[0]
                             : nullptr),
        input_(static_cast<const float*>(p.input) + n * p.input_stride[0]),
        input_grad_(kInputGrad ? static_cast<float*>(p.input_grad) + n * p.input_grad_stride[0]
                               : nullptr),
        values_(slot),
        sums_(slot + (kGridGrad ? C * planes.plane : 0)) {}

  void Run() const {
    Fill();
    const int64_t points = p_.shape.oh * p_.shape.ow;
    HWY_ALIGN float grid[2 * kBatch] = {};
    HWY_ALIGN float copy[C][kBatch];
    const float* g[C];
    Batch batch;
    for (int64_t first = 0; first < points; first += int64_t{kBatch}) {
      const int64_t count = std::min<int64_t>(int64_t{kBatch}, points - first);
      PrepareBatch<kPaired>(p_, geometry_, cut_.pitch, Grid(first, count, grid),
                            static_cast<size_t>(count), &batch);
      for (int c = 0; c < C; ++c) g[c] = GradOutput(c, first, count, copy[c]);
      if constexpr (kGridGrad) StoreGridGrad(batch, g, first, count);
      if constexpr (kInputGrad) {
        if constexpr (kPaired) {
          ScatterPairs(batch, g[0], g[1], count);
        } else {
          Scatter(batch, g[0], count);
        }
      }
    }
    StoreSums();
  }

 private:
  // Copies input to the padded planes, if gridGrad is wanted, and sets the sums to 0.
  void Fill() const {
    if constexpr (kInputGrad) Clear(sums_, C * cut_.plane);
    if constexpr (!kGridGrad) return;
    const auto& stride = p_.input_stride;
    Clear(values_, 2 * C * cut_.pitch);
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
    Clear(PaddedRow(values_, p_.shape.h) - C, C * cut_.pitch);
  }

  // Writes the sums to inputGrad.
  void StoreSums() const {
    if constexpr (!kInputGrad) return;
    const auto& stride = p_.input_grad_stride;
    const bool stream = cut_.stream && stride[3] == 1 && p_.shape.w % kLine == 0 &&
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

  // Returns pixel (y, 0) of the image in a padded plane.
  float* PaddedRow(float* plane, int64_t y) const { return plane + ((y + 2) * cut_.pitch + 1) * C; }

  // Returns x and y of a batch's points, in the tensor itself if they are dense, else copied. The
  // rest of the batch is neither written nor used.
  const float* Grid(int64_t first, int64_t count, float* HWY_RESTRICT copy) const {
    const PointStrides& at = grid_at_;
    if (HasDensePairs(at)) {
      const float* from = grid_ + 2 * first;
      if (count == int64_t{kBatch}) return from;
      std::copy(from, from + 2 * count, copy);
      return copy;
    }
    for (int64_t k = 0; k < count; ++k) {
      const float* from = grid_ + at.OffsetOf(first + k);
      copy[2 * k] = from[0];
      copy[2 * k + 1] = from[at.channel_stride];
    }
    return copy;
  }

  // Returns gradOutput of a batch: in the tensor itself if it is dense, else copied.
  const float* GradOutput(int c, int64_t first, int64_t count, float* HWY_RESTRICT copy) const {
    const PointStrides& at = grad_output_at_;
    const float* from = grad_output_ + c * at.channel_stride;
    if (at.flat && at.pixel_stride == 1 && count == int64_t{kBatch}) return from + first;
    for (int64_t k = 0; k < count; ++k) copy[k] = from[at.OffsetOf(first + k)];
    std::fill(copy + count, copy + kBatch, 0.0f);
    return copy;
  }

  // Adds taps in order; each sum takes one fused multiply-add. The four sums of a cell stay in
  // registers while points stay in the cell or move to the next pixel. In memory, each point would
  // wait for the stores of the point before.
  HWY_INLINE void Scatter(const Batch& batch, const float* HWY_RESTRICT g, int64_t count) const {
    float* const plane = sums_;
    float* const lower = plane + cut_.pitch;
    float nw = 0;
    float ne = 0;
    float sw = 0;
    float se = 0;
    constexpr int32_t kNone = -2;  // no cell, and its neighbour -1 is none either
    int32_t cell = kNone;          // the cell with sums in registers
    const auto add = [&](int64_t k) PORTACL_INLINE_LAMBDA {
      const int32_t next = batch.cell[k];
      if (next != cell) {
        if (next == cell + 1) {
          plane[cell] = nw;
          lower[cell] = sw;
          nw = ne;
          sw = se;
        } else {
          if (cell != kNone) StoreCell(plane, lower, cell, nw, ne, sw, se);
          nw = plane[next];
          sw = lower[next];
        }
        ne = plane[next + 1];
        se = lower[next + 1];
        cell = next;
      }
      nw = std::fma(batch.weight(0)[k], g[k], nw);
      ne = std::fma(batch.weight(1)[k], g[k], ne);
      sw = std::fma(batch.weight(2)[k], g[k], sw);
      se = std::fma(batch.weight(3)[k], g[k], se);
    };
    int64_t k = 0;
    for (; k + 4 <= count; k += 4) {
      Unroll<4>([&](auto i) PORTACL_INLINE_LAMBDA { add(k + static_cast<int64_t>(i)); });
    }
    for (; k < count; ++k) add(k);
    if (cell != kNone) StoreCell(plane, lower, cell, nw, ne, sw, se);
  }

  static HWY_INLINE void StoreCell(float* plane, float* lower, int32_t cell, float nw, float ne,
                                   float sw, float se) {
    plane[cell] = nw;
    plane[cell + 1] = ne;
    lower[cell] = sw;
    lower[cell + 1] = se;
  }

  // Scatters to both channels of paired planes. A register has one column of a cell's sums.
  HWY_INLINE void ScatterPairs(const Batch& batch, const float* HWY_RESTRICT g0,
                               const float* HWY_RESTRICT g1, int64_t count) const {
    const D dv;
    HWY_ALIGN float g[2 * kBatch];
    for (size_t i = 0; i < kBatch; i += hn::Lanes(dv)) {
      hn::StoreInterleaved2(hn::LoadU(dv, g0 + i), hn::LoadU(dv, g1 + i), dv, g + 2 * i);
    }
    const Taps d;
    const Pair pair;
    const int64_t down = 2 * cut_.pitch;
    auto west = hn::Zero(d);  // nw sw
    auto east = west;
    float* cell = nullptr;
    const auto store = [&](float* to, hn::Vec<Taps> column) HWY_ATTR {
      hn::StoreU(hn::LowerHalf(pair, column), pair, to);
      hn::StoreU(hn::UpperHalf(pair, column), pair, to + down);
    };
    for (int64_t k = 0; k < count; ++k) {
      float* const next = sums_ + 2 * int64_t{batch.cell[k]};
      if (next != cell) {
        if (cell != nullptr) store(cell, west);
        if (cell != nullptr && next == cell + 2) {
          west = east;
        } else {
          if (cell != nullptr) store(cell + 2, east);
          west = LoadTaps(next, next + down);
        }
        east = LoadTaps(next + 2, next + 2 + down);
        cell = next;
      }
      const auto weight = hn::Load(d, batch.weights + 4 * k);
      const auto grad = hn::LoadU(pair, g + 2 * k);
      const auto both = hn::Combine(d, grad, grad);
      west = hn::MulAdd(hn::DupEven(weight), both, west);
      east = hn::MulAdd(hn::DupOdd(weight), both, east);
    }
    store(cell, west);
    store(cell + 2, east);
  }

  void StoreGridGrad(const Batch& batch, const float* const* g, int64_t first,
                     int64_t count) const {
    const D d;
    const DI di;
    HWY_ALIGN float values[C][4 * kBatch];
    ReadTaps(batch, count, values);
    const PointStrides& at = grid_grad_at_;
    const bool in_place = HasDensePairs(at) && count == int64_t{kBatch};
    HWY_ALIGN float copy[2 * kBatch];
    float* pairs = in_place ? grid_grad_ + 2 * first : copy;
    const bool stream = cut_.stream && in_place && LineOffset(pairs) == 0;
    for (size_t i = 0; i < static_cast<size_t>(count); i += hn::Lanes(d)) {
      const auto facts = hn::Load(di, batch.facts + i);
      const bool plain = hn::AllTrue(di, hn::Eq(facts, hn::Zero(di)));
      V x;
      V y;
      SumChannels(batch, g, values, i, x, y);
      x = hn::Add(hn::Zero(d), x);
      y = hn::Add(hn::Zero(d), y);
      const V slope_x = hn::Load(d, batch.slope_x + i);
      const V slope_y = hn::Load(d, batch.slope_y + i);
      if (HWY_LIKELY(plain)) {
        x = hn::Mul(x, slope_x);
        y = hn::Mul(y, slope_y);
      } else {
        const auto is = [&](Facts fact) HWY_ATTR {
          return hn::RebindMask(d, hn::TestBit(facts, hn::Set(di, fact)));
        };
        x = FinishGrad(d, x, slope_x, is(kUnusable), is(kInfinite));
        y = FinishGrad(d, y, slope_y, is(kUnusable), is(kInfinite));
      }
      if (stream) {
        StreamInterleaved2(d, x, y, pairs + 2 * i);
      } else {
        hn::StoreInterleaved2(x, y, d, pairs + 2 * i);
      }
    }
    if (in_place) return;
    for (int64_t k = 0; k < count; ++k) {
      float* to = grid_grad_ + at.OffsetOf(first + k);
      to[0] = pairs[2 * k];
      to[at.channel_stride] = pairs[2 * k + 1];
    }
  }

  // Copies the values at every point's taps, in groups of four: nw ne sw se of one channel. Of
  // paired planes, one array gets nw ne and another sw se, of both channels. In a vector's points,
  // groups have the order that LoadTransposed() needs to make vectors of nw, of ne, ...: points 0,
  // 4, 8, ..., then 1, 5, ...
  HWY_INLINE void ReadTaps(const Batch& batch, int64_t count, float (*to)[4 * kBatch]) const {
    const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
    for (int64_t i = 0; i < count; i += lanes) {
      for (int64_t block = 0; block < lanes; block += 4) {
        Unroll<4>([&](auto unrolled) PORTACL_INLINE_LAMBDA {
          const auto k = static_cast<int64_t>(unrolled);
          ReadPoint(batch, i + block + k, 4 * i + k * lanes + block, to);
        });
      }
    }
  }

  static HWY_INLINE void LoadTransposed(const float* from, V& nw, V& ne, V& sw, V& se) {
    const D d;
    const auto lanes = hn::Lanes(d);
    nw = hn::Load(d, from);
    ne = hn::Load(d, from + lanes);
    sw = hn::Load(d, from + 2 * lanes);
    se = hn::Load(d, from + 3 * lanes);
    TransposeIn128(d, nw, ne, sw, se);
  }

  HWY_INLINE void ReadPoint(const Batch& batch, int64_t k, int64_t slot,
                            float (*to)[4 * kBatch]) const {
    const Taps d;
    if constexpr (kPaired) {
      const float* upper = values_ + 2 * int64_t{batch.cell[k]};
      hn::Store(hn::LoadU(d, upper), d, to[0] + slot);
      hn::Store(hn::LoadU(d, upper + 2 * cut_.pitch), d, to[1] + slot);
      return;
    }
    const float* upper = values_ + batch.cell[k];
    hn::Store(LoadTaps(upper, upper + cut_.pitch), d, to[0] + slot);
  }

  // Sums over the channels; the coordinates' slopes are not yet applied.
  HWY_INLINE void SumChannels(const Batch& batch, const float* const* g,
                              const float (*values)[4 * kBatch], size_t i, V& x, V& y) const {
    V nw, ne, sw, se;
    if constexpr (C == 1) {
      LoadTransposed(values[0] + 4 * i, nw, ne, sw, se);
      Channel(batch, g[0], i, nw, ne, sw, se, x, y);
    } else {
      V nw1, ne1, sw1, se1;
      LoadTransposed(values[0] + 4 * i, nw, nw1, ne, ne1);
      LoadTransposed(values[1] + 4 * i, sw, sw1, se, se1);
      V x1, y1;
      Channel(batch, g[0], i, nw, ne, sw, se, x, y);
      Channel(batch, g[1], i, nw1, ne1, sw1, se1, x1, y1);
      x = hn::Add(x, x1);
      y = hn::Add(y, y1);
    }
  }

  HWY_INLINE void Channel(const Batch& batch, const float* g, size_t i, V nw, V ne, V sw, V se,
                          V& x, V& y) const {
    const D d;
    const V grad = hn::LoadU(d, g + i);
    x = hn::Mul(grad,
                TapSlope(d, nw, ne, sw, se, hn::Load(d, batch.ty + i), hn::Load(d, batch.uy + i)));
    y = hn::Mul(grad,
                TapSlope(d, nw, sw, ne, se, hn::Load(d, batch.tx + i), hn::Load(d, batch.ux + i)));
  }

  const Params& p_;
  const PaddedGeometry& cut_;
  PointGeometry<float> geometry_;
  PointStrides grid_at_;
  PointStrides grid_grad_at_;
  PointStrides grad_output_at_;
  const float* grad_output_;
  const float* grid_;
  float* grid_grad_;
  const float* input_;
  float* input_grad_;
  float* values_;
  float* sums_;
};

template <int C>
void RunImage(const Params& p, int64_t n, const PaddedGeometry& planes, float* slot) {
  if (!p.want_grid_grad) {
    PaddedPlanes<C, true, false>(p, n, planes, slot).Run();
  } else if (p.want_input_grad) {
    PaddedPlanes<C, true, true>(p, n, planes, slot).Run();
  } else {
    PaddedPlanes<C, false, true>(p, n, planes, slot).Run();
  }
}

}  // namespace

void RunPath(const Params& p, const PaddedGeometry& planes, void* workspace) {
  const auto run = [&](int slot, int64_t first, int64_t last) {
    float* const memory = static_cast<float*>(workspace) + slot * planes.image;
    for (int64_t n = first; n < last; ++n) {
      if (p.shape.c == 1) {
        RunImage<1>(p, n, planes, memory);
      } else {
        RunImage<2>(p, n, planes, memory);
      }
    }
    if (planes.stream) hwy::FlushStream();
  };
  runtime::ParallelForRanges(p.shape.n, planes.slots, run);
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
