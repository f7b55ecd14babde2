// Cuts a volume's gradients for the threads and books their workspace.
#include "cpu/grid_sampler/grid_sampler_3d_backward_plan.h"
#include "base/round_up.h"

#include <algorithm>

#include "cpu/grid_sampler/grid_sampler_grain.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Params = ops::GridSampler3DBackwardParams;
using Plan = GridSampler3DBackwardPlan;

int ThreadsOf(const ops::GridSampler3DShape& s) {
  return IsBelowGrain(s) ? 1 : runtime::NumThreads();
}

bool IsEachVolumeSmall(ops::GridSampler3DShape s) {
  s.n = 1;
  return IsBelowGrain(s);
}

// One volume at a time is cut into a slab of planes for each thread. Too few planes leave threads
// idle for longer than the lanes gain.
bool UseBlocks(const Params& p) {
  const auto& s = p.shape;
  if (!BlocksPay(s)) return false;
  const int threads = ThreadsOf(s);
  return !p.want_input_grad || 3 * s.d >= threads || BlockSlots(s, BlockChunksOf(s), threads) > 1;
}

std::optional<Plan> PlanBlocks(const Params& p, const base::PathChoice& choice) {
  const auto& s = p.shape;
  if (IsExtended(s) || !ServesBlocks(s)) return std::nullopt;
  if (!choice.ByName() && !UseBlocks(p)) return std::nullopt;
  const int threads = ThreadsOf(s);
  SummedBlocks blocks = {};
  blocks.chunks = BlockChunksOf(s);
  blocks.slots = BlockSlots(s, blocks.chunks, threads);
  const bool whole = blocks.slots > 1 || IsEachVolumeSmall(s);
  blocks.slabs = whole ? 1 : std::min({int64_t{threads}, kMostOwnedSlabs, s.d});
  const int64_t points = base::DivideUp(PointsOf(s), int64_t{kGroup}) * int64_t{kGroup};
  const int64_t totals = p.want_grid_grad ? 4 * points : 0;
  const int64_t element = s.dtype == base::DType::kDouble ? 8 : 4;
  blocks.slot_elements = BlockBytes(s, SummedBlocks::VoxelElements(p)) / element + totals;
  const int64_t bytes = blocks.slots * blocks.slot_elements * element;
  return Plan{{.workspace_size = static_cast<uint64_t>(bytes), .way = blocks}};
}

// None if offsets inside a channel of input have no 32 bits.
std::optional<PointGathers> GridGradOf(const Params& p) {
  const auto& s = p.shape;
  const bool reads_input = p.want_grid_grad && s.interpolation != ops::Interpolation::kNearest;
  if (reads_input && !HasShortOffsets(s, p.input_stride)) return std::nullopt;
  return PointGathers{PointChunksOf(AsImage(s)),
                      reads_input && ServesVolumePairs(s, p.input_stride), false};
}

std::optional<Plan> PlanDirect(const Params& p, const base::PathChoice& /*choice*/) {
  const auto grid_grad = GridGradOf(p);
  if (p.want_input_grad || !grid_grad) return std::nullopt;
  return Plan{{.way = *grid_grad}};
}

std::optional<Plan> PlanOwned(const Params& p, const base::PathChoice& /*choice*/) {
  const auto grid_grad = GridGradOf(p);
  if (!p.want_input_grad || !grid_grad || !HasShortOffsets(p.shape, p.input_grad_stride)) {
    return std::nullopt;
  }
  const SlabCut cut = CutInputGrad(p.shape);
  const auto bytes = static_cast<uint64_t>(cut.slots * cut.slot_elements) * sizeof(float);
  return Plan{{.workspace_size = bytes, .way = OwnedParts{*grid_grad, cut}}};
}

constexpr std::array<base::PathRow<Params, Plan>, Plan::kPaths.size()> kPathRows = {{
    {"blocks", PlanBlocks},
    {"direct", PlanDirect},
    {"owned", PlanOwned},
}};

}  // namespace

std::optional<Plan> PlanGridSampler3DBackward(const Params& params, std::string_view path) {
  if (!ServesVolume(params.shape)) return std::nullopt;
  return base::FirstPath(kPathRows, params, path);
}

}  // namespace portacl::cpu
