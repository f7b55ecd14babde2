// Weighted sums of whole rows, for outer axes and for W of channels_last. Declares the other paths
// of W, and has shared code. Per target.
#if defined(PORTACL_CPU_RESIZE_RESAMPLE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_RESAMPLE_ROWS_INL_H_
#undef PORTACL_CPU_RESIZE_RESAMPLE_ROWS_INL_H_
#else
#define PORTACL_CPU_RESIZE_RESAMPLE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "cpu/resize/resample_plan.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
// Types (F, Ti, To) of weights, sources and results; sources and results are F or tensors' types.
#define PORTACL_RESAMPLE_EACH_TYPE(X)      \
  X(float, float, float)                   \
  X(float, base::Float16, base::Float16)   \
  X(float, base::Float16, float)           \
  X(float, float, base::Float16)           \
  X(float, base::BFloat16, base::BFloat16) \
  X(float, base::BFloat16, float)          \
  X(float, float, base::BFloat16)          \
  X(double, double, double)

// Rows to fetch, at from + j * stride bytes: their lines come into L2 while current rows are used.
// Passed by reference: narrow stores would write a copy on the stack, and wide loads would wait
// until all earlier stores are in the cache.
struct Ahead {
  const char* from = nullptr;
  int64_t stride = 0;
  int64_t rows = 0;
  HWY_INLINE void Fetch(int64_t byte) const {
    for (int64_t j = 0; j < rows; ++j) __builtin_prefetch(from + j * stride + byte, 0, 2);
  }
};
inline constexpr Ahead kNothingAhead;

// Sets to[x] to the sum of weight[k] * from[k][x], rounded once to To; +0 without taps.
template <class F, class Ti, class To>
void AddRows(const F* weight, const Ti* const* from, int64_t taps, To* to, int64_t n, F init,
             bool stream, const Ahead& ahead = kNothingAhead);

// For bytes, in resample_bytes.cc. `init`: fraction bits of a weight.
template <>
void AddRows<int32_t, uint8_t, uint8_t>(const int32_t* weight, const uint8_t* const* from,
                                        int64_t taps, uint8_t* to, int64_t n, int32_t init,
                                        bool stream, const Ahead& ahead);

// Computes pixels [w0, w1) of n channels from two source rows: W of both rows, then H.
template <class F, class Ti, class To>
void AddPixelRows(const ResampleTaps<F>& w, int64_t w0, int64_t w1, const F* weight,
                  const Ti* const (&rows)[2], To* to, int64_t n, F init);

// Sums of short rows: destinations [h0, h1), for each of `times` adjacent blocks of source
// rows.
template <class F>
struct ShortRows {
  const ResampleTaps<F>& taps;
  const int64_t* row;  // tap k reads row[k]
  int64_t h0, h1;
  F init;
  bool stream;  // past the caches; then rows must be whole lines
  int64_t times = 1;
};

// Sums rows of any length, a few columns of all rows at a time. Not for SVE.
template <class F, class Ti, class To>
void AddShortRows(const ShortRows<F>& rows, const Ti* from, int64_t from_row, To* to,
                  int64_t to_row, int64_t n);

// ---- the paths of W -----------------------------------------------------------------------------

// Each function takes some rows through W with the geometry of its path.

// Rows that W reads and writes. Pointers point to where column 0 would be.
template <class F, class Ti, class To>
struct RowsOfW {
  const ResampleTaps<F>& w;
  F init;
  const ResampleTile& columns;  // destinations to compute
  const Ti* const* from;
  To* const* to;
  int64_t rows;
  // Not null if rows go past the caches as whole lines. Destinations in lines that are not whole
  // are made in these rows of scratch.
  To* const* edges = nullptr;
  const Ti* const* ahead = nullptr;  // `rows` rows to fetch at the same columns, or null
};

// `ring`: scratch for the columns. The tile must begin at a multiple of a block.
template <class F, class Ti, class To>
void AddColumns(const ResampleColumns& columns, const RowsOfW<F, Ti, To>& rows,
                ResampleBetween<F>* ring);

// For bytes, in resample_bytes.cc.
template <>
void AddColumns<int32_t, uint8_t, uint8_t>(const ResampleColumns& columns,
                                           const RowsOfW<int32_t, uint8_t, uint8_t>& rows,
                                           uint8_t* ring);

// `taps`: room for the pointers of a destination's taps. `split`: scratch for the phases.
template <class F, class Ti, class To>
void AddPhases(const ResamplePhases<F>& phases, const RowsOfW<F, Ti, To>& rows, const F** taps,
               F* split);

