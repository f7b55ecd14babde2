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

// Destinations with so many taps each are summed four at a time. Fewer taps do not pay for sums in
// memory.
constexpr int64_t kManyTaps = 16;

// Sums of `count` destinations from o on, a vector each, to `to`. Four chains of additions run side
// by side: each waits for its last sum.
template <class F, class Load>
HWY_INLINE void SumDestinations(const ResampleTaps<F>& w, int64_t o, int64_t count, F init,
                                const Load& load, F* to) {
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  const auto first = [&](int64_t i) PORTACL_INLINE_LAMBDA {
    return hn::Set(d, w.start[i] < w.start[i + 1] ? init : F{0});
  };
  const auto add = [&](int64_t k, auto sum) PORTACL_INLINE_LAMBDA {
    return hn::MulAdd(hn::Set(d, w.weight[k]), load(k), sum);
  };
  const auto finish = [&](int64_t i, int64_t done, auto sum) PORTACL_INLINE_LAMBDA {
    for (int64_t k = w.start[i] + done; k < w.start[i + 1]; ++k) sum = add(k, sum);
    hn::Store(sum, d, to);
    to += N;
  };
  const int64_t end = o + count;
  for (; o + 4 <= end; o += 4) {
    const int64_t* const s = w.start + o;
    const int64_t shared = std::min({s[1] - s[0], s[2] - s[1], s[3] - s[2], s[4] - s[3]});
    auto a = first(o), b = first(o + 1), c = first(o + 2), e = first(o + 3);
    for (int64_t k = 0; k < shared; ++k) {
      a = add(s[0] + k, a);
      b = add(s[1] + k, b);
      c = add(s[2] + k, c);
      e = add(s[3] + k, e);
    }
    finish(o, shared, a);
    finish(o + 1, shared, b);
    finish(o + 2, shared, c);
    finish(o + 3, shared, e);
  }
  for (; o < end; ++o) finish(o, 0, first(o));
}

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
  HWY_ALIGN F sums[N * N];
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
    const bool many = w.start[o0 + lanes] - w.start[o0] >= kManyTaps * lanes;
    if (many) SumDestinations(w, o0, lanes, init, load, sums);
    const auto sum = [&](int64_t i) PORTACL_INLINE_LAMBDA {
      if (many) return hn::Load(d, sums + i * N);
      const int64_t end = w.start[o0 + i + 1];
      int64_t k = w.start[o0 + i];
      auto acc = hn::Set(d, k < end ? init : F{0});
      for (; k < end; ++k) acc = hn::MulAdd(hn::Set(d, w.weight[k]), load(k), acc);
      return acc;
    };
    TransposeRows(
        d,
        [&](size_t i) PORTACL_INLINE_LAMBDA {
          return static_cast<int64_t>(i) < lanes ? sum(static_cast<int64_t>(i)) : hn::Zero(d);
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
