// Coordinates, padding, interpolation along one axis (docs/ops/grid_sampler_2d_backward.md).
#include "tools/testing/error_bound_axis.h"

#include <algorithm>
#include <array>

namespace portacl::golden {
namespace {

template <class Float>
struct Axis {
  int64_t extent;
  const SamplerMode& mode;
  Float size() const { return static_cast<Float>(extent); }
  Float last() const { return static_cast<Float>(extent - 1); }
  Float derivative() const { return (mode.align_corners ? last() : size()) / 2; }
};

template <class Float>
Float PixelOf(Float x, const Axis<Float>& axis) {
  if (std::isinf(x)) return x;
  if (axis.mode.align_corners) return ((x + 1) / 2) * axis.last();
  return ((x + 1) * axis.size() - 1) / 2;
}

template <class Float>
bool SumIsExact(Float a, Float b) {
  const Float sum = a + b, part = sum - a;
  return (a - (sum - part)) + (b - part) == 0;
}

template <class Float>
bool ProductIsExact(Float a, Float b) {
  return std::fma(a, b, -(a * b)) == 0;
}

// Whether every usual way to calculate the pixel has the same, exact result.
template <class Float>
bool IsSettled(Float x, const Axis<Float>& axis) {
  const Float factor = axis.mode.align_corners ? axis.last() : axis.size();
  const Float shifted = x + 1;
  if (!SumIsExact(x, Float{1}) || !ProductIsExact(shifted, factor) || !ProductIsExact(x, factor)) {
    return false;
  }
  return axis.mode.align_corners || SumIsExact(shifted * factor, Float{-1});
}

// How far a correct pixel may be from ours.
template <class Float>
Float Uncertainty(Float x, Float pixel, const Axis<Float>& axis) {
  if (std::isinf(pixel) || IsSettled(x, axis)) return 0;
  return 8 * std::numeric_limits<Float>::epsilon() * std::max(axis.size(), std::fabs(pixel));
}

// The pixel after padding, and the factor m on its derivative.
template <class Float>
struct Place {
  Float at, m;
};

template <class Float>
Float Folded(Float pixel, const Axis<Float>& axis, Float* sign) {
  const Float low = axis.mode.align_corners ? Float{0} : Float{-0.5};
  const Float span = axis.mode.align_corners ? axis.last() : axis.size();
  *sign = 0;
  if (span == 0) return 0;
  const Float distance = std::fabs(pixel - low);
  const Float folds = std::floor(distance / span);
  const Float rest = std::clamp(std::fma(-folds, span, distance), Float{0}, span);
  const bool odd = folds - 2 * std::floor(folds / 2) == 1;
  *sign = (pixel < low) == odd ? Float{1} : Float{-1};
  return (odd ? span - rest : rest) + low;
}

template <class Float>
Place<Float> Padded(Float pixel, const Axis<Float>& axis) {
  const int64_t padding = axis.mode.padding;
  if (padding == kCircular) {
    if (pixel >= -1 && pixel < axis.size()) return {pixel, 1};
    const Float rest = std::fma(-std::floor(pixel / axis.size()), axis.size(), pixel);
    return {rest <= 0 || rest >= axis.size() ? Float{0} : rest, 1};
  }
  if (padding == kZeros || padding == kConstant || axis.mode.interpolation == kBicubic) {
    return {pixel, 1};
  }
  Place<Float> place{pixel, 1};
  if (axis.mode.padding == kReflection) place.at = Folded(pixel, axis, &place.m);
  if (place.at <= 0) return {0, 0};
  if (place.at >= axis.last()) return {axis.last(), 0};
  return place;
}

int64_t InsideOrMinusOne(double at, int64_t extent) {
  return at >= 0 && at <= static_cast<double>(extent - 1) ? static_cast<int64_t>(at) : -1;
}

// Keys' kernel with A = -0.75 at the distance s of a sample, and its derivative by s; each with the
// sum of its terms' magnitudes.
template <class Wide>
struct Cubic {
  Wide weight, slope;
  double weight_magnitude, slope_magnitude;

