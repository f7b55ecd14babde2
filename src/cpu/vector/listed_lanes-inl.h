// Writing the lanes that a mask names to a list. Per target.
#if defined(PORTACL_CPU_LISTED_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_LISTED_LANES_INL_H_
#undef PORTACL_CPU_LISTED_LANES_INL_H_
#else
#define PORTACL_CPU_LISTED_LANES_INL_H_
#endif

#include <cstddef>

#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// As hn::CompressStore; returns how many it wrote. There must be room for a whole vector. On AMD's
// Zen 4, AVX-512's own instruction takes some 26 ns to memory, next to none to a register. For
// AVX2, GCC copies a table of 1 KiB to the stack in each call, and mostly all lanes are named or
// none.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE size_t StoreListed(V v, M listed, D d, hn::TFromD<D>* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_AVX2
  if (HWY_LIKELY(hn::AllTrue(d, listed))) {
    hn::StoreU(v, d, to);
    return hn::Lanes(d);
  }
  if (hn::AllFalse(d, listed)) return 0;
#endif
#if HWY_TARGET <= HWY_AVX3
  hn::StoreU(hn::Compress(v, listed), d, to);
  return hn::CountTrue(d, listed);
#else
  return hn::CompressStore(v, listed, d, to);
#endif
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
