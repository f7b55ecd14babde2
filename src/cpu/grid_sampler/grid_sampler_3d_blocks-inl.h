// Volumes with many channels, in both directions: a block of channels in the lanes of vectors, from
// a copy of the block's volume. In the copy a voxel's channels lie together. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_3D_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_3D_BLOCKS_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_3D_BLOCKS_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_3D_BLOCKS_INL_H_
#endif

#include <array>
#include <cstdint>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_tap_batch-inl.h"
#include "cpu/machine/fetch.h"
#include "cpu/machine/machine.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/transpose-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Points ahead for which taps are fetched if voxels do not stay in the L2 cache.
inline constexpr int64_t kAhead = 6;

// ---- points -------------------------------------------------------------------------------------

// Of a batch's trilinear points, one array per quantity.
template <class F>
struct TrilinearBatch : SlopeBatch<F> {
  static constexpr int64_t kPoints = kBatch;
  HWY_ALIGN int32_t inside[kPoints];  // taps in the volume
};

// The same for tricubic ones.
template <class F>
struct TricubicBatch {
  static constexpr int64_t kPoints = kGroup;
  CubicGroup<F, 3> group;
  HWY_ALIGN F weight[64][kPoints];   // tap (k, j, i) is 16 k + 4 j + i
  HWY_ALIGN int32_t whole[kPoints];  // not 0: all taps are inside, neighbours of each other
};

template <class F, ops::Interpolation kInterpolation>
using BlockBatch = std::conditional_t<kInterpolation == ops::Interpolation::kBicubic,
                                      TricubicBatch<F>, TrilinearBatch<F>>;

// Fills place i of the batch with a vector of points that LocateTaps() made. Returns which of their
// taps are inside along x and y. `plane` gets the plane of their first taps.
template <class F, class V = hn::Vec<PointTag<F>>, class VI = hn::Vec<IndexTag<PointTag<F>>>>
HWY_INLINE VI PlaceInBlock(const VolumeGeometry<F>&, const VolumeStrides& size, V x, V y, V z,
                           int64_t i, TrilinearBatch<F>* batch, VI& plane) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  // Far away the index is one of the least or greatest: outside as well.
  VI column = ToIndex(d, hn::Floor(x));
  VI row = ToIndex(d, hn::Floor(y));
  plane = ToIndex(d, hn::Floor(z));
  PlaceTaps<3, F>(size, Axes(x, y, z), Axes(column, row, plane), i, batch);
  const VI in_image =
      hn::And(TapsAlong<3, 0>(di, column, 0, size.width), TapsAlong<3, 1>(di, row, 0, size.height));
  const VI inside = hn::And(in_image, TapsAlong<3, 2>(di, plane, 0, size.depth));
  hn::Store(inside, di, batch->inside + i);
  return in_image;
}

template <class F, class V = hn::Vec<PointTag<F>>, class VI = hn::Vec<IndexTag<PointTag<F>>>>
HWY_INLINE void PlaceInBlock(const VolumeGeometry<F>& geometry, V x, V y, V z, size_t i,
                             TricubicBatch<F>* batch) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  CubicGroup<F, 3>& group = batch->group;
  PlaceCubic<true>(geometry, Axes(x, y, z), i, &group);
  VI whole = AreAdjacent<F>(group.index[0], i);
  whole = hn::And(whole, AreAdjacent<F>(group.index[1], i));
  whole = hn::And(whole, AreAdjacent<F>(group.index[2], i));
  hn::Store(whole, di, batch->whole + i);
  for (size_t tap = 0; tap < 64; ++tap) {
    hn::Store(CubicWeight(group, tap, i), d, batch->weight[tap] + i);
  }
}

// ---- voxels -------------------------------------------------------------------------------------

// A block's volume in memory: voxels of `voxel` elements.
template <class F>
struct BlockVoxels {
  VolumeStrides size;  // in voxels
  int64_t voxel;       // elements of a voxel, of a row and of a plane of them
  int64_t row;
  int64_t plane;
  bool fetch;  // they do not stay in the L2 cache
  F* first;

  BlockVoxels(const ops::GridSampler3DShape& s, int64_t voxel_elements, void* memory)
      : size(DenseVolume(s)),
        voxel(voxel_elements),
        row(voxel * s.w),
        plane(row * s.h),
        fetch(Elements() * static_cast<int64_t>(sizeof(F)) > L2CacheBytes()),
        first(static_cast<F*>(memory)) {}

  int64_t Elements() const { return plane * size.depth; }

  // Calls use(offset of the row's first element in a tensor of these strides, the row's voxels) for
  // each row, on all threads.
  template <class Use>
  void ForRows(const std::array<int64_t, 5>& stride, const Use& use) const {
    const int64_t grain = 1 + 65536 / row;
    const int64_t height = size.height;
    runtime::ParallelFor(size.depth * height, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        use(i / height * stride[2] + i % height * stride[3], first + i * row);
      }
    });
  }

  // Of tap `tap` of a trilinear point, which must be inside.
  HWY_INLINE F* Of(const SlopeBatch<F>& batch, int64_t k, size_t tap) const {
    return first + batch.cell[k] * voxel + ((tap & 1) != 0 ? voxel : 0) +
           ((tap & 2) != 0 ? row : 0) + ((tap & 4) != 0 ? plane : 0);
  }

  // Of tap (k, j, i) of tricubic point p: null outside.
  HWY_INLINE F* Of(const TricubicBatch<F>& batch, size_t p, size_t k, size_t j, size_t i) const {
    const int32_t x = batch.group.index[0][i][p];
    const int32_t y = batch.group.index[1][j][p];
    const int32_t z = batch.group.index[2][k][p];
    return (x | y | z) < 0 ? nullptr : first + z * plane + y * row + x * voxel;
  }

  HWY_INLINE void Fetch(const TrilinearBatch<F>& batch, int64_t k) const {
    if (batch.inside[k] == 0) return;
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(F));
    const int64_t at = batch.cell[k] * voxel;
    for (const int64_t from : {at, at + row, at + plane, at + plane + row}) {
      for (int64_t i = 0; i < 2 * voxel; i += kLine) FetchElement<3>(first, from + i);
    }
  }

  // Nothing: with 64 taps a point has enough of them under way.
  HWY_INLINE void Fetch(const TricubicBatch<F>&, int64_t) const {}
};

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
