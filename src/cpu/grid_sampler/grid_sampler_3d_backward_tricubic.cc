// gridGrad of volumes, tricubic: a point in each lane of a vector, its 64 taps gathered straight
// from the volumes of input, channel by channel. No workspace.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_3d_backward_tricubic.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_cubic-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler3DBackwardParams;

template <class T, bool kPairs>
class TricubicGridGrad : PointGridGrad<Params, T, kPairs> {
  using Base = PointGridGrad<Params, T, kPairs>;
  using typename Base::D;
  using typename Base::F;
  using typename Base::Points;
  using typename Base::V;
  using VI = hn::Vec<IndexTag<D>>;
  using Base::p_;
  using Base::source_;

 public:
  explicit TricubicGridGrad(const Params& p) : Base(p) {}

  // Points [first, last) of volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    CubicGroup3D<F> taps;
    Base::ForPoints(n, first, last,
                    [&](const Points& points, V& x, V& y, V& z)
                        PORTACL_INLINE_LAMBDA { Step(points, taps, x, y, z); });
  }

 private:
  // From the points' coordinates to their gradients; `taps` is memory for them.
  HWY_INLINE void Step(const Points& points, CubicGroup3D<F>& taps, V& x, V& y, V& z) const {
    const D d;
    V slope_x, slope_y, slope_z;
    hn::Mask<D> unusable;
    hn::Mask<D> outside;
    const Axes slope(slope_x, slope_y, slope_z);
    LocatePoints(d, source_.geometry, Axes(x, y, z), slope, unusable, outside);
    const VI first = FirstTapOf(source_, Axes(x, y, z));
    if (HWY_LIKELY(PlaceCubic(source_.geometry, x, y, z, 0, &taps))) {
      SumInside(points, taps, first, x, y, z);
    } else {
      SumAny(points, taps, x, y, z);
    }
    FinishGrads<3>(d, Axes(x, y, z), slope, unusable, outside);
  }

  HWY_INLINE void SumInside(const Points& points, const CubicGroup3D<F>& taps, VI first, V& x, V& y,
                            V& z) const {
    Sum(
        points, taps,
        [&](const T* volume, size_t k, size_t j, V& v0, V& v1, V& v2, V& v3) PORTACL_INLINE_LAMBDA {
          GatherCubicRow(source_, volume, first, 4 * k + j, v0, v1, v2, v3);
        },
        x, y, z);
  }

  HWY_NOINLINE void SumAny(const Points& points, const CubicGroup3D<F>& taps, V& x, V& y,
                           V& z) const {
    Sum(
        points, taps,
        [&](const T* volume, size_t k, size_t j, V& v0, V& v1, V& v2, V& v3) PORTACL_INLINE_LAMBDA {
          const auto tap = [&](size_t i) PORTACL_INLINE_LAMBDA {
            hn::Mask<D> none;
            return GatherCubicTap(source_, volume, taps, 16 * k + 4 * j + i,
                                  hn::Zero(IndexTag<D>()), hn::Zero(D()), none);
          };
          v0 = tap(0);
          v1 = tap(1);
          v2 = tap(2);
          v3 = tap(3);
        },
        x, y, z);
  }

  // The sums over the channels, before the coordinates' slopes. row(volume, k, j, v0, v1, v2, v3)
  // reads one row of the taps.
  template <class Row>
  HWY_INLINE void Sum(const Points& points, const CubicGroup3D<F>& taps, const Row& row, V& x, V& y,
                      V& z) const {
    SumBlocks<F>(
        p_.shape.c,
        [&](int64_t c, V& sx, V& sy, V& sz) PORTACL_INLINE_LAMBDA {
          const D d;
          const T* const volume = points.input + c * p_.input_stride[1];
          CubicSlopes(
              d,
              [&](size_t k, size_t j, V& v0, V& v1, V& v2, V& v3)
                  PORTACL_INLINE_LAMBDA { row(volume, k, j, v0, v1, v2, v3); },
              [&](size_t axis, size_t tap)
                  PORTACL_INLINE_LAMBDA { return hn::Load(d, taps.weight[axis][tap]); },
              [&](size_t axis, size_t tap)
                  PORTACL_INLINE_LAMBDA { return hn::Load(d, taps.slope[axis][tap]); },
              sx, sy, sz);
          const V g = Base::GradOutput(points, c);
          sx = hn::Mul(g, sx);
          sy = hn::Mul(g, sy);
          sz = hn::Mul(g, sz);
        },
        x, y, z);
  }
};

}  // namespace

void RunTricubicGridGrad(const Params& p, const GatheredGridGrad& gathers) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (gathers.pairs) {
      RunOverChunks<TricubicGridGrad<T, true>>(p, gathers.chunks);
    } else {
      RunOverChunks<TricubicGridGrad<T, false>>(p, gathers.chunks);
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
