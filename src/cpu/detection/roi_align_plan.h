// Which calls of RoiAlign the kernels serve, how they cut the work, and the tables of a roi.
//
// Averages of upright rois: a task has some channels of an image, as many as a vector has lanes,
// and takes the image's rois one after the other (forward: a part of the rois; backward: all rois,
// on a strip of rows). Maxima and rotated rois: a task of the function has one roi; a task of the
// gradient has some channels and all rois.
#ifndef PORTACL_CPU_DETECTION_ROI_ALIGN_PLAN_H_
#define PORTACL_CPU_DETECTION_ROI_ALIGN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/kernel.h"
#include "cpu/detection/booking.h"
#include "ops/roi_align_params.h"

namespace portacl::cpu {

struct RoiAlignGeometry {
  int slots = 1;       // threads that may work at a time
  int64_t blocks = 0;  // of channels
  int64_t parts = 1;   // forward: of rois; backward: strips of rows
  int64_t y_taps = 0;  // that all bins of a roi have at most, along H
  int64_t x_taps = 0;  // the same along W
  Part tables;         // a RoiTable for each roi
  Part numbers;        // for each slot, as the following: room to make a table
  Part rows;           // which rows are named
  Part slab;           // a copy of the task's channels, side by side (backward: their sums)
  Part row;            // a row of a roi's columns
  Part tile;           // the bins of a roi
};

struct RoiPointsGeometry {
  int slots = 1;
  int64_t pixel = 0;   // elements from a pixel, or a bin, to the next
  bool copies = true;  // the images; else all channels of a pixel lie side by side
  int64_t part = 0;    // channels of an owner of sums
  int64_t strips = 1;  // owners of a channel: each has some rows
  Part image;          // the pixels of an image
  Part sums;           // of the image's gradient
  Part zeros;          // a pixel
  Part points;         // for each slot, as the following
  Part tile;           // the bins of a roi
  Part winners;        // for each channel: its maximum, the point's number, its keys and weights
  Part outside;        // a pixel for sums that other owners add
};

struct RoiAlignPlan : base::PathPlan<RoiAlignGeometry, RoiPointsGeometry> {};

// `lanes`: channels that are computed together. Null if tables, slabs or copies would be too
// large.
std::optional<RoiAlignPlan> PlanRoiAlign(const ops::RoiAlignParams& params, int64_t lanes);

// A roi's tables, in memory that the plan booked. Bin p of an axis has the taps [begin[p], begin[p
// + 1]). The roi's columns are its taps along W, each once.
template <class F>
struct RoiTable {
  RoiTable(const ops::RoiAlignParams& p, const RoiAlignGeometry& g, void* memory);

  // `memory`: an element of F and an int32_t for each row or column of an image.
  template <class T>
  void Make(const ops::RoiAlignParams& p, int64_t n, void* memory);

  struct Head {
    int64_t image;  // -1: contributes nothing
    int64_t columns;
    F count;  // samples of a bin
  };
  Head* head;
  int32_t* y_begin;
  int32_t* x_begin;
  int32_t* y;       // of each tap along H: its row
  int32_t* x;       // of each tap along W: the number of its column
  int32_t* column;  // of each column: where it lies in the image, ascending
  F* y_weight;
  F* x_weight;
};

// ---- samples one by one -------------------------------------------------------------------------

// Rows and columns of an image; bottom and right are not in it.
struct RoiBox {
  int64_t top, bottom, left, right;
  bool empty() const { return top >= bottom || left >= right; }
};

// Bins of a roi: rows [top, last_row], columns [left, last_column].
struct RoiBins {
  int64_t top, last_row, left, last_column;
};

// The most that a roi's bins read of its image.
template <class F>
RoiBox BoxOf(const ops::RoiAlignParams& p, const ops::Roi<F>& roi, const RoiBins& bins);
template <class F>
RoiBox BoxOf(const ops::RoiAlignParams& p, const ops::Roi<F>& roi) {
  return BoxOf(p, roi, {0, p.pooled_height - 1, 0, p.pooled_width - 1});
}

constexpr int64_t kRoiPointRoom = 128;  // points that are listed at a time

// Lists the samples of a bin and calls use(points in the list, whether they are the bin's first).
// Each has four pixels, by their numbers in the image, and weights. A sample of key -1 is 0.
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
