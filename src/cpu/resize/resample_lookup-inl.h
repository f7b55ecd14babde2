// W by looking sources up in registers: a vector of destinations whose sources all stand in a
// window of one or two vectors.
#if defined(PORTACL_CPU_RESIZE_RESAMPLE_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_RESAMPLE_LOOKUP_INL_H_
#undef PORTACL_CPU_RESIZE_RESAMPLE_LOOKUP_INL_H_
#else
#define PORTACL_CPU_RESIZE_RESAMPLE_LOOKUP_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/resize/resample_plan.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

#if !HWY_HAVE_SCALABLE

// No struct holds a window: the constructor that it would have by itself is compiled for no target,
// and on 64-bit Arm that cannot call the constructor of a vector.
template <size_t kVectors, class D, class DI = hn::RebindToSigned<D>>
HWY_INLINE hn::Vec<D> LookUp(D d, const hn::Vec<D> (&window)[kVectors], hn::Vec<DI> index) {
  if constexpr (kVectors == 1) {
    return hn::TableLookupLanes(window[0], hn::IndicesFromVec(d, index));
  } else {
    return Lookup2(d, window[0], window[1], index);
  }
}

// The sums of one group of destinations of kRows rows.
template <size_t kVectors, size_t kRows, class F, class D = ComputeTag<F>>
HWY_INLINE void SumGroup(const ResampleLookups<F>& lookups, int64_t g, F init,
                         const F* const (&s)[kRows], hn::Vec<D> (&acc)[kRows]) {
  const D d;
  const hn::RebindToSigned<D> di;
  using Index = hn::TFromD<decltype(di)>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const auto start = hn::Set(d, init);
  const ResampleGroup& group = lookups.groups[static_cast<size_t>(g)];
  if (group.most == 0) {  // it has no window: a tile need not have any source
    Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA { acc[r] = hn::Zero(d); });
    return;
  }
  const F* weight = lookups.weight.data() + group.weight;
  const Index* index = lookups.index.data() + group.index;
  hn::Vec<D> window[kRows][kVectors];
  Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA {
    acc[r] = start;
    Unroll<kVectors>([&](auto v) PORTACL_INLINE_LAMBDA {
      window[r][v] = hn::LoadU(d, s[r] + group.from + static_cast<int64_t>(v) * kLanes);
    });
  });
  auto at = hn::LoadU(di, index);
  int64_t k = 0;
  for (; k < group.all; ++k, weight += kLanes) {  // taps that every lane has
    const auto w = hn::LoadU(d, weight);
    Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA {
      acc[r] = hn::MulAdd(w, LookUp<kVectors>(d, window[r], at), acc[r]);
    });
    if (group.run) {
      at = hn::Add(at, hn::Set(di, Index{1}));
    } else {
      index += kLanes;
      at = hn::LoadU(di, index);
    }
  }
  // Lanes without a tap add -0 * +0, which changes no sum, not even -0.
  const Index* const count = lookups.count.data() + g * kLanes;
  for (; k < group.most; ++k, weight += kLanes) {
    const auto w = hn::LoadU(d, weight);
    const auto has =
        hn::RebindMask(d, hn::Gt(hn::LoadU(di, count), hn::Set(di, static_cast<Index>(k))));
    Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA {
      const auto v = LookUp<kVectors>(d, window[r], at);
      acc[r] = hn::MulAdd(w, hn::IfThenElseZero(has, v), acc[r]);
    });
    index += kLanes;
    at = hn::LoadU(di, index);
  }
  if (group.all == 0) {  // no tap at all is +0
    const auto any = hn::RebindMask(d, hn::Gt(hn::LoadU(di, count), hn::Zero(di)));
    Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA { acc[r] = hn::IfThenElseZero(any, acc[r]); });
  }
}

// Groups [g0, g1) of destinations of kRows rows, which share index and weight vectors. A row has
// `lookups.need` readable elements. `stream`: past the caches, where
// rows are whole lines of F.
template <size_t kVectors, size_t kRows, class F, class To>
HWY_NOINLINE void AddLookups(const ResampleKernelPlan<F>& plan, const F* const* from, To* const* to,
                             int64_t g0, int64_t g1, bool stream) {
  using D = ComputeTag<F>;
  const D d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const F* s[kRows];
  To* o[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    s[r] = from[r];
    o[r] = to[r];
  }
  for (int64_t g = g0; g < g1; ++g) {
    hn::Vec<D> acc[kRows];
    SumGroup<kVectors, kRows, F>(plan.lookups, g, plan.init, s, acc);
    const int64_t at = plan.lookups.groups[static_cast<size_t>(g)].to;
    Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA {
      if constexpr (std::is_same_v<To, F>) {
        if (stream) return hn::Stream(acc[r], d, o[r] + at);
      }
      if (plan.w.to >= kLanes) {
        StoreNarrow(acc[r], d, o[r] + at);
      } else {
        StoreNarrowFirst(acc[r], d, o[r], static_cast<size_t>(plan.w.to));
      }
    });
  }
}

// Destinations [w0, w1) of `rows` rows; w0 is a multiple of a vector.
template <class F, class To>
void LookUpRows(const ResampleKernelPlan<F>& plan, const F* const* from, To* const* to,
                int64_t rows, int64_t w0, int64_t w1, bool stream) {
  const int64_t g0 = w0 / plan.lanes;
  const int64_t g1 = DivideUp(w1, plan.lanes);
  const auto run = [&](auto vectors) {
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) AddLookups<vectors, 4>(plan, from + r, to + r, g0, g1, stream);
    if (r + 2 <= rows) {
      AddLookups<vectors, 2>(plan, from + r, to + r, g0, g1, stream);
      r += 2;
    }
    if (r < rows) AddLookups<vectors, 1>(plan, from + r, to + r, g0, g1, stream);
  };
  if (plan.lookups.vectors == 1) {
    run(std::integral_constant<size_t, 1>());
  } else {
    run(std::integral_constant<size_t, 2>());
  }
}

#endif  // !HWY_HAVE_SCALABLE

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
