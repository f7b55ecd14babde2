// Weighted sums of whole rows: what an outer axis does, and W where channels are the inner axis.
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

#include "cpu/resize/resample_plan.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Rows that are wanted soon, at from + j * stride bytes: fetched into L2, line for line as those
// that are used now. Handed on by reference, as a copy on the stack is written in narrow stores and
// read by wide loads: such a load waits until all stores before it are in the cache.
struct Ahead {
  const char* from = nullptr;
  int64_t stride = 0;
  int64_t rows = 0;
  HWY_INLINE void Fetch(int64_t byte) const {
    for (int64_t j = 0; j < rows; ++j) __builtin_prefetch(from + j * stride + byte, 0, 2);
  }
};
inline constexpr Ahead kNothingAhead;

// Stores value(x), the vector of elements from x on, for all of [0, n); part(x, count) is one of
// less than a vector. Through the caches the last vector overlaps the one before. With `align` the
// first one does too, so that no other is split between lines. Past the caches go whole lines,
// the rest goes through them: rows of many lines are worth that.
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

// kTaps rows. What comes first is `init`, to which the first product is added.
template <size_t kTaps, class F, class Ti, class To>
HWY_NOINLINE void AddFewRows(const F* weight, const Ti* const* from, To* to, int64_t n, F init,
                             bool stream, const Ahead& wanted) {
  const ComputeTag<F> d;
  const Ahead ahead = {.from = wanted.from, .stride = wanted.stride, .rows = wanted.rows};
  const auto first = hn::Set(d, init);
  F w[kTaps];  // not vectors: there are no arrays of scalable ones
  const Ti* s[kTaps];
  std::copy_n(weight, kTaps, w);
  std::copy_n(from, kTaps, s);
  const auto sum = [&](const auto& load) PORTACL_INLINE_LAMBDA {
    auto acc = first;
    Unroll<kTaps>(
        [&](auto k) PORTACL_INLINE_LAMBDA { acc = hn::MulAdd(hn::Set(d, w[k]), load(s[k]), acc); });
    return acc;
  };
  StoreRow(
      d, to, n, stream,
      [&](int64_t x) PORTACL_INLINE_LAMBDA {
        ahead.Fetch(x * static_cast<int64_t>(sizeof(Ti)));
        return sum([&](const Ti* row) PORTACL_INLINE_LAMBDA { return LoadWide(d, row + x); });
      },
      [&](int64_t x, int64_t count) PORTACL_INLINE_LAMBDA {
        return sum([&](const Ti* row) PORTACL_INLINE_LAMBDA {
          return LoadWideFirst(d, row + x, static_cast<size_t>(count));
        });
      },
      kTaps == 2 && sizeof(To) == sizeof(F));
}

// Two pixels of n >= a vector channels, without a call.
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

// Destination pixels [w0, w1) of n channels of the row whose sources are `rows`: W of both, then H.
template <class F, class Ti, class To>
HWY_NOINLINE void AddPixelRows(const ResampleTaps<F>& w, int64_t w0, int64_t w1, const F* weight,
                               const Ti* const (&rows)[2], To* to, int64_t n, F init) {
  const ComputeTag<F> d;
  const auto first = hn::Set(d, init);
  const auto h0 = hn::Set(d, weight[0]);
  const auto h1 = hn::Set(d, weight[1]);
  for (int64_t o = w0; o < w1; ++o) {
    const int64_t k = w.start[o];
    const auto v0 = hn::Set(d, w.weight[k]);
    const auto v1 = hn::Set(d, w.weight[k + 1]);
    const int64_t left = w.source[k] * n, right = w.source[k + 1] * n;
    const auto sum = [&](const auto& load) PORTACL_INLINE_LAMBDA {
      const auto row = [&](const Ti* s) PORTACL_INLINE_LAMBDA {
        return hn::MulAdd(v1, load(s + right), hn::MulAdd(v0, load(s + left), first));
      };
      return hn::MulAdd(h1, row(rows[1]), hn::MulAdd(h0, row(rows[0]), first));
    };
    StoreRow(
        d, to + o * n, n, false,
        [&](int64_t x) PORTACL_INLINE_LAMBDA {
          return sum([&](const Ti* row) PORTACL_INLINE_LAMBDA { return LoadWide(d, row + x); });
        },
        [&](int64_t x, int64_t count) PORTACL_INLINE_LAMBDA {
          return sum([&](const Ti* s) PORTACL_INLINE_LAMBDA {
            return LoadWideFirst(d, s + x, static_cast<size_t>(count));
          });
        });
  }
}