  explicit Cubic(Wide s) {
    const Wide a = -0.75;
    const bool inner = s <= 1;
    const std::array<Wide, 4> c = inner ? std::array<Wide, 4>{a + 2, -(a + 3), 0, 1}
                                        : std::array<Wide, 4>{a, -5 * a, 8 * a, -4 * a};
    weight = ((c[0] * s + c[1]) * s + c[2]) * s + c[3];
    slope = (3 * c[0] * s + 2 * c[1]) * s + c[2];
    const std::array<Wide, 4> terms = {c[0] * s * s * s, c[1] * s * s, c[2] * s, c[3]};
    weight_magnitude = slope_magnitude = 0;
    for (const Wide term : terms) weight_magnitude += static_cast<double>(Magnitude(term));
    for (const Wide term : {3 * c[0] * s * s, 2 * c[1] * s, c[2]}) {
      slope_magnitude += static_cast<double>(Magnitude(term));
    }
  }
};

template <class Wide>
Tap<Wide> MakeTap(int64_t index, Wide weight, double weight_magnitude, Wide slope,
                  double slope_magnitude) {
  Tap<Wide> tap;
  tap.index = index;
  tap.weight = weight;
  tap.weight_magnitude = weight_magnitude;
  tap.slope = slope;
  tap.slope_magnitude = slope_magnitude;
  return tap;
}

// The taps inside the image.
template <class Float>
std::vector<Tap<typename WideOf<Float>::Type>> TapsAt(Float pixel, const Axis<Float>& axis) {
  using Wide = typename WideOf<Float>::Type;
  std::vector<Tap<Wide>> taps;
  const Place<Float> place = Padded(pixel, axis);
  const auto add = [&](Float at, Wide weight, double weight_magnitude, Wide slope,
                       double slope_magnitude) {
    int64_t index = InsideOrMinusOne(static_cast<double>(at), axis.extent);
    if (axis.mode.padding == kCircular) {
      index = (static_cast<int64_t>(at) % axis.extent + axis.extent) % axis.extent;
    }
    if (index < 0 && axis.mode.padding != kConstant) return;
    const Wide factor = static_cast<Wide>(place.m) * static_cast<Wide>(axis.derivative());
    taps.push_back(MakeTap<Wide>(index, weight, weight_magnitude, slope * factor,
                                 slope_magnitude * static_cast<double>(Magnitude(factor))));
  };
  if (axis.mode.interpolation == kNearestPixel) {
    add(std::nearbyint(place.at), 1, 1, 0, 0);
    return taps;
  }
  const Float first = std::floor(place.at);
  const Wide t = static_cast<Wide>(place.at) - static_cast<Wide>(first);
  if (axis.mode.interpolation == kBilinear) {
    add(first, 1 - t, static_cast<double>(1 - t), -1, 1);
    add(first + 1, t, static_cast<double>(t), 1, 1);
    return taps;
  }
  for (int i = -1; i <= 2; ++i) {
    Float at = first + static_cast<Float>(i), sign = 0;
    if (axis.mode.padding == kBorder) at = std::clamp(at, Float{0}, axis.last());
    if (axis.mode.padding == kReflection) {
      at = std::floor(std::clamp(Folded(at, axis, &sign), Float{0}, axis.last()));
    }
    const Wide distance = t - i;
    const Cubic<Wide> cubic(Magnitude(distance));
    add(at, cubic.weight, cubic.weight_magnitude, distance < 0 ? -cubic.slope : cubic.slope,
        cubic.slope_magnitude);
  }
  return taps;
}

template <class Wide>
struct Total {
  Wide weight = 0, slope = 0;
  double weight_magnitude = 0, slope_magnitude = 0;
};

template <class Wide>
Total<Wide> TotalAt(const std::vector<Tap<Wide>>& taps, int64_t index) {
  Total<Wide> total;
  for (const Tap<Wide>& tap : taps) {
    if (tap.index != index) continue;
    total.weight += tap.weight;
    total.slope += tap.slope;
    total.weight_magnitude += tap.weight_magnitude;
    total.slope_magnitude += tap.slope_magnitude;
  }
  return total;
}

template <class Wide>
bool IsSteady(Wide here, Wide there) {
  return (here > 0 && there > 0) || (here < 0 && there < 0);
}

// Enters into `taps` the changes if the point is moved and has the taps `moved`. Only the middle
// and both ends of a move are computed. A smooth weight can change a little more between them: half
// as much again is allowed.
//
// Of the two places' magnitudes the larger one is taken, because magnitudes jump if a point passes
// a node. At the distance 1 the terms of Keys' inner piece have the magnitude 5/4 + 9/4 + 1 = 4.5,
// the outer piece's 3/4 + 15/4 + 6 + 3 = 13.5. At the distance 2 - e the weight is about 3/4 e^2,
// so its spread says nothing. But it is the rest of 6 - 15 + 12 - 3: its rounding error is eps *
// 36, and the tap at 2 + e does not exist.
template <class Wide>
void AddSpread(const std::vector<Tap<Wide>>& moved, std::vector<Tap<Wide>>& taps) {
  constexpr double kBetween = 1.5;
  for (const Tap<Wide>& tap : moved) {
    const bool known = std::any_of(taps.begin(), taps.end(),
                                   [&](const Tap<Wide>& t) { return t.index == tap.index; });
    if (!known) {
      taps.push_back(MakeTap<Wide>(tap.index, 0, 0, 0, 0));
      taps.back().extra = true;
      taps.back().weight_steady = taps.back().slope_steady = false;
    }
  }
  for (size_t i = 0; i < taps.size(); ++i) {
    Tap<Wide>& tap = taps[i];
    const auto same = [&](const Tap<Wide>& t) { return t.index == tap.index; };
    const auto first = std::find_if(taps.begin(), taps.end(), same);
    const Total<Wide> here = TotalAt(taps, tap.index), there = TotalAt(moved, tap.index);
    tap.weight_steady &= IsSteady(here.weight, there.weight);
    tap.slope_steady &= IsSteady(here.slope, there.slope);
    if (first != taps.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    const auto spread = [](Wide a, Wide b) {
      return kBetween * static_cast<double>(Magnitude(a - b));
    };
    tap.weight_magnitude += std::max(there.weight_magnitude - here.weight_magnitude, 0.0);
    tap.slope_magnitude += std::max(there.slope_magnitude - here.slope_magnitude, 0.0);
    tap.weight_spread = std::max(tap.weight_spread, spread(here.weight, there.weight));
    tap.slope_spread = std::max(tap.slope_spread, spread(here.slope, there.slope));
  }
}

}  // namespace

template <class Float>
AxisPoint<typename WideOf<Float>::Type> AxisPointAt(Float coordinate, int64_t extent,
                                                    const SamplerMode& mode) {
  using Wide = typename WideOf<Float>::Type;
  AxisPoint<Wide> point;
  const Axis<Float> axis{extent, mode};
  if (std::isnan(coordinate)) {
    point.reach = Reach::kUnusable;
    return point;
  }
  const Float pixel = PixelOf(coordinate, axis);
  const Float uncertainty = Uncertainty(coordinate, pixel, axis);
  if (mode.replaces_outside) {
    const Float edge = mode.align_corners ? Float{0} : Float{0.5};
    const Float beyond = std::max(-edge - pixel, pixel - (axis.last() + edge));
    point.replaced = beyond > 0;
    point.at_edge = std::fabs(beyond) <= uncertainty && uncertainty > 0;
  }
  const bool folds = mode.padding == kReflection || mode.padding == kCircular ||
                     (mode.padding == kBorder && mode.interpolation == kBicubic);
  const bool leaves = mode.padding == kZeros || mode.padding == kConstant;
  if (std::isinf(pixel) && (folds || leaves)) {
    point.reach = leaves ? Reach::kOutside : Reach::kUnusable;
    point.wild = folds && !std::isinf(coordinate);  // finite in a wider arithmetic
    return point;
  }
  const bool moves = mode.padding == kReflection || mode.padding == kCircular;
  point.wild = moves && uncertainty > Float{0.125};
  point.taps = TapsAt(pixel, axis);
  if (uncertainty > 0) {
    AddSpread(TapsAt(pixel - uncertainty, axis), point.taps);
    AddSpread(TapsAt(pixel + uncertainty, axis), point.taps);
  }
  return point;
}

template AxisPoint<double> AxisPointAt(float, int64_t, const SamplerMode&);
template AxisPoint<Quad> AxisPointAt(double, int64_t, const SamplerMode&);

}  // namespace portacl::golden
