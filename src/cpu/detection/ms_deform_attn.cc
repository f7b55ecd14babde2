// Multi-scale deformable attention and its gradients, compiled for every instruction set.
// Points of a row are located together. Then each block of channels is summed in registers,
// point by point. A point's gradients come from four dot products over channels. Owners sum the
// gradients of values, by levels, queries, points and taps in order; an owner has some channels
// of a head.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/checked.h"
#include "base/dispatch.h"
#include "base/kernel.h"
#include "base/round_up.h"
#include "cpu/detection/booking.h"
#include "cpu/machine/fetch.h"
#include "cpu/machine/machine.h"
#include "ops/listed_kernels.h"
#include "ops/ms_deform_attn_params.h"
#include "runtime/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/detection/ms_deform_attn.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/detection/points-inl.h"
#include "cpu/vector/simd-inl.h"

#ifndef PORTACL_CPU_MS_DEFORM_ATTN_PLAN_
#define PORTACL_CPU_MS_DEFORM_ATTN_PLAN_
namespace portacl::cpu {

// A row is one head of one query, with its points level by level. A tile is some rows; their points
// are located and weighed together. The workspace begins with a PointLevels: extents and start of
// each point's level, for a row's points and kPointLanes points more.
struct MsDeformAttnGeometry {
  int64_t row_points = 0;  // levels * points
  int64_t tile_rows = 0;
  int64_t tile_points = 0;  // room in a tile's arrays, in points
  int slots = 1;            // threads that may work at a time
  Part zeros;               // channels of a tap outside
  Part tiles;               // for each slot: a tile of points
  // For the values' gradient:
  Part sums;                  // for each slot: sums of a tap outside; with a slab, then of all keys
  bool slab = false;          // sums are in a copy of a head's keys, not in place
  bool fetch = false;         // values, or sums in place, exceed the L2 cache
  int64_t part_channels = 0;  // channels of a head that an owner has
  int64_t parts = 0;          // owners of a head
};

struct MsDeformAttnPlan : base::PathPlan<MsDeformAttnGeometry> {
  static constexpr std::array<const char*, 2> kPaths = {"slab", "direct"};  // of value_grad
};

// FLOAT holds keys and extents exactly up to here.
constexpr int64_t kMostKeys = int64_t{1} << 24;
constexpr int64_t kMostPoints = int64_t{1} << 40;  // of a row
constexpr int64_t kTilePoints = 256;               // their arrays stay in the L1 cache
constexpr int64_t kGrain = 1 << 16;                // products that are worth a second thread

inline bool Serves(const ops::MsDeformAttnParams& p) {
  const auto side_by_side = [&p](const auto& tensor) {
    return p.channels <= 1 || tensor.stride[3] == 1;
  };
  return p.keys <= kMostKeys && base::SaturatedProduct({p.levels, p.points}) <= kMostPoints &&
         side_by_side(p.value) && side_by_side(p.output) &&
         (!p.value_grad.has || side_by_side(p.value_grad));
}

// Cuts the work of the function and of its gradients.
inline void Cut(const ops::MsDeformAttnParams& p, MsDeformAttnGeometry* g) {
  g->row_points = p.levels * p.points;
  g->tile_rows = std::max<int64_t>(1, kTilePoints / std::max<int64_t>(1, g->row_points));
  g->tile_points = base::RoundUp(g->tile_rows * g->row_points, kPointLanes);
  const int64_t products =
      base::SaturatedProduct({4, p.batch, p.queries, p.heads, p.levels, p.points, p.channels});
  g->slots = products < kGrain ? 1 : runtime::NumThreads();
}

// Cuts heads into owners of the values' gradient. One owner has a head. If there are fewer heads
// than threads, owners have parts of a head: whole blocks of channels.
inline void CutHeads(const ops::MsDeformAttnParams& p, MsDeformAttnGeometry* g) {
  constexpr int64_t kBlock = 16;
  const int64_t blocks = std::max<int64_t>(1, base::DivideUp(p.channels, kBlock));
  const int64_t heads = std::max<int64_t>(1, p.batch * p.heads);
  const int64_t wanted = g->slots == 1 ? 1 : base::DivideUp(2 * g->slots, heads);
  const int64_t part_blocks = base::DivideUp(blocks, std::min(wanted, blocks));
  g->parts = base::DivideUp(blocks, part_blocks);
  g->part_channels = std::min(part_blocks * kBlock, std::max<int64_t>(1, p.channels));
}

// Whether sums are better in a slab than in place. In place, sums of other heads lie between a
// head's sums. A slab is dense, but is cleared and copied: this pays if keys are added to often.
inline bool PrefersSlab(const ops::MsDeformAttnParams& p, const MsDeformAttnGeometry& g) {
  constexpr int64_t kTapsOfKey = 8;
  return 4 * p.queries >= kTapsOfKey * (p.keys / std::max<int64_t>(1, g.row_points));
}

// Makes the kernel plan. No plan if channels are not adjacent, if FLOAT cannot hold each key's
// number exactly, or if the workspace would exceed 64 bits.
inline std::optional<MsDeformAttnPlan> PlanMsDeformAttn(const ops::MsDeformAttnParams& p,
                                                        std::string_view path) {
  const base::PathChoice choice(path);
  if (!Serves(p) || (!p.backward && choice.ByName())) return std::nullopt;
  MsDeformAttnPlan plan;
  auto& g = std::get<0>(plan.way);
  Cut(p, &g);
  const int64_t size = SumBytes(p.dtype);
  Booking booking;
  booking.Take(g.row_points + kPointLanes, 3 * size);
  g.zeros = booking.Take(p.channels, size);
  g.tiles = booking.Take(g.tile_points, kArraysOfPoint * size, g.slots);
  if (p.backward) {
    CutHeads(p, &g);
    const bool sixteen_bits = p.dtype == base::DType::kFloat16 || p.dtype == base::DType::kBFloat16;
    const bool may_direct = choice.Allows("direct") && !sixteen_bits;  // sums have 32 bits
    const bool may_slab = choice.Allows("slab");
    if (!may_direct && !may_slab) return std::nullopt;
    g.slab = !may_direct || (may_slab && PrefersSlab(p, g));
    plan.path = g.slab ? "slab" : "direct";
    g.fetch =
        !g.slab && base::SaturatedProduct({p.keys, p.heads, p.channels, size}) > L2CacheBytes();
    const int64_t keys = !p.value_grad.has ? 0 : g.slab ? p.keys + 1 : 1;
    g.sums = booking.Take(base::SaturatedProduct({g.part_channels, keys}), size, g.slots);
  }
  if (!booking.fits()) return std::nullopt;
  plan.workspace_size = booking.size();
  return plan;
}

}  // namespace portacl::cpu
#endif  // PORTACL_CPU_MS_DEFORM_ATTN_PLAN_

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::MsDeformAttnParams;

