// Plan of sampling images: how the threads share a call, and what scratch memory that takes.
#include "cpu/grid_sampler/grid_sampler_2d_plan.h"

#include <algorithm>
#include <array>

#include "cpu/grid_sampler/grid_sampler_2d_layout.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

// Points in the lanes read each channel's taps from lines of their own, channels in the lanes share
// the lines but want a slab first: up to here the former is faster, on smooth grids by far and on
// random ones by little.
int64_t MaxDirectChannels(ops::Interpolation interpolation) {
  switch (interpolation) {
    case ops::Interpolation::kNearest:
      return 32;
    case ops::Interpolation::kBilinear:
      return 8;
    default:
      return 4;
  }
}

// Elements of input and output below which the slab's stages alone cost more than either.
constexpr int64_t kTinyElements = 16384;

using Params = ops::GridSampler2DParams;
using Plan = GridSampler2DPlan;

std::optional<Plan> PlanDirect(const Params& p, bool forced) {
  const auto& s = p.shape;
  if (!ServesPairs(s, p.input_stride)) return std::nullopt;
  const bool tiny = s.n * s.c * (s.oh * s.ow + s.h * s.w) < kTinyElements;
  if (!forced && s.c > MaxDirectChannels(s.interpolation) && !tiny) return std::nullopt;
  return Plan{{.way = PointChunksOf(s)}};
}

std::optional<Plan> PlanSlab(const Params& p, bool /*forced*/) {
  const auto& s = p.shape;
  const int threads = runtime::NumThreads();
  SamplingGeometry g = {};
  g.points = s.oh * s.ow;
  g.blocks = CutChannels(s.c);
  g.by_image = ByImage(s, threads);
  g.pitch = s.w + 2;
  g.slab_rows = s.h + 3;  // two of nowhere above, one below
  const int64_t tasks = g.by_image ? s.n : g.blocks.count;
  g.slabs = static_cast<int>(std::min<int64_t>(threads, tasks));
  const int64_t compute = s.dtype == base::DType::kDouble ? 8 : 4;
  const int64_t bytes = g.slab_rows * g.pitch * g.blocks.MostLanes() * compute;
  g.slab_bytes = (static_cast<uint64_t>(bytes) + 63) / 64 * 64;
  return Plan{{.workspace_size = g.slab_bytes * static_cast<uint64_t>(g.slabs), .way = g}};
}

constexpr std::array<base::PathRow<Params, Plan>, Plan::kPaths.size()> kPathRows = {{
    {"direct", PlanDirect},
    {"slab", PlanSlab},
}};

}  // namespace

std::optional<Plan> PlanGridSampler2D(const Params& params, std::string_view path) {
  const auto& s = params.shape;
  if (s.n == 0 || s.c == 0 || !ServesPlane(s)) return std::nullopt;
  return base::FirstPath(kPathRows, params, path);
}

}  // namespace portacl::cpu
