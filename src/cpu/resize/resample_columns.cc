// W by transposing: a block of rows becomes columns in a ring, so W is an outer axis. Sums are
// transposed back to rows. Serves any table.
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

// Destinations with at least so many taps are summed four at a time, in memory. With fewer taps
// this does not pay.
constexpr int64_t kManyTaps = 16;

// Returns the start of a destination's sum: `init`, or +0 without taps.
template <class F>
HWY_INLINE hn::Vec<BlockTag<F, 16>> FirstOf(const ResampleTaps<F>& w, int64_t o, F init) {
  return hn::Set(BlockTag<F, 16>(), w.start[o] < w.start[o + 1] ? init : F{0});
}

// Adds the taps [k, end) to `sum`. load(k, 0) returns the column of tap k.
template <class F, class V, class Load>
HWY_INLINE V AddTaps(const ResampleTaps<F>& w, int64_t k, int64_t end, V sum, const Load& load) {
  const BlockTag<F, 16> d;
  for (; k < end; ++k) sum = hn::MulAdd(hn::Set(d, w.weight[k]), load(k, 0), sum);
  return sum;
}

// Sums `count` destinations from o on, a vector each, and stores them at `to`. Four destinations
// are summed in turn, because an addition must wait for the one before in its sum.
template <class F, class Load>
HWY_INLINE void SumDestinations(const ResampleTaps<F>& w, int64_t o, int64_t count, F init,
                                const Load& load, F* to) {
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  const auto finish = [&](int64_t i, int64_t done, auto sum) PORTACL_INLINE_LAMBDA {
    hn::Store(AddTaps(w, w.start[i] + done, w.start[i + 1], sum, load), d, to);
    to += N;
  };
  const int64_t end = o + count;
  for (; o + 4 <= end; o += 4) {
    const int64_t* const s = w.start + o;
    const int64_t shared = std::min({s[1] - s[0], s[2] - s[1], s[3] - s[2], s[4] - s[3]});
    auto a = FirstOf(w, o, init), b = FirstOf(w, o + 1, init), c = FirstOf(w, o + 2, init),
         e = FirstOf(w, o + 3, init);
    for (int64_t k = 0; k < shared; ++k) {
      a = AddTaps(w, s[0] + k, s[0] + k + 1, a, load);
      b = AddTaps(w, s[1] + k, s[1] + k + 1, b, load);
      c = AddTaps(w, s[2] + k, s[2] + k + 1, c, load);
      e = AddTaps(w, s[3] + k, s[3] + k + 1, e, load);
    }
    finish(o, shared, a);
    finish(o + 1, shared, b);
    finish(o + 2, shared, c);
    finish(o + 3, shared, e);
  }
  for (; o < end; ++o) finish(o, 0, FirstOf(w, o, init));
}

// Sums four vectors of rows, N * N apart at `to`. load(k, v) returns vector v of a column.
// The vectors share each weight, and their sums do not wait for each other.
template <class F, class Load>
HWY_INLINE void SumFourVectors(const ResampleTaps<F>& w, int64_t o, int64_t count, F init,
                               const Load& load, F* to) {
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  for (const int64_t end = o + count; o < end; ++o, to += N) {
    auto a = FirstOf(w, o, init), b = a, c = a, e = a;
    for (int64_t k = w.start[o]; k < w.start[o + 1]; ++k) {
      const auto weight = hn::Set(d, w.weight[k]);
      a = hn::MulAdd(weight, load(k, 0), a);
      b = hn::MulAdd(weight, load(k, 1), b);
      c = hn::MulAdd(weight, load(k, 2), c);
      e = hn::MulAdd(weight, load(k, 3), e);
    }
    hn::Store(a, d, to);
    hn::Store(b, d, to + N * N);
    hn::Store(c, d, to + 2 * N * N);
    hn::Store(e, d, to + 3 * N * N);
  }
}

