// Plans of multi-scale deformable attention: whether the kernels serve a call, how large tiles are,
// how many threads are worth it, and where the parts of the workspace begin.
#include "cpu/detection/ms_deform_attn_plan.h"

#include <algorithm>

#include "base/checked.h"
#include "cpu/detection/booking.h"
#include "cpu/machine/grain.h"
#include "cpu/machine/machine.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Geometry = MsDeformAttnGeometry;

// Keys and extents up to here are exact in FLOAT, in which they are computed.
constexpr int64_t kMostKeys = int64_t{1} << 24;
constexpr int64_t kTilePoints = 256;  // their arrays stay in the L1 cache
constexpr int64_t kGrain = 1 << 16;   // products that are worth a second thread

bool SideBySide(const ops::MsDeformAttnShape& s, const std::array<int64_t, 4>& stride) {
  return s.channels <= 1 || stride[3] == 1;
}

bool Serves(const ops::MsDeformAttnShape& s) {
  return SideBySide(s, s.value_stride) && s.keys <= kMostKeys;
}

// Products of the call, all of them: at most the largest int64.
int64_t ProductsOf(const ops::MsDeformAttnShape& s) {
  int64_t products = 4;
  for (const int64_t extent : {s.batch, s.queries, s.heads, s.levels, s.points, s.channels}) {
    if (!base::CheckedMul(products, extent, &products)) return INT64_MAX;
  }
  return products;
}

// The parts that both directions have.
bool Cut(const ops::MsDeformAttnShape& s, Geometry* g, Booking* booking) {
  int64_t with_lanes = 0, padded = 0;
  if (!base::CheckedMul(s.levels, s.points, &g->row_points) ||
      !base::CheckedAdd(g->row_points, Geometry::kLanesMost, &with_lanes)) {
    return false;
  }
  g->tile_rows = std::max<int64_t>(1, kTilePoints / std::max<int64_t>(1, g->row_points));
  g->tile_points =
      DivideUp(g->tile_rows * g->row_points, Geometry::kLanesMost) * Geometry::kLanesMost;
  g->slots = ProductsOf(s) < kGrain ? 1 : runtime::NumThreads();
  const int64_t size = SumBytes(s.dtype);
  const double image = static_cast<double>(s.keys) * static_cast<double>(s.heads * s.channels);
  g->fetch = image * static_cast<double>(size) > static_cast<double>(L2CacheBytes());
  if (!base::CheckedMul(with_lanes, int64_t{3}, &with_lanes) ||
      !base::CheckedMul(g->tile_points, kArraysOfPoint, &padded)) {
    return false;
  }
  booking->Take(with_lanes, size, 1);
  g->zeros = booking->Take(s.channels, size, 1);
  g->tiles = booking->Take(padded, size, g->slots, &g->tile_bytes);
  return booking->fits();
}

// Owners of the values' gradient are the heads, cut into parts of whole blocks of channels where
// there are too few for the threads.
void CutHeads(const ops::MsDeformAttnShape& s, Geometry* g) {
  constexpr int64_t kBlock = 16;
  const int64_t blocks = std::max<int64_t>(1, DivideUp(s.channels, kBlock));
  const int64_t heads = std::max<int64_t>(1, s.batch * s.heads);
  const int64_t wanted = g->slots == 1 ? 1 : DivideUp(2 * g->slots, heads);
  const int64_t part_blocks = DivideUp(blocks, std::min(wanted, blocks));
  g->part_channels = part_blocks * kBlock;
  g->parts = DivideUp(blocks, part_blocks);
  g->part_channels = std::min(g->part_channels, std::max<int64_t>(1, s.channels));
}

// In place, a sum is read and written between those of other heads. On a copy of its own, a head's
// sums lie dense, but they are cleared and copied: worth it if keys are added to often.
bool PrefersSlab(const ops::MsDeformAttnShape& s, const Geometry& g) {
  constexpr int64_t kTapsOfKey = 8;
  return 4 * s.queries >= kTapsOfKey * (s.keys / std::max<int64_t>(1, g.row_points));
}

}  // namespace

std::optional<MsDeformAttnPlan> PlanMsDeformAttn(const ops::MsDeformAttnParams& p,
                                                 std::string_view /*path*/) {
  if (!Serves(p) || !SideBySide(p, p.output_stride)) return std::nullopt;
  MsDeformAttnPlan plan;
  auto& g = std::get<Geometry>(plan.way);
  Booking booking;
  if (!Cut(p, &g, &booking)) return std::nullopt;
  plan.workspace_size = booking.size();
  return plan;
}

std::optional<MsDeformAttnBackwardPlan> PlanMsDeformAttnBackward(
    const ops::MsDeformAttnBackwardParams& p, std::string_view path) {
  if (!Serves(p) || !SideBySide(p, p.grad_output_stride)) return std::nullopt;
  if (p.want_value_grad && !SideBySide(p, p.value_grad_stride)) return std::nullopt;
  MsDeformAttnBackwardPlan plan;
  auto& g = std::get<Geometry>(plan.way);
  Booking booking;
  if (!Cut(p, &g, &booking)) return std::nullopt;
  CutHeads(p, &g);
  const bool sixteen_bits = p.dtype == base::DType::kFloat16 || p.dtype == base::DType::kBFloat16;
  const base::PathChoice choice(path);
  const bool may_direct = choice.Allows("direct") && !sixteen_bits;  // sums have 32
  const bool may_slab = choice.Allows("slab");
  if (!may_direct && !may_slab) return std::nullopt;
  g.slab = !may_direct || (may_slab && PrefersSlab(p, g));
  plan.path = g.slab ? "slab" : "direct";
  if (p.want_value_grad) {
    int64_t elements = g.part_channels;
    if (g.slab && !base::CheckedMul(elements, p.keys + 1, &elements)) return std::nullopt;
    g.sums = booking.Take(elements, SumBytes(p.dtype), g.slots, &g.sums_bytes);
  }
  if (!booking.fits()) return std::nullopt;
  plan.workspace_size = booking.size();
  return plan;
}

}  // namespace portacl::cpu
