// Shared code of the kernels of gridGrad: slopes of linear points, the loop over the points of
// images or volumes, and sums over channels. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_BACKWARD_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_BACKWARD_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_BACKWARD_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_source-inl.h"
#include "cpu/machine/machine.h"
#include "cpu/vector/highway.h"
#include "ops/grid_sampler_params.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Computes gridGrad of bicubic or tricubic points on the path "direct".
template <class Params>
void RunCubicGridGrad(const Params& params, const PointGathers& gathers);

// Computes the slopes of a bilinear point along x and y. read(plane, nw, ne, sw, se) reads the
// taps; t(axis) and u(axis) are the distances from the taps before and behind the point.
template <class D, class Read, class Before, class Behind, class V = hn::Vec<D>>
HWY_INLINE void LinearSlopes(D d, const Read& read, const Before& t, const Behind& u, V& x, V& y) {
  V nw, ne, sw, se;
  read(kAbove, nw, ne, sw, se);
  x = TapSlope(d, nw, ne, sw, se, t(1), u(1));
  y = TapSlope(d, nw, sw, ne, se, t(0), u(0));
}

// Computes the slopes of a trilinear point. Slopes along x and y come from the slopes in the planes
// kAbove and kBelow, the slope along z from the values in these planes.
template <class D, class Read, class Before, class Behind, class V = hn::Vec<D>>
HWY_INLINE void LinearSlopes(D d, const Read& read, const Before& t, const Behind& u, V& x, V& y,
                             V& z) {
  const V tx = t(0);
  const V ty = t(1);
  const V tz = t(2);
  const V ux = u(0);
  const V uy = u(1);
  const V uz = u(2);
  const auto plane = [&](auto which, V& slope_x, V& slope_y, V& value) PORTACL_INLINE_LAMBDA {
    V nw, ne, sw, se;
    read(which, nw, ne, sw, se);
    slope_x = TapSlope(d, nw, ne, sw, se, ty, uy);
    slope_y = TapSlope(d, nw, sw, ne, se, tx, ux);
    const V upper = hn::MulAdd(ne, tx, hn::Mul(nw, ux));
    const V lower = hn::MulAdd(se, tx, hn::Mul(sw, ux));
    value = hn::MulAdd(lower, ty, hn::Mul(upper, uy));
  };
  V top_x, top_y, top, bottom_x, bottom_y, bottom;
  plane(kAbove, top_x, top_y, top);
  plane(kBelow, bottom_x, bottom_y, bottom);
  x = hn::MulAdd(bottom_x, tz, hn::Mul(top_x, uz));
  y = hn::MulAdd(bottom_y, tz, hn::Mul(top_y, uz));
  z = hn::Sub(bottom, top);
}

// Turns sums of slopes over channels into gridGrad, in place. The points may be anywhere.
template <int kAxes, class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE void FinishGrads(D d, const Axes<V>& sum, const Axes<V>& slope, M unusable, M infinite) {
  sum.x = FinishGrad(d, sum.x, slope.x, unusable, infinite);
  sum.y = FinishGrad(d, sum.y, slope.y, unusable, infinite);
  if constexpr (kAxes == 3) sum.z = FinishGrad(d, sum.z, slope.z, unusable, infinite);
}

// Shared part of the kernels of gridGrad with a point in each lane. Params is for images or
// volumes. kPairs: see TapSource. kJoined: several small images of `points` points each count as
// one; its point p is point p % points of image number p / points.
template <class Params, class T, bool kPairs, bool kJoined = false>
class PointGridGrad {
 protected:
  using F = base::ComputeType<T>;
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  using Source = TapSource<F, Params, kPairs>;
  static constexpr int kAxes = Source::kAxes;

  // A vector of points of an image or volume.
  struct Points {
    const T* input;
    const T* grad_output;
    int64_t first;
    int64_t count;
    // Only for joined images. image: offset of each lane's image. value: offset of each lane's
    // gradOutput; null if gradOutput is read as of one image.
    const int32_t* image = nullptr;
    const int64_t* value = nullptr;
  };

  // For images, searching windows takes longer than the gathers that windows save.
  explicit PointGridGrad(const Params& p)
      : p_(p),
        source_(p, kAxes == 3 && kHasFloatWindows && GathersAreSlow() && std::is_same_v<T, float>),
        grid_grad_at_(GridPointsOf(p.shape, p.grid_grad_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)) {
    if constexpr (kJoined) {
      joined_.Prepare(p.shape, p.input_stride[0], p.grad_output_stride, grad_output_at_);
    }
  }

