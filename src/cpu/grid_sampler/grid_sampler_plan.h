// Kernel plans of the grid sampler, on images and volumes: paths, geometries and workspace. The
// same for every instruction set.
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

// Path "slab". Copies blocks of channels to slabs that hold the whole image (SlabPoints). Each tap
// of a point is then one or two loads. The workspace has `slabs` slabs: one for each thread
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

// The path "direct" uses PointGathers.
struct GridSampler2DPlan : base::PathPlan<SamplingGeometry, PointGathers> {
  static constexpr std::array kPaths = {"direct", "slab"};
  static constexpr std::array kVariants = {"joined"};
};

// Makes the kernel plan. Limits and `path` are as for PlanGridSampler2DBackward(). `has_windows`:
// the kernel looks taps up in windows of 16 pixels.
std::optional<GridSampler2DPlan> PlanGridSampler2D(const ops::GridSampler2DParams& params,
                                                   bool has_windows, std::string_view path);

// Path "blocks". Each lane has one channel of a block. The workspace has copies of the volumes:
//
//   voxels[slots][d][h][w][kBlockChannels]    float or double
struct SampledBlocks {
  PointChunks chunks;
  int slots;  // volumes computed at a time
  int64_t slot_bytes;
};

// The path "blocks" uses SampledBlocks, "direct" uses PointGathers.
struct GridSampler3DPlan : base::PathPlan<PointGathers, SampledBlocks> {
  static constexpr std::array kPaths = {"blocks", "direct"};
};

// Makes the kernel plan. No plan for empty tensors, extents above 2^24 (beyond exact floats) and
// more than 2^30 points of a volume. Without blocks, no plan if a channel of input spans 2^31
// elements. `path`: the text of a base::PathChoice.
std::optional<GridSampler3DPlan> PlanGridSampler3D(const ops::GridSampler3DParams& params,
                                                   std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_PLAN_H_
