// gridGrad, bicubic and tricubic: a point in each lane of a vector, its 16 or 64 taps gathered
// straight from the images or volumes of input, channel by channel. No workspace.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_backward_cubic.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_cubic-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class Params, class T, bool kPairs, bool kJoined = false>
class CubicGridGrad : PointGridGrad<Params, T, kPairs, kJoined> {
  using Base = PointGridGrad<Params, T, kPairs, kJoined>;
  using typename Base::D;
  using typename Base::F;
  using typename Base::Points;
  using typename Base::V;
  using VI = hn::Vec<IndexTag<D>>;
  using Base::kAxes;
  using Base::p_;
  using Base::source_;
  using Taps = CubicGroup<F, kAxes>;

 public:
  explicit CubicGridGrad(const Params& p) : Base(p) {}

  // Points [first, last) of image or volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    Taps taps;
    Base::ForPoints(n, first, last,
                    [&](const Points& points, V& x, V& y, V& z)
                        PORTACL_INLINE_LAMBDA { Step(points, taps, Axes(x, y, z)); });
  }

 private:
  // From the points' coordinates to their gradients; `taps` is memory for them.
  HWY_INLINE void Step(const Points& points, Taps& taps, const Axes<V>& at) const {
    const D d;
    V slope_x, slope_y, slope_z;
    hn::Mask<D> unusable;
    hn::Mask<D> outside;
    const Axes slope(slope_x, slope_y, slope_z);
    LocatePoints(d, source_.geometry, at, slope, unusable, outside);
    const VI first = FirstTapOf(source_, at);
    if (HWY_LIKELY(WeighCubic<true>(source_.geometry, at, 0, &taps))) {
      SumInside(points, taps, first, at);
    } else {
      IndexCubic(source_.geometry, at, 0, &taps);
      SumAny(points, taps, at);
    }
    FinishGrads<kAxes>(d, at, slope, unusable, outside);
  }

  HWY_INLINE void SumInside(const Points& points, const Taps& taps, VI first_of_image,
                            const Axes<V>& sum) const {
    const VI first = hn::Add(first_of_image, Base::ImagesOf(points));
    Sum(
        points, taps,
        [&](const T* channel, size_t row, V& v0, V& v1, V& v2, V& v3)
            PORTACL_INLINE_LAMBDA { GatherCubicRow(source_, channel, first, row, v0, v1, v2, v3); },
        sum);
  }

  HWY_NOINLINE void SumAny(const Points& points, const Taps& taps, const Axes<V>& sum) const {
    if constexpr (kAxes == 2 && kPairs) {
      if (HWY_LIKELY(ArePairs(source_, taps))) {
        return Sum(
            points, taps,
            [&](const T* channel, size_t row, V& v0, V& v1, V& v2, V& v3) PORTACL_INLINE_LAMBDA {
              const VI image = Base::ImagesOf(points);
              const V nothing = source_.Nothing(0);
              hn::Mask<D> none;
              GatherCubicPair(source_, channel, taps, 4 * row, image, nothing, v0, v1, none, none);
              GatherCubicPair(source_, channel, taps, 4 * row + 2, image, nothing, v2, v3, none,
                              none);
            },
            sum);
      }
    }
    Sum(
        points, taps,
        [&](const T* channel, size_t row, V& v0, V& v1, V& v2, V& v3) PORTACL_INLINE_LAMBDA {
          const auto tap = [&](size_t i) PORTACL_INLINE_LAMBDA {
            hn::Mask<D> none;
            return GatherCubicTap(source_, channel, taps, 4 * row + i, Base::ImagesOf(points),
                                  source_.Nothing(0), none);
          };
          v0 = tap(0);
          v1 = tap(1);
          v2 = tap(2);
          v3 = tap(3);
        },
        sum);
  }

  // The sums over the channels, before the coordinates' slopes. read(channel, row, v0, v1, v2, v3)
  // reads row `row` of the taps (tap / 4).
  template <class Read>
  HWY_INLINE void Sum(const Points& points, const Taps& taps, const Read& read,
                      const Axes<V>& sum) const {
    const D d;
    const auto weight = [&](size_t axis, size_t tap)
                            PORTACL_INLINE_LAMBDA { return hn::Load(d, taps.weight[axis][tap]); };
    const auto slope = [&](size_t axis, size_t tap)
                           PORTACL_INLINE_LAMBDA { return hn::Load(d, taps.slope[axis][tap]); };
    if constexpr (kAxes == 2) {
      SumBlocks<F>(
          p_.shape.c,
          [&](int64_t c, V& x, V& y) PORTACL_INLINE_LAMBDA {
            const T* const image = points.input + c * p_.input_stride[1];
            V value;
            BicubicSlopes(
                d,
                [&](size_t j, V& v0, V& v1, V& v2, V& v3)
                    PORTACL_INLINE_LAMBDA { read(image, j, v0, v1, v2, v3); },
                weight, slope, x, y, value);
            const V g = Base::GradOutput(points, c);
            x = hn::Mul(g, x);
            y = hn::Mul(g, y);
          },
          sum.x, sum.y);
    } else {
      SumBlocks<F>(
          p_.shape.c,
          [&](int64_t c, V& x, V& y, V& z) PORTACL_INLINE_LAMBDA {
            const T* const volume = points.input + c * p_.input_stride[1];
            TricubicSlopes(
                d,
                [&](size_t k, size_t j, V& v0, V& v1, V& v2, V& v3)
                    PORTACL_INLINE_LAMBDA { read(volume, 4 * k + j, v0, v1, v2, v3); },
                weight, slope, x, y, z);
            const V g = Base::GradOutput(points, c);
            x = hn::Mul(g, x);
            y = hn::Mul(g, y);
            z = hn::Mul(g, z);
          },
          sum.x, sum.y, sum.z);
    }
  }
};

}  // namespace

void RunCubicGridGrad(const ops::GridSampler2DBackwardParams& p, const PointGathers& gathers) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!gathers.pairs) {
      RunOverChunks<CubicGridGrad<ops::GridSampler2DBackwardParams, T, false>>(p, gathers.chunks);
    } else if (gathers.joined) {
      RunOverChunks<CubicGridGrad<ops::GridSampler2DBackwardParams, T, true, true>>(p,
                                                                                    gathers.chunks);
    } else {
      RunOverChunks<CubicGridGrad<ops::GridSampler2DBackwardParams, T, true>>(p, gathers.chunks);
    }
  });
}

void RunCubicGridGrad(const ops::GridSampler3DBackwardParams& p, const GatheredGridGrad& gathers) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (gathers.pairs) {
      RunOverChunks<CubicGridGrad<ops::GridSampler3DBackwardParams, T, true>>(p, gathers.chunks);
    } else {
      RunOverChunks<CubicGridGrad<ops::GridSampler3DBackwardParams, T, false>>(p, gathers.chunks);
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
