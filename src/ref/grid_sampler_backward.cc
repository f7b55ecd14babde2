// inputGrad goes by channels (n, c), gridGrad by points. A destination has one owner and one order.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/checked.h"
#include "base/dispatch.h"
#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
#include "ref/grid_sampler_point.h"
#include "ref/lane_tree.h"
#include "runtime/parallel.h"

namespace portacl::ref {
namespace {

template <class T>
using Compute = base::ComputeType<T>;

// ---- inputGrad ---------------------------------------------------------------------------------

// Adds the gradients of image n's points, in row-major order, to `sums`: a volume of one channel.
template <class T, class Params>
void Scatter(const Params& p, int64_t n, int64_t c, Compute<T>* sums) {
  const auto& s = p.shape;
  const auto& stride = p.grad_output_stride;
  const T* grad_output = static_cast<const T*>(p.grad_output) + n * stride[0] + c * stride[1];
  const SpatialStrides from = SpatialOf(stride);
  const SpatialStrides to = {s.h * s.w, s.w, 1};
  for (int64_t row = 0; row < PlanesOf(s) * s.oh; ++row) {
    for (int64_t ow = 0; ow < s.ow; ++ow) {
      const Place at = {row / s.oh, row % s.oh, ow};
      const auto point = PointOf<T>(p, n, at);
      if (point.unusable() || point.outside()) continue;
      const auto taps = TapsOf(point, s);
      const Compute<T> g = base::Widen(grad_output[Offset(from, at)]);
      ForTaps(taps, [&](size_t k, size_t j, size_t i) {
        Compute<T>& sum = sums[Offset(to, {taps.z.index[k], taps.y.index[j], taps.x.index[i]})];
        sum = std::fma((taps.x.weight[i] * taps.y.weight[j]) * taps.z.weight[k], g, sum);
      });
    }
  }
}

template <class T, class Params>
void RunInputGrad(const Params& p, int slots, Compute<T>* workspace) {
  const auto& s = p.shape;
  const SpatialStrides to = SpatialOf(p.input_grad_stride);
  const int64_t rows = DepthOf(s) * s.h;
  runtime::ParallelForSlots(s.n * s.c, slots, [&](int slot, int64_t channel) {
    const int64_t n = channel / s.c;
    const int64_t c = channel % s.c;
    Compute<T>* sums = workspace + slot * (rows * s.w);
    for (int64_t i = 0; i < rows * s.w; ++i) sums[i] = 0;
    Scatter<T>(p, n, c, sums);
    T* out =
        static_cast<T*>(p.input_grad) + n * p.input_grad_stride[0] + c * p.input_grad_stride[1];
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t x = 0; x < s.w; ++x) {
        out[Offset(to, {row / s.h, row % s.h, x})] = base::Narrow<T>(sums[row * s.w + x]);
      }
    }
  });
}

// ---- gridGrad ----------------------------------------------------------------------------------

template <class F>
using Values = F[4][4];  // a plane's taps: [row][column]; taps outside hold the fill

template <class F>
struct Slope {
  F x, y, z;
};

// One plane's slopes along x and y, and its interpolated value (for the slope along z).
template <class F>
struct PlaneSlope {
  F x, y, value;
};

template <class F>
PlaneSlope<F> LinearIn(const Values<F>& v, const AxisTaps<F>& x, const AxisTaps<F>& y) {
  const F nw = v[0][0];
  const F ne = v[0][1];
  const F sw = v[1][0];
  const F se = v[1][1];
  const F ux = x.weight[0];
  const F tx = x.weight[1];
  const F uy = y.weight[0];
  const F ty = y.weight[1];
  return {std::fma(se - sw, ty, (ne - nw) * uy), std::fma(se - ne, tx, (sw - nw) * ux),
          std::fma(std::fma(se, tx, sw * ux), ty, std::fma(ne, tx, nw * ux) * uy)};
}

template <class F>
PlaneSlope<F> CubicIn(const Values<F>& v, const AxisTaps<F>& x, const AxisTaps<F>& y) {
  PlaneSlope<F> slope{};
  for (size_t j = 0; j < 4; ++j) {
    F row = x.weight[0] * v[j][0];
    F row_slope = x.derivative[0] * v[j][0];
    for (size_t i = 1; i < 4; ++i) {
      row = std::fma(x.weight[i], v[j][i], row);
      row_slope = std::fma(x.derivative[i], v[j][i], row_slope);
    }
    const bool first = j == 0;
    slope.x = first ? y.weight[0] * row_slope : std::fma(y.weight[j], row_slope, slope.x);
    slope.y = first ? y.derivative[0] * row : std::fma(y.derivative[j], row, slope.y);
    slope.value = first ? y.weight[0] * row : std::fma(y.weight[j], row, slope.value);
  }
  return slope;
}

// A point has taps in up to four planes. Joins the slopes of these planes by their weights along z.
// An image has one plane, so its slope along z is 0.
template <class F>
Slope<F> Across(const std::array<PlaneSlope<F>, 4>& planes, const AxisTaps<F>& z) {
  if (z.count == 1) return {planes[0].x, planes[0].y, 0};
  if (z.count == 2) {
    const auto& [top, bottom, unused, none] = planes;
    return {std::fma(bottom.x, z.weight[1], top.x * z.weight[0]),
            std::fma(bottom.y, z.weight[1], top.y * z.weight[0]), bottom.value - top.value};
  }
  Slope<F> slope = {z.weight[0] * planes[0].x, z.weight[0] * planes[0].y,
                    z.derivative[0] * planes[0].value};
  for (size_t k = 1; k < 4; ++k) {
    slope.x = std::fma(z.weight[k], planes[k].x, slope.x);
    slope.y = std::fma(z.weight[k], planes[k].y, slope.y);
    slope.z = std::fma(z.derivative[k], planes[k].value, slope.z);
  }
  return slope;
}

