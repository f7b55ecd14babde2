// Which calls of multi-scale deformable attention the kernels serve, and how they cut the work.
//
// A row is a head of a query: its points, level by level. A tile is some rows, whose points are
// located and weighed together. The workspace begins with a PointLevels: the extents and starts of
// each point's level, for the points of a row and kLanesMost more of the rows behind it.
#ifndef PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_PLAN_H_
#define PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_PLAN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/kernel.h"
#include "cpu/detection/booking.h"
#include "ops/ms_deform_attn_params.h"

namespace portacl::cpu {

struct MsDeformAttnGeometry {
  static constexpr int64_t kLanesMost = 16;  // points in a vector

  int64_t row_points = 0;  // levels * points
  int64_t tile_rows = 0;
  int64_t tile_points = 0;  // room in a tile's arrays
  int slots = 1;            // threads that may work at a time
  Part zeros;               // the channels of a tap outside
  Part tiles;               // a tile of points for each slot
  // Of the gradient of the values.
  Part sums;                  // for each slot: of a tap outside; with a slab, then of every key
  bool slab = false;          // summed on a copy of a head's keys, not in place
  bool fetch = false;         // sums in place do not stay in the L2 cache
  int64_t part_channels = 0;  // an owner has so many channels of a head
  int64_t parts = 0;          // of a head
};

struct MsDeformAttnPlan : base::PathPlan<MsDeformAttnGeometry> {
  static constexpr std::array<const char*, 2> kPaths = {"slab", "direct"};  // of the gradient
  const MsDeformAttnGeometry& geometry() const { return std::get<0>(way); }
};

// Null if the channels of a vector do not lie side by side, if FLOAT cannot hold every key's number
// exactly, or if the workspace would exceed 64 bits.
std::optional<MsDeformAttnPlan> PlanMsDeformAttn(const ops::MsDeformAttnParams& params,
                                                 std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_PLAN_H_