// Any number of rows, four vectors at a time.
template <class F, class Ti, class To>
HWY_NOINLINE void AddManyRows(const F* weight, const Ti* const* from, int64_t taps, To* to,
                              int64_t n, F init, bool stream, const Ahead& wanted) {
  const ComputeTag<F> d;
  const Ahead ahead = {.from = wanted.from, .stride = wanted.stride, .rows = wanted.rows};
  const int64_t lanes = Length(d);
  const auto first = hn::Set(d, taps > 0 ? init : F{0});
  int64_t x0 = 0;
  for (; !stream && x0 + 4 * lanes <= n; x0 += 4 * lanes) {
    auto a = first, b = first, c = first, e = first;
    for (int64_t i = 0; i < 4; ++i) {
      ahead.Fetch((x0 + i * lanes) * static_cast<int64_t>(sizeof(Ti)));
    }
    for (int64_t k = 0; k < taps; ++k) {
      const auto w = hn::Set(d, weight[k]);
      const Ti* const s = from[k] + x0;
      a = hn::MulAdd(w, LoadWide(d, s), a);
      b = hn::MulAdd(w, LoadWide(d, s + lanes), b);
      c = hn::MulAdd(w, LoadWide(d, s + 2 * lanes), c);
      e = hn::MulAdd(w, LoadWide(d, s + 3 * lanes), e);
    }
    StoreNarrow2(a, b, d, to + x0, false);
    StoreNarrow2(c, e, d, to + x0 + 2 * lanes, false);
  }
  if (x0 > 0 && n - x0 < lanes) x0 = n - std::min(n, lanes);
  if (x0 == n) return;
  StoreRow(
      d, to + x0, n - x0, stream,
      [&](int64_t x) PORTACL_INLINE_LAMBDA {
        auto acc = first;
        for (int64_t k = 0; k < taps; ++k) {
          acc = hn::MulAdd(hn::Set(d, weight[k]), LoadWide(d, from[k] + x0 + x), acc);
        }
        return acc;
      },
      [&](int64_t x, int64_t count) PORTACL_INLINE_LAMBDA {
        auto acc = first;
        for (int64_t k = 0; k < taps; ++k) {
          acc = hn::MulAdd(hn::Set(d, weight[k]),
                           LoadWideFirst(d, from[k] + x0 + x, static_cast<size_t>(count)), acc);
        }
        return acc;
      });
}

// to[x] = the sum of weight[k] * from[k][x], rounded once to To. No taps: +0.
template <class F, class Ti, class To>
HWY_INLINE void AddRows(const F* weight, const Ti* const* from, int64_t taps, To* to, int64_t n,
                        F init, bool stream, const Ahead& ahead = kNothingAhead) {
  switch (taps) {
    case 1:
      return AddFewRows<1, F>(weight, from, to, n, init, stream, ahead);
    case 2:
      return AddFewRows<2, F>(weight, from, to, n, init, stream, ahead);
    case 3:
      return AddFewRows<3, F>(weight, from, to, n, init, stream, ahead);
    case 4:
      return AddFewRows<4, F>(weight, from, to, n, init, stream, ahead);
    case 8:
      return AddFewRows<8, F>(weight, from, to, n, init, stream, ahead);
    default:
      return AddManyRows<F>(weight, from, taps, to, n, init, stream, ahead);
  }
}

#if !HWY_HAVE_SCALABLE

// The same sums for `times` blocks of rows that follow each other: destinations [h0, h1) of each
// block.
template <class F>
struct ShortRows {
  const ResampleTaps<F>& taps;
  const int64_t* row;  // tap k reads row[k]
  int64_t h0, h1;
  F init;
  bool stream;  // past the caches: rows are whole lines then
  int64_t times = 1;
};

// Rows of kVectors vectors, the last one overlapping, in one loop. Row i of the sources is at from
// + i * from_row, destination h at to + (h - h0) * to_row.
template <size_t kVectors, class F, class Ti, class To>
HWY_NOINLINE void AddShortRowsOf(const ShortRows<F>& rows, const Ti* from, int64_t from_row, To* to,
                                 int64_t to_row, int64_t n) {
  const ComputeTag<F> d;
  const int64_t lanes = Length(d);
  const bool partial = n < lanes, stream = rows.stream;
  const int64_t* const starts = rows.taps.start;
  const int64_t* const row = rows.row;
  const F* const weights = rows.taps.weight;
  const F init = rows.init;
  const int64_t h0 = rows.h0, h1 = rows.h1, from_step = rows.taps.from * from_row;
  int64_t x[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    x[v] = std::max<int64_t>(0, std::min(static_cast<int64_t>(v) * lanes, n - lanes));
  }
  for (int64_t times = rows.times; times > 0; --times, from += from_step) {
    int64_t k = starts[h0];
    for (int64_t o = h0; o < h1; ++o, to += to_row) {
      const int64_t end = starts[o + 1];
      const auto start = hn::Set(d, k < end ? init : F{0});
      hn::Vec<decltype(d)> acc[kVectors];
      Unroll<kVectors>([&](auto v) PORTACL_INLINE_LAMBDA { acc[v] = start; });
      for (; k < end; ++k) {
        const auto w = hn::Set(d, weights[k]);
        const Ti* const s = from + row[k] * from_row;
        Unroll<kVectors>([&](auto v) PORTACL_INLINE_LAMBDA {
          if (kVectors == 1 && partial) {
            acc[v] = hn::MulAdd(w, LoadWideFirst(d, s, static_cast<size_t>(n)), acc[v]);
          } else {
            acc[v] = hn::MulAdd(w, LoadWide(d, s + x[v]), acc[v]);
          }
        });
      }
      Unroll<kVectors>([&](auto v) PORTACL_INLINE_LAMBDA {
        if (kVectors == 1 && partial) {
          StoreNarrowFirst(acc[v], d, to, static_cast<size_t>(n));
          return;
        }
        if constexpr (std::is_same_v<To, F>) {
          if (stream) return hn::Stream(acc[v], d, to + x[v]);
        }
        StoreNarrow(acc[v], d, to + x[v]);
      });
    }
  }
}

