// Which calls on volumes the sampling kernels serve, and how threads share them.
#include "cpu/grid_sampler/grid_sampler_3d_plan.h"

#include <memory>

#include "runtime/parallel.h"

namespace portacl::cpu {

bool PlanGridSampler3DKernel(const ops::GridSampler3DParams& p, base::KernelPlan* plan) {
  const auto& s = p.shape;
  if (!ServesVolume(s)) return false;
  auto mine = std::make_shared<VolumeSamplingPlan>();
  mine->blocks = ServesBlocks(s);
  if (mine->blocks) {
    mine->chunks = BlockChunksOf(s);
    const bool small = s.n * mine->chunks.chunks <= mine->chunks.grain;
    mine->slots = BlockSlots(s, mine->chunks, small ? 1 : runtime::NumThreads());
    plan->path = "blocks";
    mine->slot_bytes = BlockBytes(s, kBlockChannels);
    plan->workspace_size = static_cast<uint64_t>(mine->slots * mine->slot_bytes);
  } else {
    if (!HasShortOffsets(s, p.input_stride)) return false;
    mine->chunks = PointChunksOf(AsImage(s));
    mine->pairs = ServesVolumePairs(s, p.input_stride);
    plan->path = "direct";
  }
  plan->table = std::move(mine);
  return true;
}

}  // namespace portacl::cpu
