// Vectors for the CPU kernels: converts elements in memory to the compute type and back, loads and
// stores partial vectors without over-reads, de-interleaves, and looks up lanes. Per target.
//
// Element type T in memory      compute type        vector `d`
//   float                       float               ScalableTag<float>
//   Float16, BFloat16           float               ScalableTag<float>
//   double                      double              ScalableTag<double>
//
// Conversions give the bits of base/half.h: they keep subnormals and round once, to nearest even.
// Only a NaN may keep another payload. They need the caller's FpEnvironment (runtime/parallel.h).
#if defined(PORTACL_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_SIMD_INL_H_
#undef PORTACL_CPU_SIMD_INL_H_
#else
#define PORTACL_CPU_SIMD_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Returns hn::Lanes as a signed number, to compare with extents.
template <class D>
HWY_INLINE int64_t Length(D d) {
  return static_cast<int64_t>(hn::Lanes(d));
}

// The tag of full vectors of T's compute type.
template <class T>
using ComputeTag = hn::ScalableTag<base::ComputeType<T>>;

// The unsigned integer type of T's size.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, uint16_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

// ---- partial vectors of plain lanes -------------------------------------------------------------

// Whether masked loads and stores of kBytes-sized lanes leave masked-out memory untouched.
template <size_t kBytes>
constexpr bool MaskedMemoryIsSafe() {
#if HWY_IS_ASAN || HWY_IS_MSAN
  return false;
#else
  return !HWY_MEM_OPS_MIGHT_FAULT || (HWY_TARGET == HWY_AVX2 && kBytes >= 4);
#endif
}

// Returns at least Lanes(d). For SVE vectors narrowed to 2 bytes, MaxLanes is only half of that.
template <class D>
constexpr size_t LanesAtMost(D d) {
  return hn::MaxLanes(d) * (HWY_HAVE_SCALABLE && sizeof(hn::TFromD<D>) == 2 ? 2 : 1);
}

// Loads the first n <= Lanes(d) lanes; the rest is 0. Reads no memory behind them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const T* HWY_RESTRICT from, size_t n) {
  if constexpr (MaskedMemoryIsSafe<sizeof(T)>()) {
    return hn::MaskedLoad(hn::FirstN(d, n), d, from);
  } else {
    HWY_ALIGN T lanes[LanesAtMost(d)];
    hn::Store(hn::Zero(d), d, lanes);
    std::memcpy(static_cast<void*>(lanes), from, n * sizeof(T));
    return hn::Load(d, lanes);
  }
}

// Stores the first n <= Lanes(d) lanes. Writes no memory behind them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreFirst(hn::Vec<D> v, D d, T* HWY_RESTRICT to, size_t n) {
  if constexpr (MaskedMemoryIsSafe<sizeof(T)>()) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, to);
  } else {
    HWY_ALIGN T lanes[LanesAtMost(d)];
    hn::Store(v, d, lanes);
    std::memcpy(static_cast<void*>(to), lanes, n * sizeof(T));
  }
}

// ---- bfloat16 in the upper half of 32-bit lanes -------------------------------------------------

// Rounds v to bfloat16 in the upper 16 bits of each 32-bit lane. The lower bits are undefined.
template <class DF, class DU = hn::RebindToUnsigned<DF>>
HWY_INLINE hn::Vec<DU> RoundToBFloat16(DF df, hn::Vec<DF> v) {
  const DU du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), odd);
  const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000));  // not rounded: a NaN may overflow
  const auto finite = hn::RebindMask(du, hn::Eq(v, v));
  static_cast<void>(df);
  return hn::IfThenElse(finite, rounded, quiet);
}

// ---- one vector of elements ---------------------------------------------------------------------

// The tag of Lanes(d) elements of type T in memory.
template <class T, class D>
using MemoryTag = std::conditional_t<
    std::is_same_v<T, base::Float16>, hn::Rebind<hwy::float16_t, D>,
    std::conditional_t<std::is_same_v<T, base::BFloat16>, hn::Rebind<uint16_t, D>, D>>;

