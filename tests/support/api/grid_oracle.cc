// Float is the operator's arithmetic (coordinates), Wide what the oracle calculates in.
#include "support/api/grid_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace portacl_test {
namespace {

// ---- coordinates: the operator's own arithmetic ------------------------------------------------

template <class Float>
struct Place {
  enum Kind { kUsable, kOutside, kUnusable } kind = kUsable;
  Float at = 0;     // in pixels
  Float slope = 0;  // of `at` with respect to the grid's value
};

template <class Float>
struct Fold {
  Float at;
  Float sign;
};

template <class Float>
Fold<Float> FoldInto(Float ix, int64_t extent, bool align_corners) {
  const Float lo = align_corners ? Float(0) : Float(-0.5);
  const Float span = static_cast<Float>(align_corners ? extent - 1 : extent);
  if (span == 0) return {0, 0};
  const Float a = std::fabs(ix - lo);
  const Float q = std::floor(a / span);
  const Float e = std::min(std::max(std::fma(-q, span, a), Float(0)), span);
  const bool odd = q - 2 * std::floor(q / 2) == 1;
  const Float r = (odd ? span - e : e) + lo;
  const Float last = static_cast<Float>(extent - 1);
  if (r <= 0) return {0, 0};
  if (r >= last) return {last, 0};
  return {r, Float((ix < lo ? -1 : 1) * (odd ? -1 : 1))};
}

template <class Float>
Place<Float> PlaceOf(Float x, int64_t extent, const GridMode& mode) {
  using Kind = typename Place<Float>::Kind;
  if (std::isnan(x)) return {Kind::kUnusable, 0, 0};
  const Float size = static_cast<Float>(extent);
  const Float last = static_cast<Float>(extent - 1);
  Float ix = 0;
  if (std::isinf(x)) {
    ix = x;
  } else if (mode.align_corners) {
    ix = ((x + 1) / 2) * last;
  } else {
    ix = ((x + 1) * size - 1) / 2;
  }
  const Float d = (mode.align_corners ? last : size) / 2;
  if (mode.padding == kZeros) return {std::isinf(ix) ? Kind::kOutside : Kind::kUsable, ix, d};
  if (std::isinf(ix) && (mode.padding == kReflection || mode.interpolation == kBicubic)) {
    return {Kind::kUnusable, 0, 0};
  }
  if (mode.interpolation == kBicubic) return {Kind::kUsable, ix, d};
  if (mode.padding == kReflection) {
    const Fold<Float> fold = FoldInto(ix, extent, mode.align_corners);
    return {Kind::kUsable, fold.at, fold.sign * d};
  }
  if (ix <= 0) return {Kind::kUsable, 0, 0};
  if (ix >= last) return {Kind::kUsable, last, 0};
  return {Kind::kUsable, ix, d};
}

// ---- taps: the oracle's arithmetic -------------------------------------------------------------

template <class Wide>
struct Tap {
  int64_t index = -1;  // -1: outside, value 0
  Wide weight = 0;
  Wide weight_magnitude = 0;
  Wide derivative = 0;
  Wide derivative_magnitude = 0;
};

int64_t InsideOrMinusOne(long double at, int64_t extent) {
  return at >= 0 && at <= static_cast<long double>(extent - 1) ? static_cast<int64_t>(at) : -1;
}

// Keys' kernel with A = -0.75 and its derivative at a signed distance from the sample.
template <class Wide>
void SetCubic(Wide distance, Tap<Wide>* tap) {
  const Wide a = -0.75L;
  const Wide s = std::fabs(distance);
  const Wide sign = distance < 0 ? -1 : 1;
  const auto evaluate = [](std::array<Wide, 4> terms, Wide* sum, Wide* magnitude) {
    *sum = 0;
    *magnitude = 0;
    for (const Wide term : terms) {
      *sum += term;
      *magnitude += std::fabs(term);
    }
  };
  Wide slope = 0;
  if (s <= 1) {
    evaluate({(a + 2) * s * s * s, -(a + 3) * s * s, 0, 1}, &tap->weight, &tap->weight_magnitude);
    evaluate({3 * (a + 2) * s * s, -2 * (a + 3) * s, 0, 0}, &slope, &tap->derivative_magnitude);
  } else {
    evaluate({a * s * s * s, -5 * a * s * s, 8 * a * s, -4 * a}, &tap->weight,
             &tap->weight_magnitude);
    evaluate({3 * a * s * s, -10 * a * s, 8 * a, 0}, &slope, &tap->derivative_magnitude);
  }
  tap->derivative = sign * slope;
}

template <class Wide, class Float>
std::vector<Tap<Wide>> TapsOf(const Place<Float>& place, int64_t extent, const GridMode& mode) {
  if (mode.interpolation == kNearest) {
    Tap<Wide> tap;
    tap.index = InsideOrMinusOne(std::nearbyint(place.at), extent);
    tap.weight = tap.weight_magnitude = 1;
    return {tap};
  }
  const Float first = std::floor(place.at);
  const Wide t = static_cast<Wide>(place.at) - static_cast<Wide>(first);
  if (mode.interpolation == kBilinear) {
    std::vector<Tap<Wide>> taps(2);
    for (int i = 0; i < 2; ++i) {
      Tap<Wide>& tap = taps[static_cast<size_t>(i)];
      tap.index = InsideOrMinusOne(static_cast<long double>(first) + i, extent);
      tap.weight = tap.weight_magnitude = i == 0 ? 1 - t : t;
      tap.derivative = i == 0 ? -1 : 1;
      tap.derivative_magnitude = 1;
    }
    return taps;
  }
  std::vector<Tap<Wide>> taps(4);
  for (int i = 0; i < 4; ++i) {
    Tap<Wide>& tap = taps[static_cast<size_t>(i)];
    Float at = first + static_cast<Float>(i - 1);
    if (mode.padding == kBorder) at = std::clamp(at, Float(0), static_cast<Float>(extent - 1));
    if (mode.padding == kReflection) at = FoldInto(at, extent, mode.align_corners).at;
    tap.index = InsideOrMinusOne(std::floor(at), extent);
    SetCubic<Wide>(t + 1 - i, &tap);
  }
  return taps;
}

// ---- one point ---------------------------------------------------------------------------------

// Axes are x, y, z: columns, rows, planes. An image is one plane.
struct Sizes {
  int64_t n, c;
  std::array<int64_t, 3> extent;
  int64_t points;
  int64_t axes;
  Sizes(const Tensor& input, const Tensor& grid)
      : n(input.shape()[0]),
        c(input.shape()[1]),
        extent{input.shape().back(), input.shape()[input.shape().size() - 2],
               input.shape().size() == 5 ? input.shape()[2] : 1},
        points(grid.size() / std::max<int64_t>(1, n * grid.shape().back())),
        axes(grid.shape().back()) {}
  int64_t Index(int64_t plane, int64_t z, int64_t y, int64_t x) const {
    return ((plane * extent[2] + z) * extent[1] + y) * extent[0] + x;
  }
};

template <class Float, class Wide>
struct Point {
  bool unusable = false;
  bool outside = false;
  std::array<Wide, 3> slope{};
  std::array<std::vector<Tap<Wide>>, 3> taps;
};

template <class Float>
std::array<Place<Float>, 3> PlacesOf(const Tensor& grid, int64_t index, const Sizes& s,
                                     const GridMode& mode) {
  std::array<Place<Float>, 3> places;
  for (int64_t axis = 0; axis < s.axes; ++axis) {
    const auto at = static_cast<size_t>(axis);
    places[at] = PlaceOf(static_cast<Float>(grid.Get(s.axes * index + axis)), s.extent[at], mode);
  }
  return places;
}

template <class Float, class Wide>
Point<Float, Wide> PointAt(const Tensor& grid, int64_t index, const Sizes& s,
                           const GridMode& mode) {
  using Kind = typename Place<Float>::Kind;
  Point<Float, Wide> point;
  const auto places = PlacesOf<Float>(grid, index, s, mode);
  for (const auto& place : places) {
    point.unusable = point.unusable || place.kind == Kind::kUnusable;
    point.outside = point.outside || place.kind == Kind::kOutside;
  }
  if (point.unusable || point.outside) return point;
  Tap<Wide> only;
  only.index = 0;
  only.weight = only.weight_magnitude = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    const bool there = axis < static_cast<size_t>(s.axes);
    point.slope[axis] = places[axis].slope;
    point.taps[axis] =
        there ? TapsOf<Wide>(places[axis], s.extent[axis], mode) : std::vector<Tap<Wide>>{only};
  }
  return point;
}

