// Cuts a volume's gradients for the threads and books their workspace.
#include "cpu/grid_sampler/grid_sampler_3d_backward_plan.h"

#include <algorithm>
#include <numeric>

#include "cpu/grid_sampler/grid_sampler_grain.h"
#include "cpu/machine/grain.h"
#include "cpu/machine/machine.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Params = ops::GridSampler3DBackwardParams;
using Plan = GridSampler3DBackwardPlan;

// Every owner looks at all points of its volume, which beyond so many of them costs more than
// adding.
constexpr int64_t kMostSlabs = 16;

// Sums of 16-bit types: at most this for an owner, or a channel's plane.
constexpr int64_t kSumsBytes = int64_t{64} << 20;

int ThreadsOf(const ops::GridSampler3DShape& s) {
  return IsBelowGrain(s) ? 1 : runtime::NumThreads();
}

// Channels are grouped so that their volumes stay in the L2 cache, as scattered points need. With
// too few of them, finding the points would cost as much as adding them.
int64_t GroupChannels(const ops::GridSampler3DShape& s, int64_t volume_bytes) {
  constexpr int64_t kFewest = 4;
  return std::clamp<int64_t>(L2CacheBytes() / 2 / volume_bytes, std::min(kFewest, s.c), s.c);
}

// What each thread of inputGrad's owners has.
OwnedSlabs CutInputGrad(const Params& p) {
  const auto& s = p.shape;
  const int64_t element = s.dtype == base::DType::kDouble ? 8 : 4;
  const int64_t plane_bytes = s.h * s.w * element;
  const int threads = ThreadsOf(s);
  OwnedSlabs cut = {};
  cut.group_channels = GroupChannels(s, s.d * plane_bytes);
  cut.groups = DivideUp(s.c, cut.group_channels);
  // Slabs if volumes and groups do not share the work evenly.
  const int64_t owners = s.n * cut.groups;
  const bool even = owners % threads == 0 || owners >= int64_t{4} * threads;
  const int64_t wanted = even ? 1 : threads / std::gcd(owners, int64_t{threads});
  cut.slabs = std::min({wanted, kMostSlabs, s.d});
  const bool staged = base::DTypeSize(s.dtype) == 2;
  if (staged) {
    cut.group_channels = 1;
    cut.groups = s.c;
    cut.slabs = std::min(s.d, std::max(cut.slabs, DivideUp(s.d * plane_bytes, kSumsBytes)));
    cut.slot_elements = DivideUp(s.d, cut.slabs) * s.h * s.w;
  }
  cut.slots = static_cast<int>(std::min<int64_t>(threads, s.n * cut.groups * cut.slabs));
  return cut;
}

bool IsEachVolumeSmall(ops::GridSampler3DShape s) {
  s.n = 1;
  return IsBelowGrain(s);
}

// One volume at a time is cut into a slab of planes for each thread: too few planes leave threads
// idle for longer than the lanes gain.
bool UseBlocks(const Params& p) {
  const auto& s = p.shape;
  if (!BlocksPay(s)) return false;
  const int threads = ThreadsOf(s);
  return !p.want_input_grad || 3 * s.d >= threads || BlockSlots(s, BlockChunksOf(s), threads) > 1;
}

std::optional<Plan> PlanBlocks(const Params& p, const base::PathChoice& choice) {
  const auto& s = p.shape;
  if (!ServesBlocks(s) || (!choice.ByName() && !UseBlocks(p))) return std::nullopt;
  const int threads = ThreadsOf(s);
  SummedBlocks blocks = {};
  blocks.chunks = BlockChunksOf(s);
  blocks.slots = BlockSlots(s, blocks.chunks, threads);
  const bool whole = blocks.slots > 1 || IsEachVolumeSmall(s);
  blocks.slabs = whole ? 1 : std::min({int64_t{threads}, kMostSlabs, s.d});
  const int64_t points = DivideUp(PointsOf(s), int64_t{kGroup}) * int64_t{kGroup};
  const int64_t totals = p.want_grid_grad ? 4 * points : 0;
  const int64_t element = s.dtype == base::DType::kDouble ? 8 : 4;
  blocks.slot_elements = BlockBytes(s, SummedBlocks::VoxelElements(p)) / element + totals;
  const int64_t bytes = blocks.slots * blocks.slot_elements * element;
  return Plan{{.workspace_size = static_cast<uint64_t>(bytes), .way = blocks}};
}

// None if offsets inside a channel of input have no 32 bits.
std::optional<GatheredGridGrad> GridGradOf(const Params& p) {
  const auto& s = p.shape;
  const bool reads_input = p.want_grid_grad && s.interpolation != ops::Interpolation::kNearest;
  if (reads_input && !HasShortOffsets(s, p.input_stride)) return std::nullopt;
  return GatheredGridGrad{PointChunksOf(AsImage(s)),
                          reads_input && ServesVolumePairs(s, p.input_stride)};
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
  OwnedSlabs owned = CutInputGrad(p);
  owned.grid_grad = *grid_grad;
  const auto bytes = static_cast<uint64_t>(owned.slots * owned.slot_elements) * sizeof(float);
  return Plan{{.workspace_size = bytes, .way = owned}};
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
