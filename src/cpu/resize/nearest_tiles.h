// How the nearest kernels, forward and backward, cut their destination into tiles for the
// threads, and how they read a call's layout. Plain C++, the same for every instruction set.
#ifndef PORTACL_CPU_RESIZE_NEAREST_TILES_H_
#define PORTACL_CPU_RESIZE_NEAREST_TILES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/round_up.h"
#include "cpu/machine/machine.h"
#include "cpu/machine/pages.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::cpu {

// ---- layout -------------------------------------------------------------------------------------

// Extents and strides of one side (the small or the large one) of a call.
struct NearestSide {
  int64_t n, c, h, w;
  std::array<int64_t, 4> stride;
};

// Gives every axis of extent 1 the stride that it has in a contiguous tensor of the same layout:
// the given stride is never used, but could hide that the axes around it are contiguous.
inline void NormalizeUnitAxes(NearestSide& side) {
  auto& s = side.stride;
  if (side.w == 1) s[3] = 1;
  if (side.h == 1) s[2] = s[3] * side.w;
  if (side.c == 1) s[1] = s[2] * side.h;
  if (side.n == 1) s[0] = s[1] * side.c;
}

// Makes one axis of D and H: the rows of `depth` planes, `stride` apart, one after the other. False
// if the rows have no common stride; the stride of rows then holds inside a plane.
inline bool MergePlanes(NearestSide& side, int64_t depth, int64_t stride) {
  if (depth == 1) return true;
  const bool merged = side.h == 1 || stride == side.stride[2] * side.h;
  if (side.h == 1) side.stride[2] = stride;
  side.h *= depth;
  return merged;
}

// Makes one axis of N and C where both sides allow it.
inline void MergeImages(NearestSide& a, NearestSide& b) {
  if (a.stride[0] != a.stride[1] * a.c || b.stride[0] != b.stride[1] * b.c) return;
  for (NearestSide* side : {&a, &b}) {
    side->c *= side->n;
    side->n = 1;
    side->stride[0] = side->stride[1] * side->c;
  }
}

// Rows of dense pixels become rows of elements, of one channel.
inline void TakePixelsAsElements(NearestSide& side) {
  side.w *= side.c;
  side.c = 1;
  side.stride[3] = 1;
}

// Calls use(number) for the elements at these places along D, H and W, in this number of
// planes.
template <class Use>
void ForElements(int64_t planes, const std::array<const std::vector<int64_t>*, 3>& places,
                 const std::array<int64_t, 3>& extents, const Use& use) {
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (const int64_t d : *places[0]) {
      for (const int64_t h : *places[1]) {
        const int64_t row = (plane * extents[0] + d) * extents[1] + h;
        for (const int64_t w : *places[2]) use(row * extents[2] + w);
      }
    }
  }
}

// True if a side's planes, `elements` each, follow each other in memory without gaps. A volume has
// `depth` slices `by_depth` apart.
inline bool FollowEachOther(const NearestSide& side, int64_t depth, int64_t by_depth,
                            int64_t elements) {
  return side.n == 1 && side.stride[3] == 1 && side.stride[2] == side.w &&
         side.stride[1] == elements && (depth == 1 || by_depth * depth == elements);
}

// Elements of a plane or a volume, as double: a side that repeats elements may have more than
// 2^63.
inline double Elements(int64_t d, int64_t h, int64_t w) {
  return static_cast<double>(d) * static_cast<double>(h) * static_cast<double>(w);
}

// ---- tiles --------------------------------------------------------------------------------------

// A box of destination elements that one thread computes: channels [c0, c1) of image n, rows
// [i0, i1), columns [j0, j1).
struct NearestTile {
  int64_t n, c0, c1, i0, i1, j0, j1;
};

// The cut of an (n, c, h, w) destination into boxes of (1, channels, rows, columns). The last box
// of an axis takes the rest: fewer channels or rows, but more columns, so that no box is narrower
// than `columns`.
struct NearestTiling {
  int64_t n = 0, c = 0, h = 0, w = 0;
  int64_t channels = 1, rows = 1, columns = 1;  // of a box
  int64_t grain = 1;                            // boxes worth a thread
  bool channels_first = false;  // neighbouring boxes differ in the channel: it is the dense axis

