// How the kernels of a volume's gradients work, and their workspace, the same for every instruction
// set.
#ifndef PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_PLAN_H_
#define PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_PLAN_H_

#include <cstdint>

#include "base/kernel.h"
#include "cpu/grid_sampler/grid_sampler_3d_layout.h"
#include "ops/grid_sampler_3d_params.h"

namespace portacl::cpu {

// Without blocks: gridGrad has points in the lanes of vectors, chunk by chunk. inputGrad: a group
// of channels of a slab of planes has one owner, who looks at all points of the volume and adds
// those that touch the slab, straight to the tensor. 16-bit types are summed in the workspace:
//
//   sums[slots][planes of the largest slab][h][w]    float
//
// With blocks: both have a block of channels in the lanes, of as many volumes at a time as there
// are slots. Of each, float or double:
//
//   voxels[d][h][w]:  input[kBlockChannels], where gridGrad is wanted
//                     inputGrad's sums[kBlockChannels], where it is wanted
//   totals[points, rounded up to kGroup][4]    gridGrad's sums over the blocks; where it is wanted
struct VolumeBackwardPlan {
  PointChunks chunks;
  bool blocks;
  bool pairs;              // without blocks: two taps of a row of input are read as a pair
  int64_t group_channels;  // without blocks: of an owner; the last group may have fewer
  int64_t groups;
  int64_t slabs;  // of a volume
  int slots;
  int64_t slot_elements;  // 0: summed in the tensor

  int64_t FirstPlane(const ops::GridSampler3DShape& s, int64_t slab) const {
    return s.d * slab / slabs;
  }
  // Elements of a voxel.
  static int64_t VoxelElements(const ops::GridSampler3DBackwardParams& p) {
    return kBlockChannels * (int64_t{p.want_input_grad} + int64_t{p.want_grid_grad});
  }
};

// The kernels' plan. Limits as the sampling kernels': without blocks, no channel that is read of
// input or written of inputGrad spans 2^31 elements.
bool PlanGridSampler3DBackwardKernel(const ops::GridSampler3DBackwardParams& params,
                                     base::KernelPlan* plan);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_3D_BACKWARD_PLAN_H_