template <class Wide>
using TapsAt = std::array<const Tap<Wide>*, 3>;  // one of each axis

template <class Wide>
bool Inside(const TapsAt<Wide>& at) {
  return at[0]->index >= 0 && at[1]->index >= 0 && at[2]->index >= 0;
}

template <class Wide>
int64_t IndexOf(const Sizes& s, int64_t plane, const TapsAt<Wide>& at) {
  return s.Index(plane, at[2]->index, at[1]->index, at[0]->index);
}

template <class Wide>
Wide ValueAt(const Tensor& input, int64_t plane, const Sizes& s, const TapsAt<Wide>& at) {
  return Inside(at) ? static_cast<Wide>(input.Get(IndexOf(s, plane, at))) : Wide(0);
}

// Calls visit(taps) for each tap inside: planes, rows, columns.
template <class Float, class Wide, class Visit>
void ForTaps(const Point<Float, Wide>& point, const Visit& visit) {
  for (const Tap<Wide>& z : point.taps[2]) {
    for (const Tap<Wide>& y : point.taps[1]) {
      for (const Tap<Wide>& x : point.taps[0]) {
        const TapsAt<Wide> at = {&x, &y, &z};
        if (Inside(at)) visit(at);
      }
    }
  }
}

template <class Wide>
Wide Weight(const TapsAt<Wide>& at) {
  return at[1]->weight * at[0]->weight * at[2]->weight;
}
template <class Wide>
Wide WeightMagnitude(const TapsAt<Wide>& at) {
  return at[1]->weight_magnitude * at[0]->weight_magnitude * at[2]->weight_magnitude;
}

