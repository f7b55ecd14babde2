// Nearest-exact backward where few destinations have a source and none has two: zeros everywhere,
// then each source in its place. Per target.
#if defined(PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_BACKWARD_SCATTER_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_BACKWARD_SCATTER_INL_H_
#undef PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_BACKWARD_SCATTER_INL_H_
#else
#define PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_BACKWARD_SCATTER_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cpu/resize/upsample_nearest_exact_backward_plan.h"
#include "cpu/resize/upsample_nearest_exact_backward_tile-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void ClearTile(const Tile<T>& t) {
  const int64_t rows = t.box.i1 - t.box.i0;
  const int64_t columns = t.box.j1 - t.box.j0;
  int64_t channels = t.box.c1 - t.box.c0;
  const int64_t inside = t.to_plane == 1 ? std::exchange(channels, 1) : 1;  // elements of a column
  const int64_t row = columns * inside;
  const bool runs = t.to_column == inside;
  if (runs && t.to_row == row && (channels == 1 || t.to_plane == rows * row)) {
    return ClearElements(t.to, channels * rows * row);
  }
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < rows; ++i) {
      T* const to = t.to + c * t.to_plane + i * t.to_row;
      if (runs) {
        ClearElements(to, row);
      } else {
        for (int64_t j = 0; j < columns; ++j) ClearElements(to + j * t.to_column, inside);
      }
    }
  }
}

// n elements, each added to +0.
template <class T>
HWY_INLINE void CopySums(const T* from, T* to, int64_t n) {
  const ComputeTag<T> d;
  const int64_t lanes = Length(d);
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    StoreNarrow(hn::Add(hn::Zero(d), LoadWide(d, from + c)), d, to + c);
  }
  if (c == n) return;
  const auto rest = static_cast<size_t>(n - c);
  StoreNarrowFirst(hn::Add(hn::Zero(d), LoadWideFirst(d, from + c, rest)), d, to + c, rest);
}

// `place`: the destination column of each source column. Rows, or pixels, are contiguous on both
// sides.
template <class T>
HWY_NOINLINE void ScatterTile(const Params& p, const int64_t* place, const Tile<T>& t) {
  constexpr int64_t kBlock = 64;
  HWY_ALIGN BitsOf<T> bits[kBlock];
  T* const sums = reinterpret_cast<T*>(bits);
  const int64_t channels = t.planes == 1 ? t.box.c1 - t.box.c0 : 1;
  const int64_t first = p.w.begin[t.box.j0], end = p.w.begin[t.box.j1];
  ClearTile(t);
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR {
    if (rows == 0) return;
    from -= t.first_column * t.from_column;
    to -= t.box.j0 * t.to_column;
    if (channels > 1) {
      for (int64_t x = first; x < end; ++x) {
        CopySums(from + x * t.from_column, to + place[x] * t.to_column, channels);
      }
      return;
    }
    for (int64_t x = first; x < end; x += kBlock) {
      const int64_t n = std::min(kBlock, end - x);
      CopySums(from + x, sums, n);
      for (int64_t i = 0; i < n; ++i) to[place[x + i]] = sums[i];
    }
  });
}

// The same for small planes that follow each other, plan.joined of them at a time.
template <class T>
void ScatterPlanes(const Params& p, const NearestBackwardKernelPlan& plan) {
  const auto sources = static_cast<int64_t>(plan.place.size());
  const int64_t row = plan.joined * p.d.in * p.h.in * p.w.in;
  const auto* const input = static_cast<const T*>(p.grad_output);
  auto* const output = static_cast<T*>(p.grad_input);
  const int64_t grain = 1 + kNearestGrainBytes / (row * static_cast<int64_t>(sizeof(T)));
  runtime::ParallelFor(p.n * p.c / plan.joined, grain, [&](int64_t first, int64_t last) HWY_ATTR {
    HWY_ALIGN BitsOf<T> bits[64];
    T* const sums = reinterpret_cast<T*>(bits);
    for (int64_t i = first; i < last; ++i) {
      T* const to = output + i * row;
      ClearElements(to, row);
      CopySums(input + i * sources, sums, sources);
      for (int64_t k = 0; k < sources; ++k) to[plan.place[static_cast<size_t>(k)]] = sums[k];
    }
  });
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
