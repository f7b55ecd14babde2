// How the kernels that sample images and volumes work, and their workspace, the same for every
// instruction set.
#ifndef PORTACL_CPU_GRID_SAMPLER_PLAN_H_
#define PORTACL_CPU_GRID_SAMPLER_PLAN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/kernel.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "ops/grid_sampler_params.h"

namespace portacl::cpu {

// Blocks of channels are copied to a pixel-major slab of the whole plane, see SlabPoints. Each tap
// of a point is then one or two loads. The workspace is `slabs` slabs: one for each thread
// (by_image), or one for each block that the threads compute together.
struct SamplingGeometry {
  int64_t points;
  ChannelBlocks blocks;
  int64_t pitch;
  int64_t slab_rows;
  int slabs;
  bool by_image;
  uint64_t slab_bytes;
};

// "direct" has PointGathers.
struct GridSampler2DPlan : base::PathPlan<SamplingGeometry, PointGathers> {
  static constexpr std::array kPaths = {"direct", "slab"};
  static constexpr std::array kVariants = {"joined"};
};

// The kernels' plan. Limits and `path` as of the backward kernels. `has_windows`: the kernel looks
// taps up in windows of 16 pixels.
std::optional<GridSampler2DPlan> PlanGridSampler2D(const ops::GridSampler2DParams& params,
                                                   bool has_windows, std::string_view path);

// A block of channels in the lanes, from a copy of the block's volume in the workspace:
//
//   voxels[slots][d][h][w][kBlockChannels]    float or double
struct SampledBlocks {
  PointChunks chunks;
  int slots;  // volumes in work at a time
  int64_t slot_bytes;
};

// "blocks" has SampledBlocks, "direct" has PointGathers.
struct GridSampler3DPlan : base::PathPlan<PointGathers, SampledBlocks> {
  static constexpr std::array kPaths = {"blocks", "direct"};
};

// The kernels' plan. None for empty tensors, extents above 2^24 (beyond exact float indices) and
// more than 2^30 points of a volume. Without blocks also none for channels of input that span 2^31
// elements. `path`: the text of a base::PathChoice.
std::optional<GridSampler3DPlan> PlanGridSampler3D(const ops::GridSampler3DParams& params,
                                                   std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_PLAN_H_
