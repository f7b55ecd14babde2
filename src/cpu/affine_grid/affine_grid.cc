// Kernels of the affine grid and its gradient, compiled for every instruction set and listed.
// Points of a row must be adjacent in memory, and coordinates of a point too.
//
// Coordinates are not separated: a vector holds them as memory does, x y x y or x y z x y z.
// Elements of theta and sums of its gradient are repeated with the same period. So both directions
// are plain arithmetic between loads and stores.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/dispatch.h"
#include "ops/affine_grid_params.h"
#include "ops/listed_kernels.h"
#include "runtime/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/affine_grid/affine_grid.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/vector/simd-inl.h"

#ifndef PORTACL_CPU_AFFINE_GRID_PLAN_
#define PORTACL_CPU_AFFINE_GRID_PLAN_
namespace portacl::cpu {

// A row's gradient has so many separate sums, for every 16th point each (ref/affine_grid.cc).
inline constexpr int kPointsApart = 16;

// The plan holds x of each point of a row, once for each coordinate of the point.
struct AffineGridPlan : base::PathPlan<std::vector<float>, std::vector<double>> {};

template <class F>
std::optional<AffineGridPlan> PlanAffineGrid(const ops::AffineGridParams& p) {
  const auto axes = static_cast<int64_t>(p.axes);
  const auto& extents = p.extents;
  if (p.grid_stride[4] != 1 || (extents[2] > 1 && p.grid_stride[3] != axes)) return std::nullopt;
  constexpr int64_t kMostRows = int64_t{1} << 56;  // 64 bits must count the bytes of the rows' sums
  if (extents[2] == 0 || p.n * extents[0] * extents[1] > kMostRows) return std::nullopt;
  std::vector<F> x(static_cast<size_t>(extents[2] * axes));
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<const F*>(p.place[0])[i / static_cast<size_t>(axes)];
  }
  AffineGridPlan plan;
  plan.way = std::move(x);
  if (p.backward) {  // for the sums of every row
    const int64_t sums = p.n * extents[0] * extents[1] * axes * (axes + 1);
    plan.workspace_size = static_cast<uint64_t>(sums) * sizeof(F);
  }
  return plan;
}

}  // namespace portacl::cpu
#endif  // PORTACL_CPU_AFFINE_GRID_PLAN_

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::AffineGridParams;

template <class T, int kAxes>
class AffineGrid {
 public:
  AffineGrid(const Params& p, const std::vector<base::ComputeType<T>>& x, void* workspace)
      : p_(p),
        x_(x.data()),
        count_(static_cast<int64_t>(x.size())),
        sums_(static_cast<F*>(workspace)) {}

