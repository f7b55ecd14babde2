// Computes a grid point by three fused steps and an addition, rounded once. The gradient sums each
// row in 16 lanes (lane = w mod 16), joins them by a fixed tree and adds the rows in order.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/dispatch.h"
#include "base/kernel.h"
#include "ops/affine_grid_params.h"
#include "ops/listed_kernels.h"
#include "ref/for_each_index.h"
#include "ref/lane_tree.h"

namespace portacl::ref {
namespace {

using Params = ops::AffineGridParams;

template <class F>
const F* Place(const Params& p, int k) {
  return static_cast<const F*>(p.place[static_cast<size_t>(k)]);
}

// Returns the first element of component j in row (n, d, h) of the grid.
template <class T>
T* GridRow(const Params& p, int64_t n, int64_t d, int64_t h, int j) {
  const auto& s = p.grid_stride;
  return static_cast<T*>(p.grid) + n * s[0] + d * s[1] + h * s[2] + j * s[4];
}

template <class T>
T* Theta(const Params& p, int64_t n, int j, int k) {
  const auto& s = p.theta_stride;
  return static_cast<T*>(p.theta) + n * s[0] + j * s[1] + k * s[2];
}

template <class T>
void MakeRow(const Params& p, int64_t n, int64_t d, int64_t h, int j) {
  using F = base::ComputeType<T>;
  std::array<F, 4> theta{};
  for (int k = 0; k <= p.axes; ++k)
    theta[static_cast<size_t>(k)] = base::Widen(*Theta<T>(p, n, j, k));
  const F y = Place<F>(p, 1)[h];
  T* const row = GridRow<T>(p, n, d, h, j);
  for (int64_t w = 0; w < p.extents[2]; ++w) {
    F at = std::fma(theta[1], y, theta[0] * Place<F>(p, 0)[w]);
    if (p.axes == 3) at = std::fma(theta[2], Place<F>(p, 2)[d], at);
    row[w * p.grid_stride[3]] = base::Narrow<T>(at + theta[static_cast<size_t>(p.axes)]);
  }
}

// Sums coordinate k times the gradient's component j over row (n, d, h). Coordinate `axes` is 1.
template <class T, class F = base::ComputeType<T>>
F RowSum(const Params& p, int64_t n, int64_t d, int64_t h, int j, int k) {
  const T* const row = GridRow<T>(p, n, d, h, j);
  Lanes<F> lanes{};
  for (int64_t w = 0; w < p.extents[2]; ++w) {
    const F place = k == p.axes ? F{1} : Place<F>(p, k)[k == 0 ? w : k == 1 ? h : d];
    F& lane = lanes[static_cast<size_t>(w) % kLanes];
    lane = std::fma(place, base::Widen(row[w * p.grid_stride[3]]), lane);
  }
  return SumLanes(lanes);
}

template <class T>
void SumElement(const Params& p, int64_t n, int j, int k) {
  base::ComputeType<T> sum = 0;
  for (int64_t d = 0; d < p.extents[0]; ++d) {
    for (int64_t h = 0; h < p.extents[1]; ++h) sum += RowSum<T>(p, n, d, h, j, k);
  }
  *Theta<T>(p, n, j, k) = base::Narrow<T>(sum);
}

// Calls body(n, d, h, j) for each row of each component.
template <class Body>
void ForRows(const Params& p, const Body& body) {
  const int64_t depth = p.extents[0];
  const int64_t height = p.extents[1];
  const int64_t grain = 1 + 4096 / std::max<int64_t>(1, p.extents[2]);
  ForEachIndex(p.n * depth * height, grain, [&](int64_t row) {
    const int64_t plane = row / height;
    for (int j = 0; j < p.axes; ++j) body(plane / depth, plane % depth, row % height, j);
  });
}

// Calls body(n, j, k) for each element of theta.
template <class Body>
void ForElements(const Params& p, const Body& body) {
  const int64_t columns = p.axes + 1;
  ForEachIndex(p.n * p.axes * columns, 1, [&](int64_t i) {
    const int64_t row = i / columns;
    body(row / p.axes, static_cast<int>(row % p.axes), static_cast<int>(i % columns));
  });
}

template <class T>
void Run(const Params& p) {
  if (p.backward) {
    ForElements(p, [&](int64_t n, int j, int k) { SumElement<T>(p, n, j, k); });
  } else {
    ForRows(p, [&](int64_t n, int64_t d, int64_t h, int j) { MakeRow<T>(p, n, d, h, j); });
  }
}

void RunAnyType(const Params& p) {
  base::DispatchFloating(p.dtype, [&](auto tag) { Run<typename decltype(tag)::type>(p); });
}

}  // namespace

const base::Kernel<Params> kAffineGrid = base::ReferenceOf<Params, RunAnyType>::Make();

}  // namespace portacl::ref
