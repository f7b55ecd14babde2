// Compiles the gradient kernels of volumes for every instruction set, and lists them.
#include "cpu/grid_sampler/grid_sampler_3d_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_3d_backward.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/grid_sampler/grid_sampler_3d_backward-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

bool Plan(const ops::GridSampler3DBackwardParams& p, base::KernelPlan* plan) {
  return PlanGridSampler3DBackwardKernel(p, plan);
}

void Run(const ops::GridSampler3DBackwardParams& p, const base::KernelPlan& plan, void* workspace) {
  const auto& mine = *static_cast<const VolumeBackwardPlan*>(plan.table.get());
  if (mine.blocks) return RunVolumeBlocks(p, mine, workspace);
  if (p.want_grid_grad) RunVolumeGridGrad(p, mine);
  if (p.want_input_grad) RunVolumeInputGrad(p, mine, workspace);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#if HWY_ONCE
namespace portacl::cpu {

std::span<const base::Kernel<ops::GridSampler3DBackwardParams>> GridSampler3DBackwardKernels() {
  static constexpr base::Kernel<ops::GridSampler3DBackwardParams> kKernels[] = {
      PORTACL_KERNELS(Plan, Run)};
  return kKernels;
}

}  // namespace portacl::cpu
#endif  // HWY_ONCE
