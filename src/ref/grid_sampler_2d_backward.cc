// inputGrad by planes (n, c), gridGrad by points; every destination has one owner and one order.
#include "ref/grid_sampler_2d_backward.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/checked.h"
#include "base/dispatch.h"
#include "ref/grid_sampler_2d_point.h"
#include "runtime/parallel.h"

namespace portacl::ref {
namespace {

using Params = ops::GridSampler2DBackwardParams;

template <class T>
using Compute = base::ComputeType<T>;

template <class T>
Point<Compute<T>> PointOf(const Params& p, int64_t n, int64_t oh, int64_t ow) {
  const auto& stride = p.grid_stride;
  const T* xy = static_cast<const T*>(p.grid) + n * stride[0] + oh * stride[1] + ow * stride[2];
  return LocatePoint<Compute<T>>(base::Widen(xy[0]), base::Widen(xy[stride[3]]), p.shape);
}

// ---- inputGrad ---------------------------------------------------------------------------------

// Adds every point of image n, row-major, to `sums` (h * w), the plane of one channel.
template <class T>
void ScatterPlane(const Params& p, int64_t n, int64_t c, Compute<T>* sums) {
  const auto& s = p.shape;
  const auto& stride = p.grad_output_stride;
  const T* grad_output = static_cast<const T*>(p.grad_output) + n * stride[0] + c * stride[1];
  for (int64_t oh = 0; oh < s.oh; ++oh) {
    for (int64_t ow = 0; ow < s.ow; ++ow) {
      const auto point = PointOf<T>(p, n, oh, ow);
      if (point.unusable() || point.outside()) continue;
      const auto x = TapsOf(point.x, s.w, s);
      const auto y = TapsOf(point.y, s.h, s);
      const Compute<T> g = base::Widen(grad_output[oh * stride[2] + ow * stride[3]]);
      for (size_t j = 0; j < static_cast<size_t>(y.count); ++j) {
        for (size_t i = 0; i < static_cast<size_t>(x.count); ++i) {
          if (y.index[j] < 0 || x.index[i] < 0) continue;
          Compute<T>& sum = sums[y.index[j] * s.w + x.index[i]];
          sum = std::fma(x.weight[i] * y.weight[j], g, sum);
        }
      }
    }
  }
}

template <class T>
void RunInputGrad(const Params& p, int slots, Compute<T>* workspace) {
  const auto& s = p.shape;
  const auto& to = p.input_grad_stride;
  runtime::ParallelForSlots(s.n * s.c, slots, [&](int slot, int64_t plane) {
    const int64_t n = plane / s.c;
    const int64_t c = plane % s.c;
    Compute<T>* sums = workspace + slot * (s.h * s.w);
    for (int64_t i = 0; i < s.h * s.w; ++i) sums[i] = 0;
    ScatterPlane<T>(p, n, c, sums);
    T* out = static_cast<T*>(p.input_grad) + n * to[0] + c * to[1];
    for (int64_t y = 0; y < s.h; ++y) {
      for (int64_t x = 0; x < s.w; ++x) {
        out[y * to[2] + x * to[3]] = base::Narrow<T>(sums[y * s.w + x]);
      }
    }
  });
}

// ---- gridGrad ----------------------------------------------------------------------------------

template <class F>
struct Slope {
  F x;
  F y;
};

template <class F>
Slope<F> BilinearSlope(const F (&v)[4][4], const AxisTaps<F>& x, const AxisTaps<F>& y) {
  const F nw = v[0][0];
  const F ne = v[0][1];
  const F sw = v[1][0];
  const F se = v[1][1];
  return {std::fma(se - sw, y.weight[1], (ne - nw) * y.weight[0]),
          std::fma(se - ne, x.weight[1], (sw - nw) * x.weight[0])};
}

template <class F>
Slope<F> BicubicSlope(const F (&v)[4][4], const AxisTaps<F>& x, const AxisTaps<F>& y) {
  Slope<F> slope{};
  for (size_t j = 0; j < 4; ++j) {
    F row = x.weight[0] * v[j][0];
    F row_slope = x.derivative[0] * v[j][0];
    for (size_t i = 1; i < 4; ++i) {
      row = std::fma(x.weight[i], v[j][i], row);
      row_slope = std::fma(x.derivative[i], v[j][i], row_slope);
    }
    slope.x = j == 0 ? y.weight[0] * row_slope : std::fma(y.weight[j], row_slope, slope.x);
    slope.y = j == 0 ? y.derivative[0] * row : std::fma(y.derivative[j], row, slope.y);
  }
  return slope;
}

// The fixed tree over the 16 channels of a block: lane i + lane i + 8, then 4, 2, 1.
template <class F>
F SumLanes(std::array<F, 16> lanes) {
  for (size_t half = 8; half >= 1; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] = lanes[i] + lanes[i + half];
  }
  return lanes[0];
}

template <class T>
Slope<Compute<T>> GridGradOf(const Params& p, int64_t n, int64_t oh, int64_t ow) {
  using F = Compute<T>;
  const auto& s = p.shape;
  constexpr F kNaN = std::numeric_limits<F>::quiet_NaN();
  if (s.interpolation == ops::Interpolation::kNearest || s.c == 0) return {0, 0};
  const auto point = PointOf<T>(p, n, oh, ow);
  if (point.unusable()) return {kNaN, kNaN};
  if (point.outside()) return {0, 0};
  const auto x = TapsOf(point.x, s.w, s);
  const auto y = TapsOf(point.y, s.h, s);

  F sum_x = 0;
  F sum_y = 0;
  for (int64_t block = 0; block < s.c; block += 16) {
    std::array<F, 16> lanes_x{};
    std::array<F, 16> lanes_y{};
    for (int64_t c = block; c < s.c && c < block + 16; ++c) {
      const T* plane =
          static_cast<const T*>(p.input) + n * p.input_stride[0] + c * p.input_stride[1];
      F values[4][4] = {};  // outside the image: 0
      for (size_t j = 0; j < static_cast<size_t>(y.count); ++j) {
        for (size_t i = 0; i < static_cast<size_t>(x.count); ++i) {
          if (y.index[j] < 0 || x.index[i] < 0) continue;
          values[j][i] =
              base::Widen(plane[y.index[j] * p.input_stride[2] + x.index[i] * p.input_stride[3]]);
        }
      }
      const Slope<F> slope = s.interpolation == ops::Interpolation::kBicubic
                                 ? BicubicSlope(values, x, y)
                                 : BilinearSlope(values, x, y);
      const auto& from = p.grad_output_stride;
      const F g = base::Widen(static_cast<const T*>(
          p.grad_output)[n * from[0] + c * from[1] + oh * from[2] + ow * from[3]]);
      lanes_x[static_cast<size_t>(c - block)] = g * slope.x;
      lanes_y[static_cast<size_t>(c - block)] = g * slope.y;
    }
    sum_x += SumLanes(lanes_x);
    sum_y += SumLanes(lanes_y);
  }
  return {sum_x * point.x.slope, sum_y * point.y.slope};
}

template <class T>
void RunGridGrad(const Params& p) {
  const auto& s = p.shape;
  const auto& to = p.grid_grad_stride;
  // An index of the loop is one row (n, oh) of points; a thread gets some microseconds of them.
  const int64_t grain = 1 + 1024 / (s.ow * s.c + 1);
  runtime::ParallelFor(s.n * s.oh, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t n = row / s.oh;
      const int64_t oh = row % s.oh;
      for (int64_t ow = 0; ow < s.ow; ++ow) {
        const auto grad = GridGradOf<T>(p, n, oh, ow);
        T* out = static_cast<T*>(p.grid_grad) + n * to[0] + oh * to[1] + ow * to[2];
        out[0] = base::Narrow<T>(grad.x);
        out[to[3]] = base::Narrow<T>(grad.y);
      }
    }
  });
}

