// The kernels of the grid sampler and its gradients, on images and volumes, compiled for every
// instruction set and listed. A kernel runs the path that its plan chose.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler.cc"
#include "cpu/vector/highway.h"
#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
// Highway first.
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/grid_sampler/grid_sampler_source-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using cpu::PlanGridSampler2DBackward;
using cpu::PlanGridSampler3D;
using cpu::PlanGridSampler3DBackward;

std::optional<GridSampler2DPlan> Plan2D(const ops::GridSampler2DParams& params,
                                        std::string_view path) {
  return PlanGridSampler2D(params, kHasFloatWindows, path);
}

// Whether calls on a path may end before a CPU has raised the speed of its 512-bit vectors.
template <class Params, class Way>
inline constexpr bool kIsShort = std::is_same_v<Way, PaddedGeometry> ||
                                 (std::is_same_v<Params, ops::GridSampler2DParams> &&
                                  std::is_same_v<Way, PointGathers>);

template <class Params, class Way>
void RunWay(const Params& params, const Way& way, void* workspace) {
// AVX2 is compiled before this target, except if it is the baseline (-march=znver3).
#if HWY_TARGET == HWY_AVX3 && (HWY_TARGETS & HWY_AVX2) && HWY_STATIC_TARGET != HWY_AVX2
  if constexpr (kIsShort<Params, Way>) {
    const auto& s = params.shape;
    if (IsOverBeforeWideVectorsAreFast(s.n * s.c * s.oh * s.ow)) {
      return N_AVX2::RunPath(params, way, workspace);
    }
  }
#endif
  RunPath(params, way, workspace);
}

template <class Params, class Plan>
void Run(const Params& params, const Plan& plan, void* workspace) {
  std::visit([&](const auto& way) { RunWay(params, way, workspace); }, plan.way);
}

constexpr auto& Run2D = Run<ops::GridSampler2DParams, GridSampler2DPlan>;
constexpr auto& Run2DBackward = Run<ops::GridSampler2DBackwardParams, GridSampler2DBackwardPlan>;
constexpr auto& Run3D = Run<ops::GridSampler3DParams, GridSampler3DPlan>;
constexpr auto& Run3DBackward = Run<ops::GridSampler3DBackwardParams, GridSampler3DBackwardPlan>;

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

PORTACL_KERNELS(GridSampler2D, Plan2D, Run2D)
PORTACL_KERNELS(GridSampler2DBackward, PlanGridSampler2DBackward, Run2DBackward)
PORTACL_KERNELS(GridSampler3D, PlanGridSampler3D, Run3D)
PORTACL_KERNELS(GridSampler3DBackward, PlanGridSampler3DBackward, Run3DBackward)
