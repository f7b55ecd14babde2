// Compiles the sampling kernels of images for every instruction set, and lists them.
#include "cpu/grid_sampler/grid_sampler_2d.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/grid_sampler/grid_sampler_2d_paths-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using cpu::PlanGridSampler2D;

void Run(const ops::GridSampler2DParams& p, const GridSampler2DPlan& plan, void* workspace) {
  std::visit([&](const auto& way) { RunPath(p, way, workspace); }, plan.way);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#if HWY_ONCE
namespace portacl::cpu {

std::span<const base::Kernel<ops::GridSampler2DParams>> GridSampler2DKernels() {
  static constexpr base::Kernel<ops::GridSampler2DParams> kKernels[] = {
      PORTACL_KERNELS(PlanGridSampler2D, Run)};
  return kKernels;
}

}  // namespace portacl::cpu
#endif  // HWY_ONCE
