// Plans RoiAlign and makes a roi's tables. Plain C++: coordinates have the bits of
// ops/roi_align_params.h on every instruction set.
#include "cpu/detection/roi_align_plan.h"
#include "base/checked.h"
#include "base/round_up.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dispatch.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Geometry = RoiAlignGeometry;
using ops::RoiAlignParams;

constexpr int64_t kLine = 64;
constexpr int64_t kGrain = 1 << 16;  // outputs times rows of taps worth a second thread
constexpr int64_t kMostBytes = int64_t{1} << 30;  // of a part of the workspace

// The largest number of taps that the bins of an axis list. A sample has two taps. Without a fixed
// number of samples, bins lie side by side, and their samples are at most one element apart.
int64_t MostTaps(int64_t bins, int64_t samples, int64_t extent) {
  if (samples == 0) return extent + 3 * bins;
  return bins * std::min(2 * samples, extent);
}

int64_t TableBytes(const RoiAlignParams& p, const Geometry& g, int64_t size) {
  const int64_t begins = p.pooled_height + 1 + p.pooled_width + 1;
  const int64_t indices = begins + g.y_taps + 2 * g.x_taps;
  return kLine + indices * 4 + (g.y_taps + g.x_taps + 1) * size;
}

int SlotsOf(const RoiAlignParams& p) {
  const int64_t work =
      base::SaturatedProduct({p.rois, p.channels, p.pooled_height, p.pooled_width});
  return work < kGrain ? 1 : runtime::NumThreads();
}

// Parts of an image's block of channels: enough for all slots.
int64_t PartsOf(const RoiAlignParams& p, const Geometry& g) {
  if (g.slots <= 1) return 1;
  const int64_t most = p.backward ? p.height : std::max<int64_t>(p.rois, 1);
  return std::min(most, base::DivideUp(2 * g.slots, p.images * g.blocks));
}

// Cuts the sums of a gradient into some owners for each slot. An owner of rows lists the points of
// all bins that touch its rows. To cut rows costs less than to cut channels, unless an owner has so
// few rows that a bin has many owners.
void CutSums(const RoiAlignParams& p, int64_t block, RoiPointsGeometry* g) {
  constexpr int64_t kOwners = 3, kBlocks = 4, kFewestRows = 16;  // of a slot; of an owner
  if (g->slots <= 1) {
    g->part = g->pixel;
    return;
  }
  g->part = std::min(g->pixel, kBlocks * block);
  const int64_t parts = base::DivideUp(g->pixel, g->part);
  g->strips = std::clamp<int64_t>(base::DivideUp(kOwners * g->slots, parts), 1,
                                  base::DivideUp(p.height, kFewestRows));
}

// Maxima and rotated rois.
std::optional<RoiAlignPlan> PlanPoints(const RoiAlignParams& p) {
  constexpr int64_t kBlock = 16;
  RoiAlignPlan plan;
  auto& g = plan.way.emplace<RoiPointsGeometry>();
  constexpr int64_t kWinners = 10;                   // of RoiPointsPart: pixels
  constexpr int64_t kMostCopies = int64_t{4} << 30;  // bytes: of the image and its sums
  const int64_t pixels = base::SaturatedProduct({p.height, p.width});
  const int64_t bins = base::SaturatedProduct({p.pooled_height, p.pooled_width});
  if (pixels >= (1 << 30) || bins >= (1 << 30) || p.channels >= (1 << 30)) return std::nullopt;
  g.pixel = base::DivideUp(std::max<int64_t>(p.channels, 1), kBlock) * kBlock;
  const auto& s = p.image.stride;
  g.copies = p.backward ? !p.rotated : s[1] != 1 || s[2] != p.width * s[3];
  const int64_t size = SumBytes(p.dtype), pixel_bytes = g.pixel * size;
  const int64_t images = int64_t{g.copies} + int64_t{p.backward};
  const int64_t slot = base::SaturatedProduct({bins + kWinners, pixel_bytes});
  if (base::SaturatedProduct({images, pixels, pixel_bytes}) > kMostCopies || slot > kMostBytes) {
    return std::nullopt;
  }
  g.slots = static_cast<int>(std::min<int64_t>(kMostBytes / slot, SlotsOf(p)));
  CutSums(p, kBlock, &g);
  Booking booking;
  const auto take = [&](int64_t elements, int copies) {
    return booking.Take(elements * g.pixel, size, copies);
  };
  if (g.copies) g.image = take(pixels, 1);
  if (p.backward) g.sums = take(pixels, 1);
  g.zeros = take(1, 1);
  g.points = booking.Take(kRoiPointRoom * kArraysOfPoint, size, g.slots);
  g.tile = take(bins, g.slots);
  if (p.backward) (p.rotated ? g.outside : g.winners) = take(p.rotated ? 1 : kWinners, g.slots);
  if (!booking.fits()) return std::nullopt;
  plan.workspace_size = booking.size();
  return plan;
}

}  // namespace