  void Run() const {
    const int64_t rows = p_.n * p_.extents[0] * p_.extents[1];
    const int64_t grain = 1 + 32768 / std::max<int64_t>(1, count_);
    if (!p_.backward) {
      return runtime::ParallelFor(rows, grain,
                                  [this](int64_t first, int64_t last) { MakeRows(first, last); });
    }
    runtime::ParallelFor(rows, grain, [this](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) SumRow(row);
    });
    const int64_t images = 1 + 4096 / (rows / std::max<int64_t>(1, p_.n) + 1);
    runtime::ParallelFor(p_.n, images, [this](int64_t first, int64_t last) {
      for (int64_t n = first; n < last; ++n) AddRows(n);
    });
  }

 private:
  using F = base::ComputeType<T>;
  static constexpr int kColumns = kAxes + 1;  // of theta
  static constexpr int kPeriod = kPointsApart * kAxes;
  // Its lanes divide the period for every length of vectors.
  using D = hn::CappedTag<F, kPointsApart>;
  using V = hn::Vec<D>;

  // Values for each column of theta and each coordinate of kPointsApart points.
  struct Period {
    alignas(64) F of[kColumns][kPeriod];
  };

  T* Theta(int64_t n, int j, int k) const {
    const auto& s = p_.theta_stride;
    return static_cast<T*>(p_.theta) + n * s[0] + j * s[1] + k * s[2];
  }

  struct Row {
    int64_t n;
    T* points;
    F y, z;
  };
  Row RowAt(int64_t row) const {
    const int64_t h = row % p_.extents[1];
    const int64_t d = row / p_.extents[1] % p_.extents[0];
    const int64_t n = row / p_.extents[1] / p_.extents[0];
    const auto& s = p_.grid_stride;
    return {n, static_cast<T*>(p_.grid) + n * s[0] + d * s[1] + h * s[2],
            static_cast<const F*>(p_.place[1])[h], static_cast<const F*>(p_.place[2])[d]};
  }

  Period ThetaOf(int64_t n) const {
    Period theta;
    for (int k = 0; k < kColumns; ++k) {
      for (int i = 0; i < kPeriod; ++i) theta.of[k][i] = base::Widen(*Theta(n, i % kAxes, k));
    }
    return theta;
  }

  void MakeRows(int64_t first, int64_t last) const {
    Period theta;
    int64_t theta_of = -1;
    for (int64_t i = first; i < last; ++i) {
      const Row row = RowAt(i);
      if (row.n != theta_of) theta = ThetaOf(theta_of = row.n);
      MakeRow(theta, row);
    }
  }

  void MakeRow(const Period& theta, const Row& row) const {
    const D d;
    const int64_t lanes = Length(d);
    const V y = hn::Set(d, row.y);
    const V z = hn::Set(d, row.z);
    const auto made = [&](int64_t phase, V x) PORTACL_INLINE_LAMBDA {
      V point = hn::Mul(hn::Load(d, theta.of[0] + phase), x);
      point = hn::MulAdd(hn::Load(d, theta.of[1] + phase), y, point);
      if constexpr (kAxes == 3) point = hn::MulAdd(hn::Load(d, theta.of[2] + phase), z, point);
      return hn::Add(point, hn::Load(d, theta.of[kAxes] + phase));
    };
    int64_t at = 0;
    int64_t phase = 0;
    for (; at + lanes <= count_; at += lanes) {
      StoreNarrow(made(phase, hn::LoadU(d, x_ + at)), d, row.points + at);
      phase = phase + lanes == kPeriod ? 0 : phase + lanes;
    }
    if (at == count_) return;
    const auto left = static_cast<size_t>(count_ - at);
    StoreNarrowFirst(made(phase, LoadFirst(d, x_ + at, left)), d, row.points + at, left);
  }

  // Computes kPointsApart separate sums of a row, then adds them by halves.
  void SumRow(int64_t i) const {
    const D d;
    const Row row = RowAt(i);
    Period sums;
    for (int64_t phase = 0; phase < kPeriod; phase += Length(d)) SumPhase(row, phase, &sums);
    F* const to = sums_ + i * kAxes * kColumns;
    for (int k = 0; k < kColumns; ++k) {
      F* const of = sums.of[k];
      AddHalves<kPeriod / 2>(of);
      for (int j = 0; j < kAxes; ++j) to[j * kColumns + k] = of[j];
    }
  }

  // Adds of[i + kHalf] to of[i], then halves again, until one sum per coordinate is left. Each load
  // lies in one earlier store: the processor forwards the value and does not wait for the cache.
  template <int kHalf>
  static void AddHalves(F* of) {
    const hn::CappedTag<F, kHalf & -kHalf> d;
    for (int64_t i = 0; i < kHalf; i += Length(d)) {
      hn::StoreU(hn::Add(hn::LoadU(d, of + i), hn::LoadU(d, of + i + kHalf)), d, of + i);
    }
    if constexpr (kHalf > kAxes) AddHalves<kHalf / 2>(of);
  }

  // Sums the vectors of a row at `phase`, phase + kPeriod, phase + 2 * kPeriod, ...
  void SumPhase(const Row& row, int64_t phase, Period* sums) const {
    const D d;
    const int64_t lanes = Length(d);
    const V y = hn::Set(d, row.y);
    const V z = hn::Set(d, row.z);
    V of_x = hn::Zero(d), of_y = of_x, of_z = of_x, of_1 = of_x;
    const auto add = [&](V x, V grad) PORTACL_INLINE_LAMBDA {
      of_x = hn::MulAdd(x, grad, of_x);
      of_y = hn::MulAdd(y, grad, of_y);
      if constexpr (kAxes == 3) of_z = hn::MulAdd(z, grad, of_z);
      of_1 = hn::Add(of_1, grad);
    };
    int64_t at = phase;
    for (; at + lanes <= count_; at += kPeriod) {
      add(hn::LoadU(d, x_ + at), LoadWide(d, row.points + at));
    }
    if (at < count_) {  // zeros change no sum: -0 of a row is lost, because rows are added to +0
      const auto left = static_cast<size_t>(count_ - at);
      add(LoadFirst(d, x_ + at, left), LoadWideFirst(d, row.points + at, left));
    }
    hn::Store(of_x, d, sums->of[0] + phase);
    hn::Store(of_y, d, sums->of[1] + phase);
    if constexpr (kAxes == 3) hn::Store(of_z, d, sums->of[2] + phase);
    hn::Store(of_1, d, sums->of[kAxes] + phase);
  }

  void AddRows(int64_t n) const {
    const int64_t rows = p_.extents[0] * p_.extents[1];
    const F* from = sums_ + n * rows * kAxes * kColumns;
    F totals[kAxes * kColumns] = {};
    for (int64_t row = 0; row < rows; ++row, from += kAxes * kColumns) {
      for (int i = 0; i < kAxes * kColumns; ++i) totals[i] += from[i];
    }
    for (int i = 0; i < kAxes * kColumns; ++i) {
      *Theta(n, i / kColumns, i % kColumns) = base::Narrow<T>(totals[i]);
    }
  }

  const Params& p_;
  const F* const x_;
  const int64_t count_;  // coordinates of a row
  F* const sums_;
};

void Run(const Params& params, const AffineGridPlan& plan, void* workspace) {
  base::DispatchFloating(params.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto& x = std::get<std::vector<base::ComputeType<T>>>(plan.way);
    if (params.axes == 2) {
      AffineGrid<T, 2>(params, x, workspace).Run();
    } else {
      AffineGrid<T, 3>(params, x, workspace).Run();
    }
  });
}

std::optional<AffineGridPlan> Plan(const Params& params, std::string_view /*path*/) {
  return params.dtype == base::DType::kDouble ? PlanAffineGrid<double>(params)
                                              : PlanAffineGrid<float>(params);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

PORTACL_KERNELS(AffineGrid, Plan, Run)
