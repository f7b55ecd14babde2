// Compiles the kernels of resampling for every instruction set, and lists them.

#include "base/dispatch.h"
#include "cpu/machine/machine.h"
#include "cpu/machine/pages.h"
#include "cpu/resize/resample_plan.h"
#include "ops/listed_kernels.h"
#include "ops/resample_params.h"
#include "runtime/parallel.h"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/resample.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/resize/resample_drivers-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::ResampleParams;

// Does the same as base::DispatchFloating(), and serves bytes too.
template <class Do>
decltype(auto) Dispatch(base::DType dtype, const Do& f) {
  if (dtype == base::DType::kUInt8) return f(base::TypeTag<uint8_t>());
  return base::DispatchFloating(dtype, f);
}

template <class T, class F = ResampleWeight<T>>
void RunTyped(const Params& p, const ResampleKernelPlan<F>& plan, void* workspace) {
  const auto* const input = static_cast<const T*>(p.input);
  auto* const output = static_cast<T*>(p.output);
  // Results go through the caches if their pages are new: new pages are in the caches.
  const bool fresh = ArePagesMissing(output, plan.dense_bytes);
  if (fresh) PreferHugePages(output, plan.dense_bytes);
  runtime::ParallelForRanges(
      plan.Boxes(), static_cast<int>(plan.slots), [&](int slot, int64_t first, int64_t last) {
        auto* const scratch = static_cast<ResampleBetween<F>*>(workspace) + slot * plan.size;
        Resampler<T> resampler(plan, scratch, plan.stream && !fresh);
        for (int64_t i = first; i < last; ++i) resampler.Run(input, output, plan.Box(i));
        if (plan.stream && !fresh) hwy::FlushStream();
      });
}

void Run(const Params& params, const ResamplePlan& plan, void* workspace) {
  Dispatch(params.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Kept = std::unique_ptr<ResampleKernelPlan<ResampleWeight<T>>>;
    RunTyped<T>(params, *std::get<Kept>(plan.way), workspace);
  });
}

std::optional<ResamplePlan> Plan(const Params& params, std::string_view path) {
  return Dispatch(params.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using F = ResampleWeight<T>;
    constexpr bool kBytes = std::is_same_v<T, uint8_t>;
    const ResampleTarget target = {.lanes = kBytes ? kByteColumns : Length(ComputeTag<T>()),
                                   .rows = kBytes ? kByteRows : kTransposed<F>,
                                   .vectors = kBytes ? 1 : kColumnVectors,
                                   .block = kBytes ? kByteColumns : kTransposed<F>,
                                   .fixed = !HWY_HAVE_SCALABLE,
                                   .quads = HWY_TARGET == HWY_AVX3 && HasTargets(HWY_AVX3_DL),
                                   .can_stream = HWY_ARCH_X86 != 0};
    return PlanResample<F>(params, static_cast<int64_t>(sizeof(T)), target, path);
  });
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

PORTACL_KERNELS(Resample, Plan, Run)
