// SIMD helpers of the CPU kernels: element types in memory <-> vectors of the compute type, partial
// vectors without over-reads, de-interleaving loads, two-vector lookups. Per target.
//
// Element type T in memory      compute type        vector `d`
//   float                       float               ScalableTag<float>
//   Float16, BFloat16           float               ScalableTag<float>
//   double                      double              ScalableTag<double>
//
// Conversions have the bits of base/half.h (a NaN may keep another payload): subnormals kept, one
// rounding to nearest even. They rely on the caller's FpEnvironment (runtime/parallel.h).
#if defined(PORTACL_CPU_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_SIMD_INL_H_
#undef PORTACL_CPU_SIMD_INL_H_
#else
#define PORTACL_CPU_SIMD_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "cpu/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The full-width vector tag of T's arithmetic.
template <class T>
using ComputeTag = hn::ScalableTag<base::ComputeType<T>>;

// The unsigned integer with T's bits.
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, uint16_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

// ---- partial vectors of plain lanes -------------------------------------------------------------

// True where masked loads and stores of `bytes`-sized lanes do not touch the masked-out memory.
template <size_t kBytes>
constexpr bool MaskedMemoryIsSafe() {
#if HWY_IS_ASAN || HWY_IS_MSAN
  return false;
#else
  return !HWY_MEM_OPS_MIGHT_FAULT || (HWY_TARGET == HWY_AVX2 && kBytes >= 4);
#endif
}

// The first n <= Lanes(d) lanes from memory, the rest zero. Reads nothing beyond them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const T* HWY_RESTRICT from, size_t n) {
  if constexpr (MaskedMemoryIsSafe<sizeof(T)>()) {
    return hn::MaskedLoad(hn::FirstN(d, n), d, from);
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(hn::Zero(d), d, lanes);
    std::memcpy(static_cast<void*>(lanes), from, n * sizeof(T));
    return hn::Load(d, lanes);
  }
}

// Stores the first n <= Lanes(d) lanes. Writes nothing beyond them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreFirst(hn::Vec<D> v, D d, T* HWY_RESTRICT to, size_t n) {
  if constexpr (MaskedMemoryIsSafe<sizeof(T)>()) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, to);
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    std::memcpy(static_cast<void*>(to), lanes, n * sizeof(T));
  }
}

// ---- bfloat16 in the upper half of 32-bit lanes -------------------------------------------------

// 32-bit lanes whose upper 16 bits are v rounded to bfloat16; the lower 16 bits are garbage.
template <class DF, class DU = hn::RebindToUnsigned<DF>>
HWY_INLINE hn::Vec<DU> RoundToBFloat16(DF df, hn::Vec<DF> v) {
  const DU du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), odd);
  const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000));  // rounding may overflow a NaN
  const auto finite = hn::RebindMask(du, hn::Eq(v, v));
  static_cast<void>(df);
  return hn::IfThenElse(finite, rounded, quiet);
}

// ---- one vector of elements ---------------------------------------------------------------------

// What a vector of Lanes(d) elements of type T looks like in memory.
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
    const hn::RebindToSigned<D> di;  // DemoteTo saturates; values below 2^16 pass unchanged
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

// Lanes(d) elements, any alignment.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadWide(D d, const T* from) {
  return Widen<T>(d, hn::LoadU(MemoryTag<T, D>(), MemoryLanes(d, from)));
}

// The first n <= Lanes(d) elements, the rest zero. Reads nothing beyond them.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadWideFirst(D d, const T* from, size_t n) {
  if constexpr (std::is_same_v<T, base::Float16>) {  // masks of float16_t lanes do not exist
    const hn::Rebind<uint16_t, D> du;
    const auto bits = LoadFirst(du, reinterpret_cast<const uint16_t*>(from), n);
    return hn::PromoteTo(d, hn::BitCast(MemoryTag<T, D>(), bits));
  } else {
    return Widen<T>(d, LoadFirst(MemoryTag<T, D>(), MemoryLanes(d, from), n));
  }
}

// Rounds each lane once and stores Lanes(d) elements, any alignment.
template <class D, class T>
HWY_INLINE void StoreNarrow(hn::Vec<D> v, D d, T* to) {
  hn::StoreU(Narrow<T>(d, v), MemoryTag<T, D>(), MemoryLanes(d, to));
}

// Stores the first n <= Lanes(d) elements. Writes nothing beyond them.
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

// Lane i of the result is lane index[i] of the 2 * Lanes(d) lanes lo, hi; index lanes are in
// [0, 2 * Lanes(d)). On AVX-512 one instruction.
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

// Of 2 * Lanes(d) consecutive elements: even[i] = element 2 i, odd[i] = element 2 i + 1.
template <class D, class T>
HWY_INLINE void LoadDeinterleaved2(D d, const T* from, hn::Vec<D>& even, hn::Vec<D>& odd) {
  if constexpr (std::is_same_v<T, base::BFloat16>) {
    // Two elements share a 32-bit lane: the even one is its lower half, the odd one its upper.
    const hn::RebindToUnsigned<D> du;
    const hn::Repartition<uint16_t, D> du16;
    const auto pair = hn::BitCast(du, hn::LoadU(du16, reinterpret_cast<const uint16_t*>(from)));
    even = hn::BitCast(d, hn::ShiftLeft<16>(pair));
    odd = hn::BitCast(d, hn::And(pair, hn::Set(du, 0xFFFF0000u)));
  } else {
    const auto lo = LoadWide(d, from);
    const auto hi = LoadWide(d, from + hn::Lanes(d));
    even = hn::ConcatEven(d, hi, lo);
    odd = hn::ConcatOdd(d, hi, lo);
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
