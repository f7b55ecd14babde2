// The gradients of multi-scale deformable attention, for every instruction set. A point's own come
// of four dot products over its channels; the values' are added by owners, one for some channels of
// a head, in the order of levels, queries, points and taps.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/detection/ms_deform_attn_plan.h"
#include "cpu/machine/grain.h"
#include "ops/listed_kernels.h"
#include "ops/ms_deform_attn_params.h"
#include "runtime/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/detection/ms_deform_attn_backward.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/detection/ms_deform_attn_points-inl.h"
#include "cpu/vector/channel_tree-inl.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::MsDeformAttnBackwardParams;

template <class T>
class MsDeformAttnBackward {
 public:
  MsDeformAttnBackward(const Params& p, const MsDeformAttnGeometry& g, void* workspace)
      : p_(p),
        g_(g),
        workspace_(static_cast<char*>(workspace)),
        levels_(p, g.row_points, workspace),
        zeros_(reinterpret_cast<T*>(workspace_ + g.zeros)) {
    Clear(zeros_, p.channels);
  }

  void Run() const {
    if (p_.want_point_grad) MakePointGrads();
    if (p_.want_value_grad) MakeValueGrad();
  }

 private:
  using F = base::ComputeType<T>;
  // Of sums, which are read and written point by point: in 512 bits Zen 4 takes half as long again.
  using D = hn::CappedTag<F, 32 / sizeof(F)>;
  using V = hn::Vec<D>;
  using Block = BlockTag<F, 16>;
  using VB = hn::Vec<Block>;
  static constexpr int kBlockVectors = 16 / kBlockLanes<F, 16>;

  PointTile<F> TileOf(int slot) const {
    return PointTile<F>(g_.tile_points,
                        workspace_ + g_.tiles + static_cast<uint64_t>(slot) * g_.tile_bytes);
  }

  // ---- gradients of points ----------------------------------------------------------------------

  void MakePointGrads() const {
    const int64_t rows = p_.batch * p_.queries * p_.heads;
    const int64_t tiles = DivideUp(rows, g_.tile_rows);
    runtime::ParallelForSlots(tiles, g_.slots, [&](int slot, int64_t i) {
      const PointTile<F> tile = TileOf(slot);
      const int64_t first = i * g_.tile_rows;
      const TileRows of{first, 1, std::min(g_.tile_rows, rows - first)};
      LocateRows(p_, levels_, of, tile);
      for (int64_t r = 0; r < of.count; ++r) {
        if (g_.fetch && r + 1 < of.count) Fetch(tile, (r + 1) * g_.row_points, first + r + 1);
        DotRow(tile, r * g_.row_points, first + r);
      }
      const int64_t lanes = Length(PointVector<F>());
      for (int64_t at = 0; at < of.count * g_.row_points; at += lanes) FinishVector(tile, at);
      WritePoints(tile, of);
    });
  }

  const T* ValuesOf(int64_t row) const {
    return HeadAt<const T>(p_.value, p_.value_stride, row / p_.heads / p_.queries, 0,
                           row % p_.heads);
  }

  void Fetch(const PointTile<F>& tile, int64_t first, int64_t row) const {
    FetchRow<0>(tile, first, g_.row_points, ValuesOf(row), p_.value_stride[1], p_.channels);
  }

  void DotRow(const PointTile<F>& tile, int64_t first, int64_t row) const {
    const T* const grad = RowAt<const T>(p_, p_.grad_output, p_.grad_output_stride, row);
    const T* const values = ValuesOf(row);
    for (int64_t i = first; i < first + g_.row_points; ++i) {
      if (tile.state[i] != 1) continue;
      const auto channels = [&](size_t tap) PORTACL_INLINE_LAMBDA {
        const int64_t key = tile.key[tap][i];
        return key < 0 ? zeros_ : values + key * p_.value_stride[1];
      };
      DotTaps(grad, channels(0), channels(1), channels(2), channels(3), tile.dot + 4 * i);
    }
  }

