// Where a grid point samples the image: coordinates, padding, taps and weights, exactly as
// docs/ops/grid_sampler_2d_backward.md defines them. Shared by the two reference kernels, and the
// definition of every expression's order that the faster kernels repeat bit by bit.
#ifndef PORTACL_REF_GRID_SAMPLER_2D_POINT_H_
#define PORTACL_REF_GRID_SAMPLER_2D_POINT_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "ops/grid_sampler_2d_params.h"

namespace portacl::ref {

// One axis of a point. F is float, or double for DOUBLE tensors.
template <class F>
struct AxisPosition {
  F at = 0;               // coordinate in pixels after padding (bicubic: before)
  F slope = 0;            // d at / d x: padding's factor times the pixels per unit
  bool unusable = false;  // NaN, or an infinity that the padding cannot place
  bool outside = false;   // infinite with zeros padding: beyond every tap
};

// Reflects `at` until it lies in [lo, lo + span] and clips it to [0, extent - 1]; `sign` gets the
// factor of the derivative. Span 0 (one pixel, alignCorners): 0 and 0.
template <class F>
F Reflect(F at, int64_t extent, bool align_corners, F* sign) {
  const F last = static_cast<F>(extent - 1);
  const F lo = align_corners ? F{0} : F{-0.5};
  const F span = align_corners ? last : static_cast<F>(extent);
  *sign = 0;
  if (span == 0) return 0;
  const F distance = std::abs(at - lo);
  const F folds = std::floor(distance / span);
  const F rest = std::clamp(std::fma(-folds, span, distance), F{0}, span);
  const bool odd = folds - 2 * std::floor(folds / 2) == 1;
  const F reflected = (odd ? span - rest : rest) + lo;
  if (reflected <= 0) return 0;
  if (reflected >= last) return last;
  *sign = ((at < lo) != odd) ? F{-1} : F{1};
  return reflected;
}

template <class F>
F Clip(F at, int64_t extent) {
  const F last = static_cast<F>(extent - 1);
  return at <= 0 ? F{0} : (at >= last ? last : at);
}

template <class F>
AxisPosition<F> Locate(F x, int64_t extent, const ops::GridSampler2DShape& shape) {
  AxisPosition<F> position;
  if (std::isnan(x)) {
    position.unusable = true;
    return position;
  }
  const F size = static_cast<F>(extent);
  const F last = static_cast<F>(extent - 1);
  // An infinite x stays infinite, also where the formula would make 0 * infinity.
  F at = x;
  if (!std::isinf(x)) {
    at = shape.align_corners ? ((x + 1) / 2) * last : ((x + 1) * size - 1) / 2;
  }
  const F pixels_per_unit = (shape.align_corners ? last : size) / 2;
  const bool bicubic = shape.interpolation == ops::Interpolation::kBicubic;
  F factor = 1;
  switch (shape.padding) {
    case ops::Padding::kZeros:
      position.outside = std::isinf(at);
      break;
    case ops::Padding::kBorder:
      if (bicubic) {  // its taps are clipped one by one
        position.unusable = std::isinf(at);
      } else {
        factor = at <= 0 || at >= last ? F{0} : F{1};
        at = Clip(at, extent);
      }
      break;
    case ops::Padding::kReflection:
      if (std::isinf(at)) {
        position.unusable = true;
      } else if (!bicubic) {
        at = Reflect(at, extent, shape.align_corners, &factor);
      }
      break;
  }
  position.at = at;
  position.slope = factor * pixels_per_unit;
  return position;
}

template <class F>
struct Point {
  AxisPosition<F> x;
  AxisPosition<F> y;
  bool unusable() const { return x.unusable || y.unusable; }
  bool outside() const { return x.outside || y.outside; }
};

template <class F>
Point<F> LocatePoint(F x, F y, const ops::GridSampler2DShape& shape) {
  return {Locate(x, shape.w, shape), Locate(y, shape.h, shape)};
}

// Index of a tap on an axis, or -1 outside. Range-checked in floating point before the conversion,
// so that no coordinate can index memory. Padded coordinates are inside by construction; the last
// pixel's index may round up in float for extents above 2^24, hence the min.
template <class F>
int64_t TapIndex(F at, int64_t extent, ops::Padding padding) {
  if (!(at >= 0 && at < F{0x1p62})) return -1;
  const auto index = static_cast<int64_t>(at);
  if (padding != ops::Padding::kZeros) return std::min(index, extent - 1);
  return index < extent ? index : -1;
}

// The taps of an axis in ascending order, the weight of each, and the weight's derivative.
template <class F>
struct AxisTaps {
  int count = 0;
  std::array<int64_t, 4> index{};  // -1: outside
  std::array<F, 4> weight{};
  std::array<F, 4> derivative{};  // bicubic only
};

// Keys' convolution kernel with A = -0.75 at distance s: |s| <= 1, and 1 < |s| < 2.
template <class F>
F CubicNear(F s) {
  constexpr F kA = F{-0.75};
  return ((kA + 2) * s - (kA + 3)) * s * s + 1;
}
template <class F>
F CubicFar(F s) {
  constexpr F kA = F{-0.75};
  return ((kA * s - 5 * kA) * s + 8 * kA) * s - 4 * kA;
}
template <class F>
F CubicNearSlope(F s) {
  constexpr F kA = F{-0.75};
  return (3 * (kA + 2) * s - 2 * (kA + 3)) * s;
}
template <class F>
F CubicFarSlope(F s) {
  constexpr F kA = F{-0.75};
  return (3 * kA * s - 10 * kA) * s + 8 * kA;
}

template <class F>
AxisTaps<F> TapsOf(const AxisPosition<F>& position, int64_t extent,
                   const ops::GridSampler2DShape& shape) {
  AxisTaps<F> taps;
  switch (shape.interpolation) {
    case ops::Interpolation::kNearest: {
      taps.count = 1;
      // std::nearbyint rounds half to even in the default rounding mode, which tasks run in.
      taps.index[0] = TapIndex(std::nearbyint(position.at), extent, shape.padding);
      taps.weight[0] = 1;
      break;
    }
    case ops::Interpolation::kBilinear: {
      const F first = std::floor(position.at);
      taps.count = 2;
      taps.index[0] = TapIndex(first, extent, shape.padding);
      // The upper tap is outside the image at the last pixel, whatever the padding.
      taps.index[1] = TapIndex(first + 1, extent, ops::Padding::kZeros);
      taps.weight[0] = (first + 1) - position.at;
      taps.weight[1] = position.at - first;
      break;
    }
    case ops::Interpolation::kBicubic: {
      const F first = std::floor(position.at);
      const F t = position.at - first;
      taps.count = 4;
      for (int i = 0; i < 4; ++i) {
        F at = first + static_cast<F>(i - 1);
        F sign = 0;
        if (shape.padding == ops::Padding::kBorder) at = Clip(at, extent);
        if (shape.padding == ops::Padding::kReflection) {
          at = Reflect(at, extent, shape.align_corners, &sign);
        }
        taps.index[static_cast<size_t>(i)] = TapIndex(at, extent, shape.padding);
      }
      taps.weight = {CubicFar(t + 1), CubicNear(t), CubicNear(1 - t), CubicFar(2 - t)};
      taps.derivative = {CubicFarSlope(t + 1), CubicNearSlope(t), -CubicNearSlope(1 - t),
                         -CubicFarSlope(2 - t)};
      break;
    }
  }
  return taps;
}

}  // namespace portacl::ref

#endif  // PORTACL_REF_GRID_SAMPLER_2D_POINT_H_
