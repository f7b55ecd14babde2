// Shared by the stages of the grid sampler's gradients on slabs: the call, an image's scratch
// memory, the loop over its points, and copies of a channel block into a slab and back. Per
// target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_SLAB_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_SLAB_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_SLAB_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_SLAB_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>

#include "base/half.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/grid_sampler/grid_sampler_plan.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "ops/grid_sampler_params.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// One image's part of the workspace, see SlabGeometry.
template <class F>
struct ImageScratch {
  F* x;
  F* y;
  int32_t* index;         // null if there is one strip
  int32_t* strip_ranges;  // in the memory of `index`: the first and last strip of each group,
  int32_t* group_lists;   // then the lists of groups
  int32_t* cursor;
  F* partial;
  F* gathered;
};

// Images that are computed together: image first + i has scratch memory scratch + i.
struct ImageRange {
  int64_t first;
  int64_t count;
  int64_t scratch;
};

// One call. A stage of an image reads it and the scratch of that image.
template <class T>
struct SlabCall {
  using F = base::ComputeType<T>;

  SlabCall(const ops::GridSampler2DBackwardParams& params, const SlabGeometry& cut, void* workspace)
      : p(params),
        s(params.shape),
        g(cut),
        memory(static_cast<unsigned char*>(workspace)),
        geometry(PointGeometryOf<F>(s)),
        grid_at(GridPointsOf(s, p.grid_stride)),
        slopes(p.want_grid_grad && s.interpolation != ops::Interpolation::kNearest) {}

  const T* GridOf(int64_t n) const { return static_cast<const T*>(p.grid) + n * p.grid_stride[0]; }

  ImageScratch<F> ScratchOf(const ImageRange& images, int64_t i) const {
    const int64_t slot = images.scratch + i;
    unsigned char* base = memory + g.image_offset + static_cast<uint64_t>(slot) * g.image_bytes;
    const int64_t groups = (g.points + int64_t{kGroup} - 1) / int64_t{kGroup};
    auto* index = g.strips > 1 ? reinterpret_cast<int32_t*>(base + g.index_offset) : nullptr;
    return {reinterpret_cast<F*>(base + g.x_offset),
            reinterpret_cast<F*>(base + g.y_offset),
            index,
            index,
            index != nullptr ? index + 2 * groups : nullptr,
            reinterpret_cast<int32_t*>(base + g.cursor_offset),
            reinterpret_cast<F*>(base + g.partial_offset),
            reinterpret_cast<F*>(base + g.gathered_offset)};
  }

  F* SlabOf(int slot) const {
    return reinterpret_cast<F*>(memory + static_cast<uint64_t>(slot) * g.slab_bytes);
  }

  // A stage: body(begin, end) over ranges of [0, count), on all threads unless each has an image.
  template <class Body>
  void Loop(int64_t count, const Body& body) const {
    if (g.by_image) {
      body(0, count);
    } else {
      runtime::ParallelFor(count, 1, body);
    }
  }

  // body(i, chunk, first point, last point) for every chunk of points of the i-th of these images.
  template <class Body>
  void ForChunks(const ImageRange& images, const Body& body) const {
    Loop(images.count * g.chunks, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t chunk = at % g.chunks;
        const int64_t first = chunk * g.chunk_points;
        body(at / g.chunks, chunk, first, std::min(first + g.chunk_points, g.points));
      }
    });
  }

  const ops::GridSampler2DBackwardParams& p;
  const ops::GridSampler2DShape& s;
  const SlabGeometry& g;
  unsigned char* memory;
  PointGeometry<F> geometry;
  PointStrides grid_at;
  bool slopes;  // gridGrad is wanted and not identically 0
};

// A channel block of rows of an image in a slab: see grid_sampler_2d_backward_strip-inl.h.
struct SlabBlock {
  int64_t n;
  int64_t first_channel;
  int64_t channels;
  int64_t pitch;      // cells of a row
  int64_t first_row;  // own rows
  int64_t end_row;
  int64_t halo_end;  // the first row behind the slab
  bool values;       // halves that a cell has
  bool sums;
  bool stream;  // inputGrad is written past the caches

  int64_t CellSize(int64_t lanes) const { return lanes * (int64_t{values} + int64_t{sums}); }
};

// Values of the own and halo rows, zeros in cells outside the image and in the own rows' sums.
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

// The own rows' sums, to inputGrad.
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
