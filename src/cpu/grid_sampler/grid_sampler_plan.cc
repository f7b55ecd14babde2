// Kernel plans of sampling images and volumes: which calls a path serves, how threads share a call,
// and how large the workspace is.
#include "cpu/grid_sampler/grid_sampler_plan.h"

#include <algorithm>
#include <array>

#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/machine/machine.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

// The largest number of channels for "direct". There each lane has a point, and every channel
// reads cache lines of its own. On a slab channels share lines, but the slab must be made first. Up
// to this number "direct" is faster: by far on smooth grids, by little on random grids.
int64_t MaxDirectChannels(ops::Interpolation interpolation, bool has_windows) {
  const bool slow = GathersAreSlow();
  switch (interpolation) {
    case ops::Interpolation::kNearest:
      return slow && !has_windows ? 6 : 32;
    case ops::Interpolation::kBilinear:
      return slow ? 4 : 8;
    default:
      return slow ? 3 : 4;
  }
}

// The most channels for "direct" if pixels of a row are not adjacent. 0 if gathers are slow: then
// the number of pixels per point decides alone (StridedPixelsPerPoint()).
int64_t MaxStridedChannels(ops::Interpolation interpolation) {
  if (GathersAreSlow()) return 0;
  return interpolation == ops::Interpolation::kBicubic ? 2 : 4;
}

// How many pixels an image must have per point, so that gathers cost less than a slab. Only for
// rows with gaps. Elements of 16 bits are gathered one by one. If channels are not adjacent either,
// a slab is filled element by element.
int64_t StridedPixelsPerPoint(const ops::GridSampler2DParams& p) {
  const auto& s = p.shape;
  const bool nearest = s.interpolation == ops::Interpolation::kNearest;
  const bool bilinear = s.interpolation == ops::Interpolation::kBilinear;
  const bool narrow = base::DTypeSize(s.dtype) == 2;
  const bool neighbours = p.input_stride[1] == 1;
  if (!GathersAreSlow()) {
    const int64_t pixels = (nearest ? 8 : bilinear ? 12 : 96) * (narrow ? 2 : 1);
    return neighbours ? pixels : pixels / 6;
  }
  // The cost of gathers grows with the number of channels, the cost of a slab hardly does.
  struct Cost {
    int64_t free;     // up to so many channels, gathers are as cheap as a slab
    int64_t channel;  // pixels per point that each further channel costs
    int64_t most;
  };
  const Cost cost = nearest    ? (narrow ? Cost{2, 2, 16} : Cost{4, 1, 4})
                    : bilinear ? (narrow ? Cost{1, 6, 24} : Cost{2, 2, 12})
                               : (narrow ? Cost{1, 40, 192} : Cost{2, 10, 96});
  const int64_t channels = std::clamp<int64_t>(s.c - cost.free, 0, cost.most);
  const int64_t pixels = std::min(channels * cost.channel, cost.most);
  return neighbours ? pixels : pixels / 3;
}

// Up to so many elements of input and output, the stages of a slab cost more than the work.
constexpr int64_t kTinyElements = 16384;

// Whether a slab serves. Cells around the image hold the value of taps outside: 0 or a constant.
// On a slab nearest adds +0 to values, and a constant of -0 would become +0: no slab serves that.
bool ServesSlab(const ops::GridSampler2DShape& s) {
  if (!IsExtended(s)) return true;
  const bool nearest = s.interpolation == ops::Interpolation::kNearest;
  return s.padding == ops::Padding::kConstant && !s.replaces_outside && !(nearest && s.fill == 0);
}

std::optional<GridSampler2DPlan> PlanDirect(const ops::GridSampler2DParams& p,
                                            const base::PathChoice& choice, bool has_windows) {
  const auto& s = p.shape;
  const bool pairs = ServesPairs(s, p.input_stride);
  if (!pairs && (s.w == 1 || !HasShortOffsets(s, p.input_stride))) return std::nullopt;
  const bool tiny = s.n * s.c * (s.oh * s.ow + s.h * s.w) < kTinyElements;
  const bool sparse = pairs ? IsSparse(s) : IsSparse(s, StridedPixelsPerPoint(p));
  if (!choice.ByName() && !tiny && !sparse && ServesSlab(s)) {
    if (s.c > MaxDirectChannels(s.interpolation, has_windows)) return std::nullopt;
    if (!pairs && (s.c > MaxStridedChannels(s.interpolation) || base::DTypeSize(s.dtype) == 2)) {
      return std::nullopt;
    }
  }
  const bool joined = pairs && JoiningPays(s) && HasJoinedPairs(s, p.grid_stride) &&
                      HasJoinedImages(s, p.input_stride) && !choice.LeavesOut("joined");
  const PointChunks chunks = joined ? JoinedChunksOf(s) : PointChunksOf(s);
  return GridSampler2DPlan{{.way = PointGathers{chunks, pairs, joined}}};
}