// Adds to `sum` the derivative along an axis of channel `plane` at a point, times g. Differences
// of neighbouring values come first, so that infinite values meet as in the operator.
template <class Float, class Wide>
void AddSlope(const Tensor& input, int64_t plane, const Sizes& s, const Point<Float, Wide>& p,
              size_t axis, Wide g, ExactSum* sum) {
  const size_t inner = axis == 0 ? 1 : 0;  // the two that are not differentiated
  const size_t outer = axis == 2 ? 1 : 2;
  Wide slope = 0;
  Wide magnitude = 0;
  for (const Tap<Wide>& o : p.taps[outer]) {
    for (const Tap<Wide>& i : p.taps[inner]) {
      Wide line = 0;
      for (const Tap<Wide>& d : p.taps[axis]) {
        TapsAt<Wide> at{};
        at[axis] = &d;
        at[inner] = &i;
        at[outer] = &o;
        const Wide value = ValueAt(input, plane, s, at);
        line += d.derivative * value;
        magnitude +=
            d.derivative_magnitude * i.weight_magnitude * o.weight_magnitude * std::fabs(value);
      }
      slope += line * (i.weight * o.weight);
    }
  }
  sum->value += g * slope;
  sum->magnitude += std::fabs(g) * magnitude;
}

void Scale(long double factor, ExactSum* sum) {
  sum->value *= factor;
  sum->magnitude *= std::fabs(factor);
}

