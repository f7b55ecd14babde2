// Bilinear gradients of few float images with one or two channels on several threads: each thread
// owns a strip of inputGrad's rows, looks at all points and adds those that touch it, without lists
// or barriers. gridGrad, which needs no owner, is computed apart.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_owned.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <cmath>

#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_gather-inl.h"
#include "cpu/vector/listed_lanes-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;
using D = PointTag<float>;
using DI = IndexTag<D>;
using V = hn::Vec<D>;

// Points that are prepared together, so that the latencies of the preparation overlap.
inline constexpr int64_t kBatch = 64;

// Taps of a point that are in the strip.
enum Taps : int32_t { kNw = 1, kNe = 2, kSw = 4, kSe = 8, kAllTaps = 15 };

// Of the batch's points, one array per quantity; `touching` lists those with a tap in the strip.
struct Batch {
  HWY_ALIGN float weight[4][kBatch];
  HWY_ALIGN int32_t taps[kBatch];
  HWY_ALIGN int32_t cell[kBatch];  // of the upper left tap, from the plane's start
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  int64_t count;
};

class OwnedStrip {
 public:
  // Rows [first_row, end_row) of image n.
  OwnedStrip(const Params& p, int64_t n, int64_t first_row, int64_t end_row)
      : p_(p),
        first_row_(first_row),
        end_row_(end_row),
        geometry_(PointGeometryOf<float>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        grid_(static_cast<const float*>(p.grid) + n * p.grid_stride[0]),
        grad_output_(static_cast<const float*>(p.grad_output) + n * p.grad_output_stride[0]),
        sums_(static_cast<float*>(p.input_grad) + n * p.input_grad_stride[0]) {}

  void Run() const {
    for (int64_t c = 0; c < p_.shape.c; ++c)
      ClearInputGrad(p_, sums_ + c * p_.input_grad_stride[1], first_row_, end_row_);
    const int64_t points = p_.shape.oh * p_.shape.ow;
    Batch batch;
    HWY_ALIGN float g[kBatch];
    for (int64_t first = 0; first < points; first += kBatch) {
      const int64_t count = std::min(kBatch, points - first);
      Prepare(first, count, &batch);
      if (batch.count == 0) continue;
      for (int64_t c = 0; c < p_.shape.c; ++c) {
        CopyGradOutput(c, first, count, g);
        AddPoints(batch, g, sums_ + c * p_.input_grad_stride[1]);
      }
    }
  }

 private:
  // Not inlined: the compiler would keep the weights in vectors and extract them lane by lane.
  HWY_NOINLINE void Prepare(int64_t first, int64_t count, Batch* HWY_RESTRICT batch) const {
    const D d;
    const DI di;
    const auto width = hn::Set(di, static_cast<int32_t>(p_.shape.w));
    const auto rows = hn::Set(di, static_cast<int32_t>(end_row_ - first_row_));
    const auto one = hn::Set(di, 1);
    const auto bits = [&](auto at, auto extent, int32_t value) HWY_ATTR {
      return hn::IfThenElseZero(IsBelow(di, at, extent), hn::Set(di, value));
    };
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    size_t listed = 0;
    for (int64_t i = 0; i < count; i += lanes) {
      V x = hn::Zero(d);
      V y = x;
      ReadPoints(d, grid_at_, grid_, first + i, std::min(lanes, count - i), x, y);
      hn::Mask<D> unusable;
      LocateAny(d, geometry_, x, y, x, y, unusable);
      const V x0 = hn::Floor(x);
      const V y0 = hn::Floor(y);
      const auto column = ToIndex(d, x0);
      const auto row = ToIndex(d, y0);
      const auto own_row = hn::Sub(row, hn::Set(di, static_cast<int32_t>(first_row_)));
      const auto taps = hn::And(
          hn::Or(bits(column, width, kNw | kSw), bits(hn::Add(column, one), width, kNe | kSe)),
          hn::Or(bits(own_row, rows, kNw | kNe), bits(hn::Add(own_row, one), rows, kSw | kSe)));
      const auto left = static_cast<size_t>(std::min(lanes, count - i));
      const auto touching = hn::And(hn::Ne(taps, hn::Zero(di)), hn::FirstN(di, left));
      if (hn::AllFalse(di, touching)) continue;
      hn::Store(taps, di, batch->taps + i);
      const auto down = hn::Set(di, static_cast<int32_t>(p_.input_grad_stride[2]));
      hn::Store(hn::Add(hn::Mul(row, down), column), di, batch->cell + i);
      V tx, ux, ty, uy, nw, ne, sw, se;
      BilinearDistances(d, x, x0, tx, ux);
      BilinearDistances(d, y, y0, ty, uy);
      BilinearWeights(d, tx, ux, ty, uy, nw, ne, sw, se);
      hn::Store(nw, d, batch->weight[0] + i);
      hn::Store(ne, d, batch->weight[1] + i);
      hn::Store(sw, d, batch->weight[2] + i);
      hn::Store(se, d, batch->weight[3] + i);
      listed += StoreListed(hn::Iota(di, static_cast<int32_t>(i)), touching, di,
                            batch->touching + listed);
    }
    batch->count = static_cast<int64_t>(listed);
  }

  void CopyGradOutput(int64_t c, int64_t first, int64_t count, float* HWY_RESTRICT to) const {
    const PointStrides& at = grad_output_at_;
    const float* from = grad_output_ + c * at.channel_stride;
    if (at.flat && at.pixel_stride == 1) {
      std::copy(from + first, from + first + count, to);
      return;
    }
    for (int64_t k = 0; k < count; ++k) to[k] = from[at.OffsetOf(first + k)];
  }

  // Points and taps in order, each sum by one fused multiply-add.
  HWY_NOINLINE void AddPoints(const Batch& batch, const float* HWY_RESTRICT g, float* plane) const {
    const int64_t down = p_.input_grad_stride[2];
    for (int64_t j = 0; j < batch.count; ++j) {
      const int32_t k = batch.touching[j];
      float* const upper = plane + batch.cell[k];
      float* const lower = upper + down;
      const int32_t taps = batch.taps[k];
      const auto add = [&](int32_t tap, float* sum, size_t w) PORTACL_INLINE_LAMBDA {
        if ((taps & tap) != 0) *sum = std::fma(batch.weight[w][k], g[k], *sum);
      };
      if (HWY_LIKELY(taps == kAllTaps)) {
        upper[0] = std::fma(batch.weight[0][k], g[k], upper[0]);
        upper[1] = std::fma(batch.weight[1][k], g[k], upper[1]);
        lower[0] = std::fma(batch.weight[2][k], g[k], lower[0]);
        lower[1] = std::fma(batch.weight[3][k], g[k], lower[1]);
        continue;
      }
      add(kNw, upper, 0);
      add(kNe, upper + 1, 1);
      add(kSw, lower, 2);
      add(kSe, lower + 1, 3);
    }
  }

  const Params& p_;
  int64_t first_row_;
  int64_t end_row_;
  PointGeometry<float> geometry_;
  PointStrides grid_at_;
  PointStrides grad_output_at_;
  const float* grid_;
  const float* grad_output_;
  float* sums_;
};

}  // namespace

void RunOwned(const Params& p, const OwnedGeometry& g) {
  if (p.want_grid_grad) RunDirect(p, g.chunks);
  runtime::ParallelFor(p.shape.n * g.strips, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t strip = i % g.strips;
      OwnedStrip(p, i / g.strips, p.shape.h * strip / g.strips, p.shape.h * (strip + 1) / g.strips)
          .Run();
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
