// Which calls on volumes the sampling kernels serve, and how threads share them.
#include "cpu/grid_sampler/grid_sampler_3d_plan.h"

#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Params = ops::GridSampler3DParams;
using Plan = GridSampler3DPlan;

std::optional<Plan> PlanBlocks(const Params& p, bool forced) {
  const auto& s = p.shape;
  if (!ServesBlocks(s) || (!forced && !BlocksPay(s))) return std::nullopt;
  SampledBlocks blocks = {.chunks = BlockChunksOf(s), .slots = 1, .slot_bytes = 0};
  const bool small = s.n * blocks.chunks.chunks <= blocks.chunks.grain;
  blocks.slots = BlockSlots(s, blocks.chunks, small ? 1 : runtime::NumThreads());
  blocks.slot_bytes = BlockBytes(s, kBlockChannels);
  return Plan{
      {.workspace_size = static_cast<uint64_t>(blocks.slots * blocks.slot_bytes), .way = blocks}};
}

std::optional<Plan> PlanDirect(const Params& p, bool /*forced*/) {
  const auto& s = p.shape;
  if (!HasShortOffsets(s, p.input_stride)) return std::nullopt;
  return Plan{
      {.way = VolumeGathers{PointChunksOf(AsImage(s)), ServesVolumePairs(s, p.input_stride)}}};
}

constexpr std::array<base::PathRow<Params, Plan>, Plan::kPaths.size()> kPathRows = {{
    {"blocks", PlanBlocks},
    {"direct", PlanDirect},
}};

}  // namespace

std::optional<Plan> PlanGridSampler3D(const Params& params, std::string_view path) {
  if (!ServesVolume(params.shape)) return std::nullopt;
  return base::FirstPath(kPathRows, params, path);
}

}  // namespace portacl::cpu