// Rows of any number of vectors, a few columns of all of them at a time.
template <class F, class Ti, class To>
void AddShortRows(const ShortRows<F>& rows, const Ti* from, int64_t from_row, To* to,
                  int64_t to_row, int64_t n) {
  constexpr int64_t kMost = 6;
  const int64_t lanes = Length(ComputeTag<F>());
  const int64_t vectors = DivideUp(n, lanes);
  const int64_t parts = vectors <= kMost ? 1 : DivideUp(vectors, kMost);
  for (int64_t x = 0, part = 0; part < parts; ++part) {
    // Parts begin at lines.
    const int64_t end =
        parts == 1 ? n : std::min(n, DivideUp(vectors * (part + 1) / parts, 2) * 2 * lanes);
    const auto run = [&](auto count) {
      AddShortRowsOf<count, F>(rows, from + x, from_row, to + x, to_row, end - x);
    };
    switch (DivideUp(end - x, lanes)) {
      case 1:
        run(std::integral_constant<size_t, 1>());
        break;
      case 2:
        run(std::integral_constant<size_t, 2>());
        break;
      case 3:
        run(std::integral_constant<size_t, 3>());
        break;
      case 4:
        run(std::integral_constant<size_t, 4>());
        break;
      case 5:
        run(std::integral_constant<size_t, 5>());
        break;
      default:
        run(std::integral_constant<size_t, 6>());
    }
    x = end;
  }
}

#endif  // !HWY_HAVE_SCALABLE

// sum[x] = fma(weight, from[x * step], sum[x]).
template <class F, class Ti>
void AddStrided(F weight, const Ti* from, int64_t step, F* sum, int64_t n) {
  const hn::CappedTag<F, 1> d;
  const auto w = hn::Set(d, weight);
  for (int64_t x = 0; x < n; ++x) {
    hn::StoreU(hn::MulAdd(w, hn::Set(d, base::Widen(from[x * step])), hn::LoadU(d, sum + x)), d,
               sum + x);
  }
}

// Copies and converts.
template <class F, class Ti, class To>
void CopyRow(const Ti* from, To* to, int64_t n, bool stream) {
  if constexpr (std::is_same_v<Ti, To>) {
    if (!stream) {
      std::memcpy(static_cast<void*>(to), from, static_cast<size_t>(n) * sizeof(To));
      return;
    }
  }
  const ComputeTag<F> d;
  StoreRow(
      d, to, n, stream, [&](int64_t x) PORTACL_INLINE_LAMBDA { return LoadWide(d, from + x); },
      [&](int64_t x, int64_t count)
          PORTACL_INLINE_LAMBDA { return LoadWideFirst(d, from + x, static_cast<size_t>(count)); });
}

// The same without a call, for rows that are often shorter than two vectors. A whole vector is
// written at least.
template <class F, class Ti>
HWY_INLINE void CopyShortRow(const Ti* from, F* to, int64_t n) {
  const ComputeTag<F> d;
  const int64_t lanes = Length(d);
  if (n > 2 * lanes) return CopyRow<F>(from, to, n, false);
  if (n < lanes) return hn::StoreU(LoadWideFirst(d, from, static_cast<size_t>(n)), d, to);
  hn::StoreU(LoadWide(d, from), d, to);
  hn::StoreU(LoadWide(d, from + n - lanes), d, to + n - lanes);
}

// Pixels of so many channels, one after the other, to a row of each plane.
template <class F, class T>
HWY_NOINLINE void SplitPixels(const T* from, int64_t pixels, int64_t channels, T* to,
                              int64_t plane_step, int64_t pixel_step) {
  const BlockTag<F, 16> d;
  constexpr int64_t N = kBlockLanes<F, 16>;
  if (pixels < N || channels < N || pixel_step != 1) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t x = 0; x < pixels; ++x) {
        to[c * plane_step + x * pixel_step] = from[x * channels + c];
      }
    }
    return;
  }
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

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
