// What the gradient kernels of volumes share: the slopes between a trilinear point's taps, and the
// functions that compute each gradient. Per target.
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

// gridGrad.
void RunVolumeGridGrad(const ops::GridSampler3DBackwardParams& params,
                       const VolumeBackwardPlan& plan);

// The same where the mode is tricubic.
void RunTricubicGridGrad(const ops::GridSampler3DBackwardParams& params,
                         const VolumeBackwardPlan& plan);

// inputGrad.
void RunVolumeInputGrad(const ops::GridSampler3DBackwardParams& params,
                        const VolumeBackwardPlan& plan, void* workspace);

// Both, where the plan chose blocks of channels.
void RunVolumeBlocks(const ops::GridSampler3DBackwardParams& params, const VolumeBackwardPlan& plan,
                     void* workspace);

// In one plane: the slopes along x and y of the value between a point's taps, and the value, which
// makes the slope along z.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void PlaneSlopes(D d, V nw, V ne, V sw, V se, V tx, V ux, V ty, V uy, V& x, V& y,
                            V& value) {
  TapSlopes(d, nw, ne, sw, se, tx, ux, ty, uy, x, y);
  const V upper = hn::MulAdd(ne, tx, hn::Mul(nw, ux));
  const V lower = hn::MulAdd(se, tx, hn::Mul(sw, ux));
  value = hn::MulAdd(lower, ty, hn::Mul(upper, uy));
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
                      WritePoints(grid_grad_at_, x, y, z, points.first, points.count, out);
                    });
  }

  // gradOutput of one channel.
  HWY_INLINE V GradOutput(const Points& points, int64_t c) const {
    return ReadValues(D(), grad_output_at_,
                      points.values + c * grad_output_at_.plane.channel_stride, points.first,
                      points.count);
  }

  const ops::GridSampler3DBackwardParams& p_;
  VolumeSource<F> source_;

 private:
  VolumePoints grid_grad_at_;
  VolumePoints grad_output_at_;
};

// The contract's tree over kCount of kLeaves terms from kFirst on, kStep apart: slopes(i, x, y, z)
// makes one.
template <int kCount, int kLeaves, int kFirst, int kStep, class Slopes, class V>
HWY_INLINE void SumTree(const Slopes& slopes, V& x, V& y, V& z) {
  if constexpr (kStep == kLeaves) {
    slopes(kFirst, x, y, z);
  } else {
    SumTree<kCount, kLeaves, kFirst, 2 * kStep>(slopes, x, y, z);
    if constexpr (kFirst + kStep < kCount) {
      V x2, y2, z2;
      SumTree<kCount, kLeaves, kFirst + kStep, 2 * kStep>(slopes, x2, y2, z2);
      x = hn::Add(x, x2);
      y = hn::Add(y, y2);
      z = hn::Add(z, z2);
    }
  }
}

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
