// Kernel plans of adaptive average pooling: runs of each axis, lanes, tasks.
#include "cpu/resize/adaptive_avg_pool_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/round_up.h"
#include "cpu/machine/machine.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using ops::AdaptiveAvgPoolParams;
using ops::PoolWindow;
using ops::PoolWindowOf;

constexpr int64_t kMostExtent = 1 << 24;

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
    const double extent = p.backward ? 1 : static_cast<double>(window.extent());
    made.runs.push_back({window.begin, window.end, i, i + 1, extent});
    made.divides = made.divides || extent != 1;
  }
  return made;
}

// Sets the extents that divide the sources of a gradient.
void SetSources(const AdaptiveAvgPoolParams& p, AdaptiveAvgPoolGeometry* g) {
  for (size_t axis = 0; axis < 3; ++axis) {
    for (int64_t o = 0; o < p.pooled_extents[axis]; ++o) {
      const int64_t extent = PoolWindowOf(o, p.pooled_extents[axis], p.extents[axis]).extent();
      g->source_extents[axis].push_back(static_cast<double>(extent));
      g->axes[axis].divides = g->axes[axis].divides || extent != 1;
    }
    g->divides_sources = g->divides_sources || g->axes[axis].divides;
  }
}

// Replaces all extents by their reciprocals, if every extent is a power of two.
void InvertExtents(AdaptiveAvgPoolGeometry* g) {
  const auto for_all = [g](const auto& visit) {
    visit(&g->last_extent);
    for (size_t axis = 0; axis < 3; ++axis) {
      for (PoolRun& run : g->axes[axis].runs) visit(&run.extent);
      for (double& extent : g->source_extents[axis]) visit(&extent);
    }
  };
  g->multiplies = true;
  for_all([g](const double* extent) {
    g->multiplies = g->multiplies && std::has_single_bit(static_cast<uint64_t>(*extent));
  });
  if (g->multiplies) for_all([](double* extent) { *extent = 1 / *extent; });
}

// Sets how many destination rows of one run along D form a task, and the scratch for their divided
// sources. Returns false if the scratch would be too large.
bool SetGroups(const AdaptiveAvgPoolParams& p, uint64_t size, AdaptiveAvgPoolGeometry* g) {
  constexpr double kDivided = 128 << 10;  // bytes, of the second cache level
  constexpr double kMostDivided = double{1u << 31};
  const std::vector<PoolRun>& runs = g->axes[1].runs;
  const auto count = static_cast<int64_t>(runs.size());
  int64_t deep = 1;
  for (const PoolRun& run : g->axes[0].runs) deep = std::max(deep, run.length());
  const double row =
      static_cast<double>(p.c) * static_cast<double>(size) * static_cast<double>(g->sources * deep);
  const auto rows =
      static_cast<double>(base::DivideUp(static_cast<int64_t>(g->source_extents[1].size()), count));
  const int64_t most = base::DivideUp(p.n * g->rows(), 4 * g->slots);
  g->group =
      std::clamp<int64_t>(static_cast<int64_t>(kDivided / (row * rows)), 1, std::min(count, most));
  int64_t tall = 0;
  for (int64_t h = 0; h < count; h += g->group) {
    const auto last = static_cast<size_t>(std::min(count, h + g->group) - 1);
    tall = std::max(tall, runs[last].end - runs[static_cast<size_t>(h)].begin);
  }
  const double bytes = row * static_cast<double>(tall);
  g->slot_bytes = base::WholeLines(static_cast<uint64_t>(std::min(bytes, kMostDivided)));
  return bytes < kMostDivided;
}

// Merges H and W to one axis. Windows must have whole rows, and rows must be adjacent.
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

// Makes each element of a pixel a column, if pixels have few channels. Results may be planes.
void FlattenPixels(AdaptiveAvgPoolGeometry* g) {
  g->inner = std::exchange(g->c, 1);
  for (PoolRun& run : g->axes[2].runs) {
    run.begin *= g->inner;
    run.end *= g->inner;
  }
  g->from_stride[4] = 1;
  if (g->to_stride[1] == 1) g->to_stride[4] = 1;
  std::vector<double> extents;
  for (const double extent : g->source_extents[2]) {
    extents.insert(extents.end(), static_cast<size_t>(g->inner), extent);
  }
  g->source_extents[2] = std::move(extents);
}

