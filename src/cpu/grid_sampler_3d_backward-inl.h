// What the gradient kernels of volumes share: the slopes between a trilinear point's taps, and the
// functions that compute each gradient. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_INL_H_
#endif

#include "cpu/grid_sampler_3d_backward_plan.h"
#include "cpu/grid_sampler_3d_gather-inl.h"
#include "cpu/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// gridGrad.
void RunVolumeGridGrad(const ops::GridSampler3DBackwardParams& params,
                       const VolumeBackwardPlan& plan);

// inputGrad.
void RunVolumeInputGrad(const ops::GridSampler3DBackwardParams& params,
                        const VolumeBackwardPlan& plan, void* workspace);

// In one plane: the slopes along x and y of the value between a point's taps, and the value, which
// makes the slope along z.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void PlaneSlopes(D, V nw, V ne, V sw, V se, V tx, V ux, V ty, V uy, V& x, V& y,
                            V& value) {
  x = hn::MulAdd(hn::Sub(se, sw), ty, hn::Mul(hn::Sub(ne, nw), uy));
  y = hn::MulAdd(hn::Sub(se, ne), tx, hn::Mul(hn::Sub(sw, nw), ux));
  const V upper = hn::MulAdd(ne, tx, hn::Mul(nw, ux));
  const V lower = hn::MulAdd(se, tx, hn::Mul(sw, ux));
  value = hn::MulAdd(lower, ty, hn::Mul(upper, uy));
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
