// The paths of the gradients of nearest and nearest-exact: each sums one tile. Per target.
#if defined(PORTACL_CPU_RESIZE_NEAREST_BACKWARD_PATHS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_PATHS_INL_H_
#undef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_PATHS_INL_H_
#else
#define PORTACL_CPU_RESIZE_NEAREST_BACKWARD_PATHS_INL_H_
#endif

#include "cpu/resize/nearest_backward_plan.h"
#include "cpu/resize/nearest_backward_tile-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// x1 ... x4
template <class T>
void SumTileByRatio(const Params& p, const Tile<T>& t);
template <class T>
void SumTilePermuted(const Params& p, const NearestBackwardKernelPlan& plan, const Tile<T>& t);
// kContiguous: W of gradOutput is.
template <bool kContiguous, class T>
void SumTileWide(const Params& p, const Tile<T>& t);
template <class T>
void SumTileByPixel(const Params& p, const Tile<T>& t);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
