// gridGrad of bicubic and tricubic points. Each lane of a vector has one point; its 16 or 64 taps
// are gathered from input, channel by channel. No workspace.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_backward_cubic.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_taps-inl.h"

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

  // Computes gridGrad of points [first, last) of image or volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    Taps taps;
    Base::ForPoints(n, first, last,
                    [&](const Points& points, V& x, V& y, V& z)
                        PORTACL_INLINE_LAMBDA { Step(points, taps, Axes(x, y, z)); });
  }

 private:
  // Replaces the points' coordinates by gradients. `taps` is scratch memory.
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
    WithCubicRows(source_, taps, Base::ImagesOf(points), source_.Nothing(0),
                  [&](const auto& read) PORTACL_INLINE_LAMBDA {
                    const auto row = [&](const T* channel, size_t i, V& v0, V& v1, V& v2, V& v3)
                                         PORTACL_INLINE_LAMBDA {
                                           hn::Mask<D> none;
                                           read(channel, i, v0, v1, v2, v3, none, none, none, none);
                                         };
                    Sum(points, taps, row, sum);
                  });
  }

  // Sums over the channels; the coordinates' slopes are not yet applied. read(channel, row, v0, v1,
  // v2, v3) reads row `row` (tap / 4) of the taps.
  template <class Read>
  HWY_INLINE void Sum(const Points& points, const Taps& taps, const Read& read,
                      const Axes<V>& sum) const {
    const D d;
    const auto weight = [&](size_t axis, size_t tap)
                            PORTACL_INLINE_LAMBDA { return hn::Load(d, taps.weight[axis][tap]); };
    const auto slope = [&](size_t axis, size_t tap)
                           PORTACL_INLINE_LAMBDA { return hn::Load(d, taps.slope[axis][tap]); };
    const auto slopes_of = [&](int64_t c, auto&... slopes) PORTACL_INLINE_LAMBDA {
      const T* const channel = points.input + c * p_.input_stride[1];
      CubicSlopes(
          d,
          [&](size_t k, size_t j, V& v0, V& v1, V& v2, V& v3)
              PORTACL_INLINE_LAMBDA { read(channel, 4 * k + j, v0, v1, v2, v3); },
          weight, slope, slopes...);
      const V g = Base::GradOutput(points, c);
      ((slopes = hn::Mul(g, slopes)), ...);
    };
    WithAxes<kAxes>(sum, [&](auto&... sums) PORTACL_INLINE_LAMBDA {
      SumBlocks<F>(p_.shape.c, slopes_of, sums...);
    });
  }
};

}  // namespace

template <class Params>
void RunCubicGridGrad(const Params& p, const PointGathers& gathers) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!gathers.pairs) return RunOverChunks<CubicGridGrad<Params, T, false>>(p, gathers.chunks);
    if constexpr (kAxesOf<Params> == 2) {
      if (gathers.joined) {
        return RunOverChunks<CubicGridGrad<Params, T, true, true>>(p, gathers.chunks);
      }
    }
    RunOverChunks<CubicGridGrad<Params, T, true>>(p, gathers.chunks);
  });
}
template void RunCubicGridGrad(const ops::GridSampler2DBackwardParams&, const PointGathers&);
template void RunCubicGridGrad(const ops::GridSampler3DBackwardParams&, const PointGathers&);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