template <class T, class D>
HWY_INLINE hn::Vec<D> Widen(D d, hn::Vec<MemoryTag<T, D>> v) {
  if constexpr (std::is_same_v<T, base::Float16>) {
    return hn::PromoteTo(d, v);
  } else if constexpr (std::is_same_v<T, base::BFloat16>) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, v)));
  } else {
    return v;
  }
}

template <class T, class D>
HWY_INLINE hn::Vec<MemoryTag<T, D>> Narrow(D d, hn::Vec<D> v) {
  const MemoryTag<T, D> dm;
  if constexpr (std::is_same_v<T, base::Float16>) {
    return hn::DemoteTo(dm, v);
  } else if constexpr (std::is_same_v<T, base::BFloat16>) {
    const hn::RebindToSigned<D> di;  // DemoteTo saturates; values below 2^16 stay
    return hn::DemoteTo(dm, hn::BitCast(di, hn::ShiftRight<16>(RoundToBFloat16(d, v))));
  } else {
    return v;
  }
}

template <class T, class D>
HWY_INLINE const hn::TFromD<MemoryTag<T, D>>* MemoryLanes(D, const T* p) {
  return reinterpret_cast<const hn::TFromD<MemoryTag<T, D>>*>(p);
}
template <class T, class D>
HWY_INLINE hn::TFromD<MemoryTag<T, D>>* MemoryLanes(D, T* p) {
  return reinterpret_cast<hn::TFromD<MemoryTag<T, D>>*>(p);
}

// Loads Lanes(d) elements of any alignment, widened.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadWide(D d, const T* from) {
  return Widen<T>(d, hn::LoadU(MemoryTag<T, D>(), MemoryLanes(d, from)));
}

// Loads the first n <= Lanes(d) elements, widened; the rest is 0. Reads no memory behind them.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadWideFirst(D d, const T* from, size_t n) {
  if constexpr (std::is_same_v<T, base::Float16>) {  // float16_t lanes have no masks
    const hn::Rebind<uint16_t, D> du;
    const auto bits = LoadFirst(du, reinterpret_cast<const uint16_t*>(from), n);
    return hn::PromoteTo(d, hn::BitCast(MemoryTag<T, D>(), bits));
  } else {
    return Widen<T>(d, LoadFirst(MemoryTag<T, D>(), MemoryLanes(d, from), n));
  }
}

// Rounds each lane once and stores Lanes(d) elements of any alignment.
template <class D, class T>
HWY_INLINE void StoreNarrow(hn::Vec<D> v, D d, T* to) {
  hn::StoreU(Narrow<T>(d, v), MemoryTag<T, D>(), MemoryLanes(d, to));
}

// Rounds and stores the first n <= Lanes(d) elements. Writes no memory behind them.
template <class D, class T>
HWY_INLINE void StoreNarrowFirst(hn::Vec<D> v, D d, T* to, size_t n) {
  if constexpr (std::is_same_v<T, base::Float16>) {
    const hn::Rebind<uint16_t, D> du;
    StoreFirst(hn::BitCast(du, Narrow<T>(d, v)), du, reinterpret_cast<uint16_t*>(to), n);
  } else {
    StoreFirst(Narrow<T>(d, v), MemoryTag<T, D>(), MemoryLanes(d, to), n);
  }
}

// ---- lookups ------------------------------------------------------------------------------------

// Returns in lane i lane index[i] of the vectors lo and hi, which have 2 * Lanes(d) lanes. 0 <=
// index[i] < 2 * Lanes(d). One instruction on AVX-512.
template <class D, class DI = hn::RebindToSigned<D>>
HWY_INLINE hn::Vec<D> Lookup2(D d, hn::Vec<D> lo, hn::Vec<D> hi, hn::Vec<DI> index) {
#if HWY_TARGET == HWY_AVX3
  using T = hn::TFromD<D>;
  static_assert(sizeof(hn::Vec<D>) == 64);
  if constexpr (std::is_same_v<T, float>) {
    return hn::Vec<D>{_mm512_permutex2var_ps(lo.raw, index.raw, hi.raw)};
  } else if constexpr (std::is_same_v<T, double>) {
    return hn::Vec<D>{_mm512_permutex2var_pd(lo.raw, index.raw, hi.raw)};
  } else if constexpr (sizeof(T) == 4) {
    return hn::Vec<D>{_mm512_permutex2var_epi32(lo.raw, index.raw, hi.raw)};
  } else if constexpr (sizeof(T) == 8) {
    return hn::Vec<D>{_mm512_permutex2var_epi64(lo.raw, index.raw, hi.raw)};
  } else {
    return hn::Vec<D>{_mm512_permutex2var_epi16(lo.raw, index.raw, hi.raw)};
  }
#else
  const DI di;
  const auto lanes = hn::Set(di, static_cast<hn::TFromD<DI>>(hn::Lanes(d)));
  const auto local = hn::And(index, hn::Sub(lanes, hn::Set(di, 1)));
  const auto local_index = hn::IndicesFromVec(d, local);
  return hn::IfThenElse(hn::RebindMask(d, hn::Lt(index, lanes)),
                        hn::TableLookupLanes(lo, local_index),
                        hn::TableLookupLanes(hi, local_index));
#endif
}

