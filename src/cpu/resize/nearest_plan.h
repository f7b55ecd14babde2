// Kernel plans of nearest and nearest-exact and of their gradients, and the cut of destinations
// into tiles. Plain C++, the same for every instruction set. Of a target, plans know only the
// lengths of its vectors.
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

// Extents and strides of one side of a call: the side of sources or of destinations.
struct NearestSide {
  int64_t n, c, h, w;
  std::array<int64_t, 4> stride;
};

// Gives each axis of extent 1 the stride of a contiguous tensor with the same layout. Nobody uses
// the given stride, but it could hide that the axes around it are contiguous.
inline void NormalizeUnitAxes(NearestSide& side) {
  auto& s = side.stride;
  if (side.w == 1) s[3] = 1;
  if (side.h == 1) s[2] = s[3] * side.w;
  if (side.c == 1) s[1] = s[2] * side.h;
  if (side.n == 1) s[0] = s[1] * side.c;
}

// Merges D and H to one axis with the rows of `depth` planes, `stride` apart. Returns false if the
// rows have no common stride; then the stride of rows holds inside a plane.
inline bool MergePlanes(NearestSide& side, int64_t depth, int64_t stride) {
  if (depth == 1) return true;
  const bool merged = side.h == 1 || stride == side.stride[2] * side.h;
  if (side.h == 1) side.stride[2] = stride;
  side.h *= depth;
  return merged;
}

// Merges N and C to one axis, if both sides allow it.
inline void MergeImages(NearestSide& a, NearestSide& b) {
  if (a.stride[0] != a.stride[1] * a.c || b.stride[0] != b.stride[1] * b.c) return;
  for (NearestSide* side : {&a, &b}) {
    side->c *= side->n;
    side->n = 1;
    side->stride[0] = side->stride[1] * side->c;
  }
}

// Turns rows of dense pixels into rows of elements, with one channel.
inline void TakePixelsAsElements(NearestSide& side) {
  side.w *= side.c;
  side.c = 1;
  side.stride[3] = 1;
}

// Calls use(element number) for each plane and for all combinations of the places along D, H and
// W.
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

// Whether a side's planes, `elements` each, lie in memory without gaps. A volume has `depth`
// slices, `by_depth` apart.
inline bool FollowEachOther(const NearestSide& side, int64_t depth, int64_t by_depth,
                            int64_t elements) {
  return side.n == 1 && side.stride[3] == 1 && side.stride[2] == side.w &&
         side.stride[1] == elements && (depth == 1 || by_depth * depth == elements);
}

// Elements of a plane or a volume, as a double: an expanded side may have more than 2^63
// elements.
inline double Elements(int64_t d, int64_t h, int64_t w) {
  return static_cast<double>(d) * static_cast<double>(h) * static_cast<double>(w);
}

// ---- tiles --------------------------------------------------------------------------------------

// The tile that one task computes: a box of destinations, channels [c0, c1) of image n, rows [i0,
// i1), columns [j0, j1).
struct NearestTile {
  int64_t n, c0, c1, i0, i1, j0, j1;
};

// Cuts an (n, c, h, w) destination into boxes of (1, channels, rows, columns). The last box of an
// axis takes the rest: fewer channels or rows, but more columns. So no box is narrower than
// `columns`.
struct NearestTiling {
  int64_t n = 0, c = 0, h = 0, w = 0;
  int64_t channels = 1, rows = 1, columns = 1;  // of a box
  int64_t grain = 1;                            // boxes worth a thread
  bool channels_first = false;  // channels are the dense axis: number boxes along C first

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

// Makes the system provide the pages of a tile's destinations, unless the tile is spread over more
// than twice its bytes. `first`: its first element.
template <class T>
void ProvideTile(T* first, const NearestTile& box, const std::array<int64_t, 4>& stride) {
  const int64_t channels = box.c1 - box.c0;
  const int64_t rows = box.i1 - box.i0;
  const int64_t columns = box.j1 - box.j0;
  const int64_t reach =
      (channels - 1) * stride[1] + (rows - 1) * stride[2] + (columns - 1) * stride[3] + 1;
  if (reach <= 2 * channels * rows * columns) ProvidePages(first, first + reach);
}

// Bytes that one tile reads and writes: few enough to share work among threads, enough that the
// loop over tiles and cuts through rows cost little.
inline constexpr int64_t kNearestTileBytes = int64_t{64} << 10;

// Returns the bytes of a row of `elements` elements, at most 2^40. Longer rows are cut in the same
// way.
inline int64_t RowBytes(double elements, int64_t element_bytes) {
  constexpr double kMost = static_cast<double>(int64_t{1} << 40);
  return static_cast<int64_t>(std::min(elements * static_cast<double>(element_bytes), kMost));
}

// Cuts (n, c, h, w) into tiles that move about kNearestTileBytes. `row_bytes`: bytes that one
// destination row moves. Columns are cut only at multiples of `step`.
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

// Whether all rows start at multiples of a cache line from the first row. If a row ended inside a
// line, the line would get streaming and plain stores: far slower than either.
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
  kCopy,      // copies columns or dense pixels one to one
  kPermute,   // permutes one vector of sources to a vector of destinations
  kPixels,    // C contiguous: copies whole pixels
  kElements,  // copies single elements with any strides
};

// Only rows of up to so many bytes are staged: of longer rows, few lines are shared.
inline constexpr int64_t kMostStagedBytes = 4096;

