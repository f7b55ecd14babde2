// Plans of RoiAlign and the making of a roi's tables. Plain C++: coordinates have the bits of
// ops/roi_align_params.h on every instruction set.
#include "cpu/detection/roi_align_plan.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/dispatch.h"
#include "base/round_up.h"
#include "cpu/machine/grain.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Geometry = RoiAlignGeometry;
using ops::RoiAlignParams;

constexpr int64_t kLine = 64;
constexpr int64_t kGrain = 1 << 16;  // outputs times rows of taps worth a second thread
constexpr int64_t kMostBytes = int64_t{1} << 30;  // of a part of the workspace

// What the bins of an axis name at most: a sample has two taps, and bins without a fixed number of
// samples lie side by side, with samples no further apart than elements.
int64_t MostTaps(int64_t bins, int64_t samples, int64_t extent) {
  if (samples == 0) return extent + 3 * bins;
  return bins * std::min(2 * samples, extent);
}

uint64_t WholeLines(uint64_t bytes) { return base::RoundUp(bytes, kLine); }

uint64_t TableBytes(const RoiAlignParams& p, const Geometry& g, int64_t size) {
  const int64_t begins = p.pooled_height + 1 + p.pooled_width + 1;
  const int64_t indices = begins + g.y_taps + 2 * g.x_taps;
  return WholeLines(static_cast<uint64_t>(kLine + indices * 4 + (g.y_taps + g.x_taps + 1) * size));
}

// Parts of an image's block of channels: enough for all slots.
int64_t PartsOf(const RoiAlignParams& p, const Geometry& g) {
  if (g.slots <= 1) return 1;
  const int64_t most = p.backward ? p.height : std::max<int64_t>(p.rois, 1);
  return std::min(most, DivideUp(2 * g.slots, p.images * g.blocks));
}

// The parts of a slot. Null where they are too large.
bool CutSlot(const RoiAlignParams& p, int64_t lanes, int64_t size, Geometry* g) {
  const int64_t strip_rows = p.backward ? DivideUp(p.height, g->parts) : p.height;
  int64_t slab = 0;
  const bool fits = base::CheckedMul(strip_rows, p.width, &slab) &&
                    base::CheckedMul(slab, lanes * size, &slab) && slab <= kMostBytes &&
                    p.pooled_height <= kMostBytes / (p.pooled_width * lanes * size) &&
                    p.width <= kMostBytes / (lanes * size);
  if (!fits) return false;
  uint64_t end = WholeLines(static_cast<uint64_t>(std::max(p.height, p.width) * (size + 4)));
  const auto take = [&end](int64_t bytes) {
    const uint64_t begin = end;
    end += WholeLines(static_cast<uint64_t>(bytes));
    return begin;
  };
  g->rows = take(p.height);
  g->slab = take(slab);
  g->row = take(std::min(g->x_taps, p.width) * lanes * size);
  g->tile = take(p.pooled_height * p.pooled_width * lanes * size);
  g->slot_bytes = end;
  return true;
}

}  // namespace

std::optional<RoiAlignPlan> PlanRoiAlign(const RoiAlignParams& p, int64_t lanes) {
  constexpr int64_t kMostExtent = 1 << 24;
  if (p.mode != ops::RoiAlignMode::kAverage || p.rotated) return std::nullopt;
  for (const int64_t extent : {p.height, p.width, p.pooled_height, p.pooled_width}) {
    if (extent > kMostExtent) return std::nullopt;
  }
  const int64_t size = p.dtype == base::DType::kDouble ? 8 : 4;
  RoiAlignPlan plan;
  auto& g = std::get<Geometry>(plan.way);
  g.y_taps = MostTaps(p.pooled_height, p.samples, p.height);
  g.x_taps = MostTaps(p.pooled_width, p.samples, p.width);
  g.blocks = DivideUp(p.channels, lanes);
  int64_t work = 0;
  const bool counted = base::CheckedMul(p.rois, p.channels, &work) &&
                       base::CheckedMul(work, p.pooled_height * p.pooled_width, &work);
  g.slots = counted && work < kGrain ? 1 : runtime::NumThreads();
  g.parts = PartsOf(p, g);
  if (g.y_taps > kMostExtent || g.x_taps > kMostExtent) return std::nullopt;
  g.table_bytes = TableBytes(p, g, size);
  if (p.rois > kMostBytes / static_cast<int64_t>(g.table_bytes)) return std::nullopt;
  if (!CutSlot(p, lanes, size, &g)) return std::nullopt;
  // Forward, a slot holds a whole plane: few threads work on a large one.
  const int64_t most_slots = kMostBytes / static_cast<int64_t>(g.slot_bytes);
  g.slots = std::clamp<int>(static_cast<int>(most_slots), 1, g.slots);
  if (!p.backward) g.parts = PartsOf(p, g);
  g.slots_begin = WholeLines(static_cast<uint64_t>(p.rois) * g.table_bytes);
  plan.workspace_size = g.slots_begin + static_cast<uint64_t>(g.slots) * g.slot_bytes;
  return plan;
}

