// How the kernels of a volume's gradients work, and their workspace, the same for every instruction
// set.
#ifndef PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_PLAN_H_
#define PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_PLAN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/kernel.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "ops/grid_sampler_params.h"

namespace portacl::cpu {

// Both gradients have a block of channels in the lanes, of as many volumes at a time as there are
// slots. Of each, float or double:
//
//   voxels[d][h][w]:  input[kBlockChannels], if gridGrad is wanted
//                     inputGrad's sums[kBlockChannels], if it is wanted
//   totals[points, rounded up to kGroup][4]    gridGrad's sums over the blocks; if it is wanted
struct SummedBlocks {
  PointChunks chunks;
  int64_t slabs;  // of a volume
  int slots;
  int64_t slot_elements;

  // Elements of a voxel.
  static int64_t VoxelElements(const ops::GridSampler3DBackwardParams& p) {
    return kBlockChannels * (int64_t{p.want_input_grad} + int64_t{p.want_grid_grad});
  }
};

// "blocks" has SummedBlocks, "owned" has OwnedParts, "direct" has PointGathers.
struct GridSampler3DBackwardPlan : base::PathPlan<PointGathers, OwnedParts, SummedBlocks> {
  static constexpr std::array kPaths = {"blocks", "direct", "owned"};
};

// The kernels' plan. Limits and `path` as of the sampling kernels: without blocks, no channel of
// input (if it is read) or inputGrad (if it is written) spans 2^31 elements.
std::optional<GridSampler3DBackwardPlan> PlanGridSampler3DBackward(
    const ops::GridSampler3DBackwardParams& params, std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_PLAN_H_
