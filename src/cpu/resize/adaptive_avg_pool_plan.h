// Which calls of adaptive average pooling the kernels serve, and how they cut the work.
//
// Both directions do the same: destinations add up windows of sources. Forward, sums are divided by
// the extents of their windows; backward, sources are divided before they are added. Neighbours
// with the same window (a run) have the same result, which is computed once: a row of destinations
// has a sum for each run along W, and serves all rows of its runs along D and H.
//
// The lanes of a vector are such rows. Their sources are transposed to columns, some at a time.
// If a few channels lie side by side, each channel's elements are columns. With more channels,
// lanes are channels and nothing is transposed; a gradient's sources are divided in a copy of
// some rows.
#ifndef PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_PLAN_H_
#define PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_PLAN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/kernel.h"
#include "ops/adaptive_avg_pool_params.h"

namespace portacl::cpu {

// Destinations [first, last) that add up the sources [begin, end). Forward, a sum is divided by
// `extent`, the number of sources; backward `extent` is 1.
struct PoolRun {
  int64_t begin;
  int64_t end;
  int64_t first;
  int64_t last;
  double extent;
  int64_t length() const { return end - begin; }
};

struct PoolAxis {
  std::vector<PoolRun> runs;
  bool divides = false;  // an extent is not 1
};

struct AdaptiveAvgPoolGeometry {
  bool channels = false;  // what lanes are; otherwise rows
  int64_t n = 0;
  int64_t c = 0;
  std::array<PoolAxis, 3> axes;  // d, h, w
  double last_extent = 1;        // by which all is divided after that: H and W are one axis
  bool divides = false;          // forward: an extent of an axis is not 1
  bool divides_sources = false;  // backward: the same
  std::array<std::vector<double>, 3> source_extents;  // backward: what each source is divided by
  // All extents are powers of two. Their reciprocals stand in their places: multiplying is faster.
  bool multiplies = false;
  // Channels of a pixel, where its elements are columns: runs along W begin and end at elements.
  int64_t inner = 1;
  std::vector<int32_t> run_of;  // of each destination along W: which sum
  int64_t sources = 0;          // along W
  int64_t group = 1;            // lanes are channels: rows of destinations of a task
  int64_t turned = 0;           // the same, planes as results: runs whose sums become rows together
  int64_t at_a_time = 1;        // lanes are rows: rows of sources that become columns together
  bool halves = false;          // bytes, in windows of 2 x 2: sums of whole numbers
  bool stream = false;          // results past the caches
  std::array<int64_t, 5> from_stride{};
  std::array<int64_t, 5> to_stride{};
  int64_t tasks = 0;
  int slots = 1;  // threads that may work at a time
  // Scratch: a chunk of columns, then the sums of a row; divided sources; or sums of channels.
  uint64_t slot_bytes = 0;

  int64_t rows() const { return static_cast<int64_t>(axes[0].runs.size() * axes[1].runs.size()); }
};

struct AdaptiveAvgPoolPlan : base::PathPlan<AdaptiveAvgPoolGeometry> {};

// Numbers in a chunk of columns, and vectors of channels that are added up at a time.
inline constexpr int64_t kPoolChunk = 4096;
inline constexpr int64_t kPoolVectors = 8;

// `lanes` of a vector. Null if too few lanes would be used, tables would be too large, or float32
// cannot hold the sums of bytes.
std::optional<AdaptiveAvgPoolPlan> PlanAdaptiveAvgPool(const ops::AdaptiveAvgPoolParams& params,
                                                       int64_t lanes);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_PLAN_H_
