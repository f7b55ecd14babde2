// gridGrad of volumes, trilinear: a point in each lane of a vector, its taps gathered straight from
// the volumes of input, channel by channel. No workspace.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_3d_backward_direct.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_3d_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_paths-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler3DBackwardParams;

// kChannels: of the call where they are so few that their sums stay in registers, else 0.
template <class T, int kChannels, bool kPairs>
class TrilinearGridGrad : VolumeGridGrad<T> {
  using Base = VolumeGridGrad<T>;
  using Base::p_;
  using Base::source_;
  using typename Base::D;
  using typename Base::F;
  using typename Base::Points;
  using typename Base::V;

 public:
  explicit TrilinearGridGrad(const Params& p) : Base(p) {}

  // Points [first, last) of volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    Base::ForPoints(n, first, last,
                    [&](const Points& points, V& x, V& y, V& z) PORTACL_INLINE_LAMBDA {
                      if (HWY_UNLIKELY(!PointsInside(points, x, y, z))) {
                        AnyPoints(points, x, y, z);
                      }
                    });
  }

 private:
  // From the points' coordinates to their gradients. False, and no gradients, where the padding may
  // concern one of them.
  HWY_INLINE bool PointsInside(const Points& points, V& x, V& y, V& z) const {
    const D d;
    V at_x, at_y, at_z;
    if (!LocateInside(d, source_.geometry, x, y, z, at_x, at_y, at_z)) return false;
    const V x0 = hn::Floor(at_x);
    const V y0 = hn::Floor(at_y);
    const V z0 = hn::Floor(at_z);
    source_.template WithTapsInside<kPairs>(
        x0, y0, z0, [&](const auto& gather) PORTACL_INLINE_LAMBDA {
          Sum<kChannels>(points, gather, at_x, at_y, at_z, x0, y0, z0, x, y, z);
        });
    x = hn::Mul(x, hn::Set(d, source_.geometry.x.pixels_per_unit));
    y = hn::Mul(y, hn::Set(d, source_.geometry.y.pixels_per_unit));
    z = hn::Mul(z, hn::Set(d, source_.geometry.z.pixels_per_unit));
    return true;
  }

  // The same for points anywhere.
  HWY_NOINLINE void AnyPoints(const Points& points, V& x, V& y, V& z) const {
    const D d;
    V slope_x, slope_y, slope_z;
    hn::Mask<D> unusable;
    hn::Mask<D> outside;
    LocatePoints(d, source_.geometry, x, y, z, slope_x, slope_y, slope_z, unusable, outside);
    const V at_x = x;
    const V at_y = y;
    const V at_z = z;
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    const V z0 = hn::Floor(z);
    source_.template WithTaps<kPairs>(
        x0, y0, z0, hn::Zero(d), [&](const auto& gather) PORTACL_INLINE_LAMBDA {
          Sum<0>(points, gather, at_x, at_y, at_z, x0, y0, z0, x, y, z);
        });
    x = FinishGrad(d, x, slope_x, unusable, outside);
    y = FinishGrad(d, y, slope_y, unusable, outside);
    z = FinishGrad(d, z, slope_z, unusable, outside);
  }

  // kSummed: as kChannels. The sums of the points at (x, y, z), floored (x0, y0, z0), over the
  // channels, before the coordinates' slopes.
  template <int kSummed, class Gather>
  HWY_INLINE void Sum(const Points& points, const Gather& gather, V x, V y, V z, V x0, V y0, V z0,
                      V& sum_x, V& sum_y, V& sum_z) const {
    const D d;
    V tx, ux, ty, uy, tz, uz;
    BilinearDistances(d, x, x0, tx, ux);
    BilinearDistances(d, y, y0, ty, uy);
    BilinearDistances(d, z, z0, tz, uz);
    const auto slopes = [&](int64_t c, V& sx, V& sy, V& sz) PORTACL_INLINE_LAMBDA {
      const T* volume = points.input + c * p_.input_stride[1];
      const V g = Base::GradOutput(points, c);
      TrilinearSlopes(
          d,
          [&](auto plane, V& nw, V& ne, V& sw, V& se)
              PORTACL_INLINE_LAMBDA { gather(volume, plane, nw, ne, sw, se); },
          [&](int axis) PORTACL_INLINE_LAMBDA { return axis == 0   ? tx
                                                       : axis == 1 ? ty
                                                                   : tz; },
          [&](int axis) PORTACL_INLINE_LAMBDA { return axis == 0   ? ux
                                                       : axis == 1 ? uy
                                                                   : uz; }, sx,
          sy, sz);
      sx = hn::Mul(g, sx);
      sy = hn::Mul(g, sy);
      sz = hn::Mul(g, sz);
    };
    if constexpr (kSummed > 0) {
      SumTree<kSummed, kBlockChannels, 0, 1>(slopes, sum_x, sum_y, sum_z);
      // What adding the lanes that the block lacks would make of -0.
      sum_x = hn::Add(hn::Zero(d), sum_x);
      sum_y = hn::Add(hn::Zero(d), sum_y);
      sum_z = hn::Add(hn::Zero(d), sum_z);
    } else {
      SumBlocks<F>(p_.shape.c, slopes, sum_x, sum_y, sum_z);
    }
  }
};

template <class T>
void RunPairs(const Params& p, const PointChunks& chunks) {
  if constexpr (std::is_same_v<T, float>) {
    if (p.shape.c == 1) return RunOverChunks<TrilinearGridGrad<T, 1, true>>(p, chunks);
    if (p.shape.c == 2) return RunOverChunks<TrilinearGridGrad<T, 2, true>>(p, chunks);
    if (p.shape.c == 3) return RunOverChunks<TrilinearGridGrad<T, 3, true>>(p, chunks);
  }
  RunOverChunks<TrilinearGridGrad<T, 0, true>>(p, chunks);
}

// Moving a point moves no nearest pixel: zeros.
template <class T>
class NoGridGrad {
 public:
  explicit NoGridGrad(const Params& p)
      : p_(p), grid_grad_at_(GridPointsOf(p.shape, p.grid_grad_stride)) {}

  void Run(int64_t n, int64_t first, int64_t last) const {
    const PointTag<base::ComputeType<T>> d;
    const auto zero = hn::Zero(d);
    T* const out = static_cast<T*>(p_.grid_grad) + n * p_.grid_grad_stride[0];
    for (int64_t p = first; p < last; p += Length(d)) {
      WritePoints(d, grid_grad_at_, out, p, std::min(Length(d), last - p), zero, zero, zero);
    }
  }

 private:
  const Params& p_;
  PointStrides grid_grad_at_;
};

}  // namespace

void RunPath(const Params& p, const GatheredGridGrad& gathers, void* /*workspace*/) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (p.shape.interpolation == ops::Interpolation::kBicubic) {
      RunTricubicGridGrad(p, gathers);
    } else if (p.shape.interpolation == ops::Interpolation::kNearest) {
      RunOverChunks<NoGridGrad<T>>(p, gathers.chunks);
    } else if (gathers.pairs) {
      RunPairs<T>(p, gathers.chunks);
    } else {
      RunOverChunks<TrilinearGridGrad<T, 0, false>>(p, gathers.chunks);
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