// Sums columns of kVectors vectors and transposes the sums to rows, a block of destinations at a
// time. fill(o0) loads the columns for the block from o0 on. load(k, v) returns vector v of tap k's
// column.
template <int kVectors, class F, class Ti, class To, class Fill, class Load>
HWY_INLINE void SumColumns(const RowsOfW<F, Ti, To>& some, const Fill& fill, const Load& load) {
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  const ResampleTaps<F>& w = some.w;
  const int64_t rows = some.rows, w1 = some.columns.w1;
  const F init = some.init;
  To* const* const to = some.to;
  HWY_ALIGN F sums[kVectors * N * N];
  for (int64_t o0 = some.columns.w0; o0 < w1; o0 += N) {
    const int64_t lanes = std::min(N, w1 - o0);
    if (w.start[o0] == w.start[o0 + lanes]) {  // no taps: often true of many blocks
      int64_t end = o0 + lanes;
      while (end < w1 && w.start[end] == w.start[std::min(end + N, w1)]) end += N;
      end = std::min(end, w1);
      for (int64_t r = 0; r < rows; ++r) Clear(to[r] + o0, end - o0);
      o0 = end - N;
      continue;
    }
    fill(o0);
    const bool many = kVectors > 1 || w.start[o0 + lanes] - w.start[o0] >= kManyTaps * lanes;
    if constexpr (kVectors > 1) {
      SumFourVectors(w, o0, lanes, init, load, sums);
    } else if (many) {
      SumDestinations(w, o0, lanes, init, load, sums);
    }
    for (int64_t r0 = 0; r0 < kVectors * N && (r0 == 0 || r0 < rows); r0 += N) {
      const auto sum = [&](int64_t i) PORTACL_INLINE_LAMBDA {
        if (many) return hn::Load(d, sums + (r0 + i) * N);
        const int64_t o = o0 + i;
        return AddTaps(w, w.start[o], w.start[o + 1], FirstOf(w, o, init), load);
      };
      TransposeRows(
          d,
          [&](size_t i) PORTACL_INLINE_LAMBDA {
            return static_cast<int64_t>(i) < lanes ? sum(static_cast<int64_t>(i)) : hn::Zero(d);
          },
          [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
            const int64_t r = r0 + static_cast<int64_t>(j);
            if (r >= rows) return;
            if (lanes == N) {
              StoreNarrow(v, d, to[r] + o0);
            } else {
              StoreNarrowFirst(v, d, to[r] + o0, static_cast<size_t>(lanes));
            }
          });
    }
  }
}

// Sums rows that are adjacent in memory: a vector there is a column.
template <class F, class Ti, class To>
void AddNeighbours(int64_t step, const RowsOfW<F, Ti, To>& some) {
  const BlockTag<F, 16> d;
  const int64_t* const source = some.w.source;
  const Ti* const from = some.from[0];
  const auto nothing = [](int64_t) {};
  if (some.rows == kTransposed<F>) {
    return SumColumns<1>(some, nothing, [&](int64_t k, int64_t) PORTACL_INLINE_LAMBDA {
      return LoadWide(d, from + source[k] * step);
    });
  }
  const auto rows = static_cast<size_t>(some.rows);
  SumColumns<1>(some, nothing, [&](int64_t k, int64_t) PORTACL_INLINE_LAMBDA {
    return LoadWideFirst(d, from + source[k] * step, rows);
  });
}

// Sums kVectors vectors of rows, by columns in a ring.
template <int kVectors, class F, class Ti, class To>
HWY_NOINLINE void AddRing(const ResampleColumns& columns, const RowsOfW<F, Ti, To>& some, F* ring) {
  constexpr int64_t N = kTransposed<F>, kRows = kVectors * N;
  const BlockTag<F, 16> d;
  RowsAhead<Ti> ahead(some.ahead, some.rows, some.columns.from, some.columns.end);
  const int32_t* const at = columns.at.data();
  std::array<const Ti*, kRows> from;
  for (int64_t r = 0; r < kRows; ++r) {
    from[static_cast<size_t>(r)] = some.from[std::min(r, some.rows - 1)];
  }
  // Loads whole lines: rows a power of two apart would push partly read lines out of L1.
  constexpr int64_t kLine = kColumnsOfLine<F>;
  int64_t have = some.columns.from / kLine * kLine;
  const auto fill = [&](int64_t o0) PORTACL_INLINE_LAMBDA {
    for (; have < columns.sources_end[static_cast<size_t>(o0 / N)]; have += kLine) {
      ahead.Fetch(kLine * some.rows);
      F* const to = ring + (have & (columns.ring - 1)) * kRows;
      for (int64_t r = 0; r < kRows; r += N) {
        int64_t x = 0;
        do {
          RowsToColumns<F, Ti, kRows>(from.data() + r, have + x, some.w.from, to + x * kRows + r);
          x += N;
        } while (x < kLine && have + x < some.w.from);
      }
    }
  };
  SumColumns<kVectors>(some, fill, [&](int64_t k, int64_t v) PORTACL_INLINE_LAMBDA {
    return hn::Load(d, ring + at[k] + v * N);
  });
}

}  // namespace

template <class F, class Ti, class To>
void AddColumns(const ResampleColumns& columns, const RowsOfW<F, Ti, To>& some,
                ResampleBetween<F>* ring) {
  if (columns.step != 0) return AddNeighbours(columns.step, some);
  if constexpr (kColumnVectors > 1) {
    if (columns.rows > kTransposed<F>) return AddRing<kColumnVectors>(columns, some, ring);
  }
  AddRing<1>(columns, some, ring);
}

#define PORTACL_RESAMPLE_COLUMNS(F, Ti, To)                                              \
  template void AddColumns<F, Ti, To>(const ResampleColumns&, const RowsOfW<F, Ti, To>&, \
                                      ResampleBetween<F>*);
PORTACL_RESAMPLE_EACH_TYPE(PORTACL_RESAMPLE_COLUMNS)
#undef PORTACL_RESAMPLE_COLUMNS

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