// ---- the kernel --------------------------------------------------------------------------------

// Workspace: one plane of sums in the compute type per thread; their number is the plan's table.
bool Plan(const Params& p, base::KernelPlan* plan) {
  if (!p.want_input_grad) return true;
  // Below some microseconds of work one thread is faster.
  const int64_t work = p.shape.c * p.shape.oh * p.shape.ow;
  const int slots = p.shape.n * work < 1024 ? 1 : runtime::NumThreads();
  const uint64_t element = p.shape.dtype == base::DType::kDouble ? 8 : 4;
  uint64_t bytes = element * static_cast<uint64_t>(slots);
  if (!base::CheckedMul(bytes, static_cast<uint64_t>(p.shape.h), &bytes) ||
      !base::CheckedMul(bytes, static_cast<uint64_t>(p.shape.w), &bytes)) {
    return false;
  }
  plan->workspace_size = bytes;
  plan->table = std::make_shared<const int>(slots);
  return true;
}

}  // namespace

const base::Kernel<Params> kGridSampler2DBackward = {
    "ref",
    [] { return true; },
    Plan,
    [](const Params& p, const base::KernelPlan& plan, void* workspace) {
      base::DispatchFloating(p.shape.dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if (p.want_input_grad) {
          RunInputGrad<T>(p, *static_cast<const int*>(plan.table.get()),
                          static_cast<Compute<T>*>(workspace));
        }
        if (p.want_grid_grad) RunGridGrad<T>(p);
      });
    },
};

}  // namespace portacl::ref