// ---- de-interleaving loads ----------------------------------------------------------------------

// Loads 2 * Lanes(d) consecutive elements: lane i of p<t> gets element 2 i + t.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE void LoadDeinterleaved2(D d, const T* from, V& p0, V& p1) {
  if constexpr (std::is_same_v<T, base::BFloat16>) {
    // Two elements share a 32-bit lane: the even one is its lower half, the odd one its upper.
    const hn::RebindToUnsigned<D> du;
    const hn::Repartition<uint16_t, D> du16;
    const auto pair = hn::BitCast(du, hn::LoadU(du16, reinterpret_cast<const uint16_t*>(from)));
    p0 = hn::BitCast(d, hn::ShiftLeft<16>(pair));
    p1 = hn::BitCast(d, hn::And(pair, hn::Set(du, 0xFFFF0000u)));
  } else {
    const auto lo = LoadWide(d, from);
    const auto hi = LoadWide(d, from + hn::Lanes(d));
    p0 = hn::ConcatEven(d, hi, lo);
    p1 = hn::ConcatOdd(d, hi, lo);
  }
}

#if HWY_ARCH_X86

// Constants to collect the values t, t + 3, t + 6, ... of three vectors of kLanes lanes. 3 and
// kLanes are coprime, so these values are in kLanes different lanes. Two blends collect them in one
// vector, and one permutation orders them.
//
//   kLanes = 4, t = 1   v0: 0 [1] 2 3   v1: [4] 5 6 [7]   v2: 8 9 [10] 11
//                       collected: 4 1 10 7   ordered: 1 4 7 10
template <class TI, size_t kLanes>
struct Phase3 {
  constexpr explicit Phase3(size_t t) {
    for (size_t i = 0; i < kLanes; ++i) {
      const size_t value = 3 * i + t;
      const size_t lane = value % kLanes;
      order[i] = static_cast<TI>(lane);
      in_v0[lane] = value < kLanes ? TI{-1} : TI{0};
      in_v2[lane] = value >= 2 * kLanes ? TI{-1} : TI{0};
      // Or with two lookups: first in v0 and v1, then in the result and v2.
      first[i] = static_cast<TI>(value % (2 * kLanes));
      second[i] = static_cast<TI>(value < 2 * kLanes ? i : value - kLanes);
    }
  }
  alignas(64) TI order[kLanes] = {};
  alignas(64) TI in_v0[kLanes] = {};
  alignas(64) TI in_v2[kLanes] = {};
  alignas(64) TI first[kLanes] = {};
  alignas(64) TI second[kLanes] = {};
};

template <size_t kPhase, class D, class V = hn::Vec<D>>
HWY_INLINE V CollectPhase3(D d, V v0, V v1, V v2) {
  const hn::RebindToSigned<D> di;
  static constexpr Phase3<hn::TFromD<decltype(di)>, hn::MaxLanes(d)> kPhase3(kPhase);
  if constexpr (HWY_TARGET == HWY_AVX3 && sizeof(V) == 64) {
    const V low = Lookup2(d, v0, v1, hn::Load(di, kPhase3.first));
    return Lookup2(d, low, v2, hn::Load(di, kPhase3.second));
  } else {
    const auto in_v0 = hn::RebindMask(d, hn::MaskFromVec(hn::Load(di, kPhase3.in_v0)));
    const auto in_v2 = hn::RebindMask(d, hn::MaskFromVec(hn::Load(di, kPhase3.in_v2)));
    const V all = hn::IfThenElse(in_v2, v2, hn::IfThenElse(in_v0, v0, v1));
    return hn::TableLookupLanes(all, hn::IndicesFromVec(d, hn::Load(di, kPhase3.order)));
  }
}

