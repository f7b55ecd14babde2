// What the gradient kernels of volumes share: the slopes between a trilinear point's taps, and
// the loop over points. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_3d_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_3d_gather-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// gridGrad where the mode is tricubic: a part of the path "direct".
void RunTricubicGridGrad(const ops::GridSampler3DBackwardParams& params,
                         const GatheredGridGrad& gathers);

// The slopes of the value between a trilinear point's taps: along x and y from each plane's slopes,
// along z from its value. read(plane, nw, ne, sw, se) reads the taps of the plane above the point
// (0) or below (1); t(axis) and u(axis) are the distances.
template <class D, class Read, class Before, class Behind, class V = hn::Vec<D>>
HWY_INLINE void TrilinearSlopes(D d, const Read& read, const Before& t, const Behind& u, V& x, V& y,
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

// gridGrad with a point in each lane of a vector: what the modes have in common.
template <class T>
class VolumeGridGrad {
 protected:
  using F = base::ComputeType<T>;
  using D = PointTag<F>;
  using V = hn::Vec<D>;
  using Points = VolumePointVector<T, const T>;

  explicit VolumeGridGrad(const ops::GridSampler3DBackwardParams& p)
      : p_(p),
        source_(p),
        grid_grad_at_(GridPointsOf(p.shape, p.grid_grad_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)) {}

  // Points [first, last) of volume n: step(points, x, y, z) makes gradients of coordinates.
  template <class Step>
  HWY_INLINE void ForPoints(int64_t n, int64_t first, int64_t last, const Step& step) const {
    T* const out = static_cast<T*>(p_.grid_grad) + n * p_.grid_grad_stride[0];
    ForPointVectors(source_.grid_at, static_cast<const T*>(p_.grid) + n * p_.grid_stride[0],
                    static_cast<const T*>(p_.input) + n * p_.input_stride[0],
                    static_cast<const T*>(p_.grad_output) + n * p_.grad_output_stride[0], first,
                    last, [&](const Points& points, V x, V y, V z) PORTACL_INLINE_LAMBDA {
                      step(points, x, y, z);
                      WritePoints(D(), grid_grad_at_, out, points.first, points.count, x, y, z);
                    });
  }

  // gradOutput of one channel.
  HWY_INLINE V GradOutput(const Points& points, int64_t c) const {
    return ReadChannel(D(), grad_output_at_, points.values + c * grad_output_at_.channel_stride,
                       points.first, points.count);
  }

  const ops::GridSampler3DBackwardParams& p_;
  VolumeSource<F> source_;

 private:
  PointStrides grid_grad_at_;
  PointStrides grad_output_at_;
};

// Sums of slopes(c, x, y, z) over any number of channels: block by block, each by the contract's
// tree, which works on memory.
template <class F, class Slopes, class V = hn::Vec<PointTag<F>>>
HWY_INLINE void SumBlocks(int64_t channels, const Slopes& slopes, V& x, V& y, V& z) {
  const PointTag<F> d;
  HWY_ALIGN F lanes[kBlockChannels][3][hn::MaxLanes(d)];
  x = hn::Zero(d);
  y = x;
  z = x;
  for (int64_t first = 0; first < channels; first += kBlockChannels) {
    const int64_t count = std::min<int64_t>(kBlockChannels, channels - first);
    for (int64_t c = 0; c < count; ++c) {
      V sx, sy, sz;
      slopes(first + c, sx, sy, sz);
      hn::Store(sx, d, lanes[c][0]);
      hn::Store(sy, d, lanes[c][1]);
      hn::Store(sz, d, lanes[c][2]);
    }
    for (int64_t half = kBlockChannels / 2; half >= 1; half /= 2) {
      for (int64_t c = 0; c < half && c + half < count; ++c) {
        for (int axis = 0; axis < 3; ++axis) {
          F* const sum = lanes[c][axis];
          hn::Store(hn::Add(hn::Load(d, sum), hn::Load(d, lanes[c + half][axis])), d, sum);
        }
      }
    }
    x = hn::Add(x, hn::Load(d, lanes[0][0]));
    y = hn::Add(y, hn::Load(d, lanes[0][1]));
    z = hn::Add(z, hn::Load(d, lanes[0][2]));
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
