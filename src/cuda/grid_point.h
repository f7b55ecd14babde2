// Where a point samples an image (kAxes = 2) or a volume (3), as
// docs/ops/grid_sampler_2d_backward.md defines it: coordinates, padding, taps and weights, axis by
// axis. kTaps an axis: 1 nearest, 2 bilinear, 4 bicubic.
#ifndef PORTACL_CUDA_GRID_POINT_H_
#define PORTACL_CUDA_GRID_POINT_H_

#include <array>
#include <cstdint>
#include <limits>

#include "cuda/element.h"
#include "cuda/index.h"
#include "ops/grid_sampler_3d_params.h"

namespace portacl::cuda {

using ops::Padding;

// ---- one axis ----------------------------------------------------------------------------------

struct AxisRule {
  int64_t extent;
  Padding padding;
  bool align_corners;
};

template <class F>
struct Position {
  F at = 0;     // in pixels, padded (bicubic: before padding)
  F slope = 0;  // d at / d coordinate
  bool unusable = false;
  bool outside = false;
};

template <class F>
PORTACL_DEVICE F Clip(F at, F last) {
  return at <= 0 ? F(0) : (at >= last ? last : at);
}

template <class F>
PORTACL_DEVICE F Reflect(F at, const AxisRule& rule, F* sign) {
  const F last = static_cast<F>(rule.extent - 1);
  const F low = rule.align_corners ? F(0) : F(-0.5);
  const F span = rule.align_corners ? last : static_cast<F>(rule.extent);
  *sign = 0;
  if (span == 0) return 0;
  const F distance = Abs(at - low);
  const F folds = Floor(distance / span);
  const F unclipped = Fma(-folds, span, distance);
  const F rest = unclipped < 0 ? F(0) : (span < unclipped ? span : unclipped);
  const bool odd = folds - 2 * Floor(folds / 2) == 1;
  const F reflected = (odd ? span - rest : rest) + low;
  if (reflected <= 0) return 0;
  if (reflected >= last) return last;
  *sign = ((at < low) != odd) ? F(-1) : F(1);
  return reflected;
}

template <int kTaps, class F>
PORTACL_DEVICE Position<F> Locate(F x, const AxisRule& rule) {
  Position<F> position;
  if (IsNaN(x)) {
    position.unusable = true;
    return position;
  }
  const F size = static_cast<F>(rule.extent);
  const F last = static_cast<F>(rule.extent - 1);
  F at = x;
  if (!IsInfinite(x)) {
    at = rule.align_corners ? ((x + 1) / 2) * last : ((x + 1) * size - 1) / 2;
  }
  const F pixels_per_unit = (rule.align_corners ? last : size) / 2;
  F factor = 1;
  if (rule.padding == Padding::kZeros) {
    position.outside = IsInfinite(at);
  } else if (kTaps == 4) {  // each tap is padded by itself
    position.unusable = IsInfinite(at);
  } else if (rule.padding == Padding::kBorder) {
    factor = at <= 0 || at >= last ? F(0) : F(1);
    at = Clip(at, last);
  } else if (IsInfinite(at)) {
    position.unusable = true;
  } else {
    at = Reflect(at, rule, &factor);
  }
  position.at = at;
  position.slope = factor * pixels_per_unit;
  return position;
}

// -1 outside.
template <class F>
PORTACL_DEVICE int64_t TapIndex(F at, int64_t extent, Padding padding) {
  if (!(at >= 0 && at < F(4611686018427387904.0))) return -1;
  const auto index = static_cast<int64_t>(at);
  if (padding != Padding::kZeros) return index < extent - 1 ? index : extent - 1;
  return index < extent ? index : -1;
}

template <class F, int kTaps>
struct AxisTaps {
  int64_t index[kTaps];
  F weight[kTaps];
  F derivative[kTaps];  // bicubic
};

template <class F>
PORTACL_DEVICE F CubicNear(F s) {
  const F a = F(-0.75);
  return ((a + 2) * s - (a + 3)) * s * s + 1;
}
template <class F>
PORTACL_DEVICE F CubicFar(F s) {
  const F a = F(-0.75);
  return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a;
}
template <class F>
PORTACL_DEVICE F CubicNearSlope(F s) {
  const F a = F(-0.75);
  return (3 * (a + 2) * s - 2 * (a + 3)) * s;
}
template <class F>
PORTACL_DEVICE F CubicFarSlope(F s) {
  const F a = F(-0.75);
  return (3 * a * s - 10 * a) * s + 8 * a;
}

// The weight of tap i of a point at `at`.
template <int kTaps, class F>
PORTACL_DEVICE F WeightOf(F at, int i) {
  const F first = Floor(at);
  if (kTaps == 1) return 1;
  if (kTaps == 2) return i == 0 ? (first + 1) - at : at - first;
  const F t = at - first;
  const bool below = first == -1;
  if (i == 1 || i == 2) return CubicNear(i == 1 ? t : (below ? -at : 1 - t));
  return CubicFar(i == 0 ? t + 1 : (below ? 1 - at : 2 - t));
}

// The padded place of tap i of a bicubic point. Tap 1 of the point is `first`.
template <class F>
PORTACL_DEVICE F CubicTap(F first, int i, const AxisRule& rule) {
  const F at = first + static_cast<F>(i - 1);
  F sign = 0;
  if (rule.padding == Padding::kBorder) return Clip(at, static_cast<F>(rule.extent - 1));
  return rule.padding == Padding::kReflection ? Reflect(at, rule, &sign) : at;
}

template <int kTaps, class F>
PORTACL_DEVICE AxisTaps<F, kTaps> TapsOf(const Position<F>& position, const AxisRule& rule) {
  AxisTaps<F, kTaps> taps;
  PORTACL_UNROLL
  for (int i = 0; i < kTaps; ++i) taps.weight[i] = WeightOf<kTaps>(position.at, i);
  if constexpr (kTaps == 1) {
    taps.index[0] = TapIndex(RoundToEven(position.at), rule.extent, rule.padding);
  } else if constexpr (kTaps == 2) {
    const F first = Floor(position.at);
    taps.index[0] = TapIndex(first, rule.extent, rule.padding);
    taps.index[1] = TapIndex(first + 1, rule.extent, Padding::kZeros);
  } else {
    const F first = Floor(position.at);
    const F t = position.at - first;
    const bool below = first == -1;
    PORTACL_UNROLL
    for (int i = 0; i < 4; ++i) {
      taps.index[i] = TapIndex(CubicTap(first, i, rule), rule.extent, rule.padding);
    }
    taps.derivative[0] = CubicFarSlope(t + 1);
    taps.derivative[1] = CubicNearSlope(t);
    taps.derivative[2] = -CubicNearSlope(below ? -position.at : 1 - t);
    taps.derivative[3] = -CubicFarSlope(below ? 1 - position.at : 2 - t);
  }
  return taps;
}

// ---- all axes ----------------------------------------------------------------------------------

// The taps of a point. An image is one plane: its z has one tap of weight 1.
template <class F, int kAxes, int kTaps>
struct Point {
  static constexpr int kPlanes = kAxes == 3 ? kTaps : 1;
  bool unusable = false;
  bool outside = false;
  F slope[3] = {};  // along x, y, z
  AxisTaps<F, kTaps> x, y;
  AxisTaps<F, kPlanes> z;

  // Calls visit(k, j, i) for each tap, in order, that lies inside.
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

// A call as its kernels see it. Points count as a tensor; c is the coordinate.
struct Geometry {
  int64_t n, c;
  int64_t d, h, w;     // of the input
  int64_t od, oh, ow;  // points
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
  const Position<F> x = Locate<kTaps>(Widened(from[0]), g.x);
  const Position<F> y = Locate<kTaps>(Widened(from[g.grid_stride.c]), g.y);
  Position<F> z;
  if constexpr (kAxes == 3) z = Locate<kTaps>(Widened(from[2 * g.grid_stride.c]), g.z);
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

// Of (n, d, h, w, coordinate).
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

// Calls f(std::integral_constant<int, kTaps>()).
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

// Channels that one thread computes: enough to use a point's taps several times, and few enough
// that there are threads for the whole machine.
inline int64_t ChannelsAThread(int64_t channels, int64_t places) {
  constexpr int64_t kThreads = Threshold(int64_t{1} << 18, 300);
  int64_t count = 8;
  while (count > 1 && places * ((channels + count - 1) / count) < kThreads) count /= 2;
  return count;
}

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_GRID_POINT_H_