  int64_t BoxesC() const { return base::DivideUp(c, channels); }
  int64_t BoxesH() const { return base::DivideUp(h, rows); }
  int64_t BoxesW() const { return std::max<int64_t>(1, w / columns); }
  int64_t Boxes() const { return n * BoxesC() * BoxesH() * BoxesW(); }

  NearestTile Box(int64_t index) const {
    const int64_t boxes_w = BoxesW(), boxes_h = BoxesH(), boxes_c = BoxesC();
    const auto next = [&index](int64_t boxes) {
      const int64_t at = index % boxes;
      index /= boxes;
      return at;
    };
    int64_t c0 = channels_first ? next(boxes_c) * channels : 0;
    const int64_t at_w = next(boxes_w);
    const int64_t i0 = next(boxes_h) * rows;
    if (!channels_first) c0 = next(boxes_c) * channels;
    return {.n = index,
            .c0 = c0,
            .c1 = std::min(c0 + channels, c),
            .i0 = i0,
            .i1 = std::min(i0 + rows, h),
            .j0 = at_w * columns,
            .j1 = at_w + 1 == boxes_w ? w : (at_w + 1) * columns};
  }
};

// Makes the system provide the pages of a tile's destinations from `first` on, unless they are
// spread over more than twice their memory.
template <class T>
void ProvideTile(T* first, const NearestTile& box, const std::array<int64_t, 4>& stride) {
  const int64_t channels = box.c1 - box.c0;
  const int64_t rows = box.i1 - box.i0;
  const int64_t columns = box.j1 - box.j0;
  const int64_t reach =
      (channels - 1) * stride[1] + (rows - 1) * stride[2] + (columns - 1) * stride[3] + 1;
  if (reach <= 2 * channels * rows * columns) ProvidePages(first, first + reach);
}

// Bytes read and written by one tile. Small enough to divide work among threads, large enough that
// the loop over tiles and the cuts through rows cost little.
inline constexpr int64_t kNearestTileBytes = int64_t{64} << 10;

// Bytes that a row of `elements` elements moves. At most 2^40, which is as good as any row that
// cannot be cut.
inline int64_t RowBytes(double elements, int64_t element_bytes) {
  constexpr double kMost = static_cast<double>(int64_t{1} << 40);
  return static_cast<int64_t>(std::min(elements * static_cast<double>(element_bytes), kMost));
}

// Cuts (n, c, h, w) so that a tile moves about kNearestTileBytes; `row_bytes`: bytes that one
// destination row moves. Columns are cut at multiples of `step` only.
inline NearestTiling CutNearest(int64_t n, int64_t c, int64_t h, int64_t w, int64_t row_bytes,
                                int64_t step) {
  NearestTiling t{.n = n, .c = c, .h = h, .w = w, .columns = w};
  row_bytes = std::max<int64_t>(row_bytes, 1);
  if (row_bytes > 2 * kNearestTileBytes) {
    const double share = static_cast<double>(kNearestTileBytes) / static_cast<double>(row_bytes);
    const auto columns = static_cast<int64_t>(static_cast<double>(w) * share);
    t.columns = std::min(w, (columns / step + 1) * step);
  } else {
    t.rows = std::clamp<int64_t>(kNearestTileBytes / row_bytes, 1, h);
    if (t.rows == h) t.channels = std::clamp<int64_t>(kNearestTileBytes / (row_bytes * h), 1, c);
  }
  const int64_t boxes = std::max<int64_t>(t.Boxes(), 1);
  const double bytes = static_cast<double>(row_bytes) * static_cast<double>(n * c * h);
  t.grain = 1 + static_cast<int64_t>(static_cast<double>(kGrainBytes) /
                                     (bytes / static_cast<double>(boxes) + 1));
  return t;
}

// True if every destination row starts a multiple of a cache line after the first. A line in which
// a row ends would get both kinds of stores, which is far slower than either kind.
inline bool HasWholeLines(const NearestSide& to, size_t inner_axis, int64_t element_size) {
  const std::array<int64_t, 4> extent = {to.n, to.c, to.h, to.w};
  for (size_t axis = 0; axis < 4; ++axis) {
    if (axis == inner_axis || extent[axis] == 1) continue;
    if (to.stride[axis] * element_size % 64 != 0) return false;
  }
  return true;
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_NEAREST_TILES_H_
