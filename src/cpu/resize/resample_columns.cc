// W by transposing: a block of rows becomes columns in a ring. There W is an outer axis. The sums
// are transposed back. Serves any table.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/resample_columns.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <array>

#include "cpu/resize/resample_rows-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

namespace {

// Sums of columns, transposed back to rows, a block of destinations at a time. fill(o0) prepares
// the columns for the block from o0 on; load(k) returns the column of tap k.
template <class F, class Ti, class To, class Fill, class Load>
HWY_INLINE void SumColumns(const RowsOfW<F, Ti, To>& some, const Fill& fill, const Load& load) {
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  const ResampleTaps<F>& w = some.w;
  const int64_t rows = some.rows, w1 = some.columns.w1;
  const F init = some.init;
  To* const* const to = some.to;
  for (int64_t o0 = some.columns.w0; o0 < w1; o0 += N) {
    const int64_t lanes = std::min(N, w1 - o0);
    if (w.start[o0] == w.start[o0 + lanes]) {  // no tap: often the same of many blocks
      int64_t end = o0 + lanes;
      while (end < w1 && w.start[end] == w.start[std::min(end + N, w1)]) end += N;
      end = std::min(end, w1);
      for (int64_t r = 0; r < rows; ++r) Clear(to[r] + o0, end - o0);
      o0 = end - N;
      continue;
    }
    fill(o0);
    const auto sum = [&](int64_t o) PORTACL_INLINE_LAMBDA {
      const int64_t end = w.start[o + 1];
      int64_t k = w.start[o];
      auto acc = hn::Set(d, k < end ? init : F{0});
      for (; k < end; ++k) acc = hn::MulAdd(hn::Set(d, w.weight[k]), load(k), acc);
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

// Of rows that are neighbours in memory: a column is a vector there.
template <class F, class Ti, class To>
void AddNeighbours(int64_t step, const RowsOfW<F, Ti, To>& some) {
  const BlockTag<F, 16> d;
  const int64_t* const source = some.w.source;
  const Ti* const from = some.from[0];
  const auto nothing = [](int64_t) {};
  if (some.rows == kTransposed<F>) {
    return SumColumns(some, nothing, [&](int64_t k) PORTACL_INLINE_LAMBDA {
      return LoadWide(d, from + source[k] * step);
    });
  }
  const auto rows = static_cast<size_t>(some.rows);
  SumColumns(some, nothing, [&](int64_t k) PORTACL_INLINE_LAMBDA {
    return LoadWideFirst(d, from + source[k] * step, rows);
  });
}

}  // namespace

template <class F, class Ti, class To>
void AddColumns(const ResampleColumns& columns, const RowsOfW<F, Ti, To>& some,
                ResampleBetween<F>* ring) {
  if (columns.step != 0) return AddNeighbours(columns.step, some);
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  const Ti* const* const ahead = some.ahead;
  const int32_t* const at = columns.at.data();
  std::array<const Ti*, kMostResampleRows> from;
  for (int64_t r = 0; r < N; ++r) {
    from[static_cast<size_t>(r)] = some.from[std::min(r, some.rows - 1)];
  }
  int64_t have = some.columns.from / N * N;
  const auto fill = [&](int64_t o0) PORTACL_INLINE_LAMBDA {
    for (; have < columns.sources_end[static_cast<size_t>(o0 / N)]; have += N) {
      for (int64_t r = 0; ahead != nullptr && r < some.rows; ++r) {
        __builtin_prefetch(ahead[r] + have, 0, 2);
      }
      RowsToColumns<F>(from.data(), have, some.w.from, ring + (have & (columns.ring - 1)) * N);
    }
  };
  SumColumns(some, fill,
             [&](int64_t k) PORTACL_INLINE_LAMBDA { return hn::Load(d, ring + at[k]); });
}

#define PORTACL_RESAMPLE_COLUMNS(F, Ti, To)                                              \
  template void AddColumns<F, Ti, To>(const ResampleColumns&, const RowsOfW<F, Ti, To>&, \
                                      ResampleBetween<F>*);
PORTACL_RESAMPLE_EACH_TYPE(PORTACL_RESAMPLE_COLUMNS)
#undef PORTACL_RESAMPLE_COLUMNS

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