#endif  // HWY_ARCH_X86

// Loads 3 * Lanes(d) consecutive elements: lane i of p<t> gets element 3 i + t.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE void LoadDeinterleaved3(D d, const T* from, V& p0, V& p1, V& p2) {
#if HWY_ARCH_X86
  const V v0 = LoadWide(d, from);
  const V v1 = LoadWide(d, from + hn::Lanes(d));
  const V v2 = LoadWide(d, from + 2 * hn::Lanes(d));
  p0 = CollectPhase3<0>(d, v0, v1, v2);
  p1 = CollectPhase3<1>(d, v0, v1, v2);
  p2 = CollectPhase3<2>(d, v0, v1, v2);
#else
  const hn::Rebind<BitsOf<T>, D> du;
  const MemoryTag<T, D> dm;
  hn::Vec<decltype(du)> u0, u1, u2;
  hn::LoadInterleaved3(du, reinterpret_cast<const BitsOf<T>*>(from), u0, u1, u2);
  p0 = Widen<T>(d, hn::BitCast(dm, u0));
  p1 = Widen<T>(d, hn::BitCast(dm, u1));
  p2 = Widen<T>(d, hn::BitCast(dm, u2));
#endif
}

// Loads 4 * Lanes(d) consecutive elements: lane i of p<t> gets element 4 i + t.
template <class D, class T, class V = hn::Vec<D>>
HWY_INLINE void LoadDeinterleaved4(D d, const T* from, V& p0, V& p1, V& p2, V& p3) {
  if constexpr (std::is_same_v<T, base::BFloat16>) {
    // Pairs of elements share 32-bit lanes: even pairs have phases 0 and 1, odd pairs 2 and 3.
    const hn::RebindToUnsigned<D> du;
    const hn::Repartition<uint16_t, D> du16;
    const auto* bits = reinterpret_cast<const uint16_t*>(from);
    const auto lo = hn::BitCast(du, hn::LoadU(du16, bits));
    const auto hi = hn::BitCast(du, hn::LoadU(du16, bits + hn::Lanes(du16)));
    const auto even = hn::ConcatEven(du, hi, lo);
    const auto odd = hn::ConcatOdd(du, hi, lo);
    const auto upper = hn::Set(du, 0xFFFF0000u);
    p0 = hn::BitCast(d, hn::ShiftLeft<16>(even));
    p1 = hn::BitCast(d, hn::And(even, upper));
    p2 = hn::BitCast(d, hn::ShiftLeft<16>(odd));
    p3 = hn::BitCast(d, hn::And(odd, upper));
  } else {
    V even_lo, odd_lo, even_hi, odd_hi;
    LoadDeinterleaved2(d, from, even_lo, odd_lo);
    LoadDeinterleaved2(d, from + 2 * hn::Lanes(d), even_hi, odd_hi);
    p0 = hn::ConcatEven(d, even_hi, even_lo);
    p1 = hn::ConcatEven(d, odd_hi, odd_lo);
    p2 = hn::ConcatOdd(d, even_hi, even_lo);
    p3 = hn::ConcatOdd(d, odd_hi, odd_lo);
  }
}

// ---- streaming stores ---------------------------------------------------------------------------

// Full vectors with this alignment, in bytes, may be stored past the caches.
inline constexpr size_t kStreamAlignment = 64;

// Whether `count` elements at `to` may be streamed. The rule is the same for all targets: otherwise
// narrow vectors would hide a mistake that wide vectors show.
template <class T>
bool IsStreamAligned(const T* to, size_t count) {
  return reinterpret_cast<uintptr_t>(to) % std::min(kStreamAlignment, count * sizeof(T)) == 0;
}

