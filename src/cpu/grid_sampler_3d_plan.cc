// Which calls on volumes the sampling kernels serve, and how threads share them.
#include "cpu/grid_sampler_3d_plan.h"

#include <memory>

namespace portacl::cpu {

bool PlanGridSampler3DKernel(const ops::GridSampler3DParams& p, base::KernelPlan* plan) {
  const auto& s = p.shape;
  if (!ServesVolume(s)) return false;
  auto mine = std::make_shared<VolumeSamplingPlan>();
  mine->chunks = PointChunksOf(AsImage(s));
  mine->blocks = ServesBlocks(s);
  if (mine->blocks) {
    plan->path = "blocks";
    plan->workspace_size = static_cast<uint64_t>(BlockBytes(s, kBlockChannels));
  } else {
    if (!HasShortOffsets(s, p.input_stride)) return false;
    mine->pairs = ServesVolumePairs(s, p.input_stride);
    plan->path = "direct";
  }
  plan->table = std::move(mine);
  return true;
}

}  // namespace portacl::cpu