std::optional<RoiAlignPlan> PlanRoiAlign(const RoiAlignParams& p, int64_t lanes) {
  constexpr int64_t kMostExtent = 1 << 24;
  if (p.mode != ops::RoiAlignMode::kAverage || p.rotated) return PlanPoints(p);
  for (const int64_t extent : {p.height, p.width, p.pooled_height, p.pooled_width}) {
    if (extent > kMostExtent) return std::nullopt;
  }
  const int64_t size = SumBytes(p.dtype);
  RoiAlignPlan plan;
  auto& g = std::get<Geometry>(plan.way);
  g.y_taps = MostTaps(p.pooled_height, p.samples, p.height);
  g.x_taps = MostTaps(p.pooled_width, p.samples, p.width);
  g.blocks = base::DivideUp(p.channels, lanes);
  g.slots = SlotsOf(p);
  g.parts = PartsOf(p, g);
  if (g.y_taps > kMostExtent || g.x_taps > kMostExtent) return std::nullopt;
  const int64_t table = TableBytes(p, g, size), vector = lanes * size;
  const int64_t strip_rows = p.backward ? base::DivideUp(p.height, g.parts) : p.height;
  const int64_t slab = base::SaturatedProduct({strip_rows, p.width, vector});
  const int64_t tile = base::SaturatedProduct({p.pooled_height, p.pooled_width, vector});
  if (slab > kMostBytes || tile > kMostBytes || p.rois > kMostBytes / table) return std::nullopt;
  // Forward, a slot holds a whole plane: few threads work on a large one.
  const int64_t extent = std::max(p.height, p.width);
  const int64_t row = std::min(g.x_taps, p.width) * vector;
  const int64_t slot = extent * (size + 4) + p.height + slab + row + tile;
  g.slots = std::clamp<int>(static_cast<int>(kMostBytes / slot), 1, g.slots);
  if (!p.backward) g.parts = PartsOf(p, g);
  Booking booking;
  g.tables = booking.Take(table, 1, p.rois);
  g.numbers = booking.Take(extent, size + 4, g.slots);
  g.rows = booking.Take(p.height, 1, g.slots);
  g.slab = booking.Take(slab, 1, g.slots);
  g.row = booking.Take(row, 1, g.slots);
  g.tile = booking.Take(tile, 1, g.slots);
  plan.workspace_size = booking.size();
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
  *head = {roi.image, 0, roi.count};
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

// Each coordinate rises or falls along either axis, so the samples at the ends lie outermost.
template <class F>
RoiBox BoxOf(const RoiAlignParams& p, const ops::Roi<F>& roi, const RoiBins& bins) {
  const RoiBox whole{0, p.height, 0, p.width}, none{0, 0, 0, 0};
  if (roi.image < 0 || roi.y.samples == 0 || roi.x.samples == 0) return none;
  constexpr F kFar = std::numeric_limits<F>::infinity();
  F low_y = kFar, high_y = -kFar, low_x = kFar, high_x = -kFar;
  for (const bool last_y : {false, true}) {
    for (const bool last_x : {false, true}) {
      const F along_y = roi.y.At(last_y ? bins.last_row : bins.top, last_y ? roi.y.samples - 1 : 0);
      const F along_x =
          roi.x.At(last_x ? bins.last_column : bins.left, last_x ? roi.x.samples - 1 : 0);
      const F y = p.rotated ? roi.RotatedY(along_y, along_x) : along_y;
      const F x = p.rotated ? roi.RotatedX(along_y, along_x) : along_x;
      if (std::isnan(y) || std::isnan(x)) return whole;
      low_y = std::min(low_y, y);
      high_y = std::max(high_y, y);
      low_x = std::min(low_x, x);
      high_x = std::max(high_x, x);
    }
  }
  const auto end = [](F at, int64_t extent) {
    const F most = static_cast<F>(extent);
    return std::min(extent - 1, static_cast<int64_t>(std::clamp(at, F{0}, most)));
  };
  if (high_y < -1 || high_x < -1 || low_y > static_cast<F>(p.height) ||
      low_x > static_cast<F>(p.width)) {
    return none;
  }
  return {end(low_y, p.height), std::min(end(high_y, p.height) + 2, p.height), end(low_x, p.width),
          std::min(end(high_x, p.width) + 2, p.width)};
}

template RoiBox BoxOf<float>(const RoiAlignParams&, const ops::Roi<float>&, const RoiBins&);
template RoiBox BoxOf<double>(const RoiAlignParams&, const ops::Roi<double>&, const RoiBins&);
template struct RoiTable<float>;
template struct RoiTable<double>;
template void RoiTable<float>::Make<float>(const RoiAlignParams&, int64_t, void*);
template void RoiTable<float>::Make<base::Float16>(const RoiAlignParams&, int64_t, void*);
template void RoiTable<float>::Make<base::BFloat16>(const RoiAlignParams&, int64_t, void*);
template void RoiTable<double>::Make<double>(const RoiAlignParams&, int64_t, void*);

}  // namespace portacl::cpu