// Not for SVE from here on. Lookups may read whole windows of each source row.
template <class F, class To>
void LookUpRows(const ResampleLookups<F>& lookups, const RowsOfW<F, F, To>& rows);
template <class F, class To>
void Expand(const ResampleExpand<F>& expand, const RowsOfW<F, F, To>& rows);

// Computes all axes of `rows` planes. `axes`: tables of D, H, W. `scratch`: for both halves.
template <class F, class Ti, class To>
void AddPlanes(const ResamplePlanes& planes, const ResampleTaps<F>* const (&axes)[3], bool backward,
               const RowsOfW<F, Ti, To>& rows, F* scratch);

namespace {

// ---- what paths share ---------------------------------------------------------------------------

// Elements of a cache line.
template <class To>
inline constexpr auto kLineOf = static_cast<int64_t>(kStreamAlignment / sizeof(To));

// Stores a row of n elements: value(x) is the vector from x on, part(x, count) less than a vector.
// With `stream`, for rows of many lines, whole lines go past the caches and the rest through them.
// Without it the last vector overlaps the one before. With `align` also the first vector overlaps
// its neighbour, so that no other vector crosses a line.
template <class D, class To, class Value, class Part>
HWY_INLINE void StoreRow(D d, To* to, int64_t n, bool stream, const Value& value, const Part& part,
                         bool align = false) {
  const int64_t lanes = Length(d);
  if (n < lanes) return StoreNarrowFirst(part(0, n), d, to, static_cast<size_t>(n));
  int64_t x = 0;
  if (stream) {
    const auto misplaced = reinterpret_cast<uintptr_t>(to) % kStreamAlignment;
    const auto head =
        static_cast<int64_t>((kStreamAlignment - misplaced) % kStreamAlignment / sizeof(To));
    HWY_DASSERT(head <= n);
    for (; x < head; x += lanes) {
      StoreNarrowFirst(value(x), d, to + x, static_cast<size_t>(std::min(lanes, head - x)));
    }
    for (x = head; x + 2 * lanes <= n; x += 2 * lanes) {
      StoreNarrow2(value(x), value(x + lanes), d, to + x, true);
    }
    if (x + lanes <= n) {
      StoreNarrowLine(value(x), d, to + x, true);
      x += lanes;
    }
    for (; x < n; x += lanes) {
      const int64_t count = std::min(lanes, n - x);
      StoreNarrowFirst(part(x, count), d, to + x, static_cast<size_t>(count));
    }
    return;
  }
  const auto misplaced = reinterpret_cast<uintptr_t>(to) % kStreamAlignment;
  if (align && misplaced != 0 && n >= 4 * lanes) {
    StoreNarrow(value(0), d, to);
    x = static_cast<int64_t>((kStreamAlignment - misplaced) / sizeof(To)) % lanes;
  }
  for (; x + 2 * lanes <= n; x += 2 * lanes) {
    StoreNarrow2(value(x), value(x + lanes), d, to + x, false);
  }
  if (x + lanes <= n) {
    StoreNarrow(value(x), d, to + x);
    x += lanes;
  }
  if (x < n) StoreNarrow(value(n - lanes), d, to + n - lanes);
}

// Sums two pixels of n channels without a call; n is at least a vector.
template <class F, class Ti, class To>
HWY_INLINE void AddPixelPair(const F* weight, const Ti* a, const Ti* b, To* to, int64_t n, F init) {
  const ComputeTag<F> d;
  const auto first = hn::Set(d, init);
  const auto w0 = hn::Set(d, weight[0]);
  const auto w1 = hn::Set(d, weight[1]);
  StoreRow(
      d, to, n, false,
      [&](int64_t x) PORTACL_INLINE_LAMBDA {
        return hn::MulAdd(w1, LoadWide(d, b + x), hn::MulAdd(w0, LoadWide(d, a + x), first));
      },
      [&](int64_t x, int64_t count) PORTACL_INLINE_LAMBDA {
        const auto m = static_cast<size_t>(count);
        return hn::MulAdd(w1, LoadWideFirst(d, b + x, m),
                          hn::MulAdd(w0, LoadWideFirst(d, a + x, m), first));
      });
}

// Sets sum[x] to fma(weight, from[x * step], sum[x]).
template <class F, class Ti>
void AddStrided(F weight, const Ti* from, int64_t step, F* sum, int64_t n) {
  const hn::CappedTag<F, 1> d;
  const auto w = hn::Set(d, weight);
  for (int64_t x = 0; x < n; ++x) {
    hn::StoreU(hn::MulAdd(w, hn::Set(d, base::Widen(from[x * step])), hn::LoadU(d, sum + x)), d,
               sum + x);
  }
}

// Copies a row and converts its elements.
template <class F, class Ti, class To>
void CopyRow(const Ti* from, To* to, int64_t n, bool stream) {
  if constexpr (std::is_same_v<Ti, To>) {
    if (!stream || sizeof(To) == 1) {
      std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(n) * sizeof(To));
      return;
    }
  }
  if constexpr (sizeof(To) > 1) {
    const ComputeTag<F> d;
    StoreRow(
        d, to, n, stream, [&](int64_t x) PORTACL_INLINE_LAMBDA { return LoadWide(d, from + x); },
        [&](int64_t x, int64_t count) PORTACL_INLINE_LAMBDA {
          return LoadWideFirst(d, from + x, static_cast<size_t>(count));
        });
  }
}

