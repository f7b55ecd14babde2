// Computes where a point samples an image (kAxes = 2) or a volume (3): coordinates, padding, taps
// and weights, axis by axis, as docs/ops/grid_sampler_2d_backward.md defines them. kTaps per axis
// is 1 for nearest, 2 for bilinear, 4 for bicubic.
#ifndef PORTACL_CUDA_GRID_POINT_H_
#define PORTACL_CUDA_GRID_POINT_H_

#include <array>
#include <cstdint>
#include <limits>

#include "cuda/element.h"
#include "cuda/index.h"
#include "ops/grid_sampler_params.h"
#include "ref/grid_sampler_axis.h"

namespace portacl::cuda {

using ops::Padding;

using ref::AxisPosition;
using ref::AxisRule;

// ---- one axis ----------------------------------------------------------------------------------

template <class F, int kTaps>
struct AxisTaps {
  int64_t index[kTaps];
  F weight[kTaps];
  F derivative[kTaps];  // only for bicubic
};

// Returns the weight of tap i of a point at `at`.
template <int kTaps, class F>
PORTACL_DEVICE F WeightOf(F at, int i) {
  if (kTaps == 1) return 1;
  if (kTaps == 4) return ref::CubicWeight(at, i);
  const F first = Floor(at);
  return i == 0 ? (first + 1) - at : at - first;
}

template <int kTaps, class F>
PORTACL_DEVICE AxisTaps<F, kTaps> TapsOf(const AxisPosition<F>& position, const AxisRule& rule) {
  AxisTaps<F, kTaps> taps;
  PORTACL_UNROLL
  for (int i = 0; i < kTaps; ++i) taps.weight[i] = WeightOf<kTaps>(position.at, i);
  if constexpr (kTaps == 1) {
    taps.index[0] = ref::TapIndex(RoundToEven(position.at), rule.extent, rule.padding);
  } else if constexpr (kTaps == 2) {
    const F first = Floor(position.at);
    taps.index[0] = ref::TapIndex(first, rule.extent, rule.padding);
    taps.index[1] = ref::TapIndex(first + 1, rule.extent, Padding::kZeros);
  } else {
    const F first = Floor(position.at);
    PORTACL_UNROLL
    for (int i = 0; i < 4; ++i) {
      taps.index[i] = ref::TapIndex(ref::CubicTap(first, i, rule), rule.extent, rule.padding);
      taps.derivative[i] = ref::CubicSlope(position.at, i);
    }
  }
  return taps;
}

// ---- all axes ----------------------------------------------------------------------------------

// The taps of a point. An image is one plane: its z axis has one tap of weight 1.
template <class F, int kAxes, int kTaps>
struct Point {
  static constexpr int kPlanes = kAxes == 3 ? kTaps : 1;
  bool unusable = false;
  bool outside = false;
  F slope[3] = {};  // d coordinate / d grid, for x, y, z
  AxisTaps<F, kTaps> x, y;
  AxisTaps<F, kPlanes> z;

  // Calls visit(k, j, i) for each tap inside, in order.
  template <class Visit>
  PORTACL_DEVICE void ForTaps(const Visit& visit) const {
    PORTACL_UNROLL
    for (int k = 0; k < kPlanes; ++k) {
      PORTACL_UNROLL
      for (int j = 0; j < kTaps; ++j) {
        PORTACL_UNROLL
        for (int i = 0; i < kTaps; ++i) {
          if (Inside(k, j, i)) visit(k, j, i);
        }
      }
    }
  }
  PORTACL_DEVICE bool Inside(int k, int j, int i) const {
    return z.index[k] >= 0 && y.index[j] >= 0 && x.index[i] >= 0;
  }
  PORTACL_DEVICE F Weight(int k, int j, int i) const {
    return (x.weight[i] * y.weight[j]) * z.weight[k];
  }
};

// The geometry of a call. Points are indexed like a tensor, with the coordinate as c.
struct Geometry {
  int64_t n, c;
  int64_t d, h, w;     // extents of the input
  int64_t od, oh, ow;  // extents of the points
  AxisRule x, y, z;
  Strides grid_stride;

