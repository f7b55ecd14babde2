// Kernel plan of RoiAlign: which calls the kernels serve, how they cut work, and a roi's tables.
//
// Averages of upright rois: a task has an image and as many of its channels as a vector has
// lanes. It takes rois one by one: some of them (forward), or all of them on a strip of rows
// (backward). Maxima and rotated rois: a task has one roi (forward), or some channels and all
// rois (backward).
#ifndef PORTACL_CPU_DETECTION_ROI_ALIGN_PLAN_H_
#define PORTACL_CPU_DETECTION_ROI_ALIGN_PLAN_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/checked.h"
#include "base/kernel.h"
#include "base/round_up.h"
#include "cpu/detection/booking.h"
#include "ops/roi_align_params.h"
#include "runtime/parallel.h"

namespace portacl::cpu {

struct RoiAlignGeometry {
  int slots = 1;       // threads that may work at a time
  int64_t blocks = 0;  // blocks of channels
  int64_t parts = 1;   // parts of the rois (forward) or strips of rows (backward)
  int64_t y_taps = 0;  // most taps along H of all bins of a roi
  int64_t x_taps = 0;  // most taps along W
  Part tables;         // for each roi: a RoiTable
  Part weights;        // for each slot, as all parts below: memory to make a table
  Part rows;           // flags of named rows
  Part slab;           // the task's channels of the image, as pixels (backward: their sums)
  Part row;            // a row of a roi's columns
  Part tile;           // bins of a roi
};

struct RoiPointsGeometry {
  int slots = 1;
  int64_t pixel = 0;   // elements from pixel to pixel, and from bin to bin
  bool copies = true;  // images are copied; else the channels of a pixel must be adjacent
  int64_t part = 0;    // channels of an owner of sums
  int64_t strips = 1;  // owners of a channel: each has some rows
  Part image;          // pixels of an image
  Part sums;           // sums of the image's gradient
  Part zeros;          // a pixel of zeros
  Part points;         // for each slot, as all parts below
  Part tile;           // bins of a roi
  Part winners;        // for each channel: maximum, and its point's number, keys, weights
  Part outside;        // a pixel for sums of other owners
};

struct RoiAlignPlan : base::PathPlan<RoiAlignGeometry, RoiPointsGeometry> {};

inline constexpr int64_t kMostRoiBytes = int64_t{1} << 30;  // most bytes of a part of the workspace
inline constexpr int64_t kRoiPointRoom = 128;               // points that are listed at a time
inline constexpr int64_t kTableLine = 64;                   // bytes before the arrays of a table

// Most taps in the lists of an axis' bins. A sample has two taps. If the number of samples is not
// fixed, bins are adjacent, and samples are at most one element apart.
inline int64_t MostRoiTaps(int64_t bins, int64_t samples, int64_t extent) {
  if (samples == 0) return extent + 3 * bins;
  return bins * std::min(2 * samples, extent);
}

inline int64_t TableBytes(const ops::RoiAlignParams& p, const RoiAlignGeometry& g, int64_t size) {
  const int64_t begins = p.pooled_height + 1 + p.pooled_width + 1;
  const int64_t indices = begins + g.y_taps + 2 * g.x_taps;
  return kTableLine + indices * 4 + (g.y_taps + g.x_taps + 1) * size;
}

inline int SlotsOf(const ops::RoiAlignParams& p) {
  constexpr int64_t kGrain = 1 << 16;  // outputs times rows of taps that are worth a second thread
  const int64_t work =
      base::SaturatedProduct({p.rois, p.channels, p.pooled_height, p.pooled_width});
  return work < kGrain ? 1 : runtime::NumThreads();
}

// Returns the parts of an image's block of channels: enough parts for all slots.
inline int64_t PartsOf(const ops::RoiAlignParams& p, const RoiAlignGeometry& g) {
  if (g.slots <= 1) return 1;
  const int64_t most = p.backward ? p.height : std::max<int64_t>(p.rois, 1);
  return std::min(most, base::DivideUp(2 * g.slots, p.images * g.blocks));
}

// Cuts the sums of a gradient into some owners for each slot. An owner of rows lists the points of
// all bins that touch its rows. Cutting rows costs less than cutting channels, unless owners have
// so few rows that a bin has many owners.
inline void CutSums(const ops::RoiAlignParams& p, int64_t block, RoiPointsGeometry* g) {
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

// Makes the kernel plan for maxima and rotated rois.
inline std::optional<RoiAlignPlan> PlanPoints(const ops::RoiAlignParams& p) {
  constexpr int64_t kBlock = 16;
  RoiAlignPlan plan;
  auto& g = plan.way.emplace<RoiPointsGeometry>();
  constexpr int64_t kWinners = 10;                   // pixels of `winners`
  constexpr int64_t kMostCopies = int64_t{4} << 30;  // bytes of the image and its sums
  const int64_t pixels = base::SaturatedProduct({p.height, p.width});
  const int64_t bins = base::SaturatedProduct({p.pooled_height, p.pooled_width});
  if (pixels >= (1 << 30) || bins >= (1 << 30) || p.channels >= (1 << 30)) return std::nullopt;
  g.pixel = base::DivideUp(std::max<int64_t>(p.channels, 1), kBlock) * kBlock;
  const auto& s = p.image.stride;
  g.copies = p.backward ? !p.rotated : s[1] != 1 || s[2] != p.width * s[3];
  const int64_t size = SumBytes(p.dtype), pixel_bytes = g.pixel * size;
  const int64_t images = int64_t{g.copies} + int64_t{p.backward};
  const int64_t slot = base::SaturatedProduct({bins + kWinners, pixel_bytes});
  if (base::SaturatedProduct({images, pixels, pixel_bytes}) > kMostCopies || slot > kMostRoiBytes) {
    return std::nullopt;
  }
  g.slots = static_cast<int>(std::min<int64_t>(kMostRoiBytes / slot, SlotsOf(p)));
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

// Makes the kernel plan. `lanes`: channels computed together. No plan if tables, slabs or copies
// would be too large.
inline std::optional<RoiAlignPlan> PlanRoiAlign(const ops::RoiAlignParams& p, int64_t lanes) {
  constexpr int64_t kMostExtent = 1 << 24;
  if (p.mode != ops::RoiAlignMode::kAverage || p.rotated) return PlanPoints(p);
  for (const int64_t extent : {p.height, p.width, p.pooled_height, p.pooled_width}) {
    if (extent > kMostExtent) return std::nullopt;
  }
  const int64_t size = SumBytes(p.dtype);
  RoiAlignPlan plan;
  auto& g = std::get<RoiAlignGeometry>(plan.way);
  g.y_taps = MostRoiTaps(p.pooled_height, p.samples, p.height);
  g.x_taps = MostRoiTaps(p.pooled_width, p.samples, p.width);
  g.blocks = base::DivideUp(p.channels, lanes);
  g.slots = SlotsOf(p);
  g.parts = PartsOf(p, g);
  if (g.y_taps > kMostExtent || g.x_taps > kMostExtent) return std::nullopt;
  const int64_t table = TableBytes(p, g, size), vector = lanes * size;
  const int64_t strip_rows = p.backward ? base::DivideUp(p.height, g.parts) : p.height;
  const int64_t slab = base::SaturatedProduct({strip_rows, p.width, vector});
  const int64_t tile = base::SaturatedProduct({p.pooled_height, p.pooled_width, vector});
  if (slab > kMostRoiBytes || tile > kMostRoiBytes || p.rois > kMostRoiBytes / table)
    return std::nullopt;
  // Forward, each slot has a whole plane, so few threads work on a large plane.
  const int64_t extent = std::max(p.height, p.width);
  const int64_t row = std::min(g.x_taps, p.width) * vector;
  const int64_t slot = extent * size + p.height + slab + row + tile;
  g.slots = std::clamp<int>(static_cast<int>(kMostRoiBytes / slot), 1, g.slots);
  if (!p.backward) g.parts = PartsOf(p, g);
  Booking booking;
  g.tables = booking.Take(table, 1, p.rois);
  g.weights = booking.Take(extent, size, g.slots);
  g.rows = booking.Take(p.height, 1, g.slots);
  g.slab = booking.Take(slab, 1, g.slots);
  g.row = booking.Take(row, 1, g.slots);
  g.tile = booking.Take(tile, 1, g.slots);
  plan.workspace_size = booking.size();
  return plan;
}

// Tables of a roi, in memory that the plan booked. Bin p of an axis has the taps [begin[p], begin[p
// + 1]). Columns of the roi: its taps along W, each once.
template <class F>
struct RoiTable {
  RoiTable(const ops::RoiAlignParams& p, const RoiAlignGeometry& g, void* memory)
      : head(static_cast<Head*>(memory)),
        y_begin(reinterpret_cast<int32_t*>(static_cast<char*>(memory) + kTableLine)),
        x_begin(y_begin + p.pooled_height + 1),
        y(x_begin + p.pooled_width + 1),
        x(y + g.y_taps),
        column(x + g.x_taps) {
    static_assert(sizeof(Head) <= kTableLine);
    const auto end = reinterpret_cast<uintptr_t>(column + g.x_taps);
    y_weight = reinterpret_cast<F*>((end + sizeof(F) - 1) / sizeof(F) * sizeof(F));
    x_weight = y_weight + g.y_taps;
  }

  // Makes the tables. `weights` has room for a row or a column of an image.
  template <class T>
  void Make(const ops::RoiAlignParams& p, int64_t n, F* weights) {
    const ops::Roi<F> roi = ops::RoiAt<T>(p, n);
    *head = {roi.image, 0, roi.count};
    if (roi.image < 0) return;
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
    if (taps == 0 || y_begin[p.pooled_height] == 0) {
      head->image = -1;
      return;
    }
    std::copy_n(x, taps, column);
    std::sort(column, column + taps);
    int32_t* const end = std::unique(column, column + taps);
    head->columns = end - column;
    for (int32_t i = 0; i < taps; ++i) {
      x[i] = static_cast<int32_t>(std::lower_bound(column, end, x[i]) - column);
    }
  }

  struct Head {
    int64_t image;  // -1: the roi contributes nothing
    int64_t columns;
    F count;  // samples of a bin
  };
  Head* head;
  int32_t* y_begin;
  int32_t* x_begin;
  int32_t* y;       // for each tap along H: its row
  int32_t* x;       // for each tap along W: number of its column
  int32_t* column;  // for each column of the roi: column of the image, ascending
  F* y_weight;
  F* x_weight;
};

// ---- samples one by one -------------------------------------------------------------------------

// Rows [top, bottom) and columns [left, right) of an image.
struct RoiBox {
  int64_t top, bottom, left, right;
  bool empty() const { return top >= bottom || left >= right; }
};

// Bins of a roi: rows [top, last_row], columns [left, last_column].
struct RoiBins {
  int64_t top, last_row, left, last_column;
};

// Returns a box with all pixels that the bins read. Each coordinate rises or falls along either
// axis, so the samples at the ends lie outermost.
template <class F>
RoiBox BoxOf(const ops::RoiAlignParams& p, const ops::Roi<F>& roi, const RoiBins& bins) {
  if (roi.image < 0 || roi.y.samples == 0 || roi.x.samples == 0) return {0, 0, 0, 0};
  std::array<F, 4> ys{}, xs{};
  for (size_t i = 0; i < 4; ++i) {
    const bool top = i < 2, left = i % 2 == 0;
    const F y = top ? roi.y.At(bins.top, 0) : roi.y.At(bins.last_row, roi.y.samples - 1);
    const F x = left ? roi.x.At(bins.left, 0) : roi.x.At(bins.last_column, roi.x.samples - 1);
    ys[i] = roi.RotatedY(y, x);
    xs[i] = roi.RotatedX(y, x);
    if (std::isnan(ys[i]) || std::isnan(xs[i])) return {0, p.height, 0, p.width};
  }
  const auto pixel = [](F at, int64_t extent) {
    const F inside = std::clamp(at, F{0}, static_cast<F>(extent));
    return std::min(extent - 1, static_cast<int64_t>(inside));
  };
  const auto [low_y, high_y] = std::minmax_element(ys.begin(), ys.end());
  const auto [low_x, high_x] = std::minmax_element(xs.begin(), xs.end());
  if (*high_y < -1 || *high_x < -1 || *low_y > static_cast<F>(p.height) ||
      *low_x > static_cast<F>(p.width)) {
    return {0, 0, 0, 0};
  }
  return {pixel(*low_y, p.height), std::min(pixel(*high_y, p.height) + 2, p.height),
          pixel(*low_x, p.width), std::min(pixel(*high_x, p.width) + 2, p.width)};
}
template <class F>
RoiBox BoxOf(const ops::RoiAlignParams& p, const ops::Roi<F>& roi) {
  return BoxOf(p, roi, {0, p.pooled_height - 1, 0, p.pooled_width - 1});
}

// Lists the samples of a bin. Calls use(listed points, whether these are the bin's first). Each
// sample has four pixels (numbers in the image) and weights. A sample with key -1 is 0.
template <class F, class List, class Use>
void ForRoiPoints(const ops::RoiAlignParams& p, const ops::Roi<F>& roi, int64_t ph, int64_t pw,
                  List list, const Use& use) {
  int64_t count = 0;
  bool first = true;
  const auto flush = [&] {
    if (count > 0) use(count, first);
    first = false;
    count = 0;
  };
  const auto add = [&](const ops::RoiCorners<F>& corners) {
    using Key = typename List::Index;
    for (size_t i = 0; i < 4; ++i) {
      const int64_t key = corners.at[i][0] * p.width + corners.at[i][1];
      list.key[i][count] = corners.count == 0 ? Key{-1} : static_cast<Key>(key);
      list.weight[i][count] = corners.weight[i];
    }
    if (++count == kRoiPointRoom) flush();
  };
  if (p.rotated) {
    ops::ForRotatedSamples(roi, ph, pw, add);
  } else {
    ops::ForUprightSamples(roi, ph, pw, add);
  }
  flush();
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_DETECTION_ROI_ALIGN_PLAN_H_