// The level of each point of a row, and of kPointLanes points behind it, because a vector of points
// may begin anywhere in a row. A level that does not fit the keys has NaN as extents.
template <class F>
struct PointLevels {
  PointLevels(const Params& s, int64_t row_points, void* memory)
      : count(row_points),
        width(static_cast<F*>(memory)),
        height(width + count + kPointLanes),
        start(height + count + kPointLanes) {
    if (count == 0) return;
    for (int64_t i = 0; i < count + kPointLanes; ++i) {
      const ops::MsDeformAttnLevel level = s.Level(i % count / s.points);
      constexpr F kNone = std::numeric_limits<F>::quiet_NaN();
      width[i] = level.height == 0 ? kNone : static_cast<F>(level.width);
      height[i] = level.height == 0 ? kNone : static_cast<F>(level.height);
      start[i] = static_cast<F>(level.start);
    }
  }

  int64_t count;
  F* width;
  F* height;
  F* start;
};

// Rows of a tile: row r is number `first + r * step` of all (batch, query, head), heads fastest.
struct TileRows {
  int64_t first;
  int64_t step;
  int64_t count;
};

template <class T>
class MsDeformAttn {
 public:
  MsDeformAttn(const Params& p, const MsDeformAttnGeometry& g, void* workspace)
      : p_(p),
        g_(g),
        workspace_(workspace),
        levels_(p, g.row_points, workspace),
        zeros_(g.zeros.In<T>(workspace)) {
    Clear(zeros_, p.channels);
  }