// The slopes of one channel's image at a point.
template <class T, class Params>
Slope<Compute<T>> SlopeAt(const Params& p, const T* image, const PointTaps<Compute<T>>& taps) {
  using F = Compute<T>;
  Values<F> values[4] = {};
  const SpatialStrides from = SpatialOf(p.input_stride);
  ForAllTaps(taps, [&](size_t k, size_t j, size_t i, bool inside) {
    const Place tap = {taps.z.index[k], taps.y.index[j], taps.x.index[i]};
    values[k][j][i] = inside ? base::Widen(image[Offset(from, tap)]) : FillOf<F>(p.shape);
  });
  std::array<PlaneSlope<F>, 4> planes{};
  for (size_t k = 0; k < static_cast<size_t>(taps.z.count); ++k) {
    planes[k] = p.shape.interpolation == ops::Interpolation::kBicubic
                    ? CubicIn<F>(values[k], taps.x, taps.y)
                    : LinearIn<F>(values[k], taps.x, taps.y);
  }
  return Across(planes, taps.z);
}

template <class T, class Params>
Slope<Compute<T>> GridGradOf(const Params& p, int64_t n, const Place& at) {
  using F = Compute<T>;
  const auto& s = p.shape;
  constexpr F kNaN = std::numeric_limits<F>::quiet_NaN();
  if (s.interpolation == ops::Interpolation::kNearest || s.c == 0) return {0, 0, 0};
  const auto point = PointOf<T>(p, n, at);
  if (point.unusable()) return {kNaN, kNaN, kNaN};
  if (point.outside()) return {0, 0, 0};
  const auto taps = TapsOf(point, s);

  const T* image = static_cast<const T*>(p.input) + n * p.input_stride[0];
  const T* grad_output = static_cast<const T*>(p.grad_output) + n * p.grad_output_stride[0] +
                         Offset(SpatialOf(p.grad_output_stride), at);
  Slope<F> sum{};
  for (int64_t block = 0; block < s.c; block += 16) {
    Lanes<F> x{};
    Lanes<F> y{};
    Lanes<F> z{};
    for (int64_t c = block; c < s.c && c < block + 16; ++c) {
      const Slope<F> slope = SlopeAt<T>(p, image + c * p.input_stride[1], taps);
      const F g = base::Widen(grad_output[c * p.grad_output_stride[1]]);
      const auto lane = static_cast<size_t>(c - block);
      x[lane] = g * slope.x;
      y[lane] = g * slope.y;
      z[lane] = g * slope.z;
    }
    sum.x += SumLanes(x);
    sum.y += SumLanes(y);
    sum.z += SumLanes(z);
  }
  return {sum.x * point.x.slope, sum.y * point.y.slope, sum.z * point.z.slope};
}

template <class T, class Params>
void RunGridGrad(const Params& p) {
  constexpr size_t kAxes = std::tuple_size_v<decltype(p.grid_stride)> - 2;
  const auto& to = p.grid_grad_stride;
  ForPoints(p, [&](int64_t n, const Place& at) {
    const auto grad = GridGradOf<T>(p, n, at);
    T* out = static_cast<T*>(p.grid_grad) + n * to[0] + at.h * to[kAxes - 1] + at.w * to[kAxes];
    if constexpr (kAxes == 3) out += at.d * to[1];
    const int64_t step = to[kAxes + 1];
    out[0] = base::Narrow<T>(grad.x);
    out[step] = base::Narrow<T>(grad.y);
    if constexpr (kAxes == 3) out[2 * step] = base::Narrow<T>(grad.z);
  });
}

// ---- the kernels -------------------------------------------------------------------------------

using Plan = base::PathPlan<int>;  // the number of threads that sum volumes

// The workspace holds one volume of sums (compute type) for each thread that sums volumes.
template <class Params>
std::optional<Plan> MakePlan(const Params& p, std::string_view) {
  if (!p.want_input_grad) return Plan{};
  const auto& s = p.shape;
  // Below some microseconds of work one thread is faster.
  const int64_t work = s.c * PlanesOf(s) * s.oh * s.ow;
  const int64_t most = std::min<int64_t>(runtime::NumThreads(), std::max<int64_t>(1, s.n * s.c));
  const int slots = s.n * work < 1024 ? 1 : static_cast<int>(most);
  const uint64_t element = s.dtype == base::DType::kDouble ? 8 : 4;
  uint64_t bytes = element * static_cast<uint64_t>(slots);
  for (const int64_t extent : {DepthOf(s), s.h, s.w}) {
    if (!base::CheckedMul(bytes, static_cast<uint64_t>(extent), &bytes)) return std::nullopt;
  }
  return Plan{.workspace_size = bytes, .way = slots};
}

template <class Params>
void Run(const Params& p, const Plan& plan, void* workspace) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (p.want_input_grad) {
      RunInputGrad<T>(p, std::get<int>(plan.way), static_cast<Compute<T>*>(workspace));
    }
    if (p.want_grid_grad) RunGridGrad<T>(p);
  });
}

template <class Params>
constexpr base::Kernel<Params> kKernel =
    base::KernelOf<&MakePlan<Params>, &Run<Params>>::Make("ref", base::OnEveryCpu);

}  // namespace

const base::Kernel<ops::GridSampler2DBackwardParams> kGridSampler2DBackward =
    kKernel<ops::GridSampler2DBackwardParams>;
const base::Kernel<ops::GridSampler3DBackwardParams> kGridSampler3DBackward =
    kKernel<ops::GridSampler3DBackwardParams>;

}  // namespace portacl::ref
