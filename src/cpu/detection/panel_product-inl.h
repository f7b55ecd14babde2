// Multiplies rows of a matrix by a panel. A panel has two vectors of columns, and its rows are
// adjacent in memory. Each element is one chain of fused additions, so neither the cut of matrices
// nor the width of vectors changes a bit. Per target.
#if defined(PORTACL_CPU_DETECTION_PANEL_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_DETECTION_PANEL_PRODUCT_INL_H_
#undef PORTACL_CPU_DETECTION_PANEL_PRODUCT_INL_H_
#else
#define PORTACL_CPU_DETECTION_PANEL_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Rows of a product. Their sums stay in registers: AVX2 has 16, other targets have 32.
#if HWY_TARGET == HWY_AVX2
inline constexpr int kPanelRows = 6;
#else
inline constexpr int kPanelRows = 12;
#endif

// Returns the columns of a panel.
template <class F>
HWY_INLINE int64_t PanelWidth() {
  return 2 * Length(hn::ScalableTag<F>());
}

// X(row, pointer to the first of three rows, offset of the row from it). SVE's vectors cannot be
// elements of arrays. Three rows share a pointer, because general registers are few.
#define PORTACL_PANEL_ROWS(X) \
  X(0, a0, 0)                 \
  X(1, a0, pitch)             \
  X(2, a0, 2 * pitch)         \
  X(3, a3, 0)                 \
  X(4, a3, pitch)             \
  X(5, a3, 2 * pitch)         \
  X(6, a6, 0)                 \
  X(7, a6, pitch)             \
  X(8, a6, 2 * pitch)         \
  X(9, a9, 0)                 \
  X(10, a9, pitch)            \
  X(11, a9, 2 * pitch)

// Sets sums[i][j] to the sum over k < depth of a[i][k] * panel[k][j], by ascending k. It starts
// from +0, or from sums[i][j] if `add`. `a` has kRows rows.
template <int kRows, class F>
HWY_NOINLINE void MultiplyPanel(const F* HWY_RESTRICT a, int64_t pitch, const F* HWY_RESTRICT panel,
                                int64_t depth, F* HWY_RESTRICT sums, int64_t sums_pitch, bool add) {
  const hn::ScalableTag<F> d;
  using V = hn::Vec<hn::ScalableTag<F>>;
  const int64_t lanes = Length(d);
  const F *a0 = a, *a3 = a + 3 * pitch;
  [[maybe_unused]] const F *a6 = nullptr, *a9 = nullptr;
  if constexpr (kRows > 6) a6 = a + 6 * pitch, a9 = a + 9 * pitch;
#define PORTACL_DECLARE_ROW(i, first, step) \
  [[maybe_unused]] V low##i = hn::Zero(d), high##i = low##i;
  PORTACL_PANEL_ROWS(PORTACL_DECLARE_ROW)
#undef PORTACL_DECLARE_ROW
#define PORTACL_LOAD_ROW(i, first, step)                   \
  if constexpr (i < kRows) {                               \
    low##i = hn::LoadU(d, sums + i * sums_pitch);          \
    high##i = hn::LoadU(d, sums + i * sums_pitch + lanes); \
  }
  if (add) {
    PORTACL_PANEL_ROWS(PORTACL_LOAD_ROW)
  }
#undef PORTACL_LOAD_ROW
#define PORTACL_ADD_ROW(i, first, step)     \
  if constexpr (i < kRows) {                \
    const V x = hn::Set(d, (first)[step]);  \
    low##i = hn::MulAdd(x, low, low##i);    \
    high##i = hn::MulAdd(x, high, high##i); \
  }
  for (int64_t k = 0; k < depth; ++k) {
    const V low = hn::LoadU(d, panel), high = hn::LoadU(d, panel + lanes);
    PORTACL_PANEL_ROWS(PORTACL_ADD_ROW)
    panel += 2 * lanes;
    ++a0, ++a3;
    if constexpr (kRows > 6) ++a6, ++a9;
  }
#undef PORTACL_ADD_ROW
#define PORTACL_STORE_ROW(i, first, step)                  \
  if constexpr (i < kRows) {                               \
    hn::StoreU(low##i, d, sums + i * sums_pitch);          \
    hn::StoreU(high##i, d, sums + i * sums_pitch + lanes); \
  }
  PORTACL_PANEL_ROWS(PORTACL_STORE_ROW)
#undef PORTACL_STORE_ROW
}
#undef PORTACL_PANEL_ROWS

// Multiplies any number of rows, rounded up to at most kPanelRows. It cuts the panel into parts;
// a part stays in the L1 cache until all rows are multiplied by it.
template <class F>
void MultiplyRows(const F* a, int64_t pitch, int64_t rows, const F* panel, int64_t depth, F* sums,
                  int64_t sums_pitch, bool add) {
  constexpr int64_t kDepth = 512 / int64_t{sizeof(F)};
  const int64_t width = PanelWidth<F>();
  int64_t k = 0;
  do {
    const int64_t part = std::min(kDepth, depth - k);
    const auto multiply = [&](auto count, int64_t i) {
      MultiplyPanel<decltype(count)::value>(a + i * pitch + k, pitch, panel + k * width, part,
                                            sums + i * sums_pitch, sums_pitch, add || k > 0);
    };
    int64_t i = 0;
    for (; i + 6 < rows; i += kPanelRows) multiply(std::integral_constant<int, kPanelRows>(), i);
    if (i < rows) multiply(std::integral_constant<int, 6>(), i);
    k += kDepth;
  } while (k < depth);
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
