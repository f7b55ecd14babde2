// What the stages of the grid sampler's gradients on slabs share: the call, an image's scratch
// memory and the loop over its points. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_SLAB_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_SLAB_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_SLAB_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_SLAB_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "base/half.h"
#include "cpu/grid_sampler_2d_backward_plan.h"
#include "cpu/grid_sampler_2d_layout.h"
#include "cpu/highway.h"
#include "ops/grid_sampler_2d_backward_params.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Whether a line that several threads have read can leave their caches before one of them writes it
// again, see BackwardGeometry::evict: x86 has stores past the caches for that.
inline constexpr bool kCanShare = HWY_ARCH_X86 != 0;

// One image's part of the workspace, see BackwardGeometry.
template <class F>
struct ImageScratch {
  F* x;
  F* y;
  int32_t* index;         // null where there is one strip
  int32_t* strip_ranges;  // in the memory of `index`: the first and last strip of each group,
  int32_t* group_lists;   // then the lists of groups
  int32_t* cursor;
  int32_t* place;
  F* partial;
  F* gathered;
};

// One call. A stage of an image reads it and the scratch of that image.
template <class T>
struct SlabCall {
  using F = base::ComputeType<T>;

  SlabCall(const ops::GridSampler2DBackwardParams& params, const BackwardGeometry& cut,
           void* workspace)
      : p(params),
        s(params.shape),
        g(cut),
        memory(static_cast<unsigned char*>(workspace)),
        geometry(PointGeometryOf<F>(s)),
        grid_at(PointStridesOf(s, p.grid_stride[1], p.grid_stride[2], p.grid_stride[3])),
        slopes(p.want_grid_grad && s.interpolation != ops::Interpolation::kNearest) {}

  const T* GridOf(int64_t n) const { return static_cast<const T*>(p.grid) + n * p.grid_stride[0]; }

  ImageScratch<F> ScratchOf(int slot) const {
    unsigned char* base = memory + g.image_offset + static_cast<uint64_t>(slot) * g.image_bytes;
    const int64_t groups = (g.points + int64_t{kGroup} - 1) / int64_t{kGroup};
    auto* index = g.strips > 1 ? reinterpret_cast<int32_t*>(base + g.index_offset) : nullptr;
    return {reinterpret_cast<F*>(base + g.x_offset),
            reinterpret_cast<F*>(base + g.y_offset),
            index,
            index,
            index != nullptr ? index + 2 * groups : nullptr,
            reinterpret_cast<int32_t*>(base + g.cursor_offset),
            reinterpret_cast<int32_t*>(base + g.place_offset),
            reinterpret_cast<F*>(base + g.partial_offset),
            reinterpret_cast<F*>(base + g.gathered_offset)};
  }

  F* SlabOf(int slot) const {
    return reinterpret_cast<F*>(memory + static_cast<uint64_t>(slot) * g.slab_bytes);
  }

  // A stage: body(first, last) over ranges of [0, count), on all threads unless each has an image.
  template <class Body>
  void Loop(int64_t count, const Body& body) const {
    if (g.by_image) {
      body(0, count);
    } else {
      runtime::ParallelFor(count, 1, body);
    }
  }

  // body(chunk, first point, last point) for every chunk of points.
  template <class Body>
  void ForChunks(const Body& body) const {
    Loop(g.chunks, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t first = chunk * g.chunk_points;
        body(chunk, first, std::min(first + g.chunk_points, g.points));
      }
    });
  }

  // Whether threads read each other's lines.
  bool Shared() const { return kCanShare && g.evict; }

  const ops::GridSampler2DBackwardParams& p;
  const ops::GridSampler2DShape& s;
  const BackwardGeometry& g;
  unsigned char* memory;
  PointGeometry<F> geometry;
  PointStrides grid_at;
  bool slopes;  // gridGrad is wanted and not identically 0
};

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