struct NearestForwardKernelPlan {
  NearestForwardPath path = NearestForwardPath::kElements;
  bool stream = false;      // writes past the caches, because the tensors are larger
  bool stage = false;       // joins rows that end inside lines, and streams whole lines
  int64_t dense_bytes = 0;  // of output if its elements have no gaps, else 0: see ArePagesMissing()
  NearestTiling tiling;
  std::array<int64_t, 4> from_stride{};
  std::array<int64_t, 4> to_stride{};
  // Rows are numbered through all planes: row r is row r % rows of plane r / rows. On the path
  // "permute", adjacent small planes count as rows of one plane.
  int64_t rows = 1;
  bool pairs = false;      // each source row feeds several adjacent rows
  int64_t from_depth = 0;  // strides between planes
  int64_t to_depth = 0;
  std::vector<int64_t> source_plane;   // for each destination plane
  std::vector<int64_t> source_row;     // for each row of a plane; empty: the same row
  std::vector<int64_t> source_column;  // for each destination column; kPixels, kElements

  // The path "permute" has rows of elements: columns or, with small dense pixels, columns times
  // channels. Block b has `lanes` destination elements from BlockStart(b) on, a permutation of
  // one vector of sources. The last block ends with the row and overlaps its neighbour. If
  // all columns have the same ratio, the permutations repeat: of the first `repeated` blocks, each
  // `period` in a row read the same vector.
  //
  //   block b < repeated: index row b % period; sources from b / period * lanes on
  //   other blocks:       index row min(period, repeated) + b - repeated; sources from the window
  //                       of this index row on
  int64_t row = 0;  // elements of a destination row
  int64_t lanes = 0;
  int64_t blocks = 0;
  int64_t period = 0;
  int64_t repeated = 0;
  int64_t source_elements = 0;  // elements of a source row
  bool partial = false;         // a row is shorter than a vector
  std::vector<int64_t> window;  // for each index row: where its sources start; 0 if rows repeat
  std::vector<int8_t> index;    // places in the vector of sources

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

// Chooses the path, makes the tables and cuts the tiles. No plan if `path` does not serve the call.
// `lanes`: elements of a vector that one lookup can permute.
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

// Bytes on a thread's stack while it packs a tile with rows that are not contiguous.
inline constexpr int64_t kNearestPackedSourceBytes = int64_t{32} << 10;
inline constexpr int64_t kNearestPackedSumBytes = int64_t{8} << 10;

// Most channels of a tile on the path "channels_last": its sums stay in L1.
inline constexpr int64_t kNearestMaxPixel = 1024;

// An instruction set: lengths of its vectors, in lanes of the compute type.
struct NearestBackwardTarget {
  int64_t lanes;              // of a full vector
  int64_t min_ratio_columns;  // fewest columns for the paths x1 ... x4
  bool can_stream;            // has non-temporal stores
};

struct NearestBackwardKernelPlan {
  NearestBackwardKernelPlan() {}  // "= default" would clear all of it first
  NearestBackwardPath path = NearestBackwardPath::kRatio;
  bool by_row = false;  // larger than the caches: reads strictly forward and fetches ahead
  bool stream = false;  // larger than the caches: writes past them
  // Bytes of gradInput if its elements have no gaps, else 0: see ArePagesMissing().
  int64_t dense_bytes = 0;
  bool pack_from = false;  // rows of gradOutput are not contiguous
  bool pack_to = false;    // rows of gradInput (kPixels: channels) are not contiguous
  // Not empty if few destinations have sources, one column each. Then it has the destination column
  // of each source column. If joined > 0: the destination of each source in `joined` planes.
  std::vector<int64_t> place;
  int64_t joined = 0;  // so many adjacent planes are computed together; 0: none
  NearestTiling tiling;
  std::array<int64_t, 4> from_stride{};  // gradOutput
  std::array<int64_t, 4> to_stride{};    // gradInput

  // The paths "permute" have rows of columns or, if `flat`, of columns times channels (small dense
  // pixels). Block b has `lanes` destination columns from BlockColumn(b) on. Its sources are in a
  // window of `vectors` vectors from source column window[b] on.
  //
  //   index[(b * vectors + phase) * lanes + lane] = place in the window of source number `phase`
  //                                                 of column BlockColumn(b) + lane; -1: none
  bool flat = false;
  int64_t columns = 0;  // of gradInput
  int64_t sources = 0;  // of a row of gradOutput
  int64_t lanes = 0;
  int64_t vectors = 0;
  bool partial = false;  // a row is shorter than a block or a window
  bool full = false;     // every column has vectors - 1 or `vectors` sources; not partial
  std::vector<int64_t> window;
  std::vector<int8_t> index;

  // First column of a block. The last block ends with the row and overlaps its neighbour.
  int64_t BlockColumn(int64_t block) const {
    return std::clamp<int64_t>(columns - lanes, 0, block * lanes);
  }

  // Returns the source columns [first, end) that destination columns [j0, j1) may read.
  std::pair<int64_t, int64_t> SourceColumns(const ops::NearestAxis& w, int64_t j0,
                                            int64_t j1) const {
    if (vectors == 0) return {w.begin[j0], w.begin[j1]};
    const auto first = static_cast<size_t>(j0 / lanes);
    const auto last = static_cast<size_t>((j1 - 1) / lanes);
    return {window[first], std::min(sources, window[last] + vectors * lanes)};
  }
};

// "packed" is every path but "wide" with rows that are packed on the stack.
struct NearestBackwardPlan : base::PathPlan<NearestBackwardKernelPlan> {
  NearestBackwardPlan() {}  // as above
  static constexpr std::array kPaths = {
      "x1", "x2", "x3", "x4", "permute", "wide", "channels_last", "packed", "scatter"};
};

// Chooses the path, makes the tables and cuts the tiles of a plane of destinations. No plan if
// `path` does not serve the call.
std::optional<NearestBackwardPlan> PlanNearestBackward(
    const ops::UpsampleNearestExactBackwardParams& params, int64_t element_size,
    const NearestBackwardTarget& target, std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_NEAREST_PLAN_H_
