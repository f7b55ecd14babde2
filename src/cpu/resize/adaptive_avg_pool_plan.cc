// Plans of adaptive average pooling: runs of each axis, lanes, tasks.
#include "cpu/resize/adaptive_avg_pool_plan.h"

#include <algorithm>
#include <utility>

#include "base/round_up.h"
#include "cpu/machine/grain.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using ops::AdaptiveAvgPoolParams;
using ops::PoolWindow;
using ops::PoolWindowOf;

PoolAxis AxisOf(const AdaptiveAvgPoolParams& p, size_t axis) {
  const int64_t pooled = p.pooled_extents[axis], image = p.extents[axis];
  const int64_t sources = p.backward ? pooled : image, destinations = p.backward ? image : pooled;
  PoolAxis made;
  for (int64_t i = 0; i < destinations; ++i) {
    const PoolWindow window = PoolWindowOf(i, destinations, sources);
    if (!made.runs.empty() && made.runs.back().begin == window.begin &&
        made.runs.back().end == window.end) {
      ++made.runs.back().last;
      continue;
    }
    const auto extent = static_cast<double>(window.extent());
    made.runs.push_back({window.begin, window.end, i, i + 1, extent});
    made.divides = made.divides || (!p.backward && extent != 1);
  }
  return made;
}

uint64_t WholeLines(uint64_t bytes) { return base::RoundUp(bytes, 64); }

// What the sources of a gradient are divided by; of channels in a copy. False if it is too large.
bool SetSources(const AdaptiveAvgPoolParams& p, uint64_t size, AdaptiveAvgPoolGeometry* g) {
  const auto& [depth, height, width] = p.pooled_extents;
  bool divides = false;
  for (size_t axis = 0; axis < 3; ++axis) {
    for (int64_t o = 0; o < p.pooled_extents[axis]; ++o) {
      const int64_t extent = PoolWindowOf(o, p.pooled_extents[axis], p.extents[axis]).extent();
      g->source_extents[axis].push_back(static_cast<double>(extent));
      g->axes[axis].divides = g->axes[axis].divides || extent != 1;
    }
    divides = divides || g->axes[axis].divides;
  }
  if (!divides) return true;
  g->divides_sources = !g->channels;
  if (!g->channels) return true;
  constexpr int64_t kMostElements = int64_t{1} << 48;
  int64_t elements = p.n * p.c;
  for (const int64_t extent : p.pooled_extents) {
    if (elements > kMostElements / extent) return false;
    elements *= extent;
  }
  const int64_t area = height * width, volume = depth * area;
  g->divided_bytes = WholeLines(static_cast<uint64_t>(elements) * size);
  g->from_stride = {volume * p.c, 1, area * p.c, width * p.c, p.c};
  return true;
}

// One axis of H and W, if windows have whole rows that stand one behind the other.
void MergeRows(const AdaptiveAvgPoolParams& p, AdaptiveAvgPoolGeometry* g) {
  const int64_t width = p.extents[2];
  PoolAxis merged = g->axes[1];
  for (PoolRun& run : merged.runs) {
    (p.backward ? run.first : run.begin) *= width;
    (p.backward ? run.last : run.end) *= width;
  }
  g->axes[2] = std::move(merged);
  if (g->divides_sources) {
    g->source_extents[2] = std::move(g->source_extents[1]);
    g->source_extents[1] = {1};
  }
  g->axes[1] = {{{0, 1, 0, 1, 1}}, false};
  g->last_extent = static_cast<double>(width);
  auto& pooled_stride = p.backward ? g->from_stride : g->to_stride;
  pooled_stride[4] = pooled_stride[3];
}

bool HasWholeRows(const AdaptiveAvgPoolParams& p, const AdaptiveAvgPoolGeometry& g, int64_t lanes) {
  return p.pooled_extents[2] == 1 && p.extents[1] > 1 &&
         p.image_stride[3] == p.extents[2] * p.image_stride[4] &&
         (p.pooled_extents[1] == 1 ||
          p.n * p.c * static_cast<int64_t>(g.axes[0].runs.size()) >= lanes);
}

int64_t WindowOfBytes(const AdaptiveAvgPoolParams& p) {
  int64_t elements = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    const bool whole = p.extents[axis] % p.pooled_extents[axis] == 0;
    elements *= p.extents[axis] / p.pooled_extents[axis] + (whole ? 0 : 2);
    elements = std::min(elements, int64_t{1} << 30);
  }
  return elements;
}

}  // namespace

std::optional<AdaptiveAvgPoolPlan> PlanAdaptiveAvgPool(const AdaptiveAvgPoolParams& p,
                                                       int64_t lanes) {
  constexpr int64_t kMostExtent = 1 << 24;
  // Up to here a quotient is further from a whole and a half than float32 is from it.
  constexpr int64_t kMostBytes = 1 << 14;
  constexpr uint64_t kMostSums = uint64_t{1} << 30;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (std::max(p.extents[axis], p.pooled_extents[axis]) > kMostExtent) return std::nullopt;
  }
  const bool bytes = p.dtype == base::DType::kUInt8;
  if (bytes && WindowOfBytes(p) > kMostBytes) return std::nullopt;
  AdaptiveAvgPoolPlan plan;
  auto& g = std::get<AdaptiveAvgPoolGeometry>(plan.way);
  g.n = p.n;
  g.c = p.c;
  g.from_stride = p.backward ? p.pooled_stride : p.image_stride;
  g.to_stride = p.backward ? p.image_stride : p.pooled_stride;
  g.channels = p.c > 1 && p.image_stride[1] == 1;
  const uint64_t size = p.dtype == base::DType::kDouble ? 8 : 4;
  for (size_t axis = 0; axis < 3; ++axis) {
    g.axes[axis] = AxisOf(p, axis);
    g.divides = g.divides || g.axes[axis].divides;
  }
  if (p.backward && !SetSources(p, size, &g)) return std::nullopt;
  if (HasWholeRows(p, g, lanes)) MergeRows(p, &g);
  const std::vector<PoolRun>& runs = g.axes[2].runs;
  if (runs.back().last > kMostExtent || runs.back().end > kMostExtent) return std::nullopt;
  for (size_t r = 0; r < runs.size(); ++r) {
    g.run_of.resize(static_cast<size_t>(runs[r].last), static_cast<int32_t>(r));
  }
  g.sources = runs.back().end;
  g.tasks = g.channels ? p.n * g.rows() : DivideUp(p.n * p.c * g.rows(), lanes);
  if (!g.channels && 4 * p.n * p.c * g.rows() < lanes) return std::nullopt;
  const uint64_t sums = runs.size() * static_cast<uint64_t>(lanes) * size;
  if (sums > kMostSums) return std::nullopt;
  if (!g.channels) g.slot_bytes = WholeLines(kPoolChunk * size + sums);
  const double elements =
      static_cast<double>(p.n * p.c) *
      (static_cast<double>(p.extents[0] * p.extents[1]) * static_cast<double>(p.extents[2]));
  const bool small = elements * static_cast<double>(bytes ? 1 : size) < double{kGrainBytes};
  g.slots = small ? 1 : runtime::NumThreads();
  plan.workspace_size = g.divided_bytes + static_cast<uint64_t>(g.slots) * g.slot_bytes;
  return plan;
}

}  // namespace portacl::cpu
