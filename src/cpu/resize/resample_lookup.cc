// W by lookups in registers: all sources of a vector of destinations are in a window of one or two
// vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/resample_lookup.cc"
#include "base/round_up.h"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <type_traits>

#include "cpu/resize/resample_rows-inl.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

#if !HWY_HAVE_SCALABLE
namespace {

// Looks up lanes in a window. A window is no struct: its implicit constructor would be compiled for
// no target, and on 64-bit Arm it could not call a vector's constructor.
template <size_t kVectors, class D, class DI = hn::RebindToSigned<D>>
HWY_INLINE hn::Vec<D> LookUp(D d, const hn::Vec<D> (&window)[kVectors], hn::Vec<DI> index) {
  if constexpr (kVectors == 1) {
    return hn::TableLookupLanes(window[0], hn::IndicesFromVec(d, index));
  } else {
    return Lookup2(d, window[0], window[1], index);
  }
}

// Sums one group of destinations in kRows rows.
template <size_t kVectors, size_t kRows, class F, class D = ComputeTag<F>>
HWY_INLINE void SumGroup(const ResampleLookups<F>& lookups, int64_t g, F init,
                         const F* const (&s)[kRows], hn::Vec<D> (&acc)[kRows]) {
  const D d;
  const hn::RebindToSigned<D> di;
  using Index = hn::TFromD<decltype(di)>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const auto start = hn::Set(d, init);
  const ResampleGroup& group = lookups.groups[static_cast<size_t>(g)];
  if (group.most == 0) {  // it has no window: a tile may have no source
    Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA { acc[r] = hn::Zero(d); });
    return;
  }
  const F* weight = lookups.weight + group.weight;
  const Index* index = lookups.index + group.index;
  hn::Vec<D> window[kRows][kVectors];
  Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA {
    acc[r] = start;
    Unroll<kVectors>([&](auto v) PORTACL_INLINE_LAMBDA {
      window[r][v] = hn::LoadU(d, s[r] + group.from + static_cast<int64_t>(v) * kLanes);
    });
  });
  auto at = hn::LoadU(di, index);
  int64_t k = 0;
  for (; k < group.all; ++k, weight += kLanes) {  // taps in every lane
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
  // A lane without this tap adds -0 * +0: this changes no sum, not even -0.
  const Index* const count = lookups.count + g * kLanes;
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
  if (group.all == 0) {  // a sum without taps is +0
    const auto any = hn::RebindMask(d, hn::Gt(hn::LoadU(di, count), hn::Zero(di)));
    Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA { acc[r] = hn::IfThenElseZero(any, acc[r]); });
  }
}

// Computes groups [g0, g1) of destinations in kRows rows from row r0 on. The rows share index and
// weight vectors. A row has `lookups.need` readable elements. If `edges` is not null, rows are
// whole lines of F and go past the caches.
template <size_t kVectors, size_t kRows, class F, class To>
HWY_NOINLINE void AddLookups(const ResampleLookups<F>& lookups, const RowsOfW<F, F, To>& some,
                             int64_t r0, int64_t g0, int64_t g1) {
  using D = ComputeTag<F>;
  const D d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  [[maybe_unused]] const bool stream = some.edges != nullptr;
  const F init = some.init;
  const int64_t columns = some.w.to;
  const F* s[kRows];
  To* o[kRows];
  for (size_t r = 0; r < kRows; ++r) {
    s[r] = some.from[r0 + static_cast<int64_t>(r)];
    o[r] = some.to[r0 + static_cast<int64_t>(r)];
  }
  const bool sparse = lookups.sparse && !stream;
  for (size_t r = 0; sparse && r < kRows; ++r) {
    Clear(o[r] + some.columns.w0, some.columns.w1 - some.columns.w0);
  }
  for (int64_t g = g0; g < g1; ++g) {
    if (sparse && lookups.groups[static_cast<size_t>(g)].most == 0) continue;
    hn::Vec<D> acc[kRows];
    SumGroup<kVectors, kRows, F>(lookups, g, init, s, acc);
    const int64_t at = lookups.groups[static_cast<size_t>(g)].to;
    Unroll<kRows>([&](auto r) PORTACL_INLINE_LAMBDA {
      if constexpr (std::is_same_v<To, F>) {
        if (stream) return hn::Stream(acc[r], d, o[r] + at);
      }
      if (columns >= kLanes) {
        StoreNarrow(acc[r], d, o[r] + at);
      } else {
        StoreNarrowFirst(acc[r], d, o[r], static_cast<size_t>(columns));
      }
    });
  }
}

}  // namespace

template <class F, class To>
void LookUpRows(const ResampleLookups<F>& lookups, const RowsOfW<F, F, To>& some) {
  const int64_t lanes = Length(ComputeTag<F>());
  const int64_t g0 = some.columns.w0 / lanes;
  const int64_t g1 = base::DivideUp(some.columns.w1, lanes);
  const auto run = [&](auto vectors) {
    int64_t r = 0;
    for (; r + 4 <= some.rows; r += 4) AddLookups<vectors, 4>(lookups, some, r, g0, g1);
    if (r + 2 <= some.rows) {
      AddLookups<vectors, 2>(lookups, some, r, g0, g1);
      r += 2;
    }
    if (r < some.rows) AddLookups<vectors, 1>(lookups, some, r, g0, g1);
  };
  if (lookups.vectors == 1) {
    run(std::integral_constant<size_t, 1>());
  } else {
    run(std::integral_constant<size_t, 2>());
  }
}

#define PORTACL_RESAMPLE_LOOKUP(F, To) \
  template void LookUpRows<F, To>(const ResampleLookups<F>&, const RowsOfW<F, F, To>&);
PORTACL_RESAMPLE_LOOKUP(float, float)
PORTACL_RESAMPLE_LOOKUP(float, base::Float16)
PORTACL_RESAMPLE_LOOKUP(float, base::BFloat16)
PORTACL_RESAMPLE_LOOKUP(double, double)
#undef PORTACL_RESAMPLE_LOOKUP
#endif  // !HWY_HAVE_SCALABLE

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
