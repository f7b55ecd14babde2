// Where a point lies on one axis, exactly as docs/ops/grid_sampler_2d_backward.md defines it:
// coordinate, padding, slope, and the cubic weights. The reference and the kernels of a GPU share
// it; the SIMD kernels repeat every expression in this order, bit by bit.
#ifndef PORTACL_REF_GRID_SAMPLER_AXIS_H_
#define PORTACL_REF_GRID_SAMPLER_AXIS_H_

#include <cstdint>

#include "base/device_math.h"
#include "ops/grid_sampler_params.h"

namespace portacl::ref {

struct AxisRule {
  int64_t extent;
  ops::Padding padding;
  bool align_corners;
  bool replaces_outside = false;
};

// One axis of a point. F is float, or double for DOUBLE tensors.
template <class F>
struct AxisPosition {
  F at = 0;               // coordinate in pixels after padding (bicubic: before)
  F slope = 0;            // d at / d x: the padding's factor times the pixels per unit of x
  bool unusable = false;  // NaN, or an infinity that the padding cannot place
  bool outside = false;   // no tap is in the image (with zeros padding: only if infinite)
  bool replaced = false;  // outside the image, and the rule replaces such points
};

// Reflects `at` until it lies in [low, low + span], then clips it to [0, extent - 1]. Writes the
// derivative's factor to `sign`. With span 0 (one pixel, alignCorners) both results are 0.
template <class F>
PORTACL_DEVICE F Reflect(F at, const AxisRule& rule, F* sign) {
  const F last = static_cast<F>(rule.extent - 1);
  const F low = rule.align_corners ? F{0} : F{-0.5};
  const F span = rule.align_corners ? last : static_cast<F>(rule.extent);
  *sign = 0;
  if (span == 0) return 0;
  const F distance = base::Abs(at - low);
  const F folds = base::Floor(distance / span);
  const F unclipped = base::Fma(-folds, span, distance);
  const F rest = unclipped < 0 ? F{0} : (span < unclipped ? span : unclipped);
  const bool odd = folds - 2 * base::Floor(folds / 2) == 1;
  const F reflected = (odd ? span - rest : rest) + low;
  if (reflected <= 0) return 0;
  if (reflected >= last) return last;
  *sign = ((at < low) != odd) ? F{-1} : F{1};
  return reflected;
}

template <class F>
PORTACL_DEVICE F Clip(F at, int64_t extent) {
  const F last = static_cast<F>(extent - 1);
  return at <= 0 ? F{0} : (at >= last ? last : at);
}

// Moves `at` by whole periods of the extent into [-1, extent). Pixel -1 is then the last pixel, and
// pixel `extent` is then pixel 0.
template <class F>
PORTACL_DEVICE F Wrap(F at, int64_t extent) {
  const F period = static_cast<F>(extent);
  if (at >= -1 && at < period) return at;
  const F rest = base::Fma(-base::Floor(at / period), period, at);
  return rest <= 0 || rest >= period ? F{0} : rest;
}

// True if a coordinate before padding is outside the image: beyond its outer edges or, if corners
// are aligned, beyond the middles of its border pixels.
template <class F>
PORTACL_DEVICE bool IsOutside(F at, const AxisRule& rule) {
  const F edge = rule.align_corners ? F{0} : F{0.5};
  return at < -edge || at > static_cast<F>(rule.extent - 1) + edge;
}

// Locates coordinate x on an axis. `pads_taps` is true for bicubic, which pads each tap by itself.
template <class F>
PORTACL_DEVICE AxisPosition<F> Locate(F x, const AxisRule& rule, bool pads_taps) {
  AxisPosition<F> position;
  if (base::IsNaN(x)) {
    position.unusable = true;
    return position;
  }
  const F size = static_cast<F>(rule.extent);
  const F last = static_cast<F>(rule.extent - 1);
  // An infinite x stays infinite, even if the formula would make 0 * infinity.
  F at = x;
  if (!base::IsInfinite(x)) {
    at = rule.align_corners ? ((x + 1) / 2) * last : ((x + 1) * size - 1) / 2;
  }
  const F pixels_per_unit = (rule.align_corners ? last : size) / 2;
  F factor = 1;
  position.replaced = rule.replaces_outside && IsOutside(at, rule);
  if (rule.padding == ops::Padding::kZeros) {
    position.outside = base::IsInfinite(at);
  } else if (rule.padding == ops::Padding::kConstant) {
    const F reach = pads_taps ? F{2} : F{1};
    position.outside = !(at >= -reach && at < last + reach);
  } else if (rule.padding == ops::Padding::kCircular) {
    position.unusable = base::IsInfinite(at);
    if (!position.unusable) at = Wrap(at, rule.extent);
  } else if (pads_taps) {
    position.unusable = base::IsInfinite(at);
  } else if (rule.padding == ops::Padding::kBorder) {
    factor = at <= 0 || at >= last ? F{0} : F{1};
    at = Clip(at, rule.extent);
  } else if (base::IsInfinite(at)) {
    position.unusable = true;
  } else {
    at = Reflect(at, rule, &factor);
  }
  position.at = at;
  position.slope = factor * pixels_per_unit;
  return position;
}

// Returns the index of a tap on an axis, or -1 outside. Checks the range before it converts `at`,
// so that no coordinate can index memory. Padded coordinates are inside the image. The minimum is
// needed because `at` may round up in float for extents above 2^24.
template <class F>
PORTACL_DEVICE int64_t TapIndex(F at, int64_t extent, ops::Padding padding) {
  if (padding == ops::Padding::kCircular) {  // at most two pixels away, by Wrap()
    const int64_t index = static_cast<int64_t>(at) % extent;
    return index < 0 ? index + extent : index;
  }
  if (!(at >= 0 && at < F{0x1p62})) return -1;
  const auto index = static_cast<int64_t>(at);
  const bool clips = padding == ops::Padding::kBorder || padding == ops::Padding::kReflection;
  if (clips) return index < extent - 1 ? index : extent - 1;
  return index < extent ? index : -1;
}

// Pads the position of tap i of a bicubic point; `first` is the position of tap 1.
template <class F>
PORTACL_DEVICE F CubicTap(F first, int i, const AxisRule& rule) {
  const F at = first + static_cast<F>(i - 1);
  F sign = 0;
  if (rule.padding == ops::Padding::kBorder) return Clip(at, rule.extent);
  return rule.padding == ops::Padding::kReflection ? Reflect(at, rule, &sign) : at;
}

// Keys' convolution kernel with A = -0.75 at distance s: CubicNear for |s| <= 1, CubicFar up to 2.
template <class F>
PORTACL_DEVICE F CubicNear(F s) {
  constexpr F kA = F{-0.75};
  return ((kA + 2) * s - (kA + 3)) * s * s + 1;
}
template <class F>
PORTACL_DEVICE F CubicFar(F s) {
  constexpr F kA = F{-0.75};
  return ((kA * s - 5 * kA) * s + 8 * kA) * s - 4 * kA;
}
template <class F>
PORTACL_DEVICE F CubicNearSlope(F s) {
  constexpr F kA = F{-0.75};
  return (3 * (kA + 2) * s - 2 * (kA + 3)) * s;
}
template <class F>
PORTACL_DEVICE F CubicFarSlope(F s) {
  constexpr F kA = F{-0.75};
  return (3 * kA * s - 10 * kA) * s + 8 * kA;
}

// The distance of a bicubic point from tap i. t = at - first is inexact only for `at` between -1
// and 0. There tap 2 is pixel 0, and -at is the exact distance from it.
template <class F>
PORTACL_DEVICE F CubicDistance(F at, int i) {
  const F first = base::Floor(at);
  const F t = at - first;
  const bool below = first == -1;
  switch (i) {
    case 0:
      return t + 1;
    case 1:
      return t;
    case 2:
      return below ? -at : 1 - t;
    default:
      return below ? 1 - at : 2 - t;
  }
}

// The weight of tap i of a bicubic point, and this weight's derivative by the coordinate.
template <class F>
PORTACL_DEVICE F CubicWeight(F at, int i) {
  const F distance = CubicDistance(at, i);
  return i == 1 || i == 2 ? CubicNear(distance) : CubicFar(distance);
}
template <class F>
PORTACL_DEVICE F CubicSlope(F at, int i) {
  const F distance = CubicDistance(at, i);
  const F slope = i == 1 || i == 2 ? CubicNearSlope(distance) : CubicFarSlope(distance);
  return i < 2 ? slope : -slope;
}

}  // namespace portacl::ref

#endif  // PORTACL_REF_GRID_SAMPLER_AXIS_H_
