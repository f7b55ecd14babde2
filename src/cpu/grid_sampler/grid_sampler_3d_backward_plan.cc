// Cuts a volume's gradients for the threads and books their workspace.
#include "cpu/grid_sampler/grid_sampler_3d_backward_plan.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "cpu/machine/caches.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Params = ops::GridSampler3DBackwardParams;

// Every owner looks at all points of its volume, which beyond so many of them costs more than
// adding.
constexpr int64_t kMostSlabs = 16;

// Sums of 16-bit types: at most this for an owner, or a channel's plane.
constexpr int64_t kSumsBytes = int64_t{64} << 20;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Whether a call is too small to be shared: waking a thread takes some 10 us.
bool IsSmall(const ops::GridSampler3DShape& s) {
  return s.n * s.c * (s.od * s.oh * s.ow + s.d * s.h * s.w / 8) < 8192;
}

int ThreadsOf(const ops::GridSampler3DShape& s) { return IsSmall(s) ? 1 : runtime::NumThreads(); }

// Channels are grouped so that their volumes stay in the L2 cache, which scattered points need, but
// not so few that finding the points costs as much as adding them.
int64_t GroupChannels(const ops::GridSampler3DShape& s, int64_t volume_bytes) {
  constexpr int64_t kFewest = 4;
  return std::clamp<int64_t>(L2CacheBytes() / 2 / volume_bytes, std::min(kFewest, s.c), s.c);
}

void CutInputGrad(const Params& p, VolumeBackwardPlan* plan) {
  const auto& s = p.shape;
  const int64_t element = s.dtype == base::DType::kDouble ? 8 : 4;
  const int64_t plane_bytes = s.h * s.w * element;
  const int threads = ThreadsOf(s);
  plan->group_channels = GroupChannels(s, s.d * plane_bytes);
  plan->groups = CeilDiv(s.c, plan->group_channels);
  // Slabs where volumes and groups do not share the work evenly.
  const int64_t owners = s.n * plan->groups;
  const bool even = owners % threads == 0 || owners >= int64_t{4} * threads;
  const int64_t wanted = even ? 1 : threads / std::gcd(owners, int64_t{threads});
  plan->slabs = std::min({wanted, kMostSlabs, s.d});
  const bool staged = base::DTypeSize(s.dtype) == 2;
  if (staged) {
    plan->group_channels = 1;
    plan->groups = s.c;
    plan->slabs = std::min(s.d, std::max(plan->slabs, CeilDiv(s.d * plane_bytes, kSumsBytes)));
    plan->slot_elements = CeilDiv(s.d, plan->slabs) * s.h * s.w;
  }
  plan->slots = static_cast<int>(std::min<int64_t>(threads, s.n * plan->groups * plan->slabs));
}

bool IsEachVolumeSmall(ops::GridSampler3DShape s) {
  s.n = 1;
  return IsSmall(s);
}

// One volume at a time is cut into a slab of planes for each thread: too few planes leave threads
// idle for longer than the lanes gain.
bool UseBlocks(const Params& p) {
  const auto& s = p.shape;
  if (!ServesBlocks(s)) return false;
  const int threads = ThreadsOf(s);
  return !p.want_input_grad || 3 * s.d >= threads || BlockSlots(s, BlockChunksOf(s), threads) > 1;
}

uint64_t PlanBlocks(const Params& p, VolumeBackwardPlan* plan) {
  const auto& s = p.shape;
  const int threads = ThreadsOf(s);
  plan->blocks = true;
  plan->chunks = BlockChunksOf(s);
  plan->slots = BlockSlots(s, plan->chunks, threads);
  const bool whole = plan->slots > 1 || IsEachVolumeSmall(s);
  plan->slabs = whole ? 1 : std::min({int64_t{threads}, kMostSlabs, s.d});
  const int64_t points = CeilDiv(s.od * s.oh * s.ow, int64_t{kGroup}) * int64_t{kGroup};
  const int64_t totals = p.want_grid_grad ? 4 * points : 0;
  const int64_t element = s.dtype == base::DType::kDouble ? 8 : 4;
  plan->slot_elements = BlockBytes(s, VolumeBackwardPlan::VoxelElements(p)) / element + totals;
  return static_cast<uint64_t>(plan->slots * plan->slot_elements * element);
}

}  // namespace

bool PlanGridSampler3DBackwardKernel(const Params& p, base::KernelPlan* plan) {
  const auto& s = p.shape;
  const bool reads_input = p.want_grid_grad && s.interpolation != ops::Interpolation::kNearest;
  if (!ServesVolume(s)) return false;
  auto mine = std::make_shared<VolumeBackwardPlan>();
  if (UseBlocks(p)) {
    plan->path = "blocks";
    plan->workspace_size = PlanBlocks(p, mine.get());
    plan->table = std::move(mine);
    return true;
  }
  if ((reads_input && !HasShortOffsets(s, p.input_stride)) ||
      (p.want_input_grad && !HasShortOffsets(s, p.input_grad_stride))) {
    return false;
  }
  mine->chunks = PointChunksOf(AsImage(s));
  mine->pairs = reads_input && ServesVolumePairs(s, p.input_stride);
  plan->path = "direct";
  if (p.want_input_grad) {
    CutInputGrad(p, mine.get());
    plan->path = "owned";
    plan->workspace_size = static_cast<uint64_t>(mine->slots * mine->slot_elements) * sizeof(float);
  }
  plan->table = std::move(mine);
  return true;
}

}  // namespace portacl::cpu
