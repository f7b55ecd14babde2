// W where the table repeats itself, P sources a destination or P destinations a source, with the
// same weights everywhere but at the borders: exact ratios with half-pixel centres.
//
//   phases   the sources are split into P rows, every P-th in one: a tap is one of these, moved.
//            What is left is a sum of rows.
//   expand   P sums of the same few sources, interleaved
//
// Borders are looked up, or done one by one.
#if defined(PORTACL_CPU_RESIZE_RESAMPLE_PERIODIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_RESAMPLE_PERIODIC_INL_H_
#undef PORTACL_CPU_RESIZE_RESAMPLE_PERIODIC_INL_H_
#else
#define PORTACL_CPU_RESIZE_RESAMPLE_PERIODIC_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "cpu/resize/resample_lookup-inl.h"
#include "cpu/resize/resample_plan.h"
#include "cpu/resize/resample_rows-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Destinations [first, end) of kRows rows one by one: the rows' sums do not wait for each other.
template <size_t kRows, class F, class Ti, class To>
HWY_INLINE void AddElementsOf(const ResampleKernelPlan<F>& plan, const Ti* const* from,
                              To* const* to, int64_t first, int64_t end) {
  const ResampleTaps<F>& w = plan.w;
  const Ti* s[kRows];
  for (size_t r = 0; r < kRows; ++r) s[r] = from[r];
  for (int64_t o = first; o < end; ++o) {
    const int64_t start = w.start[o], last = w.start[o + 1];
    F acc[kRows];
    for (F& sum : acc) sum = start < last ? plan.init : F{0};
    for (int64_t k = start; k < last; ++k) {
      const F weight = w.weight[k];
      const int64_t source = w.source[k];
      Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA {  // an instruction here, not a call
        acc[r] = std::fma(weight, base::Widen(s[r][source]), acc[r]);
      });
    }
    Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA { to[r][o] = base::Narrow<To>(acc[r]); });
  }
}

template <class F, class Ti, class To>
HWY_NOINLINE void AddElements(const ResampleKernelPlan<F>& plan, const Ti* const* from,
                              To* const* to, int64_t rows, int64_t first, int64_t end) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) AddElementsOf<4>(plan, from + r, to + r, first, end);
  for (; r < rows; ++r) AddElementsOf<1>(plan, from + r, to + r, first, end);
}

// Elements of a line.
template <class To>
inline constexpr auto kLineOf = static_cast<int64_t>(kStreamAlignment / sizeof(To));

template <class To>
constexpr int64_t LineUp(int64_t n) {
  return DivideUp(n, kLineOf<To>) * kLineOf<To>;
}

// Rows that go past the caches do so as whole lines. What is none by itself was made in `edges`,
// rows of scratch: destinations [w0, first) and [end, w1). Null: rows do not.
template <class F, class To>
void CopyEdges(To* const* edges, To* const* to, int64_t rows, int64_t w0, int64_t first,
               int64_t end, int64_t w1) {
  for (int64_t r = 0; edges != nullptr && r < rows; ++r) {
    CopyRow<F>(edges[r] + w0, to[r] + w0, first - w0, true);
    CopyRow<F>(edges[r] + end, to[r] + end, w1 - end, true);
  }
}

// ---- phases -------------------------------------------------------------------------------------

// Sources from from[0] on to `n` >= a vector elements of each of kPhases rows, `stride` apart.
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

// Destinations [o0, o1) of one row, at most a chunk of those that repeat themselves. `ahead`: the
// same place of a row that is wanted soon, or null. `taps`: room for as many pointers as a
// destination has taps. `split`: for the phases.
template <class F, class Ti, class To>
HWY_INLINE void AddChunk(const ResampleKernelPlan<F>& plan, const Ti* from, To* to, int64_t o0,
                         int64_t o1, bool stream, const Ti* ahead, const F** taps, F* split) {
  const ResamplePeriod& period = plan.period;
  const int64_t P = period.ratio;
  // Phases [lo, hi): what the taps need, and at least a vector.
  int64_t lo = std::max<int64_t>(0, o0 - kResampleMargin);
  const int64_t hi = std::min(plan.w.to, std::max(o1 + kResampleMargin, lo + plan.lanes));
  lo = std::min(lo, hi - plan.lanes);
  const Ti* const next = ahead == nullptr ? nullptr : ahead + P * lo;
  switch (P) {
    case 2:
      SplitPhases<2>(from + P * lo, hi - lo, split, kResamplePhaseStride, next);
      break;
    case 3:
      SplitPhases<3>(from + P * lo, hi - lo, split, kResamplePhaseStride, next);
      break;
    default:
      SplitPhases<4>(from + P * lo, hi - lo, split, kResamplePhaseStride, next);
  }
  for (int64_t k = 0; k < period.taps; ++k) {
    taps[k] = split + (o0 - lo) + plan.period_at[static_cast<size_t>(k)];
  }
  AddRows<F>(plan.period_weight.data(), taps, period.taps, to + o0, o1 - o0, plan.init, stream);
}

