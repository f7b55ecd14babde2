// Float is the operator's arithmetic (coordinates), Wide what the oracle calculates in.
#include "support/api/grid_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

template <class Float, class Wide>
struct Point {
  bool unusable = false;
  bool outside = false;
  Wide slope_x = 0;
  Wide slope_y = 0;
  std::vector<Tap<Wide>> x;
  std::vector<Tap<Wide>> y;
};

struct Sizes {
  int64_t n, c, h, w, points;
  Sizes(const Tensor& input, const Tensor& grid)
      : n(input.shape()[0]),
        c(input.shape()[1]),
        h(input.shape()[2]),
        w(input.shape()[3]),
        points(grid.shape()[1] * grid.shape()[2]) {}
};

template <class Float, class Wide>
Point<Float, Wide> PointAt(const Tensor& grid, int64_t index, const Sizes& sizes,
                           const GridMode& mode) {
  const auto px = PlaceOf(static_cast<Float>(grid.Get(2 * index)), sizes.w, mode);
  const auto py = PlaceOf(static_cast<Float>(grid.Get(2 * index + 1)), sizes.h, mode);
  using Kind = typename Place<Float>::Kind;
  Point<Float, Wide> point;
  point.unusable = px.kind == Kind::kUnusable || py.kind == Kind::kUnusable;
  point.outside = px.kind == Kind::kOutside || py.kind == Kind::kOutside;
  if (point.unusable || point.outside) return point;
  point.slope_x = px.slope;
  point.slope_y = py.slope;
  point.x = TapsOf<Wide>(px, sizes.w, mode);
  point.y = TapsOf<Wide>(py, sizes.h, mode);
  return point;
}

template <class Wide>
Wide ValueAt(const Tensor& input, int64_t plane, const Sizes& s, const Tap<Wide>& y,
             const Tap<Wide>& x) {
  if (y.index < 0 || x.index < 0) return 0;
  return input.Get((plane * s.h + y.index) * s.w + x.index);
}

