// W by transposing: a block of rows becomes columns in a ring, where W is an outer axis; the
// sums are transposed back. Serves any table.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/resample_columns.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <array>

#include "cpu/resize/resample_columns-inl.h"
#include "cpu/resize/resample_paths-inl.h"
#include "cpu/resize/resample_rows-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

template <class F, class Ti, class To>
void AddColumns(const ResampleColumns& columns, const RowsOfW<F, Ti, To>& some, F* ring) {
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  const ResampleTaps<F>& w = some.w;
  const ResampleTile& tile = some.columns;
  const int64_t rows = some.rows;
  const F init = some.init;
  To* const* const to = some.to;
  const Ti* const* const ahead = some.ahead;
  const int32_t* const at = columns.at.data();
  std::array<const Ti*, kMostResampleRows> from;
  for (int64_t r = 0; r < N; ++r) {
    from[static_cast<size_t>(r)] = some.from[std::min(r, rows - 1)];
  }
  int64_t have = tile.from / N * N;
  for (int64_t o0 = tile.w0; o0 < tile.w1; o0 += N) {
    for (; have < columns.sources_end[static_cast<size_t>(o0 / N)]; have += N) {
      for (int64_t r = 0; ahead != nullptr && r < rows; ++r) {
        __builtin_prefetch(ahead[r] + have, 0, 2);
      }
      RowsToColumns<F>(from.data(), have, w.from, ring + (have & (columns.ring - 1)) * N);
    }
    const int64_t lanes = std::min(N, tile.w1 - o0);
    const auto sum = [&](int64_t o) PORTACL_INLINE_LAMBDA {
      const int64_t end = w.start[o + 1];
      int64_t k = w.start[o];
      auto acc = hn::Set(d, k < end ? init : F{0});
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

#define PORTACL_RESAMPLE_COLUMNS(F, Ti, To) \
  template void AddColumns<F, Ti, To>(const ResampleColumns&, const RowsOfW<F, Ti, To>&, F*);
PORTACL_RESAMPLE_EACH_TYPE(PORTACL_RESAMPLE_COLUMNS)
#undef PORTACL_RESAMPLE_COLUMNS

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