// Destinations [w0, w1) of some rows, a chunk at a time so that the phases stay in L1. `edges`: see
// CopyEdges.
template <class F, class Ti, class To>
void AddPhases(const ResampleKernelPlan<F>& plan, const Ti* const* from, To* const* to,
               To* const* edges, int64_t rows, int64_t w0, int64_t w1, const Ti* const* ahead,
               const F** taps, F* split) {
  const int64_t first = std::clamp(plan.period.first, w0, w1);
  const int64_t end = std::clamp(plan.period.end, first, w1);
  To* const* const border = edges == nullptr ? to : edges;
  // [begin, last): whole lines.
  const int64_t begin = edges == nullptr ? first : std::min(LineUp<To>(first), end);
  const int64_t last = edges == nullptr ? end : std::max(end / kLineOf<To> * kLineOf<To>, begin);
  for (int64_t r = 0; r < rows; ++r) {
    const Ti* const next = ahead == nullptr ? nullptr : ahead[r];
    if (first < begin) AddChunk(plan, from[r], border[r], first, begin, false, next, taps, split);
    for (int64_t o0 = begin; o0 < last; o0 += kResampleChunk) {
      AddChunk(plan, from[r], to[r], o0, std::min(o0 + kResampleChunk, last), edges != nullptr,
               next, taps, split);
    }
    if (last < end) AddChunk(plan, from[r], border[r], last, end, false, next, taps, split);
  }
  AddElements(plan, from, border, rows, w0, first);
  AddElements(plan, from, border, rows, end, w1);
  CopyEdges<F>(edges, to, rows, w0, begin, last, w1);
}

// ---- expand -------------------------------------------------------------------------------------

#if !HWY_HAVE_SCALABLE

// Lane i of a and lane i of b follow each other: a becomes the lower half of that, b the upper one.
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

// Of P destinations a source: how far before or behind it the first of its kTaps sources stands.
constexpr int64_t ExpandStart(int64_t P, int64_t taps, int64_t j) {
  return (2 * j + 1 < P ? -1 : 0) - (taps / 2 - 1);
}

// Destinations of the sources [first, end), whole vectors, of some rows. `stream`: past the caches;
// the destinations are whole lines then.
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

// Destinations [w0, w1) of some rows. `edges`: see CopyEdges.
template <class F, class To>
void Expand(const ResampleKernelPlan<F>& plan, const F* const* from, To* const* to,
            To* const* edges, int64_t rows, int64_t w0, int64_t w1) {
  const ResamplePeriod& period = plan.period;
  const int64_t P = period.ratio, lanes = plan.lanes;
  const int64_t first = std::clamp(period.first, DivideUp(w0, P), DivideUp(w1, P));
  const int64_t end = std::clamp(period.end, first, w1 / P);
  if (end - first < lanes) return AddElements(plan, from, to, rows, w0, w1);
  To* const* const border = edges == nullptr ? to : edges;
  // Sources [begin, last): whole vectors, of whole lines.
  const int64_t step = edges == nullptr ? lanes : std::max(lanes, kLineOf<To> / P);
  const int64_t begin = edges == nullptr ? first : LineUp<To>(first * P) / P;
  const int64_t last = begin + std::max<int64_t>(0, end - begin) / step * step;
  const auto run = [&](auto ratio, auto taps) {
    const auto sum = [&](To* const* rows_to, int64_t i0, int64_t i1, bool stream) {
      ExpandSources<ratio, taps>(plan.period_weight.data(), from, rows_to, rows, i0, i1, plan.init,
                                 stream);
    };
    // The sources [i0, i1) and some beside them.
    const auto rest = [&](int64_t i0, int64_t i1) {
      for (int64_t i = i0; i < i1; i += lanes) {
        const int64_t at = std::min(i, end - lanes);
        sum(border, at, at + lanes, false);
      }
    };
    rest(first, begin);
    sum(to, begin, last, edges != nullptr);
    rest(last, end);
  };
  using Two = std::integral_constant<size_t, 2>;
  using Four = std::integral_constant<size_t, 4>;
  if (P == 2) {
    period.taps == 2 ? run(Two(), Two()) : run(Two(), Four());
  } else {
    period.taps == 2 ? run(Four(), Two()) : run(Four(), Four());
  }
  if (plan.borders && w1 - w0 == plan.w.to) {
    LookUpRows(plan, from, border, rows, 0, lanes, false);
    LookUpRows(plan, from, border, rows, (w1 - 1) / lanes * lanes, w1, false);
  } else {
    AddElements(plan, from, border, rows, w0, P * first);
    AddElements(plan, from, border, rows, P * end, w1);
  }
  CopyEdges<F>(edges, to, rows, w0, P * begin, P * last, w1);
}

#endif  // !HWY_HAVE_SCALABLE

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