  // Calls step(points, x, y, z) for vectors of points [first, last) of image or volume n. step()
  // replaces the coordinates by gradients, and they are written to gridGrad.
  template <class Step>
  HWY_INLINE void ForPoints(int64_t n, int64_t first, int64_t last, const Step& step) const {
    const T* const grid = static_cast<const T*>(p_.grid) + n * p_.grid_stride[0];
    const T* const input = static_cast<const T*>(p_.input) + n * p_.input_stride[0];
    const T* const grad_output =
        static_cast<const T*>(p_.grad_output) + n * p_.grad_output_stride[0];
    T* const out = static_cast<T*>(p_.grid_grad) + n * p_.grid_grad_stride[0];
    ForGridVectors<kAxes>(source_.grid_at, grid, first, last,
                          [&](int64_t p, int64_t count, V x, V y, V z) PORTACL_INLINE_LAMBDA {
                            Points points = {input, grad_output, p, count};
                            if constexpr (kJoined) PlaceJoined(&points);
                            step(points, x, y, z);
                            WritePoints<kAxes>(D(), grid_grad_at_, out, p, count, Axes(x, y, z));
                          });
  }

  // Reads gradOutput of one channel.
  HWY_INLINE V GradOutput(const Points& points, int64_t c) const {
    const T* const from = points.grad_output + c * grad_output_at_.channel_stride;
    if (kJoined && points.value != nullptr) {
      HWY_ALIGN F copy[hn::MaxLanes(D())] = {};
      for (int64_t k = 0; k < points.count; ++k) copy[k] = base::Widen(from[points.value[k]]);
      return hn::Load(D(), copy);
    }
    return ReadChannel(D(), grad_output_at_, from, points.first, points.count);
  }

  // Returns the offset of each lane's image in the form for WithTaps().
  static HWY_INLINE hn::Vec<DI> ImagesOf(const Points& points) {
    if constexpr (kJoined) return LoadImages(DI(), points.image, points.count);
    return hn::Zero(DI());
  }

  const Params& p_;
  Source source_;

 private:
  HWY_INLINE void PlaceJoined(Points* points) const {
    const int64_t image = points->first / joined_.points;
    const int64_t k = points->first - image * joined_.points;
    points->input += image * p_.input_stride[0];
    joined_.FetchAhead(points->input, k);
    points->grad_output += image * p_.grad_output_stride[0];
    points->first = k;
    points->image = joined_.image + k;
    const bool together = joined_.dense || k + points->count <= joined_.points;
    points->value = together ? nullptr : joined_.value + k;
  }

  PointStrides grid_grad_at_;
  PointStrides grad_output_at_;
  struct Nothing {};
  std::conditional_t<kJoined, JoinedImages<int64_t{hn::MaxLanes(D())}>, Nothing> joined_;
};

// Computes gridGrad from sums over channels that another path has made.
template <class Params, class T>
class TotalsGridGrad : PointGridGrad<Params, T, false> {
  using Base = PointGridGrad<Params, T, false>;

 public:
  using typename Base::D;
  using typename Base::F;
  using typename Base::V;

  explicit TotalsGridGrad(const Params& p) : Base(p) {}

  // Computes gridGrad of points [first, last) of image or volume n. read(p, count, sum) reads the
  // sums of slopes for `count` points from p on.
  template <class Read>
  void Run(int64_t n, int64_t first, int64_t last, const Read& read) const {
    Base::ForPoints(n, first, last,
                    [&](const auto& points, V& x, V& y, V& z) PORTACL_INLINE_LAMBDA {
                      const D d;
                      V slope_x, slope_y, slope_z;
                      hn::Mask<D> unusable, infinite;
                      const Axes at(x, y, z);
                      const Axes slope(slope_x, slope_y, slope_z);
                      LocatePoints(d, Base::source_.geometry, at, slope, unusable, infinite);
                      read(points.first, points.count, at);
                      FinishGrads<Base::kAxes>(d, at, slope, unusable, infinite);
                    });
  }
};

// Adds slopes(c, x, y[, z]) of any number of channels, block by block. Each block is summed by the
// tree, in memory.
template <class F, class Slopes, class... V>
HWY_INLINE void SumBlocks(int64_t channels, const Slopes& slopes, V&... sums) {
  const PointTag<F> d;
  constexpr size_t kSums = sizeof...(V);
  HWY_ALIGN F lanes[kBlockChannels][kSums][hn::MaxLanes(d)];
  const auto store = [&](int64_t c, auto... slope) PORTACL_INLINE_LAMBDA {
    slopes(c, slope...);
    size_t axis = 0;
    (hn::Store(slope, d, lanes[c % kBlockChannels][axis++]), ...);
  };
  ((sums = hn::Zero(d)), ...);
  for (int64_t first = 0; first < channels; first += kBlockChannels) {
    const int64_t count = std::min<int64_t>(kBlockChannels, channels - first);
    for (int64_t c = 0; c < count; ++c) store(first + c, sums...);
    for (int64_t half = kBlockChannels / 2; half >= 1; half /= 2) {
      for (int64_t c = 0; c < half && c + half < count; ++c) {
        for (size_t axis = 0; axis < kSums; ++axis) {
          F* const sum = lanes[c][axis];
          hn::Store(hn::Add(hn::Load(d, sum), hn::Load(d, lanes[c + half][axis])), d, sum);
        }
      }
    }
    size_t axis = 0;
    ((sums = hn::Add(sums, hn::Load(d, lanes[0][axis++]))), ...);
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
