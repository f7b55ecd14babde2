// Where a grid point samples an image or a volume: its taps and their weights on all axes, exactly
// as docs/ops/grid_sampler_2d_backward.md defines them. Shared by the reference kernels.
#ifndef PORTACL_REF_GRID_SAMPLER_POINT_H_
#define PORTACL_REF_GRID_SAMPLER_POINT_H_

#include <array>
#include <cstdint>
#include <tuple>

#include "base/device_math.h"
#include "base/dispatch.h"
#include "ops/grid_sampler_params.h"
#include "ref/for_each_index.h"
#include "ref/grid_sampler_axis.h"

namespace portacl::ref {

// A point's positions on the three axes. In an image, z is pixel 0 for every point.
template <class F>
struct Point {
  AxisPosition<F> x;
  AxisPosition<F> y;
  AxisPosition<F> z;
  bool replaced() const { return x.replaced || y.replaced || z.replaced; }
  bool unusable() const { return !replaced() && (x.unusable || y.unusable || z.unusable); }
  bool outside() const { return replaced() || x.outside || y.outside || z.outside; }
};

inline AxisRule RuleOf(int64_t extent, const ops::GridSampler2DShape& shape) {
  return {extent, shape.padding, shape.align_corners, shape.replaces_outside};
}

// The value of taps outside the image.
template <class F>
F FillOf(const ops::GridSampler2DShape& shape) {
  return shape.padding == ops::Padding::kConstant ? static_cast<F>(shape.fill) : F{0};
}

template <class F>
AxisPosition<F> Locate(F x, int64_t extent, const ops::GridSampler2DShape& shape) {
  return Locate(x, RuleOf(extent, shape), shape.interpolation == ops::Interpolation::kBicubic);
}

template <class F>
Point<F> LocatePoint(F x, F y, const ops::GridSampler2DShape& shape) {
  return {Locate(x, shape.w, shape), Locate(y, shape.h, shape), {}};
}

template <class F>
Point<F> LocatePoint(F x, F y, F z, const ops::GridSampler3DShape& shape) {
  return {Locate(x, shape.w, shape), Locate(y, shape.h, shape), Locate(z, shape.d, shape)};
}

// The taps of one axis in ascending order, with their weights and the derivatives of these weights.
template <class F>
struct AxisTaps {
  int count = 0;
  std::array<int64_t, 4> index{};  // -1 if the tap is outside
  std::array<F, 4> weight{};
  std::array<F, 4> derivative{};  // bicubic only
};

template <class F>
AxisTaps<F> TapsOf(const AxisPosition<F>& position, int64_t extent,
                   const ops::GridSampler2DShape& shape) {
  AxisTaps<F> taps;
  switch (shape.interpolation) {
    case ops::Interpolation::kNearest: {
      taps.count = 1;
      taps.index[0] = TapIndex(base::RoundToEven(position.at), extent, shape.padding);
      taps.weight[0] = 1;
      break;
    }
    case ops::Interpolation::kBilinear: {
      const F first = base::Floor(position.at);
      taps.count = 2;
      taps.index[0] = TapIndex(first, extent, shape.padding);
      // A tap behind the last pixel is outside. Only circular padding moves it into the image.
      taps.index[1] = TapIndex(first + 1, extent,
                               shape.padding == ops::Padding::kCircular ? ops::Padding::kCircular
                                                                        : ops::Padding::kZeros);
      taps.weight[0] = (first + 1) - position.at;
      taps.weight[1] = position.at - first;
      break;
    }
    case ops::Interpolation::kBicubic: {
      const AxisRule rule = RuleOf(extent, shape);
      const F first = base::Floor(position.at);
      taps.count = 4;
      for (int i = 0; i < 4; ++i) {
        const auto tap = static_cast<size_t>(i);
        taps.index[tap] = TapIndex(CubicTap(first, i, rule), extent, shape.padding);
        taps.weight[tap] = CubicWeight(position.at, i);
        taps.derivative[tap] = CubicSlope(position.at, i);
      }
      break;
    }
  }
  return taps;
}

// The taps of a point on all axes. Loops visit them by planes, then rows, then columns.
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

// Calls visit(k, j, i, inside) for each tap, in order.
template <class F, class Visit>
void ForAllTaps(const PointTaps<F>& taps, const Visit& visit) {
  for (size_t k = 0; k < static_cast<size_t>(taps.z.count); ++k) {
    for (size_t j = 0; j < static_cast<size_t>(taps.y.count); ++j) {
      for (size_t i = 0; i < static_cast<size_t>(taps.x.count); ++i) {
        visit(k, j, i, taps.z.index[k] >= 0 && taps.y.index[j] >= 0 && taps.x.index[i] >= 0);
      }
    }
  }
}

// Calls visit(k, j, i) for each tap inside the image, in order.
template <class F, class Visit>
void ForTaps(const PointTaps<F>& taps, const Visit& visit) {
  ForAllTaps(taps, [&](size_t k, size_t j, size_t i, bool inside) {
    if (inside) visit(k, j, i);
  });
}

// ---- strides -----------------------------------------------------------------------------------

// The spatial strides of a tensor of rank 4 or 5, outermost axis first. For images, d is 0.
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

// The number of planes of points.
inline int64_t PlanesOf(const ops::GridSampler2DShape&) { return 1; }
inline int64_t PlanesOf(const ops::GridSampler3DShape& shape) { return shape.od; }

// A point's position in its image: plane, row, column.
struct Place {
  int64_t d, h, w;
};

inline int64_t Offset(const SpatialStrides& stride, const Place& at) {
  return at.d * stride.d + at.h * stride.h + at.w * stride.w;
}

// Reads and locates point `at` of image n.
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
  // One step of the loop is a row (n, od, oh) of points; a thread gets rows for some microseconds.
  const int64_t grain = 1 + 1024 / (s.ow * s.c + 1);
  ForEachIndex(s.n * planes * s.oh, grain, [&](int64_t row) {
    const int64_t n = row / s.oh / planes;
    for (int64_t ow = 0; ow < s.ow; ++ow) body(n, Place{row / s.oh % planes, row % s.oh, ow});
  });
}

}  // namespace portacl::ref

#endif  // PORTACL_REF_GRID_SAMPLER_POINT_H_
