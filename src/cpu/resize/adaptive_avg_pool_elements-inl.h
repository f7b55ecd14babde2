// Elements of pooling: loads and stores bytes and floating-point numbers as vectors of sums, and
// averages 2 x 2 bytes. Per target.
#if defined(PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_ELEMENTS_INL_H_
#undef PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_ELEMENTS_INL_H_
#else
#define PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_ELEMENTS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class T>
base::ComputeType<T> Widened(T value) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return value;
  } else {
    return base::Widen(value);
  }
}
template <class T>
T Narrowed(base::ComputeType<T> value) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(value);
  } else {
    return base::Narrow<T>(value);
  }
}

// Loads the first n <= Lanes(d) elements, widened; the rest is 0.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadElements(D d, const T* from, size_t n) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    const hn::Rebind<uint8_t, D> du;
    const auto bytes = n == hn::Lanes(d) ? hn::LoadU(du, from) : LoadFirst(du, from, n);
    return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<D>(), bytes));
  } else {
    return n == hn::Lanes(d) ? LoadWide(d, from) : LoadWideFirst(d, from, n);
  }
}
template <class D, class T>
HWY_INLINE void StoreElements(hn::Vec<D> v, D d, T* to, size_t n, bool stream = false) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    const hn::Rebind<uint8_t, D> du;
    StoreFirst(hn::DemoteTo(du, hn::ConvertTo(hn::RebindToSigned<D>(), v)), du, to, n);
  } else if (n == hn::Lanes(d)) {
    StoreNarrowLine(v, d, to, stream && IsStreamAligned(to, n));
  } else {
    StoreNarrowFirst(v, d, to, n);
  }
}

// Averages two rows of bytes by 2 x 2 pixels. `pixels`: pixels of the result, kInner bytes each.
template <int64_t kInner>
HWY_NOINLINE void HalveRow(const uint8_t* top, const uint8_t* below, int64_t pixels, uint8_t* to) {
  const BlockTag<uint8_t, 64> d;
  const hn::Half<decltype(d)> half;
  const hn::RepartitionToWide<decltype(d)> wide;
  const auto pairs = [&](auto bytes) PORTACL_INLINE_LAMBDA {
    const auto both = hn::BitCast(wide, bytes);
    return hn::Add(hn::And(both, hn::Set(wide, 255)), hn::ShiftRight<8>(both));
  };
  const auto average = [&](auto a, auto b) PORTACL_INLINE_LAMBDA {
    const auto sum = hn::Add(hn::Add(pairs(a), pairs(b)), hn::Set(wide, 2));
    return hn::TruncateTo(half, hn::ShiftRight<2>(sum));
  };
  const int64_t step = Length(half);
  for (int64_t x0 = 0; x0 < pixels; x0 += step) {
    const int64_t x = std::min(x0, pixels - step) * kInner;
    if constexpr (kInner == 1) {
      hn::StoreU(average(hn::LoadU(d, top + 2 * x), hn::LoadU(d, below + 2 * x)), half, to + x);
    } else {
      auto a0 = hn::Zero(d), a1 = a0, a2 = a0, b0 = a0, b1 = a0, b2 = a0;
      hn::LoadInterleaved3(d, top + 2 * x, a0, a1, a2);
      hn::LoadInterleaved3(d, below + 2 * x, b0, b1, b2);
      hn::StoreInterleaved3(average(a0, b0), average(a1, b1), average(a2, b2), half, to + x);
    }
  }
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