  void Run() const {
    if (!p_.backward) SumRows();
    if (p_.wants_point_grads()) MakePointGrads();
    if (p_.value_grad.has) MakeValueGrad();
  }

 private:
  using F = base::ComputeType<T>;

  PointTile<F> TileOf(int slot) const {
    return PointTile<F>(g_.tile_points, g_.tiles.In<F>(workspace_, slot));
  }
  Taps<const T> TapsOf(int64_t row) const {
    const T* const values = p_.value.At<T>(row / p_.heads / p_.queries, 0, row % p_.heads);
    return {values, p_.value.stride[1], zeros_};
  }
  // Returns the vector of a row: `tensor` has batch, query and head as its first axes.
  template <class E, class Tensor>
  auto* RowAt(const Tensor& tensor, int64_t row) const {
    const int64_t query = row / p_.heads;
    return tensor.template At<E>(query / p_.queries, query % p_.queries, row % p_.heads);
  }

  // ---- points -----------------------------------------------------------------------------------

  // Calls use(TypeTag) with the type of locations and weights.
  template <class Use>
  void WithPointType(const Use& use) const {
    if (p_.point_dtype == p_.dtype) return use(base::TypeTag<T>());
    use(base::TypeTag<F>());
  }

  // Copies rows of locations (kOfPoint 2) or weights (1): from a tensor that is read to `row`,
  // widened; or from `row` to a tensor that is written, each element rounded once.
  template <class P, int64_t kOfPoint, class Tensor>
  void CopyRows(const Tensor& tensor, TileRows rows, F* row) const {
    const auto& s = tensor.stride;
    const int64_t count = g_.row_points * kOfPoint;
    const bool dense = (kOfPoint == 1 || s.back() == 1) && (p_.points == 1 || s[4] == kOfPoint) &&
                       (p_.levels == 1 || s[3] == kOfPoint * p_.points);
    const int64_t run = dense ? count : kOfPoint, step = dense ? 1 : s.back();
    const int64_t levels = dense ? 1 : p_.levels, points = dense ? 1 : p_.points;
    for (int64_t r = 0; r < rows.count; ++r) {
      auto* const first = RowAt<P>(tensor, rows.first + r * rows.step);
      for (int64_t l = 0; l < levels; ++l) {
        for (int64_t p = 0; p < points; ++p, row += run) {
          auto* const elements = first + l * s[3] + p * s[4];
          if constexpr (std::is_const_v<std::remove_pointer_t<decltype(elements)>>) {
            ReadRun(elements, step, run, row);
          } else {
            WriteRun(row, run, elements, step);
          }
        }
      }
    }
  }

  // Reads rows and locates their points: fills attention, tx to uy, weight, key and state.
  void LocateRows(TileRows rows, const PointTile<F>& tile) const {
    const int64_t points = rows.count * g_.row_points;
    if (points == 0) return;
    WithPointType([&](auto tag) {
      using P = typename decltype(tag)::type;
      CopyRows<P, 2>(p_.location, rows, tile.xy);
      CopyRows<P, 1>(p_.weight, rows, tile.attention);
    });
    const PointVector<F> d;
    const auto half = hn::Set(d, F{0.5});
    for (int64_t i = 0; i < points; i += Length(d)) {
      const int64_t at = i % g_.row_points;
      hn::Vec<PointVector<F>> x, y;
      hn::LoadInterleaved2(d, tile.xy + 2 * i, x, y);
      const auto width = hn::LoadU(d, levels_.width + at);
      const auto height = hn::LoadU(d, levels_.height + at);
      LocateAt(tile, i, hn::Sub(hn::Mul(x, width), half), hn::Sub(hn::Mul(y, height), half), height,
               width, hn::LoadU(d, levels_.start + at));
    }
  }

