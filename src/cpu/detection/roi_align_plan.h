// Which calls of RoiAlign the kernels serve, how they cut the work, and the tables of a roi.
//
// A task is some channels of an image, as many as a vector has lanes: its rois one behind the other
// (forward: a part of them; backward: all of them, on a strip of rows). The workspace holds, each
// part aligned to 64 bytes:
//
//   tables   a RoiTable for each roi
//   slots    for each thread: room to make a table; which rows are named; the slab, a copy of the
//            task's channels in which those of a pixel lie side by side (backward: their sums); a
//            row of a roi's columns; a tile, the bins of a roi
#ifndef PORTACL_CPU_DETECTION_ROI_ALIGN_PLAN_H_
#define PORTACL_CPU_DETECTION_ROI_ALIGN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/kernel.h"
#include "ops/roi_align_params.h"

namespace portacl::cpu {

struct RoiAlignGeometry {
  int slots = 1;             // threads that may work at a time
  int64_t blocks = 0;        // of channels
  int64_t parts = 1;         // forward: of rois; backward: strips of rows
  int64_t y_taps = 0;        // that all bins of a roi have at most, along H
  int64_t x_taps = 0;        // the same along W
  uint64_t table_bytes = 0;  // of a roi
  uint64_t slot_bytes = 0;
  uint64_t slots_begin = 0;  // in the workspace
  uint64_t rows = 0;         // in a slot, as the following
  uint64_t slab = 0;
  uint64_t row = 0;
  uint64_t tile = 0;
};

struct RoiAlignPlan : base::PathPlan<RoiAlignGeometry> {
  const RoiAlignGeometry& geometry() const { return std::get<0>(way); }
};

// `lanes`: channels that are computed together. Null for maxima and rotated rois, and where the
// tables or the slabs would be too large.
std::optional<RoiAlignPlan> PlanRoiAlign(const ops::RoiAlignParams& params, int64_t lanes);

// What a roi needs, in memory that the plan booked. Bin p of an axis has the taps [begin[p],
// begin[p + 1]). The roi's columns are its taps along W, each once.
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

 private:
  void NumberColumns(int32_t* number);
};

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_DETECTION_ROI_ALIGN_PLAN_H_
