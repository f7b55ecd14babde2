// The nearest backward kernel of one instruction set: plan, run and choice of the code path.
//
// Every path computes, per destination, the sum over its rows of sources and in each row over its
// columns, in that order, from +0 in the compute type, rounded once. A sum that starts from +0 is
// never -0 (round to nearest), so that adding +0 for a source that is not there changes no bit: the
// paths use that wherever lanes have different numbers of sources.
//
//   path           when                                  how
//   x1 ... x4      equal ratio, W contiguous             _ratio.cc: de-interleaving loads, adds
//   permute        at most 4 columns per destination,    _permute.cc: permutation by index table
//                  or C contiguous and small
//   wide           more columns per destination          _wide.cc: a lane per destination;
//                                                        blocks transposed in registers
//   channels_last  C contiguous                          _pixels.cc: a lane per channel,
//                                                        pixel by pixel, or by whole rows
//   scatter        few destinations have a source        _scatter-inl.h: zeros, then each source
//
// Where W is not contiguous, a tile is packed to or from the stack around the same code; the wide
// path reads and writes any strides. Of volumes whose sources alone have contiguous channels, the
// sums of a tile are turned on the stack.
#if defined(PORTACL_CPU_RESIZE_NEAREST_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_INL_H_
#undef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_INL_H_
#else
#define PORTACL_CPU_RESIZE_NEAREST_BACKWARD_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/dispatch.h"
#include "cpu/machine/pages.h"
#include "cpu/resize/nearest_backward_paths-inl.h"
#include "cpu/resize/nearest_backward_plan.h"
#include "cpu/resize/nearest_backward_scatter-inl.h"
#include "cpu/resize/nearest_backward_tile-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// ---- packing ------------------------------------------------------------------------------------

// Copies rows x columns elements; walks along the axis that is denser in `from`.
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
    case NearestBackwardPath::kX1:
    case NearestBackwardPath::kX2:
    case NearestBackwardPath::kX3:
    case NearestBackwardPath::kX4:
      return SumTileByRatio(p, t);
    case NearestBackwardPath::kPermute1:
    case NearestBackwardPath::kPermute2:
    case NearestBackwardPath::kPermute3:
    case NearestBackwardPath::kPermute4:
      return SumTilePermuted(p, plan, t);
    case NearestBackwardPath::kWide:
      return SumTileWide<true>(p, t);
    case NearestBackwardPath::kWideStrided:
      return SumTileWide<false>(p, t);
    case NearestBackwardPath::kPixels:
      return SumTileByPixel(p, t);
  }
}

// Tile `index` of all planes of destinations: a plane has the tiles of an image.
template <class T>
Tile<T> MakeTile(const Params& p, const NearestBackwardKernelPlan& plan, int64_t index) {
  const NearestTile box = plan.tiling.Box(index / p.d.in);
  const int64_t k = index % p.d.in;
  const auto [first, end] = plan.SourceColumns(p.w, box.j0, box.j1);
  const auto& from = plan.from_stride;
  const auto& to = plan.to_stride;
  T* const first_to = static_cast<T*>(p.grad_input) + box.n * to[0] + box.c0 * to[1] +
                      k * p.grad_input_depth_stride + box.i0 * to[2] + box.j0 * to[3];
  const bool aligned = reinterpret_cast<uintptr_t>(first_to) % kStreamAlignment == 0;
  return {.from = static_cast<const T*>(p.grad_output) + box.n * from[0] + box.c0 * from[1] +
                  p.d.begin[k] * p.grad_output_depth_stride + p.h.begin[box.i0] * from[2] +
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
          .from_depth = p.grad_output_depth_stride,
          .first_column = first,
          .end_column = end,
          .by_row = plan.by_row,
          .stream = plan.stream && aligned};
}

// The same tile with contiguous rows on the stack, on the sides where W is not contiguous. The plan
// has cut the tiles so that they fit.
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
  const int64_t channels = pixels ? t.box.c1 - t.box.c0 : 1;  // inside a pixel
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
  const bool fresh = ArePagesMissing(p.grad_input, plan.dense_bytes);
  if (plan.joined > 0) return ScatterPlanes<T>(p, plan, fresh);
  runtime::ParallelFor(plan.tiling.Boxes() * p.d.in, plan.tiling.grain,
                       [&](int64_t first, int64_t last) HWY_ATTR {
                         for (int64_t index = first; index < last; ++index) {
                           Tile<T> tile = MakeTile<T>(p, plan, index);
                           if (fresh) {  // pages come through the caches: so do the results
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

#endif  // include guard per target
