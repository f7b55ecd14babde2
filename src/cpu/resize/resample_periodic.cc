// Resizes along W if the axis' table repeats (exact ratios with half-pixel centres): P sources per
// destination, or P destinations per source. Weights are the same except at the borders.
//
//   phases   sources are split into P rows; row p has sources p, p + P, p + 2 P, ...; a tap is a
//            shifted row, and a destination row is a sum of such rows
//   expand   P sums of the same few sources, interleaved
//
// Destinations at the borders are looked up, or computed one by one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/resample_periodic.cc"
#include "base/round_up.h"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cpu/resize/resample_rows-inl.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

namespace {

// Computes destinations [first, end) of kRows rows one by one. Sums of rows run side by side.
template <size_t kRows, class F, class Ti, class To>
HWY_INLINE void AddElementsOf(const RowsOfW<F, Ti, To>& some, To* const* to, int64_t r0,
                              int64_t first, int64_t end) {
  const ResampleTaps<F>& w = some.w;
  const Ti* s[kRows];
  for (size_t r = 0; r < kRows; ++r) s[r] = some.from[r0 + static_cast<int64_t>(r)];
  for (int64_t o = first; o < end; ++o) {
    const int64_t start = w.start[o], last = w.start[o + 1];
    F acc[kRows];
    for (F& sum : acc) sum = start < last ? some.init : F{0};
    for (int64_t k = start; k < last; ++k) {
      const F weight = w.weight[k];
      const int64_t source = w.source[k];
      Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA {  // inline: one instruction, no call
        acc[r] = std::fma(weight, base::Widen(s[r][source]), acc[r]);
      });
    }
    Unroll<kRows>([&](auto r)
                      PORTACL_INLINE_LAMBDA { to[r0 + int64_t{r}][o] = base::Narrow<To>(acc[r]); });
  }
}

// Computes destinations [first, end) of all rows one by one.
template <class F, class Ti, class To>
HWY_NOINLINE void AddElements(const RowsOfW<F, Ti, To>& some, To* const* to, int64_t first,
                              int64_t end) {
  int64_t r = 0;
  for (; r + 4 <= some.rows; r += 4) AddElementsOf<4>(some, to, r, first, end);
  for (; r < some.rows; ++r) AddElementsOf<1>(some, to, r, first, end);
}

template <class To>
constexpr int64_t LineUp(int64_t n) {
  return base::DivideUp(n, kLineOf<To>) * kLineOf<To>;
}

// Copies destinations [w0, first) and [end, w1) of a tile from the rows `edges` of scratch.
template <class F, class Ti, class To>
void CopyEdges(const RowsOfW<F, Ti, To>& some, int64_t first, int64_t end) {
  const auto [w0, w1] = std::pair(some.columns.w0, some.columns.w1);
  for (int64_t r = 0; some.edges != nullptr && r < some.rows; ++r) {
    CopyRow<F>(some.edges[r] + w0, some.to[r] + w0, first - w0, true);
    CopyRow<F>(some.edges[r] + end, some.to[r] + end, w1 - end, true);
  }
}

// ---- phases -------------------------------------------------------------------------------------

