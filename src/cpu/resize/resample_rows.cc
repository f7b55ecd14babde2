// Sums of whole rows, for all paths: along outer axes, and along W of channels_last.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/resample_rows.cc"
#include "base/round_up.h"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/resize/resample_rows-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Sums kTaps rows. The first product is added to `init`.
template <size_t kTaps, class F, class Ti, class To>
HWY_NOINLINE void AddFewRows(const F* weight, const Ti* const* from, To* to, int64_t n, F init,
                             bool stream, const Ahead& wanted) {
  const ComputeTag<F> d;
  const Ahead ahead = {.from = wanted.from, .stride = wanted.stride, .rows = wanted.rows};
  const auto first = hn::Set(d, init);
  F w[kTaps];  // no vectors: arrays cannot hold SVE's vectors
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

// Sums any number of rows, four vectors at a time.
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

#if !HWY_HAVE_SCALABLE

// Sums rows of kVectors vectors in one loop; the last vector overlaps its neighbour. Source row i
// is at from + i * from_row, destination h at to + (h - h0) * to_row.
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

#endif  // !HWY_HAVE_SCALABLE

}  // namespace

template <class F, class Ti, class To>
void AddRows(const F* weight, const Ti* const* from, int64_t taps, To* to, int64_t n, F init,
             bool stream, const Ahead& ahead) {
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

template <class F, class Ti, class To>
void AddPixelRows(const ResampleTaps<F>& w, int64_t w0, int64_t w1, const F* weight,
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

#if !HWY_HAVE_SCALABLE
template <class F, class Ti, class To>
void AddShortRows(const ShortRows<F>& rows, const Ti* from, int64_t from_row, To* to,
                  int64_t to_row, int64_t n) {
  constexpr int kMost = 6;
  const int64_t lanes = Length(ComputeTag<F>());
  const int64_t vectors = base::DivideUp(n, lanes);
  const int64_t parts = vectors <= kMost ? 1 : base::DivideUp(vectors, kMost);
  for (int64_t x = 0, part = 0; part < parts; ++part) {
    // Parts begin at cache lines.
    const int64_t end =
        parts == 1 ? n : std::min(n, base::DivideUp(vectors * (part + 1) / parts, 2) * 2 * lanes);
    const auto run = [&](auto count) {
      AddShortRowsOf<count, F>(rows, from + x, from_row, to + x, to_row, end - x);
    };
    WithCount<1, kMost>(base::DivideUp(end - x, lanes), run);
    x = end;
  }
}
#endif

#define PORTACL_RESAMPLE_ADD_ROWS(F, Ti, To)                                                   \
  template void AddRows<F, Ti, To>(const F*, const Ti* const*, int64_t, To*, int64_t, F, bool, \
                                   const Ahead&);                                              \
  template void AddPixelRows<F, Ti, To>(const ResampleTaps<F>&, int64_t, int64_t, const F*,    \
                                        const Ti* const(&)[2], To*, int64_t, F);
PORTACL_RESAMPLE_EACH_TYPE(PORTACL_RESAMPLE_ADD_ROWS)
#undef PORTACL_RESAMPLE_ADD_ROWS

#if !HWY_HAVE_SCALABLE
#define PORTACL_RESAMPLE_ADD_SHORT_ROWS(F, Ti, To)                                             \
  template void AddShortRows<F, Ti, To>(const ShortRows<F>&, const Ti*, int64_t, To*, int64_t, \
                                        int64_t);
PORTACL_RESAMPLE_EACH_TYPE(PORTACL_RESAMPLE_ADD_SHORT_ROWS)
#undef PORTACL_RESAMPLE_ADD_SHORT_ROWS
#endif

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
