// Multi-scale deformable attention, for every instruction set: a row's points are located together,
// then each block of its channels is summed in registers, point by point.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cpu/detection/ms_deform_attn_plan.h"
#include "cpu/detection/run_by_dtype.h"
#include "cpu/machine/grain.h"
#include "ops/listed_kernels.h"
#include "ops/ms_deform_attn_params.h"
#include "runtime/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/detection/ms_deform_attn.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/detection/ms_deform_attn_points-inl.h"
#include "cpu/detection/point_sums-inl.h"
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

  const T* ValuesOf(int64_t row) const {
    return HeadAt<const T>(p_.value, p_.value_stride, row / p_.heads / p_.queries, 0,
                           row % p_.heads);
  }

  void Fetch(const PointTile<F>& tile, int64_t first, int64_t row) const {
    FetchRow<0>(tile, first, g_.row_points, ValuesOf(row), p_.value_stride[1], p_.channels);
  }

  void SumRow(const PointTile<F>& tile, int64_t first, int64_t row) const {
    SumPoints(tile, first, g_.row_points, Taps<const T>{ValuesOf(row), p_.value_stride[1], zeros_},
              p_.channels, RowAt<T>(p_, p_.output, p_.output_stride, row));
  }

  const Params& p_;
  const MsDeformAttnGeometry& g_;
  char* const workspace_;
  const PointLevels<F> levels_;
  T* const zeros_;  // the channels of a tap outside
};

PORTACL_RUN_BY_DTYPE(MsDeformAttn)

std::optional<MsDeformAttnPlan> Plan(const Params& params, std::string_view path) {
  return PlanMsDeformAttn(params, path);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#if HWY_ONCE
namespace portacl::cpu {

PORTACL_KERNELS(MsDeformAttn, Plan, Run)

}  // namespace portacl::cpu
#endif  // HWY_ONCE
