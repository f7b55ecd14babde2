// gridGrad of bilinear and trilinear points, without inputGrad. Each lane of a vector has one
// point; its taps are gathered from input, channel by channel. No slab, no lists, no
// workspace.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_backward_direct.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/machine/fetch.h"
#include "cpu/machine/machine.h"
#include "cpu/vector/channel_tree-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// kChannels: the call's channels, if so few that their sums stay in registers; else 0.
template <class Params, class T, int kChannels, bool kPairs, bool kJoined = false>
class LinearGridGrad : PointGridGrad<Params, T, kPairs, kJoined> {
  using Base = PointGridGrad<Params, T, kPairs, kJoined>;
  using Base::kAxes;
  using Base::p_;
  using Base::source_;
  using typename Base::D;
  using typename Base::F;
  using typename Base::Points;
  using typename Base::V;
  // Images above this part of L2 do not stay there: the grid, gradOutput and results pass too.
  static constexpr int64_t kStreams = 8;

 public:
  explicit LinearGridGrad(const Params& p)
      : Base(p),
        fetches_rows_(kAxes == 2 && !kJoined &&
                      p.shape.c * p.shape.h * p.shape.w * static_cast<int64_t>(sizeof(T)) >
                          L2CacheBytes() / kStreams) {}

  // Computes gridGrad of points [first, last) of image or volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    if constexpr (kAxes == 2 && !kJoined) {
      if (fetches_rows_) return RunPoints<true>(n, first, last);
    }
    RunPoints<false>(n, first, last);
  }

 private:
  // kFetch: fetches the image rows below the rows that the points read.
  template <bool kFetch>
  HWY_NOINLINE void RunPoints(int64_t n, int64_t first, int64_t last) const {
    Trial window_trial;
    Trial inside_trial;
    Base::ForPoints(n, first, last,
                    [&](const Points& points, V& x, V& y, V& z) PORTACL_INLINE_LAMBDA {
                      bool inside = false;
                      if (inside_trial.IsDue()) {
                        inside = PointsInside<kFetch>(points, window_trial, Axes(x, y, z));
                        inside_trial.Note(inside);
                      }
                      if (HWY_UNLIKELY(!inside)) {
                        V grad_x, grad_y;  // x and y themselves would be in memory
                        V grad_z = z;
                        AnyPoints(points, x, y, z, grad_x, grad_y, grad_z);
                        x = grad_x;
                        y = grad_y;
                        z = grad_z;
                      }
                    });
  }

  // Replaces the points' coordinates by gradients. Returns false and does nothing if padding may
  // matter for one of the points.
  template <bool kFetch>
  HWY_INLINE bool PointsInside(const Points& points, Trial& window_trial,
                               const Axes<V>& grads) const {
    const D d;
    const auto& geometry = source_.geometry;
    V x = hn::Zero(d);
    V y = x;
    V z = x;
    const Axes at(x, y, z);
    if (!LocateInside(d, geometry, grads, at)) return false;
    const int64_t below =
        hn::GetLane(source_.OffsetsOf(ToIndex(d, hn::Floor(x)), ToIndex(d, hn::Floor(y)),
                                      ToIndex(d, hn::Floor(z)))) +
        2 * int64_t{source_.size.row};
    source_.template WithTapsInside<kAxes == 3>(
        at, Base::ImagesOf(points), window_trial, [&](const auto& gather) PORTACL_INLINE_LAMBDA {
          Sum(
              points, at,
              [&](const T* channel, auto plane, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
                gather(channel, plane, nw, ne, sw, se);
                if constexpr (kFetch) FetchElement<2>(channel, below);
              },
              grads);
        });
    grads.x = hn::Mul(grads.x, hn::Set(d, geometry.x.pixels_per_unit));
    grads.y = hn::Mul(grads.y, hn::Set(d, geometry.y.pixels_per_unit));
    if constexpr (kAxes == 3) grads.z = hn::Mul(grads.z, hn::Set(d, geometry.z.pixels_per_unit));
    return true;
  }

  // Computes gradients of points anywhere.
  HWY_NOINLINE void AnyPoints(Points points, V x, V y, V z, V& grad_x, V& grad_y, V& grad_z) const {
    const D d;
    V sum_x, sum_y, sum_z;
    V slope_x, slope_y, slope_z;
    hn::Mask<D> unusable, infinite;
    const Axes at(x, y, z);
    const Axes slope(slope_x, slope_y, slope_z);
    const Axes sum(sum_x, sum_y, sum_z);
    LocatePoints(d, source_.geometry, at, slope, unusable, infinite);
    const auto add = [&](const auto& gather)
                         PORTACL_INLINE_LAMBDA { Sum(points, at, gather, sum); };
    source_.template WithTapsOfRule<T>(at, Base::ImagesOf(points), source_.Nothing(0), add);
    FinishGrads<kAxes>(d, sum, slope, unusable, infinite);
    grad_x = sum_x;
    grad_y = sum_y;
    if constexpr (kAxes == 3) grad_z = sum_z;
  }

  // Sums located points over the channels; the coordinates' slopes are not yet applied.
  // gather(channel, plane, nw, ne, sw, se) reads the taps in a plane.
  template <class Gather>
  HWY_INLINE void Sum(const Points& points, const Axes<V>& at, const Gather& gather,
                      const Axes<V>& sum) const {
    const D d;
    V tx, ux, ty, uy, tz, uz;
    BilinearDistances(d, at.x, hn::Floor(at.x), tx, ux);
    BilinearDistances(d, at.y, hn::Floor(at.y), ty, uy);
    BilinearDistances(d, at.z, hn::Floor(at.z), tz, uz);  // for images: y again
    const auto of = [](size_t axis, V x, V y, V z) PORTACL_INLINE_LAMBDA {
      return axis == 0 ? x : axis == 1 ? y : z;
    };
    const auto slopes_of = [&](int64_t c, auto&... slopes) PORTACL_INLINE_LAMBDA {
      const T* const channel = points.input + c * p_.input_stride[1];
      LinearSlopes(
          d,
          [&](auto plane, V& nw, V& ne, V& sw, V& se)
              PORTACL_INLINE_LAMBDA { gather(channel, plane, nw, ne, sw, se); },
          [&](size_t axis) PORTACL_INLINE_LAMBDA { return of(axis, tx, ty, tz); },
          [&](size_t axis) PORTACL_INLINE_LAMBDA { return of(axis, ux, uy, uz); }, slopes...);
      const V g = Base::GradOutput(points, c);
      ((slopes = hn::Mul(g, slopes)), ...);
    };
    WithAxes<kAxes>(sum,
                    [&](auto&... sums) PORTACL_INLINE_LAMBDA { AddChannels(slopes_of, sums...); });
  }

  // Adds up slopes(c, sums...) of all channels by the tree.
  template <class Slopes, class... Sums>
  HWY_INLINE void AddChannels(const Slopes& slopes, Sums&... sums) const {
    if constexpr (kChannels > 0) {
      SumTree<kChannels, kBlockChannels, 0, 1>(slopes, sums...);
      // The tree adds missing lanes of a block, which turns -0 into +0. So does this addition.
      ((sums = hn::Add(hn::Zero(D()), sums)), ...);
    } else {
      SumBlocks<F>(p_.shape.c, slopes, sums...);
    }
  }

  bool fetches_rows_;
};

