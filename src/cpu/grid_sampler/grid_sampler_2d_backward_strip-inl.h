// The inner pass of the grid sampler backward kernels: all points of one row strip, one channel
// block, on a slab of pixel-major scratch. Declares the job and, per target, runs it.
//
// The slab of a strip of rows [s, s + S) of a plane of width W, a cell per pixel:
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
// A point with taps in two strips is in both strips' lists. Each strip adds to its own rows, so
// every sum sees its points in ascending order. The strip of the upper taps owns gridGrad; it also
// holds the other strip's values, in its halo. (For taps outside the image, the strip of the
// nearest row.) Lists of groups also hold points that do not touch the strip. Such points add to
// cells of row 0 or of the halo.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_2d_taps-inl.h"
#include "cpu/grid_sampler/grid_sampler_plan.h"
#include "cpu/vector/channel_tree-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "ops/grid_sampler_params.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Copies gradOutput of `count` <= kGroup points into to[count][L], rounding nothing. The points are
// first, first + 1, ... or, with an index, index[0], index[1], ...
template <class F>
using FetchGradOutput = void (*)(const void* source, int64_t first, const int32_t* index,
                                 int64_t count, F* to);

template <class F>
struct StripJob : SlabPoints<F> {
  // Null, or numbers of whole groups of points, in ascending order. Group q is the points from q *
  // kGroup on, also points that do not touch the strip. Then `count` counts groups, x and y have
  // all points, and there is no index.
  const int32_t* groups;
  int64_t points;  // of the image
  bool random;     // a random grid's points: gradOutput was gathered, and most points jump
  FetchGradOutput<F> fetch;
  const void* fetch_source;
  // This block's sums (gx, gy) of point p at partial[2 * p]. If another strip owns a point's
  // gridGrad, its sums go to pairs behind the last point.
  F* partial;
};

template <class F>
using StripPass = void (*)(const StripJob<F>& job);

// The pass for L lanes (4, 8, kBlockChannels) of F (float, double) and a mask with at least one
// gradient; for nearest the mask of inputGrad alone.
template <class F>
StripPass<F> BilinearPass(int lanes, bool input_grad, bool grid_grad);
template <class F>
StripPass<F> BicubicPass(int lanes, bool input_grad, bool grid_grad);
template <class F>
StripPass<F> NearestPass(int lanes);

// Vectors of a pass have at most 256 bits. On a Zen 4, 512-bit loads from cells that were just
// stored made the whole pass take 1.4 times as long. Sums that stay in registers may be
// longer.
inline constexpr int kCellBytes = kBlockBytes < 32 ? kBlockBytes : 32;
template <class F, int L>
inline constexpr int kCellLanes = L < kCellBytes / int{sizeof(F)} ? L : kCellBytes / int{sizeof(F)};
template <class F, int L>
using CellTag = hn::CappedTag<F, static_cast<size_t>(kCellLanes<F, L>)>;

// Layout of a cell.
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

template <template <class> class Pass, class F, bool kInput, bool kGrid>
StripPass<F> PassOfLanes(int lanes) {
  switch (lanes) {
    case 4:
      return Pass<Cell<F, 4, kInput, kGrid>>::Run;
    case 8:
      return Pass<Cell<F, 8, kInput, kGrid>>::Run;
    default:
      return Pass<Cell<F, kBlockChannels, kInput, kGrid>>::Run;
  }
}

template <template <class> class Pass, class F>
StripPass<F> PassOf(int lanes, bool input_grad, bool grid_grad) {
  if (!grid_grad) return PassOfLanes<Pass, F, true, false>(lanes);
  return input_grad ? PassOfLanes<Pass, F, true, true>(lanes)
                    : PassOfLanes<Pass, F, false, true>(lanes);
}

// Runs part(r, x, y) for every vector of a block, and stores the totals of x and y if wanted.
template <class Cell, class Part>
HWY_INLINE void ForBlock(const Part& part, typename Cell::F* HWY_RESTRICT totals) {
  const typename Cell::Tag d;
  auto x = hn::Zero(d);
  auto y = hn::Zero(d);
  if constexpr (Cell::kGridGrad) {
    SumTree<Cell::kVectors, Cell::kVectors, 0, 1>(part, x, y);
    StoreTreeSums(d, x, y, totals);
  } else {
    for (int r = 0; r < Cell::kVectors; ++r) part(r, x, y);
  }
}

// sums += weight * g on one vector of a cell.
template <class D, class F, class V = hn::Vec<D>>
HWY_INLINE void AddTo(D d, F* HWY_RESTRICT sums, V weight, V g) {
  hn::Store(hn::MulAdd(weight, g, hn::Load(d, sums)), d, sums);
}

// Goes through the job's points in groups: prepare(first) computes what a group's points need,
// point(k, g) adds point k of the group with its gradOutput lanes g.
template <class Cell, class Prepare, class Point>
HWY_INLINE void ForGroups(const StripJob<typename Cell::F>& job, const Prepare& prepare,
                          const Point& point) {
  HWY_ALIGN typename Cell::F g[kGroup * Cell::L];
  constexpr int64_t kSize = int64_t{kGroup};
  const bool listed = job.groups != nullptr;
  const int64_t groups = listed ? job.count : (job.count + kSize - 1) / kSize;
  const int64_t end = listed ? job.points : job.count;
  for (int64_t i = 0; i < groups; ++i) {
    const int64_t first = (listed ? int64_t{job.groups[i]} : i) * kSize;
    const int64_t count = std::min(kSize, end - first);
    prepare(first);
    job.fetch(job.fetch_source, job.first + first,
              job.index == nullptr ? nullptr : job.index + first, count, g);
    for (int64_t k = 0; k < count; ++k) point(k, g + k * Cell::L);
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