  HWY_INLINE void DotTaps(const T* HWY_RESTRICT grad, const T* nw_taps, const T* ne_taps,
                          const T* sw_taps, const T* se_taps, F* HWY_RESTRICT dot) const {
    const Block d;
    constexpr int64_t kLanes = kBlockLanes<F, 16>;
    const auto sum = [&](int r, VB& nw, VB& ne, VB& sw, VB& se) PORTACL_INLINE_LAMBDA {
      nw = ne = sw = se = hn::Zero(d);
      int64_t c = r * kLanes;
      for (; c + kLanes <= p_.channels; c += 16) {
        const VB g = LoadWide(d, grad + c);
        nw = hn::MulAdd(g, LoadWide(d, nw_taps + c), nw);
        ne = hn::MulAdd(g, LoadWide(d, ne_taps + c), ne);
        sw = hn::MulAdd(g, LoadWide(d, sw_taps + c), sw);
        se = hn::MulAdd(g, LoadWide(d, se_taps + c), se);
      }
      if (c >= p_.channels) return;
      const auto left = static_cast<size_t>(p_.channels - c);
      const auto some = hn::FirstN(d, left);  // other lanes stay as they are, -0 too
      const VB g = LoadWideFirst(d, grad + c, left);
      const auto add = [&](const T* taps, VB lanes) PORTACL_INLINE_LAMBDA {
        return hn::IfThenElse(some, hn::MulAdd(g, LoadWideFirst(d, taps + c, left), lanes), lanes);
      };
      nw = add(nw_taps, nw);
      ne = add(ne_taps, ne);
      sw = add(sw_taps, sw);
      se = add(se_taps, se);
    };
    VB nw = hn::Zero(d), ne = nw, sw = nw, se = nw;
    SumTree<kBlockVectors, kBlockVectors, 0, 1>(sum, nw, ne, sw, se);
    StoreTreeSums(d, nw, ne, dot);
    StoreTreeSums(d, sw, se, dot + 2);
  }

  // The gradients of a vector of points, from their dot products: over xy and attention.
  HWY_INLINE void FinishVector(const PointTile<F>& tile, int64_t i) const {
    const PointVector<F> d;
    const hn::RebindToSigned<PointVector<F>> di;
    using VP = hn::Vec<PointVector<F>>;
    VP nw, ne, sw, se;
    LoadDeinterleaved4(d, tile.dot + 4 * i, nw, ne, sw, se);
    const auto inside = [&](size_t tap, VP dot) PORTACL_INLINE_LAMBDA {
      const auto key = hn::LoadU(di, tile.key[tap] + i);
      return hn::IfThenElseZero(hn::RebindMask(d, hn::Gt(key, hn::Set(di, -1))), dot);
    };
    nw = inside(0, nw);
    ne = inside(1, ne);
    sw = inside(2, sw);
    se = inside(3, se);
    const VP tx = hn::LoadU(d, tile.tx + i), ty = hn::LoadU(d, tile.ty + i);
    const VP ux = hn::LoadU(d, tile.ux + i), uy = hn::LoadU(d, tile.uy + i);
    VP weight = hn::Mul(hn::Mul(ux, uy), nw);
    weight = hn::MulAdd(hn::Mul(tx, uy), ne, weight);
    weight = hn::MulAdd(hn::Mul(ux, ty), sw, weight);
    weight = hn::MulAdd(hn::Mul(tx, ty), se, weight);
    const VP slope_x = hn::MulAdd(hn::Sub(se, sw), ty, hn::Mul(hn::Sub(ne, nw), uy));
    const VP slope_y = hn::MulAdd(hn::Sub(se, ne), tx, hn::Mul(hn::Sub(sw, nw), ux));
    const VP attention = hn::LoadU(d, tile.attention + i);
    const int64_t at = i % g_.row_points;
    const VP x = hn::Mul(hn::Mul(attention, hn::LoadU(d, levels_.width + at)), slope_x);
    const VP y = hn::Mul(hn::Mul(attention, hn::LoadU(d, levels_.height + at)), slope_y);
    const auto state = hn::LoadU(di, tile.state + i);
    const auto usable = hn::RebindMask(d, hn::Eq(state, hn::Set(di, 1)));
    const auto is_nan = hn::RebindMask(d, hn::Gt(state, hn::Set(di, 1)));
    const VP other = hn::IfThenElseZero(is_nan, hn::Set(d, std::numeric_limits<F>::quiet_NaN()));
    hn::StoreU(hn::IfThenElse(usable, weight, other), d, tile.attention + i);
    hn::StoreInterleaved2(hn::IfThenElse(usable, x, other), hn::IfThenElse(usable, y, other), d,
                          tile.xy + 2 * i);
  }

