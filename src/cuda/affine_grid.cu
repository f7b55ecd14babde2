// The affine grid: a thread per coordinate. Its gradient: a thread per row of the grid, then a
// thread per element of theta.
#include <array>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "base/dispatch.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "cuda/index.h"
#include "cuda/operators.h"
#include "cuda/tree.h"

namespace portacl::cuda {
namespace {

using Params = ops::AffineGridParams;

// The arguments of both directions. Member c of an item is the number j of a coordinate.
template <class T>
struct Geometry {
  using F = ComputeType<T>;
  int axes;
  int64_t depth, height, width;
  const F* place[3];  // of coordinates x, y, z
  T* theta;
  T* grid;
  int64_t theta_n, theta_row, theta_column;
  Strides grid_stride;  // c is the stride of the coordinates

  PORTACL_DEVICE T* Theta(int64_t n, int64_t j, int64_t k) const {
    return theta + n * theta_n + j * theta_row + k * theta_column;
  }
};

template <class T>
struct MakeGrid {
  using F = ComputeType<T>;
  Items items;
  Geometry<T> g;

  PORTACL_DEVICE void operator()(int64_t item) const {
    const Place at = items.At(item);
    F sum = Fma(Widened(*g.Theta(at.n, at.c, 1)), g.place[1][at.h],
                Widened(*g.Theta(at.n, at.c, 0)) * g.place[0][at.w]);
    if (g.axes == 3) sum = Fma(Widened(*g.Theta(at.n, at.c, 2)), g.place[2][at.d], sum);
    Store(sum + Widened(*g.Theta(at.n, at.c, g.axes)), g.grid + g.grid_stride(at));
  }
};

// Sums row (n, d, h) of coordinate j (item.c), weighted for column k of theta (item.w).
template <class T>
struct SumRow {
  using F = ComputeType<T>;
  Items items;
  Geometry<T> g;
  F* rows;

  PORTACL_DEVICE void operator()(int64_t item) const {
    const Place at = items.At(item);
    const T* const row = g.grid + g.grid_stride({at.n, at.c, at.d, at.h, 0});
    Tree<F> tree;
    for (int i = 0; i < Tree<F>::kLanes; ++i) {
      F sum = 0;
      for (int64_t w = Tree<F>::Lane(i); w < g.width; w += Tree<F>::kLanes) {
        F place = 1;
        if (at.w == 0) place = g.place[0][w];
        if (at.w == 1) place = g.place[1][at.h];
        if (at.w == 2 && g.axes == 3) place = g.place[2][at.d];
        sum = Fma(place, Widened(row[w * g.grid_stride.w]), sum);
      }
      tree.Add(i, sum);
    }
    rows[item] = tree.sum();
  }
};

// Sums the rows of element (n, j, k) of theta. In `rows`, d and h come before k.
template <class T>
struct SumRows {
  using F = ComputeType<T>;
  Items items;
  Geometry<T> g;
  const F* rows;

  PORTACL_DEVICE void operator()(int64_t item) const {
    const Place at = items.At(item);
    const int64_t columns = g.axes + 1;
    const int64_t count = g.depth * g.height;
    const F* const mine = rows + (at.n * g.axes + at.c) * count * columns + at.w;
    F sum = 0;
    for (int64_t row = 0; row < count; ++row) sum += mine[row * columns];
    Store(sum, g.Theta(at.n, at.c, at.w));
  }
};

struct Plan : base::PathPlan<std::monostate> {
  std::array<Table<float>, 3> floats;
  std::array<Table<double>, 3> doubles;
};

template <class F>
Table<F> Places(const Params& p, size_t k) {
  const auto* const places = static_cast<const F*>(p.place[k]);
  return Table(std::vector<F>(places, places + p.extents[2 - k]));
}

std::optional<Plan> MakePlan(const Params& p, std::string_view) {
  Plan plan;
  const bool doubles = p.dtype == base::DType::kDouble;
  if (p.backward) {
    plan.workspace_size = doubles ? 8 : 4;
    for (const int64_t count :
         {p.n, int64_t{p.axes}, int64_t{p.axes} + 1, p.extents[0], p.extents[1]}) {
      if (!base::CheckedMul(plan.workspace_size, static_cast<uint64_t>(count),
                            &plan.workspace_size)) {
        return std::nullopt;
      }
    }
  }
  for (size_t k = 0; k < 3; ++k) {
    if (doubles) {
      plan.doubles[k] = Places<double>(p, k);
    } else {
      plan.floats[k] = Places<float>(p, k);
    }
  }
  return plan;
}

template <class T>
void RunAs(const Params& p, const Plan& plan, void* workspace) {
  using F = ComputeType<T>;
  Geometry<T> g{};
  g.axes = p.axes;
  g.depth = p.extents[0];
  g.height = p.extents[1];
  g.width = p.extents[2];
  for (size_t k = 0; k < 3; ++k) {
    if constexpr (sizeof(F) == 8) {
      g.place[k] = plan.doubles[k].data();
    } else {
      g.place[k] = plan.floats[k].data();
    }
  }
  g.theta = static_cast<T*>(p.theta);
  g.grid = static_cast<T*>(p.grid);
  g.theta_n = p.theta_stride[0];
  g.theta_row = p.theta_stride[1];
  g.theta_column = p.theta_stride[2];
  g.grid_stride = {p.grid_stride[0], p.grid_stride[4], p.grid_stride[1], p.grid_stride[2],
                   p.grid_stride[3]};
  if (!p.backward) {
    const Items items({p.n, p.axes, g.depth, g.height, g.width}, true);
    return Launch(items.count(), MakeGrid<T>{items, g});
  }
  auto* const rows = static_cast<F*>(workspace);
  const Items each({p.n, p.axes, g.depth, g.height, p.axes + 1}, false);
  Launch(each.count(), SumRow<T>{each, g, rows});
  const Items elements({p.n, p.axes, 1, 1, p.axes + 1}, false);
  Launch(elements.count(), SumRows<T>{elements, g, rows});
}

void Run(const Params& p, const Plan& plan, void* workspace) {
  base::DispatchFloating(
      p.dtype, [&](auto tag) { RunAs<typename decltype(tag)::type>(p, plan, workspace); });
}

}  // namespace

const PlanFunction<Params> operators::affine_grid =
    base::KernelOf<&MakePlan, &Run>::Make("cuda", nullptr).plan;

}  // namespace portacl::cuda
