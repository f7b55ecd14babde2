// How a sampling call is shared by the threads, and what scratch memory that takes.
#include "cpu/grid_sampler_2d_plan.h"

#include <algorithm>
#include <memory>

#include "cpu/grid_sampler_2d_layout.h"
#include "runtime/parallel.h"

namespace portacl::cpu {

bool PlanGridSampler2D(const ops::GridSampler2DParams& p, base::KernelPlan* plan) {
  const auto& s = p.shape;
  if (s.n == 0 || s.c == 0 || !ServesPlane(s)) return false;
  const int threads = runtime::NumThreads();
  auto g = std::make_shared<SamplingGeometry>();
  g->points = s.oh * s.ow;
  g->blocks = (s.c + 15) / 16;
  g->last_lanes = LanesFor(s.c - 16 * (g->blocks - 1));
  g->lanes = g->blocks > 1 ? 16 : g->last_lanes;
  g->by_image = ByImage(s, threads);
  g->pitch = s.w + 2;
  g->slab_rows = s.h + 3;  // two of nowhere above, one below
  const int64_t tasks = g->by_image ? s.n : g->blocks;
  g->slabs = static_cast<int>(std::min<int64_t>(threads, tasks));
  const int64_t compute = s.dtype == base::DType::kDouble ? 8 : 4;
  const int64_t bytes = g->slab_rows * g->pitch * g->lanes * compute;
  g->slab_bytes = (static_cast<uint64_t>(bytes) + 63) / 64 * 64;
  plan->workspace_size = g->slab_bytes * static_cast<uint64_t>(g->slabs);
  plan->path = "slab";
  plan->table = std::move(g);
  return true;
}

}  // namespace portacl::cpu
