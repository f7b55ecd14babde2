// Blocks of rows that are transposed in registers.
#if defined(PORTACL_CPU_RESIZE_RESAMPLE_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_RESAMPLE_COLUMNS_INL_H_
#undef PORTACL_CPU_RESIZE_RESAMPLE_COLUMNS_INL_H_
#else
#define PORTACL_CPU_RESIZE_RESAMPLE_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/resize/resample_plan.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class F>
inline constexpr int64_t kTransposed = kBlockLanes<F, 16>;

// Of bytes other numbers of rows and columns are transposed at a time.
inline constexpr int64_t kByteRows = kBlockLanes<uint8_t, 64>;
inline constexpr int64_t kByteColumns = 16;

// Sources [first, first + N) of N rows, to N columns at `to`. Reads nothing beyond `end` sources.
template <class F, class Ti, int64_t N = kTransposed<F>>
HWY_INLINE void RowsToColumns(const Ti* const* from, int64_t first, int64_t end, F* to) {
  const BlockTag<F, 16> d;
  const auto store = [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
    hn::Store(v, d, to + static_cast<int64_t>(j) * N);
  };
  if (first + N <= end) {
    TransposeRows(
        d, [&](size_t i) PORTACL_INLINE_LAMBDA { return LoadWide(d, from[i] + first); }, store);
  } else {
    TransposeRows(
        d,
        [&](size_t i) PORTACL_INLINE_LAMBDA {
          return LoadWideFirst(d, from[i] + first, static_cast<size_t>(end - first));
        },
        store);
  }
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
