// The tree: the order in which the channels of a block are added up for gridGrad, as by SumLanes()
// of ref/lane_tree.h. SumTree() adds the vectors of a block, StoreTreeSums() adds the lanes of a
// vector. Per target.
#if defined(PORTACL_CPU_CHANNEL_TREE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_CHANNEL_TREE_INL_H_
#undef PORTACL_CPU_CHANNEL_TREE_INL_H_
#else
#define PORTACL_CPU_CHANNEL_TREE_INL_H_
#endif

#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Adds terms by the tree: kCount of kLeaves terms, from kFirst on, kStep apart. term(i, sums...)
// computes term i of each sum.
template <int kCount, int kLeaves, int kFirst, int kStep, class Term, class... V>
HWY_INLINE void SumTree(const Term& term, V&... sums) {
  if constexpr (kStep == kLeaves) {
    term(kFirst, sums...);
  } else {
    SumTree<kCount, kLeaves, kFirst, 2 * kStep>(term, sums...);
    if constexpr (kFirst + kStep < kCount) {
      [&](V... others) PORTACL_INLINE_LAMBDA {
        SumTree<kCount, kLeaves, kFirst + kStep, 2 * kStep>(term, others...);
        ((sums = hn::Add(sums, others)), ...);
      }(sums...);
    }
  }
}

// Adds the lanes of x and of y by the tree: lane i + lane i + N/2, then halves again. Stores both
// totals.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void StoreTreeSums(D d, V x, V y, hn::TFromD<D>* HWY_RESTRICT to) {
  using F = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(D()) * sizeof(F) > 16) {
    const hn::Half<D> half;
    StoreTreeSums(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)),
                  hn::Add(hn::LowerHalf(half, y), hn::UpperHalf(half, y)), to);
  } else {
    const V sum = hn::Add(hn::ConcatLowerLower(d, y, x), hn::ConcatUpperUpper(d, y, x));
    if constexpr (sizeof(F) == 8) {
      hn::StoreU(sum, d, to);
    } else {  // x0 x1 y0 y1
      const V total = hn::Add(hn::ConcatEven(d, sum, sum), hn::ConcatOdd(d, sum, sum));
      const hn::Half<D> half;
      hn::StoreU(hn::LowerHalf(half, total), half, to);
    }
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
