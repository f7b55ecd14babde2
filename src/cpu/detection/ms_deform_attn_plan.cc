// Plans of multi-scale deformable attention: whether the kernels serve a call, how large tiles are,
// how many threads are worth it, and where the parts of the workspace begin.
#include "cpu/detection/ms_deform_attn_plan.h"
#include "base/checked.h"

#include <algorithm>

#include "base/round_up.h"
#include "cpu/machine/machine.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Geometry = MsDeformAttnGeometry;
using Params = ops::MsDeformAttnParams;

// Keys and extents up to here are exact in FLOAT, in which they are computed.
constexpr int64_t kMostKeys = int64_t{1} << 24;
constexpr int64_t kMostPoints = int64_t{1} << 40;  // of a row
constexpr int64_t kTilePoints = 256;               // their arrays stay in the L1 cache
constexpr int64_t kGrain = 1 << 16;                // products that are worth a second thread

bool Serves(const Params& p) {
  const auto side_by_side = [&p](const std::array<int64_t, 4>& stride) {
    return p.channels <= 1 || stride[3] == 1;
  };
  return p.keys <= kMostKeys && base::SaturatedProduct({p.levels, p.points}) <= kMostPoints &&
         side_by_side(p.value_stride) && side_by_side(p.output_stride) &&
         (!p.want_value_grad || side_by_side(p.value_grad_stride));
}

// What both directions have.
void Cut(const Params& p, Geometry* g) {
  g->row_points = p.levels * p.points;
  g->tile_rows = std::max<int64_t>(1, kTilePoints / std::max<int64_t>(1, g->row_points));
  g->tile_points = base::RoundUp(g->tile_rows * g->row_points, Geometry::kLanesMost);
  const int64_t products =
      base::SaturatedProduct({4, p.batch, p.queries, p.heads, p.levels, p.points, p.channels});
  g->slots = products < kGrain ? 1 : runtime::NumThreads();
}

// A head owns its part of the values' gradient. If there are fewer heads than threads, they are cut
// into parts of whole blocks of channels.
void CutHeads(const Params& p, Geometry* g) {
  constexpr int64_t kBlock = 16;
  const int64_t blocks = std::max<int64_t>(1, base::DivideUp(p.channels, kBlock));
  const int64_t heads = std::max<int64_t>(1, p.batch * p.heads);
  const int64_t wanted = g->slots == 1 ? 1 : base::DivideUp(2 * g->slots, heads);
  const int64_t part_blocks = base::DivideUp(blocks, std::min(wanted, blocks));
  g->parts = base::DivideUp(blocks, part_blocks);
  g->part_channels = std::min(part_blocks * kBlock, std::max<int64_t>(1, p.channels));
}

// In place, a head's sums lie between the sums of other heads. In a copy of its own they lie dense,
// but must be cleared and copied. That pays if keys are added to often.
bool PrefersSlab(const Params& p, const Geometry& g) {
  constexpr int64_t kTapsOfKey = 8;
  return 4 * p.queries >= kTapsOfKey * (p.keys / std::max<int64_t>(1, g.row_points));
}

}  // namespace

std::optional<MsDeformAttnPlan> PlanMsDeformAttn(const Params& p, std::string_view path) {
  const base::PathChoice choice(path);
  if (!Serves(p) || (!p.backward && choice.ByName())) return std::nullopt;
  MsDeformAttnPlan plan;
  auto& g = std::get<Geometry>(plan.way);
  Cut(p, &g);
  const int64_t size = SumBytes(p.dtype);
  Booking booking;
  booking.Take(g.row_points + Geometry::kLanesMost, 3 * size);
  g.zeros = booking.Take(p.channels, size);
  g.tiles = booking.Take(g.tile_points, kArraysOfPoint * size, g.slots);
  if (p.backward) {
    CutHeads(p, &g);
    const bool sixteen_bits = p.dtype == base::DType::kFloat16 || p.dtype == base::DType::kBFloat16;
    const bool may_direct = choice.Allows("direct") && !sixteen_bits;  // sums have 32
    const bool may_slab = choice.Allows("slab");
    if (!may_direct && !may_slab) return std::nullopt;
    g.slab = !may_direct || (may_slab && PrefersSlab(p, g));
    plan.path = g.slab ? "slab" : "direct";
    g.fetch =
        !g.slab && base::SaturatedProduct({p.keys, p.heads, p.channels, size}) > L2CacheBytes();
    const int64_t keys = !p.want_value_grad ? 0 : g.slab ? p.keys + 1 : 1;
    g.sums = booking.Take(base::SaturatedProduct({g.part_channels, keys}), size, g.slots);
  }
  if (!booking.fits()) return std::nullopt;
  plan.workspace_size = booking.size();
  return plan;
}

}  // namespace portacl::cpu
