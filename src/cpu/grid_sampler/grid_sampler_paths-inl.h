// The paths of grid sampling on images and volumes and of its gradients. Each path computes all
// results of a call, with its own part of the plan. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_PATHS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_PATHS_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_PATHS_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_PATHS_INL_H_
#endif

#include "cpu/grid_sampler/grid_sampler_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_plan.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

void RunPath(const ops::GridSampler2DParams&, const SamplingGeometry&, void* workspace);
void RunPath(const ops::GridSampler2DParams&, const PointGathers&, void* workspace);

void RunPath(const ops::GridSampler2DBackwardParams&, const SlabGeometry&, void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams&, const PaddedGeometry&, void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams&, const PointGathers&, void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams&, const PackedGeometry&, void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams&, const JoinedGeometry&, void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams&, const OwnedParts&, void* workspace);

void RunPath(const ops::GridSampler3DParams&, const PointGathers&, void* workspace);
void RunPath(const ops::GridSampler3DParams&, const SampledBlocks&, void* workspace);

void RunPath(const ops::GridSampler3DBackwardParams&, const PointGathers&, void* workspace);
void RunPath(const ops::GridSampler3DBackwardParams&, const OwnedParts&, void* workspace);
void RunPath(const ops::GridSampler3DBackwardParams&, const SummedBlocks&, void* workspace);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
