// Nearest backward where few destinations have a source and no two columns have the same one: zeros
// everywhere, then the sums of rows, each in its place. Per target.
#if defined(PORTACL_CPU_RESIZE_NEAREST_BACKWARD_SCATTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_SCATTER_INL_H_
#undef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_SCATTER_INL_H_
#else
#define PORTACL_CPU_RESIZE_NEAREST_BACKWARD_SCATTER_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/round_up.h"
#include "cpu/machine/machine.h"
#include "cpu/machine/pages.h"
#include "cpu/resize/nearest_backward_plan.h"
#include "cpu/resize/nearest_backward_tile-inl.h"
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

// Some rows of each of some planes of sources.
struct SourceRows {
  int64_t rows = 1, by_row = 0, planes = 1, by_plane = 0;
};

// n sums of such rows' elements, each from +0.
template <class T>
HWY_INLINE void SumRows(const T* from, const SourceRows& of, T* to, int64_t n) {
  const ComputeTag<T> d;
  const int64_t lanes = Length(d);
  const auto sum = [&](int64_t c, const auto& load) PORTACL_INLINE_LAMBDA {
    auto total = hn::Zero(d);
    for (int64_t plane = 0; plane < of.planes; ++plane) {
      const T* at = from + plane * of.by_plane + c;
      for (int64_t r = 0; r < of.rows; ++r, at += of.by_row) total = hn::Add(total, load(at));
    }
    return total;
  };
  int64_t c = 0;
  for (; c + lanes <= n; c += lanes) {
    const auto load = [&](const T* at) PORTACL_INLINE_LAMBDA { return LoadWide(d, at); };
    StoreNarrow(sum(c, load), d, to + c);
  }
  if (c == n) return;
  const auto rest = static_cast<size_t>(n - c);
  const auto load = [&](const T* at) PORTACL_INLINE_LAMBDA { return LoadWideFirst(d, at, rest); };
  StoreNarrowFirst(sum(c, load), d, to + c, rest);
}

// Sums of n columns that follow each other, each to its place.
template <class T>
HWY_INLINE void ScatterRow(const T* from, const SourceRows& of, const int64_t* place, int64_t n,
                           T* to) {
  constexpr int64_t kBlock = 64;
  HWY_ALIGN BitsOf<T> bits[kBlock];
  T* const sums = reinterpret_cast<T*>(bits);
  for (int64_t x = 0; x < n; x += kBlock) {
    const int64_t count = std::min(kBlock, n - x);
    SumRows(from + x, of, sums, count);
    for (int64_t i = 0; i < count; ++i) to[place[x + i]] = sums[i];
  }
}

// `place`: the destination column of each source column. Rows, or pixels, are contiguous on both
// sides.
template <class T>
HWY_NOINLINE void ScatterTile(const Params& p, const int64_t* place, const Tile<T>& t) {
  const int64_t channels = t.planes == 1 ? t.box.c1 - t.box.c0 : 1;
  const int64_t first = p.w.begin[t.box.j0], end = p.w.begin[t.box.j1];
  ClearTile(t);
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR {
    if (rows == 0) return;
    const SourceRows of = {rows, t.from_row, t.depth, t.from_depth};
    from -= t.first_column * t.from_column;
    to -= t.box.j0 * t.to_column;
    if (channels == 1) return ScatterRow(from + first, of, place + first, end - first, to);
    for (int64_t x = first; x < end; ++x) {
      SumRows(from + x * t.from_column, of, to + place[x] * t.to_column, channels);
    }
  });
}

// The same for small planes that follow each other, plan.joined of them at a time. `fresh`: pages
// of gradInput are missing.
template <class T>
void ScatterPlanes(const Params& p, const NearestBackwardKernelPlan& plan, bool fresh) {
  const int64_t in = p.d.in * p.h.in * p.w.in, out = p.d.out * p.h.out * p.w.out;
  const int64_t planes = p.n * p.c, joined = plan.joined;
  const auto* const input = static_cast<const T*>(p.grad_output);
  auto* const output = static_cast<T*>(p.grad_input);
  const int64_t row_bytes = joined * in * static_cast<int64_t>(sizeof(T));
  const int64_t provided = kNearestTileBytes / row_bytes;  // rows, at least one
  const int64_t rows = base::DivideUp(planes, joined), grain = 1 + kGrainBytes / row_bytes;
  runtime::ParallelFor(rows, grain, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i) {
      const int64_t plane = i * joined, n = std::min(joined, planes - plane);
      T* const to = output + plane * in;
      if (fresh && (i - first) % provided == 0) {
        ProvidePages(to, output + std::min((i + provided) * joined, planes) * in);
      }
      ClearElements(to, n * in);
      ScatterRow(input + plane * out, {}, plan.place.data(), n * out, to);
    }
  });
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