// Rounds v0 and v1 and stores their 2 * Lanes(d) elements behind each other. `stream`: past the
// caches. Then `to` must have kStreamAlignment, or the size of the elements as its alignment if
// that is smaller. The caller must end its task with hwy::FlushStream().
template <class D, class T>
HWY_INLINE void StoreNarrow2(hn::Vec<D> v0, hn::Vec<D> v1, D d, T* to, bool stream) {
#if HWY_ARCH_X86
  HWY_DASSERT(!stream || IsStreamAligned(to, 2 * hn::Lanes(d)));
  if constexpr (sizeof(T) == 2) {
    // Stores 2 * Lanes(d) 16-bit lanes at once.
    const hn::Repartition<uint16_t, D> du16;
    hn::Vec<decltype(du16)> both;
    if constexpr (std::is_same_v<T, base::BFloat16>) {
      both = hn::ConcatOdd(du16, hn::BitCast(du16, RoundToBFloat16(d, v1)),
                           hn::BitCast(du16, RoundToBFloat16(d, v0)));
    } else {
      const hn::Rebind<uint16_t, D> dh;
      both =
          hn::Combine(du16, hn::BitCast(dh, Narrow<T>(d, v1)), hn::BitCast(dh, Narrow<T>(d, v0)));
    }
    auto* bits = reinterpret_cast<uint16_t*>(to);
    if (stream) {
      hn::Stream(both, du16, bits);
    } else {
      hn::StoreU(both, du16, bits);
    }
    return;
  } else if (stream) {
    hn::Stream(v0, d, to);
    hn::Stream(v1, d, to + hn::Lanes(d));
    return;
  }
#endif
  static_cast<void>(stream);
  StoreNarrow(v0, d, to);
  StoreNarrow(v1, d, to + hn::Lanes(d));
}

// Stores Lanes(d) elements at the start of a line; streams only if they fill the line.
template <class D, class T>
HWY_INLINE void StoreNarrowLine(hn::Vec<D> v, D d, T* to, bool stream) {
#if HWY_ARCH_X86
  HWY_DASSERT(!stream || IsStreamAligned(to, hn::Lanes(d)));
  if constexpr (sizeof(hn::Vec<D>) == kStreamAlignment && sizeof(T) == sizeof(hn::TFromD<D>)) {
    if (stream) return hn::Stream(v, d, to);
  }
#endif
  static_cast<void>(stream);
  StoreNarrow(v, d, to);
}

// ---- runs of elements ---------------------------------------------------------------------------

// Sets `count` elements to 0 by memset(): at -O2 compilers would store floats one by one.
template <class F>
void Clear(F* from, int64_t count) {
  std::memset(static_cast<void*>(from), 0, static_cast<size_t>(count) * sizeof(F));
}

// Copies and widens `count` elements that lie `step` apart.
template <class T, class F>
HWY_INLINE void ReadRun(const T* from, int64_t step, int64_t count, F* to) {
  const hn::ScalableTag<F> d;
  int64_t i = 0;
  for (; step == 1 && i + Length(d) <= count; i += Length(d)) {
    hn::StoreU(LoadWide(d, from + i), d, to + i);
  }
  for (; i < count; ++i) to[i] = base::Widen(from[i * step]);
}
// Copies `count` elements to places `step` apart; rounds each once.
template <class T, class F>
HWY_INLINE void WriteRun(const F* from, int64_t count, T* to, int64_t step) {
  const hn::ScalableTag<F> d;
  int64_t i = 0;
  for (; step == 1 && i + Length(d) <= count; i += Length(d)) {
    StoreNarrow(hn::LoadU(d, from + i), d, to + i);
  }
  for (; i < count; ++i) to[i * step] = base::Narrow<T>(from[i]);
}

// ---- constants ----------------------------------------------------------------------------------

// Calls use(integral_constant) with `count` as a constant; kLeast <= count <= kMost.
template <int kLeast, int kMost, class Use>
HWY_INLINE void WithCount(int64_t count, const Use& use) {
  if constexpr (kLeast < kMost) {
    if (count > kLeast) return WithCount<kLeast + 1, kMost>(count, use);
  }
  use(std::integral_constant<int, kLeast>());
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