template <class Float, class Wide>
GridGradients Backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                       const GridMode& mode) {
  const Sizes s(input, grid);
  GridGradients result;
  result.input_grad.resize(static_cast<size_t>(input.size()));
  result.grid_grad.resize(static_cast<size_t>(grid.size()));
  for (int64_t index = 0; index < s.n * s.points; ++index) {
    const auto point = PointAt<Float, Wide>(grid, index, s, mode);
    ExactSum* const to_grid = &result.grid_grad[static_cast<size_t>(s.axes * index)];
    for (int64_t axis = 0; axis < s.axes; ++axis) {
      to_grid[axis].terms = 16 + (s.c + 15) / 16;
      if (point.unusable && mode.interpolation != kNearest) {
        to_grid[axis].value = std::numeric_limits<double>::quiet_NaN();
      }
    }
    if (point.unusable || point.outside) continue;
    for (int64_t c = 0; c < s.c; ++c) {
      const int64_t plane = index / s.points * s.c + c;
      const Wide g = grad_output.Get(plane * s.points + index % s.points);
      ForTaps(point, [&](const TapsAt<Wide>& at) {
        result.input_grad[static_cast<size_t>(IndexOf(s, plane, at))].Add(Weight(at),
                                                                          WeightMagnitude(at), g);
      });
      if (mode.interpolation == kNearest) continue;
      for (int64_t axis = 0; axis < s.axes; ++axis) {
        AddSlope(input, plane, s, point, static_cast<size_t>(axis), g, &to_grid[axis]);
      }
    }
    for (int64_t axis = 0; axis < s.axes; ++axis) {
      Scale(point.slope[static_cast<size_t>(axis)], &to_grid[axis]);
    }
  }
  return result;
}

// ---- the contract's bits -----------------------------------------------------------------------

// What one axis of a bilinear or nearest point contributes, in the operator's arithmetic.
template <class Float>
struct AxisBits {
  std::array<int64_t, 2> index = {-1, -1};
  std::array<Float, 2> weight = {0, 0};  // u, t

  AxisBits(Float at, int64_t extent, bool nearest) {
    if (nearest) {
      index[0] = InsideOrMinusOne(std::nearbyint(at), extent);
      weight[0] = 1;
      return;
    }
    const Float first = std::floor(at);
    index = {InsideOrMinusOne(first, extent), InsideOrMinusOne(first + 1, extent)};
    weight = {(first + 1) - at, at - first};
  }
};

