// Multi-scale deformable attention, for every instruction set: a row's points are located together,
// then each block of its channels is summed in registers, point by point.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dispatch.h"
#include "cpu/detection/ms_deform_attn_plan.h"
#include "cpu/machine/grain.h"
#include "ops/listed_kernels.h"
#include "ops/ms_deform_attn_params.h"
#include "runtime/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/detection/ms_deform_attn.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/detection/ms_deform_attn_points-inl.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::MsDeformAttnParams;

template <class T>
class MsDeformAttn {
 public:
  MsDeformAttn(const Params& p, const MsDeformAttnGeometry& g, void* workspace)
      : p_(p),
        g_(g),
        workspace_(static_cast<char*>(workspace)),
        levels_(p, g.row_points, workspace),
        zeros_(reinterpret_cast<T*>(workspace_ + g.zeros)) {
    Clear(zeros_, p.channels);
  }

  void Run() const {
    const int64_t rows = p_.batch * p_.queries * p_.heads;
    const int64_t tiles = DivideUp(rows, g_.tile_rows);
    runtime::ParallelForSlots(tiles, g_.slots, [&](int slot, int64_t i) {
      const PointTile<F> tile(g_.tile_points,
                              workspace_ + g_.tiles + static_cast<uint64_t>(slot) * g_.tile_bytes);
      const int64_t first = i * g_.tile_rows;
      const TileRows of{first, 1, std::min(g_.tile_rows, rows - first)};
      LocateRows(p_, levels_, of, tile);
      for (int64_t r = 0; r < of.count; ++r) {
        if (g_.fetch && r + 1 < of.count) Fetch(tile, (r + 1) * g_.row_points, first + r + 1);
        SumRow(tile, r * g_.row_points, first + r);
      }
    });
  }

 private:
  using F = base::ComputeType<T>;
  using D = hn::ScalableTag<F>;
  using V = hn::Vec<D>;

  const T* ValuesOf(int64_t row) const {
    return HeadAt<const T>(p_.value, p_.value_stride, row / p_.heads / p_.queries, 0,
                           row % p_.heads);
  }

  void Fetch(const PointTile<F>& tile, int64_t first, int64_t row) const {
    FetchRow<0>(tile, first, g_.row_points, ValuesOf(row), p_.value_stride[1], p_.channels);
  }

  void SumRow(const PointTile<F>& tile, int64_t first, int64_t row) const {
    const int64_t lanes = Length(D());
    const T* const values = ValuesOf(row);
    T* const output = RowAt<T>(p_, p_.output, p_.output_stride, row);
    int64_t c = 0;
    for (; c + 4 * lanes <= p_.channels; c += 4 * lanes) {
      SumBlock<4>(tile, first, values + c, lanes, output + c);
    }
    for (; c + 2 * lanes <= p_.channels; c += 2 * lanes) {
      SumBlock<2>(tile, first, values + c, lanes, output + c);
    }
    for (; c < p_.channels; c += lanes) {
      SumBlock<1>(tile, first, values + c, std::min(lanes, p_.channels - c), output + c);
    }
  }

  // kVectors vectors of channels, the last of `last` lanes.
  template <int kVectors>
  HWY_INLINE void SumBlock(const PointTile<F>& tile, int64_t first, const T* HWY_RESTRICT values,
                           int64_t last, T* HWY_RESTRICT output) const {
    const D d;
    const int64_t lanes = Length(d);
    const bool whole = last == lanes;
    V sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (int64_t i = first; i < first + g_.row_points; ++i) {
      if (tile.state[i] == 0) continue;
      for (size_t tap = 0; tap < 4; ++tap) {
        const int64_t key = tile.key[tap][i];
        const T* const from = key < 0 ? zeros_ : values + key * p_.value_stride[1];
        const V weight = hn::Set(d, tile.weight[tap][i]);
        if constexpr (kVectors == 1) {
          const V value =
              whole ? LoadWide(d, from) : LoadWideFirst(d, from, static_cast<size_t>(last));
          sum0 = hn::MulAdd(weight, value, sum0);
        } else {
          sum0 = hn::MulAdd(weight, LoadWide(d, from), sum0);
          sum1 = hn::MulAdd(weight, LoadWide(d, from + lanes), sum1);
        }
        if constexpr (kVectors == 4) {
          sum2 = hn::MulAdd(weight, LoadWide(d, from + 2 * lanes), sum2);
          sum3 = hn::MulAdd(weight, LoadWide(d, from + 3 * lanes), sum3);
        }
      }
    }
    if (!whole) return StoreNarrowFirst(sum0, d, output, static_cast<size_t>(last));
    StoreNarrow(sum0, d, output);
    if constexpr (kVectors > 1) StoreNarrow(sum1, d, output + lanes);
    if constexpr (kVectors == 4) {
      StoreNarrow(sum2, d, output + 2 * lanes);
      StoreNarrow(sum3, d, output + 3 * lanes);
    }
  }

  const Params& p_;
  const MsDeformAttnGeometry& g_;
  char* const workspace_;
  const PointLevels<F> levels_;
  T* const zeros_;  // the channels of a tap outside
};

void Run(const Params& params, const MsDeformAttnPlan& plan, void* workspace) {
  base::DispatchFloating(params.dtype, [&](auto tag) {
    MsDeformAttn<typename decltype(tag)::type>(params, plan.geometry(), workspace).Run();
  });
}

std::optional<MsDeformAttnPlan> Plan(const Params& params, std::string_view path) {
  return PlanMsDeformAttn(params, path);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#if HWY_ONCE
namespace portacl::cpu {

std::span<const base::Kernel<ops::MsDeformAttnParams>> MsDeformAttnKernels() {
  static constexpr base::Kernel<ops::MsDeformAttnParams> kKernels[] = {PORTACL_KERNELS(Plan, Run)};
  return kKernels;
}

}  // namespace portacl::cpu
#endif  // HWY_ONCE
