// Which calls on volumes the sampling kernels serve, and how threads share them.
#include "cpu/grid_sampler_3d_plan.h"

#include <memory>

#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

// Blocks take one volume after the other: where none is work for two threads, but there is one for
// each, every thread had better take its own.
bool VolumesAreShared(const ops::GridSampler3DShape& s, const PointChunks& chunks) {
  const int threads = runtime::NumThreads();
  return threads > 1 && s.n >= threads && chunks.chunks <= chunks.grain;
}

}  // namespace

bool PlanGridSampler3DKernel(const ops::GridSampler3DParams& p, base::KernelPlan* plan) {
  const auto& s = p.shape;
  if (!ServesVolume(s)) return false;
  auto mine = std::make_shared<VolumeSamplingPlan>();
  mine->chunks = PointChunksOf(AsImage(s));
  const bool short_offsets = HasShortOffsets(s, p.input_stride);
  mine->blocks = ServesBlocks(s) && !(short_offsets && VolumesAreShared(s, mine->chunks));
  if (mine->blocks) {
    plan->path = "blocks";
    plan->workspace_size = static_cast<uint64_t>(BlockBytes(s, kBlockChannels));
  } else {
    if (!short_offsets) return false;
    mine->pairs = ServesVolumePairs(s, p.input_stride);
    plan->path = "direct";
  }
  plan->table = std::move(mine);
  return true;
}

}  // namespace portacl::cpu