// Channels in blocks of 16 lanes, each block by the tree i + 8, 4, 2, 1, blocks ascending from +0.
template <class Float>
Float SumOfChannels(const std::vector<Float>& terms) {
  Float sum = 0;
  for (size_t block = 0; block < terms.size(); block += 16) {
    std::array<Float, 16> lanes{};
    for (size_t i = 0; i < 16 && block + i < terms.size(); ++i) lanes[i] = terms[block + i];
    for (const size_t half : {8, 4, 2, 1}) {
      for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    sum += lanes[0];
  }
  return sum;
}

// The slopes along x and y in one plane of four taps, and the value there.
template <class Float>
std::array<Float, 3> InPlane(const Float (&v)[2][2], const AxisBits<Float>& x,
                             const AxisBits<Float>& y) {
  const auto [ux, tx] = x.weight;
  const auto [uy, ty] = y.weight;
  return {
      std::fma(v[1][1] - v[1][0], ty, (v[0][1] - v[0][0]) * uy),
      std::fma(v[1][1] - v[0][1], tx, (v[1][0] - v[0][0]) * ux),
      std::fma(std::fma(v[1][1], tx, v[1][0] * ux), ty, std::fma(v[0][1], tx, v[0][0] * ux) * uy)};
}

template <class Float>
std::array<Float, 3> SlopesOf(const Float (&v)[2][2][2], const std::array<AxisBits<Float>, 3>& at,
                              int64_t axes) {
  const auto top = InPlane(v[0], at[0], at[1]);
  if (axes == 2) return {top[0], top[1], 0};
  const auto bottom = InPlane(v[1], at[0], at[1]);
  const auto [uz, tz] = at[2].weight;
  return {std::fma(bottom[0], tz, top[0] * uz), std::fma(bottom[1], tz, top[1] * uz),
          bottom[2] - top[2]};
}

template <class Float>
GridBits BackwardBits(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                      const GridMode& mode) {
  using Kind = typename Place<Float>::Kind;
  const Sizes s(input, grid);
  const bool nearest = mode.interpolation == kNearest;
  std::vector<Float> input_grad(static_cast<size_t>(input.size()), Float(0));
  Tensor grid_grad = Tensor(grid.element(), grid.shape()).Fill(0.0);
  for (int64_t index = 0; index < s.n * s.points; ++index) {
    const auto places = PlacesOf<Float>(grid, index, s, mode);
    const auto any = [&](Kind kind) {
      return std::any_of(places.begin(), places.end(), [&](auto& p) { return p.kind == kind; });
    };
    if (any(Kind::kUnusable)) {
      const double value = nearest ? 0 : std::numeric_limits<double>::quiet_NaN();
      for (int64_t axis = 0; axis < s.axes; ++axis) grid_grad.Set(s.axes * index + axis, value);
      continue;
    }
    if (any(Kind::kOutside)) continue;
    // An image's only plane is pixel 0 of its z axis.
    const std::array<AxisBits<Float>, 3> at = {
        AxisBits<Float>(places[0].at, s.extent[0], nearest),
        AxisBits<Float>(places[1].at, s.extent[1], nearest),
        AxisBits<Float>(places[2].at, s.extent[2], nearest || s.axes == 2)};
    std::array<std::vector<Float>, 3> terms;
    for (int64_t c = 0; c < s.c; ++c) {
      const int64_t plane = index / s.points * s.c + c;
      const auto g = static_cast<Float>(grad_output.Get(plane * s.points + index % s.points));
      Float v[2][2][2] = {};
      for (size_t tap = 0; tap < 8; ++tap) {  // tnw, tne, tsw, tse, bnw, ...
        const size_t k = tap / 4;
        const size_t j = tap / 2 % 2;
        const size_t i = tap % 2;
        if (at[2].index[k] < 0 || at[1].index[j] < 0 || at[0].index[i] < 0) continue;
        const int64_t from = s.Index(plane, at[2].index[k], at[1].index[j], at[0].index[i]);
        v[k][j][i] = static_cast<Float>(input.Get(from));
        Float& sum = input_grad[static_cast<size_t>(from)];
        sum = std::fma((at[0].weight[i] * at[1].weight[j]) * at[2].weight[k], g, sum);
      }
      const auto slopes = SlopesOf(v, at, s.axes);
      for (size_t axis = 0; axis < 3; ++axis) terms[axis].push_back(g * slopes[axis]);
    }
    if (nearest) continue;
    for (int64_t axis = 0; axis < s.axes; ++axis) {
      const auto a = static_cast<size_t>(axis);
      grid_grad.Set(s.axes * index + axis, SumOfChannels(terms[a]) * places[a].slope);
    }
  }
  return {Tensor(input.element(), input.shape()).Fill([&](int64_t i) {
            return static_cast<double>(input_grad[static_cast<size_t>(i)]);
          }),
          grid_grad};
}

template <class Float>
Tensor ForwardBits(const Tensor& input, const Tensor& grid, const GridMode& mode, Shape shape) {
  using Kind = typename Place<Float>::Kind;
  const Sizes s(input, grid);
  const bool nearest = mode.interpolation == kNearest;
  Tensor output = Tensor(input.element(), std::move(shape)).Fill(0.0);
  for (int64_t index = 0; index < s.n * s.points; ++index) {
    const auto places = PlacesOf<Float>(grid, index, s, mode);
    const auto any = [&](Kind kind) {
      return std::any_of(places.begin(), places.end(), [&](auto& p) { return p.kind == kind; });
    };
    const bool usable = !any(Kind::kUnusable) && !any(Kind::kOutside);
    const double none = any(Kind::kUnusable) && !nearest ? std::nan("") : 0.0;
    for (int64_t c = 0; c < s.c; ++c) {
      const int64_t plane = index / s.points * s.c + c;
      Float sum = 0;
      for (size_t tap = 0; usable && tap < 8; ++tap) {  // tnw, tne, tsw, tse, bnw, ...
        const AxisBits<Float> x(places[0].at, s.extent[0], nearest);
        const AxisBits<Float> y(places[1].at, s.extent[1], nearest);
        const AxisBits<Float> z(places[2].at, s.extent[2], nearest || s.axes == 2);
        const int64_t at[] = {x.index[tap % 2], y.index[tap / 2 % 2], z.index[tap / 4]};
        if (at[0] < 0 || at[1] < 0 || at[2] < 0) continue;
        const Float weight = (x.weight[tap % 2] * y.weight[tap / 2 % 2]) * z.weight[tap / 4];
        const auto value = static_cast<Float>(input.Get(s.Index(plane, at[2], at[1], at[0])));
        sum = std::fma(weight, value, sum);
      }
      output.Set(plane * s.points + index % s.points, usable ? static_cast<double>(sum) : none);
    }
  }
  return output;
}

template <class Float, class Wide>
std::vector<ExactSum> Forward(const Tensor& input, const Tensor& grid, const GridMode& mode) {
  const Sizes s(input, grid);
  std::vector<ExactSum> result(static_cast<size_t>(s.n * s.c * s.points));
  for (int64_t index = 0; index < s.n * s.points; ++index) {
    const auto point = PointAt<Float, Wide>(grid, index, s, mode);
    for (int64_t c = 0; c < s.c; ++c) {
      const int64_t plane = index / s.points * s.c + c;
      ExactSum& sum = result[static_cast<size_t>(plane * s.points + index % s.points)];
      if (point.unusable && mode.interpolation != kNearest) {
        sum.value = std::numeric_limits<double>::quiet_NaN();
      }
      if (point.unusable || point.outside) continue;
      ForTaps(point, [&](const TapsAt<Wide>& at) {
        sum.Add(Weight(at), WeightMagnitude(at), ValueAt(input, plane, s, at));
      });
    }
  }
  return result;
}

}  // namespace