// Adds to `sum` the derivative along x (or y) of channel `plane` at a point, times g. Differences
// of neighbouring values come first, so that infinite values meet as in the operator.
template <class Float, class Wide>
void AddSlope(const Tensor& input, int64_t plane, const Sizes& s, const Point<Float, Wide>& p,
              bool along_x, Wide g, ExactSum* sum) {
  const auto& inner = along_x ? p.x : p.y;  // differentiated
  const auto& outer = along_x ? p.y : p.x;
  Wide slope = 0;
  Wide magnitude = 0;
  for (const Tap<Wide>& o : outer) {
    Wide line = 0;
    for (const Tap<Wide>& i : inner) {
      const Wide value = along_x ? ValueAt(input, plane, s, o, i) : ValueAt(input, plane, s, i, o);
      line += i.derivative * value;
      magnitude += i.derivative_magnitude * o.weight_magnitude * std::fabs(value);
    }
    slope += line * o.weight;
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
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t at = 0; at < s.points; ++at) {
      const int64_t index = n * s.points + at;
      const auto point = PointAt<Float, Wide>(grid, index, s, mode);
      ExactSum& gx = result.grid_grad[static_cast<size_t>(2 * index)];
      ExactSum& gy = result.grid_grad[static_cast<size_t>(2 * index + 1)];
      gx.terms = gy.terms = 16 + (s.c + 15) / 16;
      if (point.unusable && mode.interpolation != kNearest) {
        gx.value = gy.value = std::numeric_limits<double>::quiet_NaN();
      }
      if (point.unusable || point.outside) continue;
      for (int64_t c = 0; c < s.c; ++c) {
        const int64_t plane = n * s.c + c;
        const Wide g = grad_output.Get(plane * s.points + at);
        for (const Tap<Wide>& y : point.y) {
          for (const Tap<Wide>& x : point.x) {
            if (y.index < 0 || x.index < 0) continue;
            const auto to = static_cast<size_t>((plane * s.h + y.index) * s.w + x.index);
            result.input_grad[to].Add(y.weight * x.weight, y.weight_magnitude * x.weight_magnitude,
                                      g);
          }
        }
        if (mode.interpolation == kNearest) continue;
        AddSlope(input, plane, s, point, true, g, &gx);
        AddSlope(input, plane, s, point, false, g, &gy);
      }
      Scale(point.slope_x, &gx);
      Scale(point.slope_y, &gy);
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

template <class Float>
GridBits BackwardBits(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                      const GridMode& mode) {
  using Kind = typename Place<Float>::Kind;
  const Sizes s(input, grid);
  const bool nearest = mode.interpolation == kNearest;
  std::vector<Float> input_grad(static_cast<size_t>(input.size()), Float(0));
  Tensor grid_grad = Tensor(grid.element(), grid.shape()).Fill(0.0);
  for (int64_t index = 0; index < s.n * s.points; ++index) {
    const auto px = PlaceOf(static_cast<Float>(grid.Get(2 * index)), s.w, mode);
    const auto py = PlaceOf(static_cast<Float>(grid.Get(2 * index + 1)), s.h, mode);
    if (px.kind == Kind::kUnusable || py.kind == Kind::kUnusable) {
      const double value = nearest ? 0 : std::numeric_limits<double>::quiet_NaN();
      grid_grad.Set(2 * index, value);
      grid_grad.Set(2 * index + 1, value);
      continue;
    }
    if (px.kind == Kind::kOutside || py.kind == Kind::kOutside) continue;
    const AxisBits<Float> x(px.at, s.w, nearest);
    const AxisBits<Float> y(py.at, s.h, nearest);
    std::vector<Float> gx;
    std::vector<Float> gy;
    for (int64_t c = 0; c < s.c; ++c) {
      const int64_t plane = index / s.points * s.c + c;
      const auto g = static_cast<Float>(grad_output.Get(plane * s.points + index % s.points));
      Float v[2][2] = {};
      for (size_t j = 0; j < 2; ++j) {  // nw, ne, sw, se
        for (size_t i = 0; i < 2; ++i) {
          if (y.index[j] < 0 || x.index[i] < 0) continue;
          const int64_t at = (plane * s.h + y.index[j]) * s.w + x.index[i];
          v[j][i] = static_cast<Float>(input.Get(at));
          Float& sum = input_grad[static_cast<size_t>(at)];
          sum = std::fma(x.weight[i] * y.weight[j], g, sum);
        }
      }
      gx.push_back(g * std::fma(v[1][1] - v[1][0], y.weight[1], (v[0][1] - v[0][0]) * y.weight[0]));
      gy.push_back(g * std::fma(v[1][1] - v[0][1], x.weight[1], (v[1][0] - v[0][0]) * x.weight[0]));
    }
    if (nearest) continue;
    grid_grad.Set(2 * index, SumOfChannels(gx) * px.slope);
    grid_grad.Set(2 * index + 1, SumOfChannels(gy) * py.slope);
  }
  return {Tensor(input.element(), input.shape()).Fill([&](int64_t i) {
            return static_cast<double>(input_grad[static_cast<size_t>(i)]);
          }),
          grid_grad};
}

template <class Float, class Wide>
std::vector<ExactSum> Forward(const Tensor& input, const Tensor& grid, const GridMode& mode) {
  const Sizes s(input, grid);
  std::vector<ExactSum> result(static_cast<size_t>(s.n * s.c * s.points));
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t at = 0; at < s.points; ++at) {
      const auto point = PointAt<Float, Wide>(grid, n * s.points + at, s, mode);
      for (int64_t c = 0; c < s.c; ++c) {
        const int64_t plane = n * s.c + c;
        ExactSum& sum = result[static_cast<size_t>(plane * s.points + at)];
        if (point.unusable && mode.interpolation != kNearest) {
          sum.value = std::numeric_limits<double>::quiet_NaN();
        }
        if (point.unusable || point.outside) continue;
        for (const Tap<Wide>& y : point.y) {
          for (const Tap<Wide>& x : point.x) {
            if (y.index < 0 || x.index < 0) continue;
            sum.Add(y.weight * x.weight, y.weight_magnitude * x.weight_magnitude,
                    ValueAt(input, plane, s, y, x));
          }
        }
      }
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

std::vector<ExactSum> GridForward(const Tensor& input, const Tensor& grid, const GridMode& mode) {
  return input.element() == Element::kDouble ? Forward<double, long double>(input, grid, mode)
                                             : Forward<float, double>(input, grid, mode);
}

}  // namespace portacl_test
