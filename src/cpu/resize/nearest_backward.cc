// The kernels of the gradients of nearest and nearest-exact: plan, run and choice of the path.
//
// For each destination, every path sums its rows of sources in order, and in each row its columns
// in order. Sums start from +0 in the compute type and are rounded once. Such a sum is never -0
// (round to nearest), so adding +0 changes no bit. If lanes have different numbers of sources, a
// path adds +0 for a missing source.
//
//   path           when                                  how
//   x1 ... x4      equal ratio, W contiguous             _ratio.cc: de-interleaving loads, adds
//   permute        at most 4 columns per destination,    _permute.cc: permutation by index table
//                  or C contiguous and small
//   wide           more columns per destination          _wide.cc: a lane per destination;
//                                                        blocks transposed in registers
//   channels_last  C contiguous                          _pixels.cc: a lane per channel,
//                                                        pixel by pixel, or by whole rows
//   scatter        few destinations have a source        below: zeros, then each source
//
// If W is not contiguous, the same code runs on a tile that is packed on the stack; only the path
// "wide" reads and writes any strides. If only the sources of a volume have contiguous channels,
// the sums of a tile are transposed on the stack.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/nearest_backward.cc"
#include "cpu/vector/highway.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
// Highway first.
#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/dispatch.h"
#include "base/round_up.h"
#include "cpu/machine/machine.h"
#include "cpu/machine/pages.h"
#include "cpu/resize/nearest_backward_tile-inl.h"
#include "cpu/resize/nearest_plan.h"
#include "cpu/vector/simd-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// ---- few sources --------------------------------------------------------------------------------

// For calls where few destinations have a source, and each of these has one source column. Writes
// zeros everywhere, then the sums.

template <class T>
void ClearTile(const Tile<T>& t) {
  const int64_t rows = t.box.i1 - t.box.i0;
  const int64_t columns = t.box.j1 - t.box.j0;
  int64_t channels = t.box.c1 - t.box.c0;
  const int64_t inside = t.to_plane == 1 ? std::exchange(channels, 1) : 1;  // elements of a column
  const int64_t row = columns * inside;
  const bool runs = t.to_column == inside;
  if (runs && t.to_row == row && (channels == 1 || t.to_plane == rows * row)) {
    return Clear(t.to, channels * rows * row);
  }
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < rows; ++i) {
      T* const to = t.to + c * t.to_plane + i * t.to_row;
      if (runs) {
        Clear(to, row);
      } else {
        for (int64_t j = 0; j < columns; ++j) Clear(to + j * t.to_column, inside);
      }
    }
  }
}

// The rows of sources that are summed: `rows` of them in each of `planes` planes, and strides.
struct SourceRows {
  int64_t rows = 1, by_row = 0, planes = 1, by_plane = 0;
};

// Sums such rows for n columns, each sum from +0.
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

// Sums n adjacent columns and writes each sum to its place.
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

// Computes a tile. `place`: destination column of each source column. Rows, or pixels, must be
// contiguous on both sides.
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

// Scatters adjacent small planes, plan.joined of them at a time. `fresh`: the system has not
// provided all pages of gradInput.
template <class T>
void ScatterPlanes(const Params& p, const NearestBackwardKernelPlan& plan, bool fresh) {
  const int64_t in = p.d.in * p.h.in * p.w.in, out = p.d.out * p.h.out * p.w.out;
  const int64_t planes = p.n * p.c, joined = plan.joined;
  const auto* const input = static_cast<const T*>(p.from);
  auto* const output = static_cast<T*>(p.to);
  const int64_t row_bytes = joined * in * static_cast<int64_t>(sizeof(T));
  const int64_t provided = kNearestTileBytes / row_bytes;  // rows at a time, at least one
  const int64_t rows = base::DivideUp(planes, joined), grain = 1 + kGrainBytes / row_bytes;
  runtime::ParallelFor(rows, grain, [&](int64_t first, int64_t last) HWY_ATTR {
    for (int64_t i = first; i < last; ++i) {
      const int64_t plane = i * joined, n = std::min(joined, planes - plane);
      T* const to = output + plane * in;
      if (fresh && (i - first) % provided == 0) {
        ProvidePages(to, output + std::min((i + provided) * joined, planes) * in);
      }
      Clear(to, n * in);
      ScatterRow(input + plane * out, {}, plan.place.data(), n * out, to);
    }
  });
}

// ---- packing ------------------------------------------------------------------------------------

// Copies rows x columns elements, along the denser axis of `from`.
template <class T>
void CopyBlock(const T* from, int64_t from_row, int64_t from_column, T* to, int64_t to_row,
               int64_t to_column, int64_t rows, int64_t columns) {
  if (std::abs(from_row) < std::abs(from_column)) {
    std::swap(from_row, from_column);
    std::swap(to_row, to_column);
    std::swap(rows, columns);
  }
  for (int64_t r = 0; r < rows; ++r, from += from_row, to += to_row) {
    for (int64_t x = 0; x < columns; ++x) to[x * to_column] = from[x * from_column];
  }
}

// ---- one tile -----------------------------------------------------------------------------------

template <class T>
void SumTile(const Params& p, const NearestBackwardKernelPlan& plan, const Tile<T>& t) {
  switch (plan.path) {
    case NearestBackwardPath::kRatio:
      return SumTileByRatio(p, t);
    case NearestBackwardPath::kPermute:
      return SumTilePermuted(p, plan, t);
    case NearestBackwardPath::kWide:
      return t.from_column == 1 ? SumTileWide<true>(p, t) : SumTileWide<false>(p, t);
    case NearestBackwardPath::kPixels:
      return SumTileByPixel(p, t);
  }
}

