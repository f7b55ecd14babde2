// Grid sampling of volumes with a point in each lane of a vector, its taps gathered straight from
// the volumes, channel by channel: no workspace.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_3d_direct.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <limits>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_3d_cubic-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_gather-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_paths-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler3DParams;

// Sums start from +0 and take their taps in order, one fused multiply-add each. Taps outside the
// volume count as -0 with a weight of +0 or more, which leaves every sum as it is.
template <class T, Interpolation kInterpolation, bool kPairs>
class VolumeSampling {
  using F = base::ComputeType<T>;
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;

 public:
  explicit VolumeSampling(const Params& p)
      : p_(p), source_(p), output_at_(ValuePointsOf(p.shape, p.output_stride)) {}

  // Points [first, last) of volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    ForPointVectors(source_.grid_at, static_cast<const T*>(p_.grid) + n * p_.grid_stride[0],
                    static_cast<const T*>(p_.input) + n * p_.input_stride[0],
                    static_cast<T*>(p_.output) + n * p_.output_stride[0], first, last,
                    [&](const Points& points, V x, V y, V z) PORTACL_INLINE_LAMBDA {
                      if constexpr (kInterpolation == Interpolation::kBilinear) {
                        Trilinear(points, x, y, z);
                      } else if constexpr (kInterpolation == Interpolation::kNearest) {
                        Nearest(points, x, y, z);
                      } else {
                        Tricubic(points, x, y, z);
                      }
                    });
  }

 private:
  using Points = VolumePointVector<T, T>;

  // Writes sample(volume) for every channel.
  template <class Sample>
  HWY_INLINE void ForChannels(const Points& points, const Sample& sample) const {
    for (int64_t c = 0; c < p_.shape.c; ++c) {
      const V values = sample(points.input + c * p_.input_stride[1]);
      WriteChannel(D(), values, output_at_, points.first, points.count,
                   points.values + c * output_at_.channel_stride);
    }
  }

  HWY_INLINE void Trilinear(const Points& points, V grid_x, V grid_y, V grid_z) const {
    V x, y, z;
    if (HWY_UNLIKELY(!LocateInside(D(), source_.geometry, grid_x, grid_y, grid_z, x, y, z))) {
      return AnyTrilinear(points, grid_x, grid_y, grid_z);
    }
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    const V z0 = hn::Floor(z);
    source_.template WithTapsInside<kPairs>(
        x0, y0, z0, [&](const auto& gather) PORTACL_INLINE_LAMBDA {
          Sum(points, x, y, z, x0, y0, z0, gather, [](V sum) PORTACL_INLINE_LAMBDA { return sum; });
        });
  }

  HWY_NOINLINE void AnyTrilinear(const Points& points, V x, V y, V z) const {
    const D d;
    const auto unusable = LocateTaps(source_.geometry, x, y, z);
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    const V z0 = hn::Floor(z);
    const V nan = hn::Set(d, std::numeric_limits<F>::quiet_NaN());
    source_.template WithTaps<kPairs>(
        x0, y0, z0, hn::Set(d, F{-0.0}), [&](const auto& gather) PORTACL_INLINE_LAMBDA {
          Sum(points, x, y, z, x0, y0, z0, gather,
              [&](V sum) PORTACL_INLINE_LAMBDA { return hn::IfThenElse(unusable, nan, sum); });
        });
  }

  template <class Gather, class Finish>
  HWY_INLINE void Sum(const Points& points, V x, V y, V z, V x0, V y0, V z0, const Gather& gather,
                      const Finish& finish) const {
    const D d;
    V tx, ux, ty, uy, tz, uz, weight_nw, weight_ne, weight_sw, weight_se;
    BilinearDistances(d, x, x0, tx, ux);
    BilinearDistances(d, y, y0, ty, uy);
    BilinearDistances(d, z, z0, tz, uz);
    BilinearWeights(d, tx, ux, ty, uy, weight_nw, weight_ne, weight_sw, weight_se);
    ForChannels(points, [&](const T* volume) PORTACL_INLINE_LAMBDA {
      V sum = hn::Zero(d);
      const auto add = [&](auto plane, V share) PORTACL_INLINE_LAMBDA {
        V nw, ne, sw, se;
        gather(volume, plane, nw, ne, sw, se);
        sum = hn::MulAdd(hn::Mul(weight_nw, share), nw, sum);
        sum = hn::MulAdd(hn::Mul(weight_ne, share), ne, sum);
        sum = hn::MulAdd(hn::Mul(weight_sw, share), sw, sum);
        sum = hn::MulAdd(hn::Mul(weight_se, share), se, sum);
      };
      add(kAbove, uz);
      add(kBelow, tz);
      return finish(sum);
    });
  }

  HWY_INLINE void Nearest(const Points& points, V x, V y, V z) const {
    const D d;
    const DI di;
    LocateTaps(source_.geometry, x, y, z);
    const VI column = ToIndex(d, hn::Round(x));
    const VI row = ToIndex(d, hn::Round(y));
    const VI plane = ToIndex(d, hn::Round(z));
    const auto inside = hn::And(hn::And(IsBelow(di, column, hn::Set(di, source_.size.width)),
                                        IsBelow(di, row, hn::Set(di, source_.size.height))),
                                IsBelow(di, plane, hn::Set(di, source_.size.depth)));
    const auto value_inside = ValueMask(d, inside);
    const VI at = hn::IfThenElseZero(inside, source_.OffsetsOf(column, row, plane));
    ForChannels(points, [&](const T* volume) PORTACL_INLINE_LAMBDA {
      const V value = GatherElements(d, volume, at);
      return hn::IfThenElseZero(value_inside, hn::Add(value, hn::Zero(d)));
    });
  }

  HWY_INLINE void Tricubic(const Points& points, V x, V y, V z) const {
    const D d;
    const auto unusable = LocateTaps(source_.geometry, x, y, z);
    CubicGroup3D<F> taps;
    const bool inside = PlaceCubic(source_.geometry, x, y, z, 0, &taps);
    if (HWY_UNLIKELY(!inside)) return AnyTricubic(points, unusable, taps);
    if (p_.shape.c == 1) {
      return SumRows(points, taps, [&](size_t k, size_t j, size_t i) PORTACL_INLINE_LAMBDA {
        return CubicWeight(taps, k, j, i, 0);
      });
    }
    HWY_ALIGN F weight[4][4][4][hn::MaxLanes(d)];
    ForRows([&](size_t k, size_t j) PORTACL_INLINE_LAMBDA {
      for (size_t i = 0; i < 4; ++i) hn::Store(CubicWeight(taps, k, j, i, 0), d, weight[k][j][i]);
    });
    SumRows(points, taps, [&](size_t k, size_t j, size_t i) PORTACL_INLINE_LAMBDA {
      return hn::Load(d, weight[k][j][i]);
    });
  }

  // Tricubic points whose taps are all inside.
  template <class Weight>
  HWY_INLINE void SumRows(const Points& points, const CubicGroup3D<F>& taps,
                          const Weight& weight) const {
    const D d;
    const VI first = FirstTapOf(source_, taps);
    ForChannels(points, [&](const T* volume) PORTACL_INLINE_LAMBDA {
      V sum = hn::Zero(d);
      ForRows([&](size_t k, size_t j) PORTACL_INLINE_LAMBDA {
        V v0, v1, v2, v3;
        GatherCubicRow<kPairs>(source_, volume, first, k, j, v0, v1, v2, v3);
        sum = hn::MulAdd(weight(k, j, 0), v0, sum);
        sum = hn::MulAdd(weight(k, j, 1), v1, sum);
        sum = hn::MulAdd(weight(k, j, 2), v2, sum);
        sum = hn::MulAdd(weight(k, j, 3), v3, sum);
      });
      return sum;
    });
  }

  // Taps outside have weights of any sign: they get one of 0.
  HWY_NOINLINE void AnyTricubic(const Points& points, hn::Mask<D> unusable,
                                const CubicGroup3D<F>& taps) const {
    const D d;
    const V nothing = hn::Set(d, F{-0.0});
    const V nan = hn::Set(d, std::numeric_limits<F>::quiet_NaN());
    ForChannels(points, [&](const T* volume) PORTACL_INLINE_LAMBDA {
      V sum = hn::Zero(d);
      ForRows([&](size_t k, size_t j) PORTACL_INLINE_LAMBDA {
        for (size_t i = 0; i < 4; ++i) {
          hn::Mask<D> none;
          const V value = GatherCubicTap(source_, volume, taps, k, j, i, nothing, none);
          sum = hn::MulAdd(hn::IfThenZeroElse(none, CubicWeight(taps, k, j, i, 0)), value, sum);
        }
      });
      return hn::IfThenElse(unusable, nan, sum);
    });
  }

  template <class Row>
  static HWY_INLINE void ForRows(const Row& row) {
    for (size_t k = 0; k < 4; ++k) {
      for (size_t j = 0; j < 4; ++j) row(k, j);
    }
  }

  const Params& p_;
  VolumeSource<F> source_;
  PointStrides output_at_;
};

template <class T, bool kPairs>
void RunTyped(const Params& p, const PointChunks& chunks) {
  switch (p.shape.interpolation) {
    case Interpolation::kBilinear:
      return RunOverChunks<VolumeSampling<T, Interpolation::kBilinear, kPairs>>(p, chunks);
    case Interpolation::kNearest:  // reads no pairs
      return RunOverChunks<VolumeSampling<T, Interpolation::kNearest, false>>(p, chunks);
    default:
      return RunOverChunks<VolumeSampling<T, Interpolation::kBicubic, kPairs>>(p, chunks);
  }
}

}  // namespace

void RunPath(const Params& p, const VolumeGathers& gathers, void* /*workspace*/) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (gathers.pairs) {
      RunTyped<T, true>(p, gathers.chunks);
    } else {
      RunTyped<T, false>(p, gathers.chunks);
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
