// Path "planes": a vector has one element of each plane of a block, so all axes are outer axes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/resample_planes.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <array>
#include <utility>

#include "cpu/resize/resample_rows-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

#if !HWY_HAVE_SCALABLE
namespace {

// Transposes n elements from `at` on of N planes to columns, in whole blocks.
template <class F, class Ti>
HWY_NOINLINE void PlanesToColumns(const Ti* const* from, int64_t at, int64_t n, F* to) {
  constexpr int64_t N = kTransposed<F>;
  for (int64_t x = 0; x < n; x += N) RowsToColumns<F>(from, at + x, at + n, to + x * N);
}

// Transposes n columns back to `planes` <= N planes. Stores round once.
template <class F, class To>
HWY_NOINLINE void ColumnsToPlanes(const F* from, int64_t n, To* const* to, int64_t at,
                                  int64_t planes) {
  const BlockTag<F, 16> d;
  constexpr int64_t N = kTransposed<F>;
  for (int64_t x0 = 0; x0 < n; x0 += N) {  // the last block overlaps the one before
    const int64_t x = std::max<int64_t>(0, std::min(x0, n - N));
    TransposeRows(
        d,
        [&](size_t i)
            PORTACL_INLINE_LAMBDA { return hn::Load(d, from + (x + static_cast<int64_t>(i)) * N); },
        [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
          if (static_cast<int64_t>(j) >= planes) return;
          if (n >= N) {
            StoreNarrow(v, d, to[j] + at + x);
          } else {
            StoreNarrowFirst(v, d, to[j] + at, static_cast<size_t>(n));
          }
        });
  }
}

// Copies the used parts of a block of planes to columns.
template <class F, class Ti>
void LoadPlanes(const ResamplePlanes& used, const Ti* const* from, int64_t planes, F* columns) {
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  if (used.from.at.size() > 1 && used.from_step != 0) {
    const int64_t ahead = N * used.from_step * static_cast<int64_t>(sizeof(Ti));
    for (const int64_t at : used.from.at) {
      for (int64_t r = 0; r < planes; ++r) {
        __builtin_prefetch(reinterpret_cast<const char*>(from[r] + at) + ahead, 0, 3);
      }
    }
  }
  for (const int64_t at : used.from.at) {
    if (used.from_vectors && planes == N) {
      hn::Store(LoadWide(d, from[0] + at), d, columns);
    } else {
      PlanesToColumns<F>(from, at, used.from.length, columns);
    }
    columns += used.from.length * N;
  }
}

// Writes columns to their places in a block of planes, and zeros to the other places.
template <class F, class To>
void StorePlanes(const ResamplePlanes& used, const F* columns, To* const* to, int64_t planes) {
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  for (const int64_t at : used.clear.at) {
    for (int64_t r = 0; r < planes; ++r) {
      Clear(to[r] + at, used.clear.length);
    }
  }
  for (const int64_t at : used.to.at) {
    if (used.to_vectors && planes == N) {
      StoreNarrow(hn::Load(d, columns), d, to[0] + at);
    } else {
      ColumnsToPlanes<F>(columns, used.to.length, to, at, planes);
    }
    columns += used.to.length * N;
  }
}

}  // namespace

template <class F, class Ti, class To>
void AddPlanes(const ResamplePlanes& planes, const ResampleTaps<F>* const (&axes)[3], bool backward,
               const RowsOfW<F, Ti, To>& rows, F* scratch) {
  constexpr int64_t N = kTransposed<F>;
  std::array<int64_t, 3> extents = {axes[0]->from, axes[1]->from, axes[2]->from};
  std::array<const Ti*, kMostResampleRows> all;
  for (int64_t r = 0; r < N; ++r) {
    all[static_cast<size_t>(r)] = rows.from[std::min(r, rows.rows - 1)];
  }
  F* made = scratch;
  F* next = made + planes.half;
  LoadPlanes(planes, all.data(), rows.rows, made);
  for (size_t i = 0; i < 3; ++i) {
    const size_t axis = backward ? i : 2 - i;
    const ResampleTaps<F>& taps = *axes[axis];
    if (taps.identity) continue;
    const int64_t step = N * (axis < 1 ? extents[1] : 1) * (axis < 2 ? extents[2] : 1);
    const int64_t times = (axis > 0 ? extents[0] : 1) * (axis > 1 ? extents[1] : 1);
    AddShortRows<F>({.taps = taps,
                     .row = taps.source,
                     .h0 = 0,
                     .h1 = taps.to,
                     .init = rows.init,
                     .stream = false,
                     .times = times},
                    made, step, next, step, step);
    extents[axis] = taps.to;
    std::swap(made, next);
  }
  StorePlanes(planes, made, rows.to, rows.rows);
}

#define PORTACL_RESAMPLE_PLANES(F, Ti, To)                                                      \
  template void AddPlanes<F, Ti, To>(const ResamplePlanes&, const ResampleTaps<F>* const(&)[3], \
                                     bool, const RowsOfW<F, Ti, To>&, F*);
PORTACL_RESAMPLE_EACH_TYPE(PORTACL_RESAMPLE_PLANES)
#undef PORTACL_RESAMPLE_PLANES
#endif  // !HWY_HAVE_SCALABLE

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
