// What the kernels of nearest and nearest-exact decide in their plans, and how they cut their
// destinations into tiles. Plain C++, the same for every instruction set: a target is described by
// its vector lengths.
#ifndef PORTACL_CPU_RESIZE_NEAREST_PLAN_H_
#define PORTACL_CPU_RESIZE_NEAREST_PLAN_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/kernel.h"
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

// ---- forward ------------------------------------------------------------------------------------

// In the order of NearestForwardPlan::kPaths.
enum class NearestForwardPath {
  kCopy,      // columns, or dense pixels, are copied one to one
  kPermute,   // a vector of destinations is a permutation of one vector of sources
  kPixels,    // C contiguous: whole pixels are copied
  kElements,  // any strides, element by element
};

// Rows of at most so many bytes are staged; of longer ones few lines are shared.
inline constexpr int64_t kMostStagedBytes = 4096;

struct NearestForwardKernelPlan {
  NearestForwardPath path = NearestForwardPath::kElements;
  bool stream = false;  // too large for the caches: write past them
  bool stage = false;   // the same by lines that are put together from rows that end inside them
  int64_t dense_bytes = 0;  // of output where its elements fill their memory: see ArePagesMissing
  NearestTiling tiling;
  std::array<int64_t, 4> from_stride{};
  std::array<int64_t, 4> to_stride{};
  // Rows of all planes are numbered through: row r is row r % rows of plane r / rows. On the
  // permute path, small planes that follow each other are rows of a single plane.
  int64_t rows = 1;
  bool pairs = false;      // neighbouring rows have one source
  int64_t from_depth = 0;  // strides of planes
  int64_t to_depth = 0;
  std::vector<int64_t> source_plane;   // of each destination plane
  std::vector<int64_t> source_row;     // ... row of a plane; empty: the row of the same number
  std::vector<int64_t> source_column;  // of each destination column; kPixels, kElements

  // The permute path works on rows of elements: columns or, if pixels are small and dense, columns
  // times channels. Block b holds the `lanes` destination elements from BlockStart(b) on, a
  // permutation of one vector of sources; the last one ends with the row and overlaps its
  // neighbour. Equal ratios repeat: among the first `repeated` blocks, `period` successive blocks
  // read the same vector.
  //
  //   block b < repeated: index row b % period, sources from b / period * lanes on
  //   others:             index row min(period, repeated) + b - repeated, sources from its window
  //   on
  int64_t row = 0;  // destination elements
  int64_t lanes = 0;
  int64_t blocks = 0;
  int64_t period = 0;
  int64_t repeated = 0;
  int64_t source_elements = 0;  // of a source row
  bool partial = false;         // a row is shorter than a vector
  std::vector<int64_t> window;  // one entry per index row; 0 for rows that repeat
  std::vector<int8_t> index;    // place in the vector of sources

  size_t RowOfBlock(int64_t block) const {
    return static_cast<size_t>(std::min(period, repeated) + block - repeated);
  }
  int64_t BlockStart(int64_t block) const {
    return std::min(block * lanes, std::max<int64_t>(row - lanes, 0));
  }
};

struct NearestForwardPlan : base::PathPlan<NearestForwardKernelPlan> {
  static constexpr std::array kPaths = {"copy", "permute", "channels_last", "elements"};
};

// Chooses the path, makes the tables and cuts the tiles: none only if `path` does not serve the
// call. `lanes`: elements of a vector that one lookup can permute.
std::optional<NearestForwardPlan> PlanNearestForward(const ops::UpsampleNearestExactParams& params,
                                                     int64_t element_size, int64_t lanes,
                                                     bool can_stream, std::string_view path);

// ---- gradients ----------------------------------------------------------------------------------

enum class NearestBackwardPath {
  kRatio,    // x1 ... x4
  kPermute,  // windows of 1 ... 4 vectors
  kWide,
  kPixels,  // channels_last
};

// Stack of a thread while it packs a tile whose rows are not contiguous.
inline constexpr int64_t kNearestPackedSourceBytes = int64_t{32} << 10;
inline constexpr int64_t kNearestPackedSumBytes = int64_t{8} << 10;

// Channels of a pixel that a channels_last tile takes at most: its sums stay in L1.
inline constexpr int64_t kNearestMaxPixel = 1024;

// The vector lengths of an instruction set, in compute-type lanes.
struct NearestBackwardTarget {
  int64_t lanes;              // of a full vector
  int64_t min_ratio_columns;  // columns that the paths x1 ... x4 need
  bool can_stream;            // has non-temporal stores
};

struct NearestBackwardKernelPlan {
  NearestBackwardPath path = NearestBackwardPath::kRatio;
  bool by_row = false;  // too large for the caches: read memory strictly forward, fetch ahead
  bool stream = false;  // ... and write past them
  // Of gradInput where its elements fill their memory, else 0: see ArePagesMissing.
  int64_t dense_bytes = 0;
  bool pack_from = false;  // rows of gradOutput are not contiguous
  bool pack_to = false;    // rows of gradInput are not contiguous; kPixels: its channels are not
  // Not empty if few destinations have a source, in one column each: each source column's
  // destination column; if joined > 0, each source's destination in a row of `joined` planes.
  std::vector<int64_t> place;
  int64_t joined = 0;  // planes that follow each other on both sides are taken so many at a time
  NearestTiling tiling;
  std::array<int64_t, 4> from_stride{};  // gradOutput
  std::array<int64_t, 4> to_stride{};    // gradInput

  // The permute paths work on rows of columns or, if pixels are small and dense (flat), of columns
  // times channels. Block b holds the `lanes` destination columns from BlockColumn(b) on. Its
  // sources lie in a window of `vectors` vectors from source column window[b] on.
  //
  //   index[(b * vectors + phase) * lanes + lane] = place in the window of the phase-th source of
  //                                                 column BlockColumn(b) + lane, or -1
  bool flat = false;
  int64_t columns = 0;  // of gradInput
  int64_t sources = 0;  // of a row of gradOutput
  int64_t lanes = 0;
  int64_t vectors = 0;
  bool partial = false;  // a row is shorter than a block or a window
  bool full = false;     // every column has vectors - 1 or `vectors` sources; not partial
  std::vector<int64_t> window;
  std::vector<int8_t> index;

  // The last block ends with the row and overlaps its neighbour.
  int64_t BlockColumn(int64_t block) const {
    return std::clamp<int64_t>(columns - lanes, 0, block * lanes);
  }

  // The source columns [first, end) that a tile of destination columns [j0, j1) may read.
  std::pair<int64_t, int64_t> SourceColumns(const ops::NearestAxis& w, int64_t j0,
                                            int64_t j1) const {
    if (vectors == 0) return {w.begin[j0], w.begin[j1]};
    const auto first = static_cast<size_t>(j0 / lanes);
    const auto last = static_cast<size_t>((j1 - 1) / lanes);
    return {window[first], std::min(sources, window[last] + vectors * lanes)};
  }
};

// "packed" are all others but "wide", from or to rows on the stack.
struct NearestBackwardPlan : base::PathPlan<NearestBackwardKernelPlan> {
  static constexpr std::array kPaths = {
      "x1", "x2", "x3", "x4", "permute", "wide", "channels_last", "packed", "scatter"};
};

// Chooses the path, makes the tables and cuts the tiles of a plane of destinations. None if `path`
// does not serve the call.
std::optional<NearestBackwardPlan> PlanNearestBackward(
    const ops::UpsampleNearestExactBackwardParams& params, int64_t element_size,
    const NearestBackwardTarget& target, std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_NEAREST_PLAN_H_
