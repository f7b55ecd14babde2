// Geometry and workspace of the grid sampling kernels, the same for every instruction set.
#ifndef PORTACL_CPU_GRID_SAMPLER_2D_PLAN_H_
#define PORTACL_CPU_GRID_SAMPLER_2D_PLAN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/kernel.h"
#include "cpu/grid_sampler/grid_sampler_2d_layout.h"
#include "ops/grid_sampler_2d_params.h"

namespace portacl::cpu {

// Blocks of channels are copied to a pixel-major slab of the whole plane, see SlabPoints, from
// which each tap of a point is one or two loads. The workspace is `slabs` of them: one per thread
// that has an image of its own (by_image), or one per block that the threads work on together.
struct SamplingGeometry {
  int64_t points;
  ChannelBlocks blocks;
  int64_t pitch;
  int64_t slab_rows;
  int slabs;
  bool by_image;
  uint64_t slab_bytes;
};

// "direct" has PointChunks: a point in each lane, on the planes themselves, without a workspace.
struct GridSampler2DPlan : base::PathPlan<SamplingGeometry, PointChunks> {
  static constexpr std::array kPaths = {"direct", "slab"};
};

// The kernels' plan. Limits and `path` as of the backward kernels.
std::optional<GridSampler2DPlan> PlanGridSampler2D(const ops::GridSampler2DParams& params,
                                                   std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_2D_PLAN_H_