  int64_t pixels() const { return d * h * w; }
  int64_t points() const { return od * oh * ow; }
};

template <int kTaps, int kAxes, class T>
PORTACL_DEVICE Point<ComputeType<T>, kAxes, kTaps> PointAt(const Geometry& g, const T* grid,
                                                           const Place& at) {
  using F = ComputeType<T>;
  const T* const from = grid + at.n * g.grid_stride.n + at.d * g.grid_stride.d +
                        at.h * g.grid_stride.h + at.w * g.grid_stride.w;
  const AxisPosition<F> x = ref::Locate(Widened(from[0]), g.x, kTaps == 4);
  const AxisPosition<F> y = ref::Locate(Widened(from[g.grid_stride.c]), g.y, kTaps == 4);
  AxisPosition<F> z;
  if constexpr (kAxes == 3) z = ref::Locate(Widened(from[2 * g.grid_stride.c]), g.z, kTaps == 4);
  Point<F, kAxes, kTaps> point;
  point.unusable = x.unusable || y.unusable || z.unusable;
  point.outside = x.outside || y.outside || z.outside;
  point.slope[0] = x.slope;
  point.slope[1] = y.slope;
  point.slope[2] = z.slope;
  if (point.unusable || point.outside) return point;
  point.x = TapsOf<kTaps>(x, g.x);
  point.y = TapsOf<kTaps>(y, g.y);
  if constexpr (kAxes == 3) {
    point.z = TapsOf<kTaps>(z, g.z);
  } else {
    point.z.index[0] = 0;
    point.z.weight[0] = 1;
  }
  return point;
}

// ---- from parameters ---------------------------------------------------------------------------

// Returns strides as (n, d, h, w, coordinate).
inline Strides GridStridesOf(const std::array<int64_t, 4>& s) {
  return {s[0], s[3], 0, s[1], s[2]};
}
inline Strides GridStridesOf(const std::array<int64_t, 5>& s) {
  return {s[0], s[4], s[1], s[2], s[3]};
}

inline int64_t DepthOf(const ops::GridSampler2DShape&) { return 1; }
inline int64_t DepthOf(const ops::GridSampler3DShape& s) { return s.d; }
inline int64_t PlanesOf(const ops::GridSampler2DShape&) { return 1; }
inline int64_t PlanesOf(const ops::GridSampler3DShape& s) { return s.od; }

template <class Params>
inline constexpr int kAxesOf = static_cast<int>(std::tuple_size_v<decltype(Params::grid_stride)>) -
                               2;

template <class Params>
Geometry GeometryOf(const Params& p) {
  const auto& s = p.shape;
  const auto rule = [&](int64_t extent) { return AxisRule{extent, s.padding, s.align_corners}; };
  return {s.n,
          s.c,
          DepthOf(s),
          s.h,
          s.w,
          PlanesOf(s),
          s.oh,
          s.ow,
          rule(s.w),
          rule(s.h),
          rule(DepthOf(s)),
          GridStridesOf(p.grid_stride)};
}

// Calls f(std::integral_constant<int, kTaps>()) for the interpolation's kTaps.
template <class F>
void WithTaps(ops::Interpolation interpolation, const F& f) {
  switch (interpolation) {
    case ops::Interpolation::kNearest:
      return f(std::integral_constant<int, 1>());
    case ops::Interpolation::kBilinear:
      return f(std::integral_constant<int, 2>());
    case ops::Interpolation::kBicubic:
      return f(std::integral_constant<int, 4>());
  }
}

// Returns how many channels one thread computes: enough to use a point's taps several times, but
// few enough to have threads for the whole machine.
inline int64_t ChannelsAThread(int64_t channels, int64_t places) {
  constexpr int64_t kThreads = Threshold(int64_t{1} << 18, 300);
  int64_t count = 8;
  while (count > 1 && places * ((channels + count - 1) / count) < kThreads) count /= 2;
  return count;
}

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_GRID_POINT_H_
