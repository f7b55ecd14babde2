// gridGrad alone, bilinear: a point in each lane of a vector, its taps gathered straight from the
// planes of input, channel by channel. No slab, no lists, no workspace.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_direct.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_gather-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_paths-inl.h"
#include "cpu/machine/caches.h"
#include "cpu/machine/fetch.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;

template <class T, int kChannels>
class DirectGridGrad {
  using F = base::ComputeType<T>;
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  // An image keeps this part of L2, through which the grid, gradOutput and the results pass.
  static constexpr int64_t kStreams = 8;

 public:
  explicit DirectGridGrad(const Params& p)
      : p_(p),
        source_(p),
        grid_grad_at_(GridPointsOf(p.shape, p.grid_grad_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        fetches_rows_(p.shape.c * p.shape.h * p.shape.w * static_cast<int64_t>(sizeof(T)) >
                      L2CacheBytes() / kStreams) {}

  // Points [first, last) of image n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    return fetches_rows_ ? RunPoints<true>(n, first, last) : RunPoints<false>(n, first, last);
  }

 private:
  struct Image {
    const T* input;
    const T* grad_output;
  };

  // kFetch: the image's rows below the rows of the points at hand.
  template <bool kFetch>
  HWY_NOINLINE void RunPoints(int64_t n, int64_t first, int64_t last) const {
    const Image image = {static_cast<const T*>(p_.input) + n * p_.input_stride[0],
                         static_cast<const T*>(p_.grad_output) + n * p_.grad_output_stride[0]};
    const T* grid = static_cast<const T*>(p_.grid) + n * p_.grid_stride[0];
    T* out = static_cast<T*>(p_.grid_grad) + n * p_.grid_grad_stride[0];
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    V grid_x = hn::Zero(d);
    V grid_y = grid_x;
    V x = grid_x;
    V y = grid_x;
    for (int64_t p = first; p < last; p += lanes) {
      const int64_t count = std::min(lanes, last - p);
      ReadPoints(d, source_.grid_at, grid, p, count, grid_x, grid_y);
      if (HWY_UNLIKELY(!Points<kFetch>(image, grid_x, grid_y, p, last, x, y))) {
        AnyPoints(image, grid_x, grid_y, p, last, x, y);
      }
      WritePoints(d, grid_grad_at_, out, p, count, x, y);
    }
  }

  // gridGrad of a vector of points; results of points from `last` on mean nothing. False, and no
  // results, where the padding may concern one of them.
  template <bool kFetch>
  HWY_INLINE bool Points(const Image& image, V grid_x, V grid_y, int64_t first, int64_t last,
                         V& grad_x, V& grad_y) const {
    const D d;
    V x, y;
    if (!source_.LocateInside(grid_x, grid_y, x, y)) return false;
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    const auto at = source_.OffsetsOf(x0, y0);
    const int64_t below = hn::GetLane(at) + 2 * int64_t{source_.plane.row_stride};
    const auto gather = [&](const T* values, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
      GatherPairs(d, values, at, nw, ne);
      GatherPairs(d, values + source_.plane.row_stride, at, sw, se);
      if constexpr (kFetch) FetchElement<2>(values, below);
    };
    Sum(image, gather, x, y, x0, y0, first, last, grad_x, grad_y);
    grad_x = hn::Mul(grad_x, hn::Set(d, source_.geometry.x.pixels_per_unit));
    grad_y = hn::Mul(grad_y, hn::Set(d, source_.geometry.y.pixels_per_unit));
    return true;
  }

  // The same for points anywhere.
  HWY_NOINLINE void AnyPoints(const Image& image, V grid_x, V grid_y, int64_t first, int64_t last,
                              V& grad_x, V& grad_y) const {
    const D d;
    V x, y, slope_x, slope_y;
    hn::Mask<D> unusable, infinite;
    LocateAny(d, source_.geometry, grid_x, grid_y, x, y, slope_x, slope_y, unusable, infinite);
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    auto column = hn::Zero(DI());
    auto row = column;
    auto upper = column;
    auto lower = column;
    PlacePairs(d, x0, y0, source_.plane, column, row, upper, lower);
    const auto gather = [&](const T* values, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
      GatherPairs(d, values, upper, nw, ne);
      GatherPairs(d, values, lower, sw, se);
      KeepInside(d, source_.plane, column, row, hn::Zero(d), nw, ne, sw, se);
    };
    Sum(image, gather, x, y, x0, y0, first, last, grad_x, grad_y);
    grad_x = FinishGrad(d, grad_x, slope_x, unusable, infinite);
    grad_y = FinishGrad(d, grad_y, slope_y, unusable, infinite);
  }

  // The sums of the points at (x, y), floored (x0, y0), over the channels, before the coordinates'
  // slopes. gather(plane, nw, ne, sw, se) reads their taps.
  template <class Gather>
  HWY_INLINE void Sum(const Image& image, const Gather& gather, V x, V y, V x0, V y0, int64_t first,
                      int64_t last, V& sum_x, V& sum_y) const {
    const D d;
    V tx, ux, ty, uy;
    BilinearDistances(d, x, x0, tx, ux);
    BilinearDistances(d, y, y0, ty, uy);
    const auto slopes = [&](int64_t c, V& sx, V& sy) PORTACL_INLINE_LAMBDA {
      V nw, ne, sw, se;
      gather(image.input + c * p_.input_stride[1], nw, ne, sw, se);
      const V g =
          ReadChannel(d, grad_output_at_, image.grad_output + c * grad_output_at_.channel_stride,
                      first, std::min(static_cast<int64_t>(hn::Lanes(d)), last - first));
      sx = hn::Mul(g, TapSlope(d, nw, ne, sw, se, ty, uy));
      sy = hn::Mul(g, TapSlope(d, nw, sw, ne, se, tx, ux));
    };
    SumTree<kChannels, kMaxDirectChannels, 0, 1>(slopes, sum_x, sum_y);
    // What adding the lanes that the block lacks would make of -0.
    sum_x = hn::Add(hn::Zero(d), sum_x);
    sum_y = hn::Add(hn::Zero(d), sum_y);
  }

  const Params& p_;
  PairSource<F> source_;
  PointStrides grid_grad_at_;
  PointStrides grad_output_at_;
  bool fetches_rows_;
};

// With the call's number of channels, kChannels or more, as a constant.
template <class T, int kChannels>
void RunChannels(const Params& p, const PointChunks& chunks) {
  if constexpr (kChannels < kMaxDirectChannels) {
    if (p.shape.c > kChannels) return RunChannels<T, kChannels + 1>(p, chunks);
  }
  RunOverChunks<DirectGridGrad<T, kChannels>>(p, chunks);
}

}  // namespace

void RunPath(const Params& p, const PointChunks& chunks, void* /*workspace*/) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    RunChannels<T, 1>(p, chunks);
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
