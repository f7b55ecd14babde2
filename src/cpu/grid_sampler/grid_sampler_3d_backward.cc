// Compiles the gradient kernels of volumes for every instruction set, and lists them.
#include "cpu/grid_sampler/grid_sampler_3d_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_3d_backward.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/grid_sampler/grid_sampler_3d_paths-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using cpu::PlanGridSampler3DBackward;

void Run(const ops::GridSampler3DBackwardParams& p, const GridSampler3DBackwardPlan& plan,
         void* workspace) {
  std::visit([&](const auto& way) { RunPath(p, way, workspace); }, plan.way);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#if HWY_ONCE
namespace portacl::cpu {

std::span<const base::Kernel<ops::GridSampler3DBackwardParams>> GridSampler3DBackwardKernels() {
  static constexpr base::Kernel<ops::GridSampler3DBackwardParams> kKernels[] = {
      PORTACL_KERNELS(PlanGridSampler3DBackward, Run)};
  return kKernels;
}

}  // namespace portacl::cpu
#endif  // HWY_ONCE