std::string NameOf(const GridMode& mode) {
  static constexpr std::array<const char*, 3> kInterpolations = {"Bilinear", "Nearest", "Bicubic"};
  static constexpr std::array<const char*, 3> kPaddings = {"Zeros", "Border", "Reflection"};
  return std::string(kInterpolations[static_cast<size_t>(mode.interpolation)]) +
         kPaddings[static_cast<size_t>(mode.padding)] + (mode.align_corners ? "Aligned" : "");
}

std::vector<GridMode> AllGridModes() {
  std::vector<GridMode> modes;
  for (const int interpolation : {kBilinear, kNearest, kBicubic}) {
    for (const int padding : {kZeros, kBorder, kReflection}) {
      for (const bool align_corners : {false, true}) {
        modes.push_back({interpolation, padding, align_corners});
      }
    }
  }
  return modes;
}

GridGradients GridBackward(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                           const GridMode& mode) {
  return input.element() == Element::kDouble
             ? Backward<double, long double>(grad_output, input, grid, mode)
             : Backward<float, double>(grad_output, input, grid, mode);
}

GridBits GridBackwardBits(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                          const GridMode& mode) {
  return input.element() == Element::kDouble ? BackwardBits<double>(grad_output, input, grid, mode)
                                             : BackwardBits<float>(grad_output, input, grid, mode);
}

Tensor GridForwardBits(const Tensor& input, const Tensor& grid, const GridMode& mode,
                       const Shape& shape) {
  return input.element() == Element::kDouble ? ForwardBits<double>(input, grid, mode, shape)
                                             : ForwardBits<float>(input, grid, mode, shape);
}

std::vector<ExactSum> GridForward(const Tensor& input, const Tensor& grid, const GridMode& mode) {
  return input.element() == Element::kDouble ? Forward<double, long double>(input, grid, mode)
                                             : Forward<float, double>(input, grid, mode);
}

}  // namespace portacl_test