// Whether FlattenPixels() is better than channels as lanes, which would not fill vectors.
bool HasFlatPixels(const AdaptiveAvgPoolParams& p, const AdaptiveAvgPoolGeometry& g,
                   int64_t lanes) {
  const bool fits = std::max(p.extents[2], p.pooled_extents[2]) <= kMostExtent / p.c;
  return fits && p.c < lanes && p.n * g.rows() >= lanes / 2 && p.image_stride[4] == p.c &&
         (p.pooled_stride[1] == 1 ? p.pooled_stride[4] == p.c : !p.backward);
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

// Sets for each destination along W the sum that it gets: its run and its channel in the pixel.
void SetRunOf(AdaptiveAvgPoolGeometry* g) {
  const std::vector<PoolRun>& runs = g->axes[2].runs;
  for (size_t r = 0; r < runs.size(); ++r) {
    for (int64_t w = runs[r].first; w < runs[r].last; ++w) {
      for (int64_t c = 0; c < g->inner; ++c) {
        g->run_of.push_back(static_cast<int32_t>(static_cast<int64_t>(r) * g->inner + c));
      }
    }
  }
  g->sources = runs.back().end;
}

// Makes rows the lanes. Returns false if there are too few rows, or their sums are too large.
bool SetRows(const AdaptiveAvgPoolParams& p, uint64_t size, int64_t lanes, int64_t rows,
             AdaptiveAvgPoolGeometry* g) {
  constexpr uint64_t kMostSums = uint64_t{1} << 30;
  if (4 * rows < lanes) return false;
  g->tasks = base::DivideUp(rows, lanes);
  const std::array<int64_t, 3>& small = p.pooled_extents;
  constexpr int64_t kVector = 32;  // half the bytes of the longest vector
  g->halves = p.dtype == base::DType::kUInt8 && !p.backward && small[2] >= kVector &&
              p.extents == std::array{small[0], 2 * small[1], 2 * small[2]} &&
              (g->inner == 1 || (g->inner == 3 && g->to_stride[1] == 1)) &&
              g->from_stride[4] == 1 && g->to_stride[4] == 1 && g->last_extent == 1;
  const uint64_t sums = g->axes[2].runs.size() * static_cast<uint64_t>(g->inner * lanes) * size;
  if (sums > kMostSums) return false;
  g->slot_bytes = base::WholeLines(kPoolChunk * size + sums);
  if (!p.backward && g->from_stride[3] == g->sources && g->from_stride[4] == 1) {
    g->at_a_time = std::max<int64_t>(1, kPoolChunk / lanes / g->sources);
  }
  return true;
}

// Sets how many runs are summed before they are transposed, if pixels become planes.
void SetTurned(const AdaptiveAvgPoolParams& p, uint64_t size, int64_t lanes,
               AdaptiveAvgPoolGeometry* g) {
  constexpr uint64_t kSums = 64 << 10, kMostSums = 1 << 20;  // bytes
  if (p.backward || g->to_stride[1] == 1 || g->to_stride[4] != 1 || p.c < lanes) return;
  if (static_cast<uint64_t>(p.c) > kMostSums / size / static_cast<uint64_t>(lanes)) return;
  const auto runs = static_cast<int64_t>(g->axes[2].runs.size());
  g->turned = std::min(runs, std::max(lanes, static_cast<int64_t>(kSums / size) / p.c));
  g->stream = false;
}

}  // namespace

std::optional<AdaptiveAvgPoolPlan> PlanAdaptiveAvgPool(const AdaptiveAvgPoolParams& p,
                                                       int64_t lanes) {
  // With so many sources, float32 still tells quotients from the nearest half: rounding is right.
  constexpr int64_t kMostBytes = 1 << 14;
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
  if (p.backward) SetSources(p, &g);
  if (HasWholeRows(p, g, lanes)) {
    MergeRows(p, &g);
  } else if (g.channels && HasFlatPixels(p, g, lanes)) {
    g.channels = false;
    FlattenPixels(&g);
  }
  const std::vector<PoolRun>& runs = g.axes[2].runs;
  if (runs.back().last > kMostExtent || runs.back().end > kMostExtent) return std::nullopt;
  SetRunOf(&g);
  InvertExtents(&g);
  const auto bytes_of = [&](const std::array<int64_t, 3>& extents) {
    return static_cast<double>(p.n * p.c) * static_cast<double>(bytes ? 1 : size) *
           (static_cast<double>(extents[0] * extents[1]) * static_cast<double>(extents[2]));
  };
  g.slots = bytes_of(p.extents) < double{kGrainBytes} ? 1 : runtime::NumThreads();
  const uint64_t line =
      size * (g.channels ? static_cast<uint64_t>(p.c) : static_cast<uint64_t>(g.run_of.size()));
  g.stream = HasStreamingStores() && line % 64 == 0 &&
             bytes_of(p.backward ? p.extents : p.pooled_extents) >
                 static_cast<double>(LastLevelCacheBytes());
  const int64_t rows = g.n * g.c * g.rows();
  if (g.channels) {
    SetTurned(p, size, lanes, &g);
    g.slot_bytes =
        base::WholeLines(static_cast<uint64_t>(p.c * std::max<int64_t>(1, g.turned)) * size);
    if (g.divides_sources && !SetGroups(p, size, &g)) return std::nullopt;
    const auto groups = base::DivideUp(static_cast<int64_t>(g.axes[1].runs.size()), g.group);
    g.tasks = p.n * static_cast<int64_t>(g.axes[0].runs.size()) * groups;
    g.slots = static_cast<int>(std::clamp<int64_t>(g.tasks, 1, g.slots));
  } else {
    if (!SetRows(p, size, lanes, rows, &g)) return std::nullopt;
  }
  plan.workspace_size = static_cast<uint64_t>(g.slots) * g.slot_bytes;
  return plan;
}

}  // namespace portacl::cpu