// Returns tile `index`, numbered through all destination planes of volumes.
template <class T>
Tile<T> MakeTile(const Params& p, const NearestBackwardKernelPlan& plan, int64_t index) {
  const NearestTile box = plan.tiling.Box(index / p.d.in);
  const int64_t k = index % p.d.in;
  const auto [first, end] = plan.SourceColumns(p.w, box.j0, box.j1);
  const auto& from = plan.from_stride;
  const auto& to = plan.to_stride;
  T* const first_to = static_cast<T*>(p.to) + box.n * to[0] + box.c0 * to[1] +
                      k * p.to_depth_stride + box.i0 * to[2] + box.j0 * to[3];
  const bool aligned = reinterpret_cast<uintptr_t>(first_to) % kStreamAlignment == 0;
  return {.from = static_cast<const T*>(p.from) + box.n * from[0] + box.c0 * from[1] +
                  p.d.begin[k] * p.from_depth_stride + p.h.begin[box.i0] * from[2] +
                  first * from[3],
          .from_plane = from[1],
          .from_row = from[2],
          .from_column = from[3],
          .to = first_to,
          .to_plane = to[1],
          .to_row = to[2],
          .to_column = to[3],
          .box = box,
          .planes = plan.path == NearestBackwardPath::kPixels ? 1 : box.c1 - box.c0,
          .depth = p.d.begin[k + 1] - p.d.begin[k],
          .from_depth = p.from_depth_stride,
          .first_column = first,
          .end_column = end,
          .by_row = plan.by_row,
          .stream = plan.stream && aligned};
}

// Sums a tile with W not contiguous on one side: packs that side to contiguous rows on the stack.
// The plan's tiles fit the stack.
template <class T>
void SumPackedTile(const Params& p, const NearestBackwardKernelPlan& plan, Tile<T> t) {
  alignas(64) BitsOf<T> source_bits[kNearestPackedSourceBytes / sizeof(T)];
  alignas(64) BitsOf<T> sum_bits[kNearestPackedSumBytes / sizeof(T)];
  T* sources = reinterpret_cast<T*>(source_bits);
  T* sums = reinterpret_cast<T*>(sum_bits);
  const int64_t columns = t.box.j1 - t.box.j0;
  const int64_t rows = t.box.i1 - t.box.i0;
  const int64_t source_columns = t.end_column - t.first_column;
  const int64_t source_rows = p.h.begin[t.box.i1] - p.h.begin[t.box.i0];
  const Tile<T> outer = t;
  if (plan.pack_from) {
    t.from_depth = source_rows * source_columns;
    for (int64_t plane = 0; plane < t.depth; ++plane) {
      CopyBlock(outer.from + plane * outer.from_depth, outer.from_row, outer.from_column,
                sources + plane * t.from_depth, source_columns, 1, source_rows, source_columns);
    }
    t.from = sources;
    t.from_row = source_columns;
    t.from_column = 1;
  }
  const bool pixels = plan.path == NearestBackwardPath::kPixels;
  const int64_t channels = pixels ? t.box.c1 - t.box.c0 : 1;  // elements of a pixel
  if (plan.pack_to) {
    t.to = sums;
    t.to_row = columns * channels;
    t.to_column = channels;
    t.stream = false;
  }
  SumTile(p, plan, t);
  if (!plan.pack_to) return;
  if (!pixels) {
    return CopyBlock<T>(sums, columns, 1, outer.to, outer.to_row, outer.to_column, rows, columns);
  }
  for (int64_t i = 0; i < rows; ++i) {
    CopyBlock<T>(sums + i * t.to_row, channels, 1, outer.to + i * outer.to_row, outer.to_column,
                 outer.to_plane, columns, channels);
  }
}

// ---- the kernel ---------------------------------------------------------------------------------

template <class T>
void RunTyped(const Params& p, const NearestBackwardKernelPlan& plan) {
  const bool fresh = ArePagesMissing(p.to, plan.dense_bytes);
  if (plan.joined > 0) return ScatterPlanes<T>(p, plan, fresh);
  runtime::ParallelFor(plan.tiling.Boxes() * p.d.in, plan.tiling.grain,
                       [&](int64_t first, int64_t last) HWY_ATTR {
                         for (int64_t index = first; index < last; ++index) {
                           Tile<T> tile = MakeTile<T>(p, plan, index);
                           if (fresh) {  // pages come into the caches, so results do too
                             ProvideTile(tile.to, tile.box, plan.to_stride);
                             tile.stream = false;
                           }
                           if (tile.depth == 0) {
                             ClearTile(tile);
                           } else if (!plan.place.empty()) {
                             ScatterTile(p, plan.place.data(), tile);
                           } else if (plan.pack_from || plan.pack_to) {
                             SumPackedTile(p, plan, tile);
                           } else {
                             SumTile(p, plan, tile);
                           }
                         }
                         if (plan.stream) hwy::FlushStream();
                       });
}

void Run(const Params& params, const NearestBackwardPlan& plan, void* /*workspace*/) {
  const auto& mine = std::get<NearestBackwardKernelPlan>(plan.way);
  base::DispatchFloating(params.dtype,
                         [&](auto tag) { RunTyped<typename decltype(tag)::type>(params, mine); });
}

std::optional<NearestBackwardPlan> Plan(const Params& params, std::string_view path) {
  return base::DispatchFloating(params.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const NearestBackwardTarget target = {.lanes = static_cast<int64_t>(hn::Lanes(ComputeTag<T>())),
                                          .min_ratio_columns = MinRatioColumns<T>(),
                                          .can_stream = HWY_ARCH_X86 != 0};
    return PlanNearestBackward(params, static_cast<int64_t>(sizeof(T)), target, path);
  });
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

PORTACL_KERNELS(UpsampleNearestExactBackward, Plan, Run)