template <class F>
RoiTable<F>::RoiTable(const RoiAlignParams& p, const Geometry& g, void* memory)
    : head(static_cast<Head*>(memory)),
      y_begin(reinterpret_cast<int32_t*>(static_cast<char*>(memory) + kLine)),
      x_begin(y_begin + p.pooled_height + 1),
      y(x_begin + p.pooled_width + 1),
      x(y + g.y_taps),
      column(x + g.x_taps) {
  static_assert(sizeof(Head) <= kLine);
  const auto end = reinterpret_cast<uintptr_t>(column + g.x_taps);
  y_weight = reinterpret_cast<F*>((end + sizeof(F) - 1) / sizeof(F) * sizeof(F));
  x_weight = y_weight + g.y_taps;
}

template <class F>
template <class T>
void RoiTable<F>::Make(const RoiAlignParams& p, int64_t n, void* memory) {
  const ops::Roi<F> roi = ops::RoiAt<T>(p, n);
  *head = {roi.image, 0, roi.count()};
  if (roi.image < 0) return;
  F* const weights = static_cast<F*>(memory);
  const auto fill = [weights](const ops::RoiAxis<F>& axis, int64_t bins, int32_t* begin,
                              int32_t* element, F* weight) {
    ops::RoiTaps<F> taps(weights, axis.extent);
    int32_t count = 0;
    for (int64_t bin = 0; bin < bins; ++bin) {
      begin[bin] = count;
      taps.Make(axis, bin);
      taps.ForEach([&](int64_t at, F of) {
        element[count] = static_cast<int32_t>(at);
        weight[count++] = of;
      });
    }
    begin[bins] = count;
  };
  fill(roi.y, p.pooled_height, y_begin, y, y_weight);
  fill(roi.x, p.pooled_width, x_begin, x, x_weight);
  const int32_t taps = x_begin[p.pooled_width];
  auto* const number = reinterpret_cast<int32_t*>(weights + std::max(p.height, p.width));
  if (taps == 0 || y_begin[p.pooled_height] == 0) {
    head->image = -1;
    return;
  }
  const auto [low, high] = std::minmax_element(x, x + taps);
  const int32_t first = *low;
  std::fill_n(number, *high - first + 1, -1);
  for (int32_t i = 0; i < taps; ++i) number[x[i] - first] = 0;
  const int32_t end = *high - first + 1;
  for (int32_t i = 0; i < end; ++i) {
    if (number[i] < 0) continue;
    column[head->columns] = first + i;
    number[i] = static_cast<int32_t>(head->columns++);
  }
  for (int32_t i = 0; i < taps; ++i) x[i] = number[x[i] - first];
}

template struct RoiTable<float>;
template struct RoiTable<double>;
template void RoiTable<float>::Make<float>(const RoiAlignParams&, int64_t, void*);
template void RoiTable<float>::Make<base::Float16>(const RoiAlignParams&, int64_t, void*);
template void RoiTable<float>::Make<base::BFloat16>(const RoiAlignParams&, int64_t, void*);
template void RoiTable<double>::Make<double>(const RoiAlignParams&, int64_t, void*);

}  // namespace portacl::cpu
