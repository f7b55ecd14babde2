// inputGrad in nearest mode with few channels: every point's gradOutput is added straight to its
// pixel. An image, or a strip of its rows, has one owner, who looks at all points of the image.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_scatter.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_gather-inl.h"
#include "cpu/vector/listed_lanes-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;

// Points that are located together, so that the latencies of that overlap.
inline constexpr int64_t kLocated = 64;

// Of these the points with a pixel in the strip, in order.
struct Pixels {
  HWY_ALIGN int32_t number[kLocated + kGroup];  // of the point, from the first one located
  HWY_ALIGN int32_t offset[kLocated + kGroup];  // of its pixel, from the plane's start
  int64_t count;
};

template <class F>
class ScatterStrip {
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;

 public:
  // Strip `strip` of image n.
  ScatterStrip(const Params& p, const ScatterGeometry& g, int64_t n, int64_t strip)
      : p_(p),
        points_(p.shape.oh * p.shape.ow),
        first_row_(p.shape.h * strip / g.strips),
        end_row_(p.shape.h * (strip + 1) / g.strips),
        first_point_(points_ * strip / g.strips),
        end_point_(points_ * (strip + 1) / g.strips),
        geometry_(PointGeometryOf<F>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        grid_(static_cast<const F*>(p.grid) + n * p.grid_stride[0]),
        grad_output_(static_cast<const F*>(p.grad_output) + n * p.grad_output_stride[0]),
        sums_(static_cast<F*>(p.input_grad) + n * p.input_grad_stride[0]),
        grid_grad_(static_cast<F*>(p.grid_grad)) {
    if (p.want_grid_grad) grid_grad_ += n * p.grid_grad_stride[0];
  }

  void Run() const {
    if (p_.want_grid_grad) ClearGridGrad();
    for (int64_t c = 0; c < p_.shape.c; ++c)
      ClearInputGrad(p_, sums_ + c * p_.input_grad_stride[1], first_row_, end_row_);
    Pixels pixels;
    HWY_ALIGN F copy[kLocated];
    for (int64_t first = 0; first < points_; first += kLocated) {
      const int64_t count = std::min(kLocated, points_ - first);
      Locate(first, count, &pixels);
      if (pixels.count == 0) continue;
      for (int64_t c = 0; c < p_.shape.c; ++c) {
        AddPoints(pixels, pixels.count == count, GradOutput(c, first, count, copy),
                  sums_ + c * p_.input_grad_stride[1]);
      }
    }
  }

 private:
  // Moving a point moves no nearest pixel: zeros, of the strip's share of the points.
  void ClearGridGrad() const {
    const PointStrides at = GridPointsOf(p_.shape, p_.grid_grad_stride);
    if (HasDensePairs(at)) {
      return Clear(grid_grad_ + 2 * first_point_, 2 * (end_point_ - first_point_));
    }
    for (int64_t k = first_point_; k < end_point_; ++k) {
      F* const pair = grid_grad_ + at.OffsetOf(k);
      pair[0] = pair[at.channel_stride] = 0;
    }
  }

  HWY_NOINLINE void Locate(int64_t first, int64_t count, Pixels* HWY_RESTRICT pixels) const {
    const D d;
    const DI di;
    const auto width = hn::Set(di, static_cast<int32_t>(p_.shape.w));
    const auto rows = hn::Set(di, static_cast<int32_t>(end_row_ - first_row_));
    const auto first_row = hn::Set(di, static_cast<int32_t>(first_row_));
    const auto down = hn::Set(di, static_cast<int32_t>(p_.input_grad_stride[2]));
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    size_t listed = 0;
    for (int64_t i = 0; i < count; i += lanes) {
      V x = hn::Zero(d);
      V y = x;
      const int64_t left = std::min(lanes, count - i);
      ReadPoints(d, grid_at_, grid_, first + i, left, x, y);
      hn::Mask<D> unusable;
      LocateAny(d, geometry_, x, y, x, y, unusable);
      const auto column = ToIndex(d, hn::Round(x));
      const auto row = ToIndex(d, hn::Round(y));
      const auto touching =
          hn::And(hn::And(IsBelow(di, column, width), IsBelow(di, hn::Sub(row, first_row), rows)),
                  hn::FirstN(di, static_cast<size_t>(left)));
      const auto number = hn::Iota(di, static_cast<int32_t>(i));
      const auto offset = hn::Add(hn::Mul(row, down), column);
      StoreListed(number, touching, di, pixels->number + listed);
      listed += StoreListed(offset, touching, di, pixels->offset + listed);
    }
    pixels->count = static_cast<int64_t>(listed);
  }

  // Of points [first, first + count), in the tensor itself or copied.
  const F* GradOutput(int64_t c, int64_t first, int64_t count, F* HWY_RESTRICT copy) const {
    const PointStrides& at = grad_output_at_;
    const F* from = grad_output_ + c * at.channel_stride;
    if (at.flat && at.pixel_stride == 1) return from + first;
    for (int64_t k = 0; k < count; ++k) copy[k] = from[at.OffsetOf(first + k)];
    return copy;
  }

  // In order. `all`: no point is left out.
  static HWY_NOINLINE void AddPoints(const Pixels& pixels, bool all, const F* HWY_RESTRICT g,
                                     F* HWY_RESTRICT plane) {
    if (HWY_LIKELY(all)) {
      for (int64_t j = 0; j < pixels.count; ++j) plane[pixels.offset[j]] += g[j];
      return;
    }
    for (int64_t j = 0; j < pixels.count; ++j) plane[pixels.offset[j]] += g[pixels.number[j]];
  }

  const Params& p_;
  int64_t points_;
  int64_t first_row_;
  int64_t end_row_;
  int64_t first_point_;
  int64_t end_point_;
  PointGeometry<F> geometry_;
  PointStrides grid_at_;
  PointStrides grad_output_at_;
  const F* grid_;
  const F* grad_output_;
  F* sums_;
  F* grid_grad_;
};

}  // namespace

void RunScatter(const Params& p, const ScatterGeometry& g) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, base::ComputeType<T>>) {
      runtime::ParallelFor(p.shape.n * g.strips, g.grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          ScatterStrip<T>(p, g, i / g.strips, i % g.strips).Run();
        }
      });
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
