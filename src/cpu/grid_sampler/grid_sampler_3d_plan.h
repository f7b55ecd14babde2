// How the kernels that sample volumes work, the same for every instruction set.
#ifndef PORTACL_CPU_GRID_SAMPLER_3D_PLAN_H_
#define PORTACL_CPU_GRID_SAMPLER_3D_PLAN_H_

#include "base/kernel.h"
#include "cpu/grid_sampler/grid_sampler_3d_layout.h"
#include "ops/grid_sampler_3d_params.h"

namespace portacl::cpu {

// A point in each lane of a vector, its taps gathered straight from the volumes; or a block of
// channels in the lanes, from a copy of the block's volume in the workspace:
//
//   voxels[slots][d][h][w][kBlockChannels]    float or double
struct VolumeSamplingPlan {
  PointChunks chunks;
  bool blocks;
  int slots;  // with blocks: volumes in work at a time
  int64_t slot_bytes;
  bool pairs;  // without blocks: two taps of a row are read as a pair
};

// The kernels' plan. False for empty tensors, extents above 2^24 (beyond exact float indices), more
// than 2^30 points of a volume, and, without blocks, channels of input that span 2^31 elements.
bool PlanGridSampler3DKernel(const ops::GridSampler3DParams& params, base::KernelPlan* plan);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_3D_PLAN_H_
