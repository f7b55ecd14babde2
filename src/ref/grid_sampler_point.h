// Where a grid point samples an image or a volume: coordinates, padding, taps and weights, exactly
// as docs/ops/grid_sampler_2d_backward.md defines them, axis by axis. Shared by the reference
// kernels, and the definition of every expression's order that the faster ones repeat bit by bit.
#ifndef PORTACL_REF_GRID_SAMPLER_POINT_H_
#define PORTACL_REF_GRID_SAMPLER_POINT_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "base/dispatch.h"
#include "ops/grid_sampler_2d_params.h"
#include "ops/grid_sampler_3d_params.h"
#include "runtime/parallel.h"

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
  // An infinite x stays infinite, also if the formula would make 0 * infinity.
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

// An image is one plane, on which every point lies: its z is pixel 0.
template <class F>
struct Point {
  AxisPosition<F> x;
  AxisPosition<F> y;
  AxisPosition<F> z;
  bool unusable() const { return x.unusable || y.unusable || z.unusable; }
  bool outside() const { return x.outside || y.outside || z.outside; }
};

template <class F>
Point<F> LocatePoint(F x, F y, const ops::GridSampler2DShape& shape) {
  return {Locate(x, shape.w, shape), Locate(y, shape.h, shape), {}};
}

template <class F>
Point<F> LocatePoint(F x, F y, F z, const ops::GridSampler3DShape& shape) {
  return {Locate(x, shape.w, shape), Locate(y, shape.h, shape), Locate(z, shape.d, shape)};
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
      // Distances from the taps above. Only between -1 and 0 is t rounded; the coordinate itself is
      // the distance from tap 0 there.
      const bool below = first == -1;
      const F near_high = below ? -position.at : 1 - t;
      const F far_high = below ? 1 - position.at : 2 - t;
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
      taps.weight = {CubicFar(t + 1), CubicNear(t), CubicNear(near_high), CubicFar(far_high)};
      taps.derivative = {CubicFarSlope(t + 1), CubicNearSlope(t), -CubicNearSlope(near_high),
                         -CubicFarSlope(far_high)};
      break;
    }
  }
  return taps;
}

// The taps of a point on all axes: planes, rows, columns is their order.
template <class F>
struct PointTaps {
  AxisTaps<F> x;
  AxisTaps<F> y;
  AxisTaps<F> z;
};

template <class F>
PointTaps<F> TapsOf(const Point<F>& point, const ops::GridSampler2DShape& shape) {
  PointTaps<F> taps{TapsOf(point.x, shape.w, shape), TapsOf(point.y, shape.h, shape), {}};
  taps.z.count = 1;
  taps.z.weight[0] = 1;
  return taps;
}

template <class F>
PointTaps<F> TapsOf(const Point<F>& point, const ops::GridSampler3DShape& shape) {
  return {TapsOf(point.x, shape.w, shape), TapsOf(point.y, shape.h, shape),
          TapsOf(point.z, shape.d, shape)};
}

// Calls visit(k, j, i) for each tap inside, in order.
template <class F, class Visit>
void ForTaps(const PointTaps<F>& taps, const Visit& visit) {
  for (size_t k = 0; k < static_cast<size_t>(taps.z.count); ++k) {
    for (size_t j = 0; j < static_cast<size_t>(taps.y.count); ++j) {
      for (size_t i = 0; i < static_cast<size_t>(taps.x.count); ++i) {
        if (taps.z.index[k] >= 0 && taps.y.index[j] >= 0 && taps.x.index[i] >= 0) visit(k, j, i);
      }
    }
  }
}

// ---- strides -----------------------------------------------------------------------------------

// The spatial strides of a tensor of rank 4 or 5, outermost first; the depth of an image is 0.
struct SpatialStrides {
  int64_t d, h, w;
};
inline SpatialStrides SpatialOf(const std::array<int64_t, 4>& stride) {
  return {0, stride[2], stride[3]};
}
inline SpatialStrides SpatialOf(const std::array<int64_t, 5>& stride) {
  return {stride[2], stride[3], stride[4]};
}

inline int64_t DepthOf(const ops::GridSampler2DShape&) { return 1; }
inline int64_t DepthOf(const ops::GridSampler3DShape& shape) { return shape.d; }

// Planes of points.
inline int64_t PlanesOf(const ops::GridSampler2DShape&) { return 1; }
inline int64_t PlanesOf(const ops::GridSampler3DShape& shape) { return shape.od; }

// The place of a point among the points of its image: plane, row, column.
struct Place {
  int64_t d, h, w;
};

inline int64_t Offset(const SpatialStrides& stride, const Place& at) {
  return at.d * stride.d + at.h * stride.h + at.w * stride.w;
}

// Reads point `at` of image n.
template <class T, class Params>
Point<base::ComputeType<T>> PointOf(const Params& p, int64_t n, const Place& at) {
  constexpr size_t kAxes = std::tuple_size_v<decltype(p.grid_stride)> - 2;
  const auto& stride = p.grid_stride;
  const int64_t step = stride[kAxes + 1];
  const T* grid = static_cast<const T*>(p.grid) + n * stride[0] + at.h * stride[kAxes - 1] +
                  at.w * stride[kAxes];
  if constexpr (kAxes == 2) {
    return LocatePoint(base::Widen(grid[0]), base::Widen(grid[step]), p.shape);
  } else {
    grid += at.d * stride[1];
    return LocatePoint(base::Widen(grid[0]), base::Widen(grid[step]), base::Widen(grid[2 * step]),
                       p.shape);
  }
}

// Calls body(n, place) for every point of all images, in tasks of whole rows.
template <class Params, class Body>
void ForPoints(const Params& p, const Body& body) {
  const auto& s = p.shape;
  const int64_t planes = PlanesOf(s);
  // An index of the loop is one row (n, od, oh) of points; a thread gets some microseconds of them.
  const int64_t grain = 1 + 1024 / (s.ow * s.c + 1);
  runtime::ParallelFor(s.n * planes * s.oh, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t n = row / s.oh / planes;
      for (int64_t ow = 0; ow < s.ow; ++ow) body(n, Place{row / s.oh % planes, row % s.oh, ow});
    }
  });
}

}  // namespace portacl::ref

#endif  // PORTACL_REF_GRID_SAMPLER_POINT_H_
