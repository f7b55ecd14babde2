// The paths of grid sampling on images and volumes and of its gradients. Each computes everything
// that a call wants, by what the plan has found out for it. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_PATHS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_PATHS_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_PATHS_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_PATHS_INL_H_
#endif

#include "cpu/grid_sampler/grid_sampler_2d_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_3d_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_plan.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

void RunPath(const ops::GridSampler2DParams& params, const SamplingGeometry& slabs,
             void* workspace);
void RunPath(const ops::GridSampler2DParams& params, const PointGathers& gathers, void* workspace);

void RunPath(const ops::GridSampler2DBackwardParams& params, const SlabGeometry& slabs,
             void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams& params, const PaddedGeometry& planes,
             void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams& params, const PointGathers& gathers,
             void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams& params, const OwnedGeometry& strips,
             void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams& params, const PackedGeometry& cells,
             void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams& params, const JoinedGeometry& images,
             void* workspace);
void RunPath(const ops::GridSampler2DBackwardParams& params, const OwnedParts& parts,
             void* workspace);

void RunPath(const ops::GridSampler3DParams& params, const PointGathers& gathers, void* workspace);
void RunPath(const ops::GridSampler3DParams& params, const SampledBlocks& blocks, void* workspace);

void RunPath(const ops::GridSampler3DBackwardParams& params, const PointGathers& gathers,
             void* workspace);
void RunPath(const ops::GridSampler3DBackwardParams& params, const OwnedParts& parts,
             void* workspace);
void RunPath(const ops::GridSampler3DBackwardParams& params, const SummedBlocks& blocks,
             void* workspace);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