std::optional<GridSampler2DPlan> PlanSlab(const ops::GridSampler2DParams& p,
                                          const base::PathChoice& /*choice*/,
                                          bool /*has_windows*/) {
  const auto& s = p.shape;
  if (!ServesSlab(s)) return std::nullopt;
  const int threads = runtime::NumThreads();
  SamplingGeometry g = {};
  g.points = s.oh * s.ow;
  g.blocks = CutChannels(s.c);
  g.by_image = ByImage(s, threads);
  g.pitch = s.w + 2;
  g.slab_rows = s.h + 3;  // two rows outside above, one below
  const int64_t tasks = g.by_image ? s.n : g.blocks.count;
  g.slabs = static_cast<int>(std::min<int64_t>(threads, tasks));
  const int64_t compute = s.dtype == base::DType::kDouble ? 8 : 4;
  const int64_t bytes = g.slab_rows * g.pitch * g.blocks.MostLanes() * compute;
  g.slab_bytes = (static_cast<uint64_t>(bytes) + 63) / 64 * 64;
  return GridSampler2DPlan{
      {.workspace_size = g.slab_bytes * static_cast<uint64_t>(g.slabs), .way = g}};
}

constexpr std::array<base::PathRow<ops::GridSampler2DParams, GridSampler2DPlan, bool>,
                     GridSampler2DPlan::kPaths.size()>
    kImagePaths = {{
        {"direct", PlanDirect},
        {"slab", PlanSlab},
    }};

std::optional<GridSampler3DPlan> PlanBlocks(const ops::GridSampler3DParams& p,
                                            const base::PathChoice& choice) {
  const auto& s = p.shape;
  if (IsExtended(s) || !ServesBlocks(s)) return std::nullopt;
  if (!choice.ByName() && !BlocksPay(s)) return std::nullopt;
  SampledBlocks blocks = {.chunks = BlockChunksOf(s), .slots = 1, .slot_bytes = 0};
  const bool small = s.n * blocks.chunks.chunks <= blocks.chunks.grain;
  blocks.slots = BlockSlots(s, blocks.chunks, small ? 1 : runtime::NumThreads());
  blocks.slot_bytes = BlockBytes(s, kBlockChannels);
  return GridSampler3DPlan{
      {.workspace_size = static_cast<uint64_t>(blocks.slots * blocks.slot_bytes), .way = blocks}};
}

std::optional<GridSampler3DPlan> PlanDirect(const ops::GridSampler3DParams& p,
                                            const base::PathChoice& /*choice*/) {
  const auto& s = p.shape;
  if (!HasShortOffsets(s, p.input_stride)) return std::nullopt;
  return GridSampler3DPlan{{.way = PointGathers{PointChunksOf(AsImage(s)),
                                                ServesVolumePairs(s, p.input_stride), false}}};
}

constexpr std::array<base::PathRow<ops::GridSampler3DParams, GridSampler3DPlan>,
                     GridSampler3DPlan::kPaths.size()>
    kVolumePaths = {{
        {"blocks", PlanBlocks},
        {"direct", PlanDirect},
    }};

}  // namespace

std::optional<GridSampler2DPlan> PlanGridSampler2D(const ops::GridSampler2DParams& params,
                                                   bool has_windows, std::string_view path) {
  const auto& s = params.shape;
  if (s.n == 0 || s.c == 0 || !ServesPlane(s)) return std::nullopt;
  return base::FirstPath(kImagePaths, params, path, has_windows);
}

std::optional<GridSampler3DPlan> PlanGridSampler3D(const ops::GridSampler3DParams& params,
                                                   std::string_view path) {
  if (!ServesVolume(params.shape)) return std::nullopt;
  return base::FirstPath(kVolumePaths, params, path);
}

}  // namespace portacl::cpu
