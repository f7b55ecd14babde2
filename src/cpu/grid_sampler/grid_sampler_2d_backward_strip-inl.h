// The slab of a strip, and the pass over it, in the gradients on images. One pass adds the points
// of one strip for one block of channels. Per target.
//
// A strip has rows [s, s + S) of a plane of width W. Its slab has a cell per pixel:
//
//             col 0   1 ... W   W+1
//   row 0      .      .......    .       nowhere: taps outside the image or above the strip
//   row 1      .      .......    .
//   row 2      .      row s      .       own rows: inputGrad is flushed from here
//   ...
//   row S+1    .      row s+S-1  .
//   row S+2..  .      row s+S..  .       halo (see Halo()): values only; zero below the
//                                        image
//   cell = [L values of input | L sums of inputGrad], only the wanted half if the mask drops
//   one; dots are cells outside the image: values are 0, sums are garbage nobody reads.
//
// A point with taps in two strips is in the lists of both. Each strip adds to its own rows, so
// every sum gets its points in ascending order. The strip of the upper taps owns gridGrad: its halo
// has the values of the other strip. If upper taps are outside the image, the strip of the nearest
// row owns gridGrad. Lists of groups also hold points that do not touch the strip. These add to
// cells of row 0 or of the halo.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_INL_H_
#endif

#include <hwy/cache_control.h>

#include <cstdint>

#include "base/half.h"
#include "cpu/grid_sampler/grid_sampler_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "ops/grid_sampler_params.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Copies gradOutput of `count` <= kGroup points to to[count][L], exactly. The points are first,
// first + 1, ... or, with an index, index[0], index[1], ...
template <class F>
using FetchGradOutput = void (*)(const void* source, int64_t first, const int32_t* index,
                                 int64_t count, F* to);

template <class F>
struct StripJob : SlabPoints<F> {
  // Null, or numbers of whole groups of points, in ascending order. Group q has kGroup points from
  // q * kGroup on; some may not touch the strip. With groups, `count` counts groups, x and y have
  // all points of the image, and `index` is null.
  const int32_t* groups;
  int64_t points;  // points of the image
  bool random;     // most points of the grid jump, and gradOutput was gathered
  FetchGradOutput<F> fetch;
  const void* fetch_source;
  // The sums (gx, gy) of this block for point p are at partial[2 * p]. If another strip owns the
  // point's gridGrad, they go to unused pairs behind the last point.
  F* partial;
};

template <class F>
using StripPass = void (*)(const StripJob<F>& job);

// Returns the pass for a number of lanes (4, 8 or kBlockChannels), F (float or double) and the
// wanted gradients, at least one. For nearest mode grid_grad must be false.
template <class F>
StripPass<F> PassOf(ops::Interpolation interpolation, int lanes, bool input_grad, bool grid_grad);

// Vectors of a pass have at most 256 bits. On Zen 4, a pass took 1.4 times as long with 512-bit
// loads: they waited for cells that were just stored. Sums that stay in registers may use longer
// vectors.
inline constexpr int kCellBytes = kBlockBytes < 32 ? kBlockBytes : 32;
template <class F, int L>
inline constexpr int kCellLanes = L < kCellBytes / int{sizeof(F)} ? L : kCellBytes / int{sizeof(F)};
template <class F, int L>
using CellTag = hn::CappedTag<F, static_cast<size_t>(kCellLanes<F, L>)>;

// Layout of a cell: values, then sums; each half may be absent.
template <class F_, int L_, bool kInput, bool kGrid>
struct Cell {
  using F = F_;
  static constexpr int L = L_;
  static constexpr bool kInputGrad = kInput;
  static constexpr bool kGridGrad = kGrid;
  static constexpr int64_t kSums = kGrid ? L : 0;
  static constexpr int64_t kSize = L * (int{kInput} + int{kGrid});
  using Tag = CellTag<F, L>;
  static constexpr int kLanes = kCellLanes<F, L>;
  static constexpr int kVectors = L / kLanes;
};

// Adds weight * g to one vector of a cell's sums.
template <class D, class F, class V = hn::Vec<D>>
HWY_INLINE void AddTo(D d, F* HWY_RESTRICT sums, V weight, V g) {
  hn::Store(hn::MulAdd(weight, g, hn::Load(d, sums)), d, sums);
}

// ---- the slab -----------------------------------------------------------------------------------

// Some rows of an image and one block of its channels, to be copied to a slab or back.
struct SlabBlock {
  int64_t n;
  int64_t first_channel;
  int64_t channels;
  int64_t pitch;      // cells of a row
  int64_t first_row;  // first of the strip's own rows
  int64_t end_row;
  int64_t halo_end;  // the first row behind the slab
  bool values;       // cells hold values of input
  bool sums;
  bool stream;  // inputGrad is written past the caches

  int64_t CellSize(int64_t lanes) const { return lanes * (int64_t{values} + int64_t{sums}); }
};

// Fills the slab: values of own rows and halo, zeros outside the image and in sums of own rows.
template <int L, class T, class F = base::ComputeType<T>>
void LoadSlab(const ops::GridSampler2DBackwardParams& p, const SlabBlock& block, F* slab) {
  const auto& s = p.shape;
  const int64_t cell = block.CellSize(L);
  const int64_t row_size = block.pitch * cell;
  if (!block.values) {
    Clear(slab + 2 * row_size, (block.end_row - block.first_row) * row_size);
    return;
  }
  Clear(slab, 2 * row_size);
  const T* base = static_cast<const T*>(p.input) + block.n * p.input_stride[0] +
                  block.first_channel * p.input_stride[1];
  for (int64_t y = block.first_row; y < block.halo_end; ++y) {
    F* row = slab + (y - block.first_row + 2) * row_size;
    if (y >= s.h) {
      Clear(row, row_size);
      continue;
    }
    Clear(row, cell);
    Clear(row + (s.w + 1) * cell, cell);
    const Planar<const T> from = {base + y * p.input_stride[2], p.input_stride[1],
                                  s.w == 1 ? 1 : p.input_stride[3], block.channels, s.w};
    if (block.sums) {
      ReadPixels<T, L, Beside::kZeros>(from, row + cell, cell);
    } else {
      ReadPixels<T, L>(from, row + cell, cell);
    }
  }
}

// Writes the sums of the own rows to inputGrad.
template <int L, class T, class F = base::ComputeType<T>>
void FlushSlab(const ops::GridSampler2DBackwardParams& p, const SlabBlock& block, const F* slab) {
  const auto& s = p.shape;
  const int64_t cell = block.CellSize(L);
  const F* sums = slab + (block.values ? L : 0);
  T* base = static_cast<T*>(p.input_grad) + block.n * p.input_grad_stride[0] +
            block.first_channel * p.input_grad_stride[1];
  for (int64_t y = block.first_row; y < block.end_row; ++y) {
    const Planar<T> to = {base + y * p.input_grad_stride[2],
                          p.input_grad_stride[1],
                          s.w == 1 ? 1 : p.input_grad_stride[3],
                          block.channels,
                          s.w,
                          block.stream};
    WritePixels<T, L>(sums + ((y - block.first_row + 2) * block.pitch + 1) * cell, cell, to);
  }
  if (block.stream) hwy::FlushStream();
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