// Up to so many channels, their number is a compile-time constant.
template <class Params, class T, bool kJoined>
inline constexpr int kMostConstant = kJoined                    ? 2
                                     : kAxesOf<Params> == 2     ? 4
                                     : std::is_same_v<T, float> ? 3
                                                                : 0;

// Runs LinearGridGrad with the number of channels as a constant: kChannels or more; 0 if many.
template <class Params, class T, bool kJoined,
          int kChannels = std::min(1, kMostConstant<Params, T, kJoined>)>
void RunPairs(const Params& p, const PointChunks& chunks) {
  if constexpr (kChannels > 0) {
    constexpr int kNext = kChannels < kMostConstant<Params, T, kJoined> ? kChannels + 1 : 0;
    if (p.shape.c > kChannels) return RunPairs<Params, T, kJoined, kNext>(p, chunks);
  }
  RunOverChunks<LinearGridGrad<Params, T, kChannels, true, kJoined>>(p, chunks);
}

}  // namespace

template <class T, class Params>
void RunElements(const Params& p, const PointGathers& gathers, void* /*workspace*/) {
  if (p.shape.interpolation == Interpolation::kBicubic) return RunCubicGridGrad(p, gathers);
  if (p.shape.interpolation == Interpolation::kNearest) {
    RunOverChunks<NoGridGrad<Params, T>>(p, gathers.chunks);
  } else if (!gathers.pairs) {
    RunOverChunks<LinearGridGrad<Params, T, 0, false>>(p, gathers.chunks);
  } else if (kAxesOf<Params> == 2 && gathers.joined) {
    RunPairs<Params, T, kAxesOf<Params> == 2>(p, gathers.chunks);
  } else {
    RunPairs<Params, T, false>(p, gathers.chunks);
  }
}
PORTACL_PATH_OF_ELEMENTS(ops::GridSampler2DBackwardParams, PointGathers)
PORTACL_PATH_OF_ELEMENTS(ops::GridSampler3DBackwardParams, PointGathers)

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