// Splits sources to kPhases rows of `n` elements, `stride` apart; `n` is at least a vector.
template <int kPhases, class F, class Ti>
HWY_NOINLINE void SplitPhases(const Ti* from, int64_t n, F* to, int64_t stride, const Ti* ahead) {
  const ComputeTag<F> d;
  const int64_t lanes = Length(d);
  for (int64_t x0 = 0; x0 < n; x0 += lanes) {
    const int64_t x = std::min(x0, n - lanes);
    const Ti* const at = from + kPhases * x;
    if (ahead != nullptr) {
      const auto* const line = reinterpret_cast<const char*>(ahead + kPhases * x);
      const int64_t bytes = kPhases * lanes * static_cast<int64_t>(sizeof(Ti));
      for (int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(line + byte, 0, 2);
    }
    auto p0 = hn::Undefined(d), p1 = hn::Undefined(d);
    if constexpr (kPhases == 2) {
      LoadDeinterleaved2(d, at, p0, p1);
    } else {
      auto p2 = hn::Undefined(d);
      if constexpr (kPhases == 3) {
        LoadDeinterleaved3(d, at, p0, p1, p2);
      } else {
        auto p3 = hn::Undefined(d);
        LoadDeinterleaved4(d, at, p0, p1, p2, p3);
        hn::StoreU(p3, d, to + 3 * stride + x);
      }
      hn::StoreU(p2, d, to + 2 * stride + x);
    }
    hn::StoreU(p0, d, to + x);
    hn::StoreU(p1, d, to + stride + x);
  }
}

// Computes destinations [o0, o1) of one row: at most kResampleChunk, where the table repeats.
// `ahead`: the same place in a row to fetch, or null. `columns`: destinations of a row.
template <class F, class Ti, class To>
HWY_INLINE void AddChunk(const ResamplePhases<F>& phases, int64_t columns, F init, const Ti* from,
                         To* to, int64_t o0, int64_t o1, bool stream, const Ti* ahead,
                         const F** taps, F* split) {
  const int64_t P = phases.ratio, lanes = Length(ComputeTag<F>());
  // Splits phases [lo, hi): all that the taps need, and at least a vector.
  int64_t lo = std::max<int64_t>(0, o0 - kResampleMargin);
  const int64_t hi = std::min(columns, std::max(o1 + kResampleMargin, lo + lanes));
  lo = std::min(lo, hi - lanes);
  const Ti* const next = ahead == nullptr ? nullptr : ahead + P * lo;
  WithCount<2, 4>(P, [&](auto ratio) {
    SplitPhases<ratio>(from + P * lo, hi - lo, split, kResamplePhaseStride, next);
  });
  for (int64_t k = 0; k < phases.taps; ++k) {
    taps[k] = split + (o0 - lo) + phases.at[static_cast<size_t>(k)];
  }
  AddRows<F>(phases.weight.data(), taps, phases.taps, to + o0, o1 - o0, init, stream);
}

// ---- expand -------------------------------------------------------------------------------------

#if !HWY_HAVE_SCALABLE

// Interleaves lanes a[0] b[0] a[1] b[1] ...: a gets the lower half, b the upper half.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void Interleave(D d, V& a, V& b) {
#if HWY_TARGET == HWY_AVX3
  const hn::RebindToSigned<D> di;
  using TI = hn::TFromD<decltype(di)>;
  constexpr auto kLanes = static_cast<TI>(hn::MaxLanes(D()));
  const auto i = hn::Iota(di, 0);
  const auto odd = hn::And(i, hn::Set(di, 1));
  const auto low = hn::Add(hn::ShiftRight<1>(i), hn::Mul(odd, hn::Set(di, kLanes)));
  const V lower = Lookup2(d, a, b, low);
  b = Lookup2(d, a, b, hn::Add(low, hn::Set(di, kLanes / 2)));
  a = lower;
#else
  const V lower = hn::InterleaveLower(d, a, b);
  const V upper = hn::InterleaveUpper(d, a, b);
  if constexpr (sizeof(V) == 16) {
    a = lower;
    b = upper;
  } else {
    a = hn::ConcatLowerLower(d, upper, lower);
    b = hn::ConcatUpperUpper(d, upper, lower);
  }
#endif
}

// Returns the offset from source s to the first source of its destination j. Source s has P
// destinations; each reads `taps` sources.
constexpr int64_t ExpandStart(int64_t P, int64_t taps, int64_t j) {
  return (2 * j + 1 < P ? -1 : 0) - (taps / 2 - 1);
}

// Computes the destinations of sources [first, end), whole vectors, in some rows. `stream`: past
// the caches; then the destinations must be whole lines.
template <size_t P, size_t kTaps, class F, class To>
HWY_NOINLINE void ExpandSources(const F* weight, const F* const* from, To* const* to, int64_t rows,
                                int64_t first, int64_t end, F init, bool stream) {
  const ComputeTag<F> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const auto start = hn::Set(d, init);
  hn::Vec<decltype(d)> w[P * kTaps];
  Unroll<P * kTaps>([&](auto k) PORTACL_INLINE_LAMBDA { w[k] = hn::Set(d, weight[k]); });
  for (int64_t r = 0; r < rows; ++r) {
    const F* const s = from[r];
    To* const results = to[r];
    for (int64_t i = first; i < end; i += kLanes) {
      hn::Vec<decltype(d)> v[P];
      Unroll<P>([&](auto j) PORTACL_INLINE_LAMBDA {
        constexpr int64_t kStart = ExpandStart(P, kTaps, int64_t{j});
        v[j] = start;
        Unroll<kTaps>([&](auto k) PORTACL_INLINE_LAMBDA {
          v[j] = hn::MulAdd(w[j * kTaps + k], hn::LoadU(d, s + i + kStart + int64_t{k}), v[j]);
        });
      });
      if constexpr (P == 2) {
        Interleave(d, v[0], v[1]);
      } else {
        Interleave(d, v[0], v[2]);
        Interleave(d, v[1], v[3]);
        Interleave(d, v[0], v[1]);
        Interleave(d, v[2], v[3]);
      }
      Unroll<P / 2>([&](auto j) PORTACL_INLINE_LAMBDA {
        StoreNarrow2(v[2 * j], v[2 * j + 1], d,
                     results + i * int64_t{P} + static_cast<int64_t>(2 * j) * kLanes, stream);
      });
    }
  }
}

#endif  // !HWY_HAVE_SCALABLE

}  // namespace

