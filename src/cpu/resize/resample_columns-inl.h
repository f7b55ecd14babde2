// W by transposing: a block of rows becomes columns in a ring, where W is an outer axis; the
// sums are transposed back. Serves any table.
#if defined(PORTACL_CPU_RESIZE_RESAMPLE_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_RESAMPLE_COLUMNS_INL_H_
#undef PORTACL_CPU_RESIZE_RESAMPLE_COLUMNS_INL_H_
#else
#define PORTACL_CPU_RESIZE_RESAMPLE_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/resize/resample_plan.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class F>
inline constexpr int64_t kTransposed = kBlockLanes<F, 16>;

// Sources [first, first + N) of N rows, to N columns at `to`. Reads nothing beyond `end` sources.
template <class F, class Ti, int64_t N = kTransposed<F>>
HWY_INLINE void RowsToColumns(const Ti* const* from, int64_t first, int64_t end, F* to) {
  const BlockTag<F, 16> d;
  const auto store = [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
    hn::Store(v, d, to + static_cast<int64_t>(j) * N);
  };
  if (first + N <= end) {
    TransposeRows(
        d, [&](size_t i) PORTACL_INLINE_LAMBDA { return LoadWide(d, from[i] + first); }, store);
  } else {
    TransposeRows(
        d,
        [&](size_t i) PORTACL_INLINE_LAMBDA {
          return LoadWideFirst(d, from[i] + first, static_cast<size_t>(end - first));
        },
        store);
  }
}

// n elements from `at` on of N planes to as many columns, whole blocks of them.
template <class F, class Ti>
HWY_NOINLINE void PlanesToColumns(const Ti* const* from, int64_t at, int64_t n, F* to) {
  constexpr int64_t N = kTransposed<F>;
  for (int64_t x = 0; x < n; x += N) RowsToColumns<F>(from, at + x, at + n, to + x * N);
}

// The reverse, for `planes` <= N of them. Stores round once.
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

// A tile's destinations of `rows` <= N rows; `from` has N pointers to whole rows. The tile begins
// at a multiple of N. `ahead`: as many rows that are wanted soon, or null.
template <class F, class Ti, class To, int64_t N = kTransposed<F>>
HWY_NOINLINE void AddColumns(const ResampleKernelPlan<F>& plan, const Ti* const* from,
                             To* const* to, int64_t rows, const ResampleTile& tile,
                             const Ti* const* ahead, F* ring) {
  const BlockTag<F, 16> d;
  const ResampleTaps<F>& w = plan.w;
  const int32_t* const at = plan.columns_at.data();
  int64_t have = tile.from / N * N;
  for (int64_t o0 = tile.w0; o0 < tile.w1; o0 += N) {
    for (; have < plan.columns_end[static_cast<size_t>(o0 / N)]; have += N) {
      for (int64_t r = 0; ahead != nullptr && r < rows; ++r) {
        __builtin_prefetch(ahead[r] + have, 0, 2);
      }
      RowsToColumns<F>(from, have, w.from, ring + (have & (plan.columns - 1)) * N);
    }
    const int64_t lanes = std::min(N, tile.w1 - o0);
    const auto sum = [&](int64_t o) PORTACL_INLINE_LAMBDA {
      const int64_t end = w.start[o + 1];
      int64_t k = w.start[o];
      auto acc = hn::Set(d, k < end ? plan.init : F{0});
      for (; k < end; ++k) {
        acc = hn::MulAdd(hn::Set(d, w.weight[k]), hn::Load(d, ring + at[k]), acc);
      }
      return acc;
    };
    TransposeRows(
        d,
        [&](size_t i) PORTACL_INLINE_LAMBDA {
          return static_cast<int64_t>(i) < lanes ? sum(o0 + static_cast<int64_t>(i)) : hn::Zero(d);
        },
        [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
          if (static_cast<int64_t>(j) >= rows) return;
          if (lanes == N) {
            StoreNarrow(v, d, to[j] + o0);
          } else {
            StoreNarrowFirst(v, d, to[j] + o0, static_cast<size_t>(lanes));
          }
        });
  }
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