  void WritePoints(const PointTile<F>& tile, TileRows rows) const {
    const auto write = [&](auto tag) {
      using P = typename decltype(tag)::type;
      if (p_.weight_grad != nullptr) {
        WriteRows<P>(p_, tile.attention, rows, p_.weight_grad, p_.weight_grad_stride);
      }
      if (p_.location_grad != nullptr) {
        WriteRows<P>(p_, tile.xy, rows, p_.location_grad, p_.location_grad_stride);
      }
    };
    if (p_.point_dtype == p_.dtype) {
      write(base::TypeTag<T>());
    } else {
      write(base::TypeTag<F>());
    }
  }

  // ---- gradient of the values -------------------------------------------------------------------

  // Some channels of a head of an image, and where they are summed.
  struct Owner {
    int64_t batch, head;
    int64_t channel, channels;
    F* sums;        // of key 0
    int64_t pitch;  // from a key to the next
    F* outside;     // of taps outside
  };

  void MakeValueGrad() const {
    if (!g_.slab) ClearValueGrad();
    const bool apart = AreLevelsApart();
    runtime::ParallelForSlots(p_.batch * p_.heads * g_.parts, g_.slots, [&](int slot, int64_t i) {
      const Owner owner = OwnerAt(slot, i);
      if (g_.slab) Clear(owner.sums, p_.keys * owner.pitch);
      const int64_t step = apart ? p_.levels : 1;
      for (int64_t level = 0; level < p_.levels; level += step) {
        AddLevels(TileOf(slot), owner, level * p_.points, step * p_.points);
      }
      if (g_.slab) CopySums(owner);
    });
  }

  Owner OwnerAt(int slot, int64_t i) const {
    Owner owner;
    owner.batch = i / g_.parts / p_.heads;
    owner.head = i / g_.parts % p_.heads;
    owner.channel = i % g_.parts * g_.part_channels;
    owner.channels = std::min(g_.part_channels, p_.channels - owner.channel);
    owner.outside =
        reinterpret_cast<F*>(workspace_ + g_.sums + static_cast<uint64_t>(slot) * g_.sums_bytes);
    if (g_.slab) {
      owner.sums = owner.outside + g_.part_channels;
      owner.pitch = g_.part_channels;
    } else {
      owner.sums = HeadAt<F>(p_.value_grad, p_.value_grad_stride, owner.batch, 0, owner.head) +
                   owner.channel;
      owner.pitch = p_.value_grad_stride[1];
    }
    return owner;
  }

  void ClearValueGrad() const {
    const auto& s = p_.value_grad_stride;
    const bool dense = p_.heads == 1 || s[2] == p_.channels;
    const int64_t elements = std::max<int64_t>(1, p_.heads * p_.channels);
    runtime::ParallelFor(p_.batch * p_.keys, 1 + 65536 / elements, [&](int64_t i, int64_t last) {
      for (; i < last; ++i) {
        const int64_t b = i / p_.keys;
        const int64_t key = i % p_.keys;
        if (dense) {
          Clear(HeadAt<T>(p_.value_grad, s, b, key, 0), elements);
          continue;
        }
        for (int64_t h = 0; h < p_.heads; ++h) {
          Clear(HeadAt<T>(p_.value_grad, s, b, key, h), p_.channels);
        }
      }
    });
  }

  // Whether no key belongs to two levels: then it does not matter whether queries or levels come
  // first. Told of ascending levels only.
  bool AreLevelsApart() const {
    int64_t end = 0;
    for (int64_t l = 0; l < p_.levels; ++l) {
      const ops::MsDeformAttnLevel& level = p_.level[l];
      if (level.height == 0) continue;
      if (level.start < end) return false;
      end = level.start + level.height * level.width;
    }
    return true;
  }

  // Adds what points [first, first + count) of every row give.
  void AddLevels(const PointTile<F>& tile, const Owner& owner, int64_t first, int64_t count) const {
    for (int64_t q = 0; q < p_.queries; q += g_.tile_rows) {
      const TileRows rows{(owner.batch * p_.queries + q) * p_.heads + owner.head, p_.heads,
                          std::min(g_.tile_rows, p_.queries - q)};
      LocateRows(p_, levels_, rows, tile);
      for (int64_t r = 0; r < rows.count; ++r) {
        if (g_.fetch && !g_.slab && r + 1 < rows.count) {
          FetchRow<1>(tile, (r + 1) * g_.row_points + first, count, owner.sums, owner.pitch,
                      owner.channels);
        }
        const T* const grad =
            HeadAt<const T>(p_.grad_output, p_.grad_output_stride, owner.batch, q + r, owner.head) +
            owner.channel;
        AddRow(tile, r * g_.row_points + first, count, grad, owner);
      }
    }
  }

