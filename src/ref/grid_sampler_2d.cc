// Grid sampling: a weighted sum over the taps of each point, in the taps' order, by one fused
// multiply-add each from +0, rounded once. Unusable points give NaN (0 for nearest); points outside
// give 0.
#include "ref/grid_sampler_2d.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/dispatch.h"
#include "ref/grid_sampler_2d_point.h"
#include "runtime/parallel.h"

namespace portacl::ref {
namespace {

using Params = ops::GridSampler2DParams;

template <class T>
void SamplePoint(const Params& p, int64_t n, int64_t oh, int64_t ow) {
  using F = base::ComputeType<T>;
  const auto& s = p.shape;
  const auto& at = p.grid_stride;
  const T* xy = static_cast<const T*>(p.grid) + n * at[0] + oh * at[1] + ow * at[2];
  const auto point = LocatePoint<F>(base::Widen(xy[0]), base::Widen(xy[at[3]]), s);
  const bool usable = !point.unusable() && !point.outside();
  const bool nearest = s.interpolation == ops::Interpolation::kNearest;
  const F fallback = point.unusable() && !nearest ? std::numeric_limits<F>::quiet_NaN() : F{0};
  const auto x = usable ? TapsOf(point.x, s.w, s) : AxisTaps<F>{};
  const auto y = usable ? TapsOf(point.y, s.h, s) : AxisTaps<F>{};

  T* out = static_cast<T*>(p.output) + n * p.output_stride[0] + oh * p.output_stride[2] +
           ow * p.output_stride[3];
  for (int64_t c = 0; c < s.c; ++c) {
    const T* plane = static_cast<const T*>(p.input) + n * p.input_stride[0] + c * p.input_stride[1];
    F sum = usable ? F{0} : fallback;
    for (size_t j = 0; j < static_cast<size_t>(y.count); ++j) {
      for (size_t i = 0; i < static_cast<size_t>(x.count); ++i) {
        if (y.index[j] < 0 || x.index[i] < 0) continue;
        const F value =
            base::Widen(plane[y.index[j] * p.input_stride[2] + x.index[i] * p.input_stride[3]]);
        sum = std::fma(x.weight[i] * y.weight[j], value, sum);
      }
    }
    out[c * p.output_stride[1]] = base::Narrow<T>(sum);
  }
}

template <class T>
void Run(const Params& p) {
  const auto& s = p.shape;
  // An index of the loop is one row (n, oh) of points; a thread gets some microseconds of them.
  const int64_t grain = 1 + 1024 / (s.ow * s.c + 1);
  runtime::ParallelFor(s.n * s.oh, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      for (int64_t ow = 0; ow < s.ow; ++ow) SamplePoint<T>(p, row / s.oh, row % s.oh, ow);
    }
  });
}

}  // namespace

const base::Kernel<Params> kGridSampler2D = {
    "ref",
    [] { return true; },
    [](const Params&, base::KernelPlan*) { return true; },
    [](const Params& p, const base::KernelPlan&, void*) {
      base::DispatchFloating(p.shape.dtype,
                             [&](auto tag) { Run<typename decltype(tag)::type>(p); });
    },
};

}  // namespace portacl::ref
