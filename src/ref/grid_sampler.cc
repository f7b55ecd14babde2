// Samples by a weighted sum over each point's taps: one fused multiply-add per tap, in their order,
// from +0, rounded once. Unusable points give NaN (0 for nearest). Points outside give 0, the
// constant, or the value that replaces them.

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/dispatch.h"
#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
#include "ref/grid_sampler_point.h"

namespace portacl::ref {
namespace {

// The value of a point without taps.
template <class F>
F ValueWithoutTaps(const Point<F>& point, const ops::GridSampler2DShape& s) {
  if (point.replaced()) return static_cast<F>(s.outside_value);
  const bool nearest = s.interpolation == ops::Interpolation::kNearest;
  return point.unusable() && !nearest ? std::numeric_limits<F>::quiet_NaN() : FillOf<F>(s);
}

template <class T, class Params>
void SamplePoint(const Params& p, int64_t n, const Place& at) {
  using F = base::ComputeType<T>;
  const auto& s = p.shape;
  const auto point = PointOf<T>(p, n, at);
  const bool usable = !point.unusable() && !point.outside();
  const F start = usable ? F{0} : ValueWithoutTaps(point, s);
  const F fill = FillOf<F>(s);
  const bool fills = s.padding == ops::Padding::kConstant;
  const auto taps = usable ? TapsOf(point, s) : PointTaps<F>{};
  const SpatialStrides from = SpatialOf(p.input_stride);

  T* out =
      static_cast<T*>(p.output) + n * p.output_stride[0] + Offset(SpatialOf(p.output_stride), at);
  for (int64_t c = 0; c < s.c; ++c) {
    const T* image = static_cast<const T*>(p.input) + n * p.input_stride[0] + c * p.input_stride[1];
    F sum = start;
    ForAllTaps(taps, [&](size_t k, size_t j, size_t i, bool inside) {
      if (!inside && !fills) return;
      const Place tap = {taps.z.index[k], taps.y.index[j], taps.x.index[i]};
      const F value = inside ? base::Widen(image[Offset(from, tap)]) : fill;
      sum = std::fma((taps.x.weight[i] * taps.y.weight[j]) * taps.z.weight[k], value, sum);
    });
    out[c * p.output_stride[1]] = base::Narrow<T>(sum);
  }
}

template <class Params>
void Run(const Params& p) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForPoints(p, [&](int64_t n, const Place& at) { SamplePoint<T>(p, n, at); });
  });
}

template <class Params>
constexpr base::Kernel<Params> kKernel = base::ReferenceOf<Params, Run<Params>>::Make();

}  // namespace

const base::Kernel<ops::GridSampler2DParams> kGridSampler2D = kKernel<ops::GridSampler2DParams>;
const base::Kernel<ops::GridSampler3DParams> kGridSampler3D = kKernel<ops::GridSampler3DParams>;

}  // namespace portacl::ref