  void AddRow(const PointTile<F>& tile, int64_t first, int64_t count, const T* grad,
              const Owner& owner) const {
    const int64_t lanes = Length(D());
    int64_t c = 0;
    for (; c + 4 * lanes <= owner.channels; c += 4 * lanes) {
      AddBlock<4>(tile, first, count, grad + c, lanes, owner, c);
    }
    for (; c + 2 * lanes <= owner.channels; c += 2 * lanes) {
      AddBlock<2>(tile, first, count, grad + c, lanes, owner, c);
    }
    for (; c < owner.channels; c += lanes) {
      AddBlock<1>(tile, first, count, grad + c, std::min(lanes, owner.channels - c), owner, c);
    }
  }

  // kVectors vectors of channels from the owner's channel c on, the last of `last` lanes.
  template <int kVectors>
  HWY_INLINE void AddBlock(const PointTile<F>& tile, int64_t first, int64_t count,
                           const T* HWY_RESTRICT grad, int64_t last, const Owner& owner,
                           int64_t c) const {
    const D d;
    const int64_t lanes = Length(d);
    const auto some = static_cast<size_t>(last);
    const bool whole = last == lanes;
    const V g0 = whole ? LoadWide(d, grad) : LoadWideFirst(d, grad, some);
    const auto rest = [&](int v) PORTACL_INLINE_LAMBDA {
      return v < kVectors ? LoadWide(d, grad + v * lanes) : hn::Zero(d);
    };
    const V g1 = rest(1), g2 = rest(2), g3 = rest(3);
    for (int64_t i = first; i < first + count; ++i) {
      if (tile.state[i] != 1) continue;
      for (size_t tap = 0; tap < 4; ++tap) {
        const int64_t key = tile.key[tap][i];
        F* const sums = (key < 0 ? owner.outside : owner.sums + key * owner.pitch) + c;
        const V weight = hn::Set(d, tile.weight[tap][i]);
        if (kVectors == 1 && !whole) {
          StoreFirst(hn::MulAdd(weight, g0, LoadFirst(d, sums, some)), d, sums, some);
          continue;
        }
        const auto add = [&](int v, V g) PORTACL_INLINE_LAMBDA {
          if (v >= kVectors) return;
          F* const to = sums + v * lanes;
          hn::StoreU(hn::MulAdd(weight, g, hn::LoadU(d, to)), d, to);
        };
        add(0, g0);
        add(1, g1);
        add(2, g2);
        add(3, g3);
      }
    }
  }

  void CopySums(const Owner& owner) const {
    const D d;
    const int64_t lanes = Length(d);
    for (int64_t key = 0; key < p_.keys; ++key) {
      const F* const from = owner.sums + key * owner.pitch;
      T* const to = HeadAt<T>(p_.value_grad, p_.value_grad_stride, owner.batch, key, owner.head) +
                    owner.channel;
      int64_t c = 0;
      for (; c + lanes <= owner.channels; c += lanes)
        StoreNarrow(hn::LoadU(d, from + c), d, to + c);
      if (c == owner.channels) continue;
      const auto left = static_cast<size_t>(owner.channels - c);
      StoreNarrowFirst(LoadFirst(d, from + c, left), d, to + c, left);
    }
  }

  const Params& p_;
  const MsDeformAttnGeometry& g_;
  char* const workspace_;
  const PointLevels<F> levels_;
  T* const zeros_;  // the channels of a tap outside
};

void Run(const Params& params, const MsDeformAttnBackwardPlan& plan, void* workspace) {
  base::DispatchFloating(params.dtype, [&](auto tag) {
    MsDeformAttnBackward<typename decltype(tag)::type>(params, plan.geometry(), workspace).Run();
  });
}

std::optional<MsDeformAttnBackwardPlan> Plan(const Params& params, std::string_view path) {
  return PlanMsDeformAttnBackward(params, path);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#if HWY_ONCE
namespace portacl::cpu {

std::span<const base::Kernel<ops::MsDeformAttnBackwardParams>> MsDeformAttnBackwardKernels() {
  static constexpr base::Kernel<ops::MsDeformAttnBackwardParams> kKernels[] = {
      PORTACL_KERNELS(Plan, Run)};
  return kKernels;
}

}  // namespace portacl::cpu
#endif  // HWY_ONCE
