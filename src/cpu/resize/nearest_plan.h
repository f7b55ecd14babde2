// What a nearest forward kernel decides in its plan. Plain C++, the same for every
// instruction set: a target is described by its vector length.
#ifndef PORTACL_CPU_RESIZE_NEAREST_PLAN_H_
#define PORTACL_CPU_RESIZE_NEAREST_PLAN_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/kernel.h"
#include "cpu/resize/nearest_tiles.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::cpu {

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

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_NEAREST_PLAN_H_
