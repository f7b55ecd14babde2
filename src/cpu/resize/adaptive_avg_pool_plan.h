// Kernel plan of adaptive average pooling: which calls the kernels serve, and how they cut work.
//
// Both directions add windows of sources to destinations. Forward, a sum is divided by the extents
// of its window; backward, sources are divided before they are added. Neighbours with the same
// window form a run: their result is computed once. So a row of destinations has one sum for each
// run along W, and serves all rows with the same runs along D and H.
//
// Each lane of a vector computes such a row. So some sources at a time are transposed: a vector
// then holds one column of all lanes' rows. If pixels have few channels, each element of a pixel
// is a column. With more channels, lanes are channels, and nothing is transposed; a gradient then
// divides its sources in a copy of some rows.
#ifndef PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_PLAN_H_
#define PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_PLAN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/kernel.h"
#include "ops/adaptive_avg_pool_params.h"

namespace portacl::cpu {

// Destinations [first, last) that all add the sources [begin, end). Forward, the sum is divided by
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
  bool divides = false;  // some extent is not 1
};

struct AdaptiveAvgPoolGeometry {
  bool channels = false;  // lanes are channels; otherwise rows
  int64_t n = 0;
  int64_t c = 0;
  std::array<PoolAxis, 3> axes;  // d, h, w
  double last_extent = 1;        // divides everything last: the width, if H and W are one axis
  bool divides = false;          // forward: some extent is not 1
  bool divides_sources = false;  // backward: some extent is not 1
  std::array<std::vector<double>, 3> source_extents;  // backward: extents that divide each source
  // All extents are powers of two, and are replaced by reciprocals: multiplying is faster.
  bool multiplies = false;
  // Elements of a pixel that are columns (its channels); runs along W then count elements.
  int64_t inner = 1;
  std::vector<int32_t> run_of;  // for each destination along W: the number of its sum
  int64_t sources = 0;          // along W
  int64_t group = 1;            // lanes are channels: rows of destinations per task
  int64_t turned = 0;           // lanes are channels, results planes: runs transposed together
  int64_t at_a_time = 1;        // lanes are rows: rows of sources transposed together
  bool halves = false;          // bytes, windows of 2 x 2: sums are integers
  bool stream = false;          // results go past the caches
  std::array<int64_t, 5> from_stride{};
  std::array<int64_t, 5> to_stride{};
  int64_t tasks = 0;
  int slots = 1;  // threads that may work at a time
  // Scratch of a slot: columns and sums of a row; or divided sources; or sums of channels.
  uint64_t slot_bytes = 0;

  int64_t rows() const { return static_cast<int64_t>(axes[0].runs.size() * axes[1].runs.size()); }
};

struct AdaptiveAvgPoolPlan : base::PathPlan<AdaptiveAvgPoolGeometry> {};

// Numbers in a chunk of columns; vectors of channels that are summed together.
inline constexpr int64_t kPoolChunk = 4096;
inline constexpr int64_t kPoolVectors = 8;

// Makes the kernel plan. `lanes`: lanes of a vector. No plan if too few lanes would be used, tables
// would be too large, or float32 could not hold the sums of bytes.
std::optional<AdaptiveAvgPoolPlan> PlanAdaptiveAvgPool(const ops::AdaptiveAvgPoolParams& params,
                                                       int64_t lanes);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_ADAPTIVE_AVG_POOL_PLAN_H_