  // Prefetches the first lines of channels of each key that the row's points touch, to read or
  // (kWrite 1) to write them.
  template <int kWrite, class E>
  HWY_INLINE static void FetchRow(const PointTile<F>& tile, int64_t first, int64_t points,
                                  const Taps<E>& taps, int64_t channels) {
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(E));
    const int64_t elements = std::min(channels, 4 * kLine);
    for (int64_t i = first; i < first + points; ++i) {
      for (size_t tap = 0; tap < 4; ++tap) {
        const int64_t key = tile.key[tap][i];
        if (key < 0) continue;
        for (int64_t at = 0; at < elements; at += kLine) {
          FetchElement<3, kWrite>(taps.first, key * taps.pitch + at);
        }
      }
    }
  }

  // Locates all points, tile by tile. Calls use(tile, the row's first point, row) for each row of a
  // tile, then finish(tile, rows).
  template <class Use, class Finish>
  void ForTiles(const Use& use, const Finish& finish) const {
    const int64_t rows = p_.batch * p_.queries * p_.heads;
    const int64_t tiles = base::DivideUp(rows, g_.tile_rows);
    runtime::ParallelForSlots(tiles, g_.slots, [&](int slot, int64_t i) {
      const PointTile<F> tile = TileOf(slot);
      const int64_t first = i * g_.tile_rows;
      const TileRows of{first, 1, std::min(g_.tile_rows, rows - first)};
      LocateRows(of, tile);
      for (int64_t r = 0; r < of.count; ++r) {
        if (g_.fetch && r + 1 < of.count) {
          FetchRow<0>(tile, (r + 1) * g_.row_points, g_.row_points, TapsOf(first + r + 1),
                      p_.channels);
        }
        use(tile, r * g_.row_points, first + r);
      }
      finish(tile, of);
    });
  }

  void SumRows() const {
    ForTiles(
        [&](const PointTile<F>& tile, int64_t first, int64_t row) PORTACL_INLINE_LAMBDA {
          SumPoints(tile, first, g_.row_points, TapsOf(row), p_.channels, RowAt<T>(p_.output, row));
        },
        [](const PointTile<F>& /*tile*/, const TileRows& /*rows*/) {});
  }

  // ---- gradients of points ----------------------------------------------------------------------

  void MakePointGrads() const {
    ForTiles(
        [&](const PointTile<F>& tile, int64_t first, int64_t row) PORTACL_INLINE_LAMBDA {
          DotPoints(tile, first, g_.row_points, RowAt<T>(p_.output, row), 0, TapsOf(row),
                    p_.channels);
        },
        [&](const PointTile<F>& tile, const TileRows& rows) {
          const int64_t points = rows.count * g_.row_points;
          for (int64_t i = 0; i < points; i += Length(PointVector<F>())) FinishVector(tile, i);
          WritePoints(tile, rows);
        });
  }

  // Turns dot products of a vector of points into gradients: replaces `xy` and `attention`.
  HWY_INLINE void FinishVector(const PointTile<F>& tile, int64_t i) const {
    const PointVector<F> d;
    const auto attention = hn::LoadU(d, tile.attention + i);
    const int64_t at = i % g_.row_points;
    FinishPoints(tile, i, hn::Mul(attention, hn::LoadU(d, levels_.width + at)),
                 hn::Mul(attention, hn::LoadU(d, levels_.height + at)),
                 [&](auto x, auto y)
                     PORTACL_INLINE_LAMBDA { hn::StoreInterleaved2(x, y, d, tile.xy + 2 * i); });
  }

  void WritePoints(const PointTile<F>& tile, TileRows rows) const {
    WithPointType([&](auto tag) {
      using P = typename decltype(tag)::type;
      if (p_.weight_grad.has) CopyRows<P, 1>(p_.weight_grad, rows, tile.attention);
      if (p_.location_grad.has) CopyRows<P, 2>(p_.location_grad, rows, tile.xy);
    });
  }

  // ---- gradient of the values -------------------------------------------------------------------

  // Owner of some channels of a head in a batch element, with the place of its sums.
  struct Owner {
    int64_t batch, head;
    int64_t channel, channels;
    Taps<F> sums;
  };

  void MakeValueGrad() const {
    if (!g_.slab) ClearValueGrad();
    const bool apart = AreLevelsApart();
    runtime::ParallelForSlots(p_.batch * p_.heads * g_.parts, g_.slots, [&](int slot, int64_t i) {
      const Owner owner = OwnerAt(slot, i);
      if (g_.slab) Clear(owner.sums.first, p_.keys * owner.sums.pitch);
      const int64_t step = apart ? p_.levels : 1;
      for (int64_t level = 0; level < p_.levels; level += step) {
        AddLevels(TileOf(slot), owner, level * p_.points, step * p_.points);
      }
      if (g_.slab) CopySums(owner);
    });
  }

  Owner OwnerAt(int slot, int64_t i) const {
    const int64_t batch = i / g_.parts / p_.heads, head = i / g_.parts % p_.heads;
    const int64_t channel = i % g_.parts * g_.part_channels;
    F* const outside = g_.sums.In<F>(workspace_, slot);
    Taps<F> sums{outside + g_.part_channels, g_.part_channels, outside};
    if (!g_.slab) {
      const auto& grad = p_.value_grad;
      sums = {grad.template At<F>(batch, 0, head) + channel, grad.stride[1], outside};
    }
    return {batch, head, channel, std::min(g_.part_channels, p_.channels - channel), sums};
  }

  void ClearValueGrad() const {
    const auto& s = p_.value_grad.stride;
    const int64_t elements = std::max<int64_t>(1, p_.heads * p_.channels);
    const bool dense = p_.heads == 1 || s[2] == p_.channels;
    const int64_t step = dense ? p_.heads : 1;
    runtime::ParallelFor(p_.batch * p_.keys, 1 + 65536 / elements, [&](int64_t i, int64_t last) {
      for (int64_t count = 1; i < last; i += count) {
        const int64_t key = i % p_.keys;
        if (dense && s[1] == elements) count = std::min(last - i, p_.keys - key);
        for (int64_t h = 0; h < p_.heads; h += step) {
          Clear(p_.value_grad.At<T>(i / p_.keys, key, h), count * step * p_.channels);
        }
      }
    });
  }

  // Whether no key belongs to two levels; sums may then take levels or queries first. It may return
  // false for separate levels that are not in ascending order.
  bool AreLevelsApart() const {
    int64_t end = 0;
    for (int64_t l = 0; l < p_.levels; ++l) {
      const ops::MsDeformAttnLevel level = p_.Level(l);
      if (level.height == 0) continue;
      if (level.start < end) return false;
      end = level.start + level.height * level.width;
    }
    return true;
  }

  // Adds points [first, first + count) of every row to the owner's sums.
  void AddLevels(const PointTile<F>& tile, const Owner& owner, int64_t first, int64_t count) const {
    for (int64_t q = 0; q < p_.queries; q += g_.tile_rows) {
      const TileRows rows{(owner.batch * p_.queries + q) * p_.heads + owner.head, p_.heads,
                          std::min(g_.tile_rows, p_.queries - q)};
      LocateRows(rows, tile);
      for (int64_t r = 0; r < rows.count; ++r) {
        if (g_.fetch && r + 1 < rows.count) {
          FetchRow<1>(tile, (r + 1) * g_.row_points + first, count, owner.sums, owner.channels);
        }
        const T* const grad = p_.output.At<T>(owner.batch, q + r, owner.head) + owner.channel;
        AddPoints(tile, r * g_.row_points + first, count, grad, owner.sums, owner.channels);
      }
    }
  }

  void CopySums(const Owner& owner) const {
    for (int64_t key = 0; key < p_.keys; ++key) {
      WriteRun(owner.sums.first + key * owner.sums.pitch, owner.channels,
               p_.value_grad.At<T>(owner.batch, key, owner.head) + owner.channel, 1);
    }
  }

  const Params& p_;
  const MsDeformAttnGeometry& g_;
  void* const workspace_;
  const PointLevels<F> levels_;
  T* const zeros_;  // channels of a tap outside
};

void Run(const Params& params, const MsDeformAttnPlan& plan, void* workspace) {
  base::DispatchFloating(params.dtype, [&](auto tag) {
    MsDeformAttn<typename decltype(tag)::type>(params, std::get<0>(plan.way), workspace).Run();
  });
}

using cpu::PlanMsDeformAttn;

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

PORTACL_KERNELS(MsDeformAttn, PlanMsDeformAttn, Run)
