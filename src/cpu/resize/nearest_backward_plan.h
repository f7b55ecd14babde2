// What a nearest backward kernel decides in its plan. Plain C++, the same for every
// instruction set: a target is described by its vector lengths.
#ifndef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_PLAN_H_
#define PORTACL_CPU_RESIZE_NEAREST_BACKWARD_PLAN_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/kernel.h"
#include "cpu/resize/nearest_tiles.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::cpu {

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

#endif  // PORTACL_CPU_RESIZE_NEAREST_BACKWARD_PLAN_H_