// Copies a row that is often shorter than two vectors, without a call. It may write up to a whole
// vector.
template <class F, class Ti>
HWY_INLINE void CopyShortRow(const Ti* from, F* to, int64_t n) {
  const ComputeTag<F> d;
  const int64_t lanes = Length(d);
  if (n > 2 * lanes) return CopyRow<F>(from, to, n, false);
  if (n < lanes) return hn::StoreU(LoadWideFirst(d, from, static_cast<size_t>(n)), d, to);
  hn::StoreU(LoadWide(d, from), d, to);
  hn::StoreU(LoadWide(d, from + n - lanes), d, to + n - lanes);
}

// Splits adjacent pixels of `channels` channels: writes a row to each plane.
template <class F, class T>
HWY_NOINLINE void SplitPixels(const T* from, int64_t pixels, int64_t channels, T* to,
                              int64_t plane_step, int64_t pixel_step) {
  const BlockTag<F, 16> d;
  constexpr int64_t N = kBlockLanes<F, 16>;
  if (sizeof(T) == 1 || pixels < N || channels < N || pixel_step != 1) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t x = 0; x < pixels; ++x) {
        to[c * plane_step + x * pixel_step] = from[x * channels + c];
      }
    }
    return;
  }
  if constexpr (sizeof(T) > 1) {
    for (int64_t c0 = 0; c0 < channels; c0 += N) {  // the last block overlaps the one before
      const int64_t c = std::min(c0, channels - N);
      for (int64_t x0 = 0; x0 < pixels; x0 += N) {
        const int64_t x = std::min(x0, pixels - N);
        const T* const block = from + x * channels + c;
        T* const place = to + c * plane_step + x;
        TransposeRows(
            d,
            [&](size_t i) PORTACL_INLINE_LAMBDA {
              return LoadWide(d, block + static_cast<int64_t>(i) * channels);
            },
            [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
              StoreNarrow(v, d, place + static_cast<int64_t>(j) * plane_step);
            });
      }
    }
  }
}

// Rows to fetch, one after the other: memory delivers adjacent lines faster than lines of many
// rows.
template <class Ti>
class RowsAhead {
 public:
  RowsAhead(const Ti* const* rows, int64_t count, int64_t first, int64_t end)
      : rows_(rows), left_(rows == nullptr ? 0 : count), first_(first), end_(end), at_(first) {}
  // Fetches the lines of about `elements` more elements into L2.
  HWY_INLINE void Fetch(int64_t elements) {
    for (; elements > 0 && left_ > 0; elements -= kLine) {
      __builtin_prefetch(*rows_ + at_, 0, 2);
      at_ += kLine;
      if (at_ < end_) continue;
      at_ = first_;
      ++rows_;
      --left_;
    }
  }

 private:
  static constexpr auto kLine = static_cast<int64_t>(kLineBytes / sizeof(Ti));
  const Ti* const* rows_;
  int64_t left_;
  const int64_t first_, end_;
  int64_t at_;
};

// ---- blocks of rows that are transposed in registers --------------------------------------------

template <class F>
inline constexpr int64_t kTransposed = kBlockLanes<F, 16>;

// Rows and columns of a block of bytes, which differ from other types.
inline constexpr int64_t kByteRows = kBlockLanes<uint8_t, 64>;
inline constexpr int64_t kByteColumns = 16;

// Vectors of rows that become columns together if destinations have many taps: the vectors share
// weights. On AVX-512 the ring would not fit L1.
inline constexpr int kColumnVectors = HWY_TARGET == HWY_AVX3 ? 1 : 4;

// Transposes sources [first, first + N) of N rows to N columns at `to`, kStep apart. Reads no
// source from `end` on.
template <class F, class Ti, int64_t kStep = kTransposed<F>>
HWY_INLINE void RowsToColumns(const Ti* const* from, int64_t first, int64_t end, F* to) {
  constexpr int64_t N = kTransposed<F>;
  const BlockTag<F, 16> d;
  const auto store = [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
    hn::Store(v, d, to + static_cast<int64_t>(j) * kStep);
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

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