// Splits and sums a chunk at a time, so that phases stay in L1.
template <class F, class Ti, class To>
void AddPhases(const ResamplePhases<F>& phases, const RowsOfW<F, Ti, To>& some, const F** taps,
               F* split) {
  const int64_t w0 = some.columns.w0, w1 = some.columns.w1;
  const int64_t first = std::clamp(phases.first, w0, w1);
  const int64_t end = std::clamp(phases.end, first, w1);
  const bool edges = some.edges != nullptr;
  To* const* const border = edges ? some.edges : some.to;
  // Destinations [begin, last) are whole lines.
  const int64_t begin = edges ? std::min(LineUp<To>(first), end) : first;
  const int64_t last = edges ? std::max(end / kLineOf<To> * kLineOf<To>, begin) : end;
  for (int64_t r = 0; r < some.rows; ++r) {
    const auto add = [&](To* const* to, int64_t o0, int64_t o1, bool stream) {
      if (o0 >= o1) return;
      AddChunk(phases, some.w.to, some.init, some.from[r], to[r], o0, o1, stream,
               some.ahead == nullptr ? nullptr : some.ahead[r], taps, split);
    };
    add(border, first, begin, false);
    for (int64_t o0 = begin; o0 < last; o0 += kResampleChunk) {
      add(some.to, o0, std::min(o0 + kResampleChunk, last), edges);
    }
    add(border, last, end, false);
  }
  AddElements(some, border, w0, first);
  AddElements(some, border, end, w1);
  CopyEdges(some, begin, last);
}

#if !HWY_HAVE_SCALABLE
template <class F, class To>
void Expand(const ResampleExpand<F>& expand, const RowsOfW<F, F, To>& some) {
  const int64_t w0 = some.columns.w0, w1 = some.columns.w1;
  const int64_t P = expand.ratio, lanes = Length(ComputeTag<F>());
  const int64_t first = std::clamp(expand.first, base::DivideUp(w0, P), base::DivideUp(w1, P));
  const int64_t end = std::clamp(expand.end, first, w1 / P);
  if (end - first < lanes) return AddElements(some, some.to, w0, w1);
  const bool edges = some.edges != nullptr;
  To* const* const border = edges ? some.edges : some.to;
  // Sources [begin, last) are whole vectors, and whole cache lines if there are `edges`.
  const int64_t step = edges ? std::max(lanes, kLineOf<To> / P) : lanes;
  const int64_t begin = edges ? LineUp<To>(first * P) / P : first;
  const int64_t last = begin + std::max<int64_t>(0, end - begin) / step * step;
  const auto run = [&](auto ratio, auto taps) {
    const auto sum = [&](To* const* to, int64_t i0, int64_t i1, bool stream) {
      ExpandSources<ratio, taps>(expand.weight.data(), some.from, to, some.rows, i0, i1, some.init,
                                 stream);
    };
    // Computes sources [i0, i1), and some beside them, as whole vectors.
    const auto rest = [&](int64_t i0, int64_t i1) {
      for (int64_t i = i0; i < i1; i += lanes) {
        const int64_t at = std::min(i, end - lanes);
        sum(border, at, at + lanes, false);
      }
    };
    rest(first, begin);
    sum(some.to, begin, last, edges);
    rest(last, end);
  };
  using Two = std::integral_constant<size_t, 2>;
  using Four = std::integral_constant<size_t, 4>;
  if (P == 2) {
    expand.taps == 2 ? run(Two(), Two()) : run(Two(), Four());
  } else {
    expand.taps == 2 ? run(Four(), Two()) : run(Four(), Four());
  }
  if (expand.borders && w1 - w0 == some.w.to) {
    const auto look_up = [&](int64_t from, int64_t to) {
      const ResampleTile columns = {.w0 = from, .w1 = to};
      LookUpRows(expand.lookups,
                 RowsOfW<F, F, To>{some.w, some.init, columns, some.from, border, some.rows});
    };
    look_up(0, lanes);
    look_up((w1 - 1) / lanes * lanes, w1);
  } else {
    AddElements(some, border, w0, P * first);
    AddElements(some, border, P * end, w1);
  }
  CopyEdges(some, P * begin, P * last);
}
#endif

#define PORTACL_RESAMPLE_PHASES(F, Ti, To)                                                \
  template void AddPhases<F, Ti, To>(const ResamplePhases<F>&, const RowsOfW<F, Ti, To>&, \
                                     const F**, F*);
PORTACL_RESAMPLE_EACH_TYPE(PORTACL_RESAMPLE_PHASES)
#undef PORTACL_RESAMPLE_PHASES

#if !HWY_HAVE_SCALABLE
#define PORTACL_RESAMPLE_EXPAND(F, To) \
  template void Expand<F, To>(const ResampleExpand<F>&, const RowsOfW<F, F, To>&);
PORTACL_RESAMPLE_EXPAND(float, float)
PORTACL_RESAMPLE_EXPAND(float, base::Float16)
PORTACL_RESAMPLE_EXPAND(float, base::BFloat16)
PORTACL_RESAMPLE_EXPAND(double, double)
#undef PORTACL_RESAMPLE_EXPAND
#endif

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
