// Both gradients of volumes with many channels, trilinear and tricubic: a block of channels in the
// lanes of vectors, point by point. grid_sampler_2d_backward_slab.cc says why images have separate
// code.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_3d_backward_blocks.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <cstring>

#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_blocks-inl.h"
#include "cpu/grid_sampler/grid_sampler_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/vector/channel_tree-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler3DBackwardParams;

// The part of a batch's points that a task needs.
template <class F, Interpolation kInterpolation>
struct OwnedBatch : BlockBatch<F, kInterpolation> {
  using Base = BlockBatch<F, kInterpolation>;
  // Bits of the taps to add to. For tricubic points: not 0 if there are such taps.
  HWY_ALIGN int32_t taps[Base::kPoints];
  HWY_ALIGN int32_t own[Base::kPoints];  // not 0: gridGrad is this task's
  int64_t first_plane;
  int64_t end_plane;
};

// One volume's gradients, in a slot of the workspace: see SummedBlocks.
template <class T, Interpolation kInterpolation>
class BlockedVolume {
  using F = base::ComputeType<T>;
  using D = BlockTag<F, kBlockChannels>;
  using V = hn::Vec<D>;
  static constexpr int kLanes = kBlockLanes<F, kBlockChannels>;
  static constexpr int kVectors = kBlockChannels / kLanes;
  static constexpr bool kTricubic = kInterpolation == Interpolation::kBicubic;
  using Batch = OwnedBatch<F, kInterpolation>;

 public:
  BlockedVolume(const Params& p, const SummedBlocks& plan, int64_t n, F* slot)
      : p_(p),
        plan_(plan),
        n_(n),
        geometry_(PointGeometryOf<F>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        voxels_(p.shape, plan.VoxelElements(p), slot),
        sums_(p.want_grid_grad ? kBlockChannels : 0),
        totals_(voxels_.first + voxels_.Elements()) {}

  // All stages of all blocks.
  void Run() const {
    for (int64_t first = 0; first < p_.shape.c; first += kBlockChannels) {
      const int64_t channels = std::min<int64_t>(kBlockChannels, p_.shape.c - first);
      ReadVoxels(first, channels);
      AddPoints(first, channels);
      if (p_.want_input_grad) WriteSums(first, channels);
    }
  }

  // Sums of gridGrad, before the coordinates' slopes: x, y, z and an unused element of each point.
  const F* totals() const { return totals_; }

 private:
  void ReadVoxels(int64_t first, int64_t channels) const {
    const auto& stride = p_.input_stride;
    const T* const input = static_cast<const T*>(p_.input) + n_ * stride[0] + first * stride[1];
    voxels_.ForRows(stride, [&](int64_t offset, F* row) {
      if (!p_.want_grid_grad) return Clear(row, voxels_.row);
      const Planar<const T> from = {input + offset, stride[1], stride[4], channels, p_.shape.w};
      if (p_.want_input_grad) {
        ReadPixels<T, kBlockChannels, Beside::kZeros>(from, row, voxels_.voxel);
      } else {
        ReadPixels<T, kBlockChannels>(from, row, voxels_.voxel);
      }
    });
  }

  void WriteSums(int64_t first, int64_t channels) const {
    const auto& stride = p_.input_grad_stride;
    T* const out = static_cast<T*>(p_.input_grad) + n_ * stride[0] + first * stride[1];
    voxels_.ForRows(stride, [&](int64_t offset, const F* row) {
      WritePixels<T, kBlockChannels>(
          row + sums_, voxels_.voxel,
          Planar<T>{out + offset, stride[1], stride[4], channels, p_.shape.w});
    });
  }

  // Each task owns a slab of planes and looks at all points; without inputGrad, a range of points.
  void AddPoints(int64_t first_channel, int64_t channels) const {
    const int64_t points = plan_.chunks.points;
    if (!p_.want_input_grad) {
      return ForChunks(plan_.chunks, [&](int64_t begin, int64_t end) {
        AddBatches(first_channel, channels, begin, end, 0, p_.shape.d);
      });
    }
    runtime::ParallelFor(plan_.slabs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slab = begin; slab < end; ++slab) {
        AddBatches(first_channel, channels, 0, points, FirstLine(p_.shape.d, slab, plan_.slabs),
                   FirstLine(p_.shape.d, slab + 1, plan_.slabs));
      }
    });
  }

  void AddBatches(int64_t first_channel, int64_t channels, int64_t first, int64_t last,
                  int64_t first_plane, int64_t end_plane) const {
    Batch batch;
    batch.first_plane = first_plane;
    batch.end_plane = end_plane;
    HWY_ALIGN F g[Batch::kPoints * kBlockChannels];
    for (; first < last; first += Batch::kPoints) {
      const int64_t count = std::min(Batch::kPoints, last - first);
      if (!Prepare(first, count, &batch)) continue;
      ReadGradOutput(first_channel, channels, first, count, g);
      AddBatch(batch, first_channel == 0, first, count, g);
    }
  }

  // False if no point has a tap in the task's planes. Not inlined: the compiler would keep the
  // weights in vectors and extract them lane by lane.
  HWY_NOINLINE bool Prepare(int64_t first, int64_t count, Batch* HWY_RESTRICT batch) const {
    const IndexTag<PointTag<F>> di;
    const T* const grid = static_cast<const T*>(p_.grid) + n_ * p_.grid_stride[0];
    auto any = hn::Zero(di);
    ForGridVectors<3>(grid_at_, grid, first, first + count,
                      [&](int64_t p, int64_t left, auto x, auto y, auto z) PORTACL_INLINE_LAMBDA {
                        LocateTaps(PointTag<F>(), geometry_, Axes(x, y, z));
                        const auto listed = Place(x, y, z, p - first, batch);
                        const auto exist = hn::FirstN(di, static_cast<size_t>(left));
                        any = hn::Or(any, hn::IfThenElseZero(exist, listed));
                      });
    return !hn::AllTrue(di, hn::Eq(any, hn::Zero(di)));
  }

  // Stores the places of a vector of points; the result is not 0 for points of the task.
  template <class VF, class VI = hn::Vec<IndexTag<PointTag<F>>>>
  HWY_INLINE VI Place(VF x, VF y, VF z, int64_t i, Batch* HWY_RESTRICT batch) const {
    const IndexTag<PointTag<F>> di;
    const int64_t planes = batch->end_plane - batch->first_plane;
    const VI first_plane = hn::Set(di, static_cast<int32_t>(batch->first_plane));
    VI plane;
    VI taps;
    if constexpr (kTricubic) {
      const auto at = static_cast<size_t>(i);
      PlaceInBlock(geometry_, x, y, z, at, batch);
      plane = hn::Load(di, batch->group.index[2][0] + at);
      taps = TapsInSlab(batch->group, at, batch->first_plane, batch->end_plane);
    } else {
      taps = PlaceInBlock(geometry_, voxels_.size, x, y, z, i, batch, plane);
      taps = hn::And(taps, TapsAlong<3, 2>(di, plane, batch->first_plane, batch->end_plane));
    }
    if (!p_.want_input_grad) taps = hn::Zero(di);
    VI own = hn::Zero(di);
    if (p_.want_grid_grad) {  // the slab of the plane next to the first tap
      const VI last = hn::Set(di, voxels_.size.depth - 1);
      const VI nearest = hn::Min(hn::Max(plane, hn::Zero(di)), last);
      own = BitsBelow(di, hn::Sub(nearest, first_plane), planes, kAllTaps<3>);
    }
    hn::Store(taps, di, batch->taps + i);
    hn::Store(own, di, batch->own + i);
    return hn::Or(taps, own);
  }

  void ReadGradOutput(int64_t first_channel, int64_t channels, int64_t first, int64_t count,
                      F* g) const {
    const T* const base = static_cast<const T*>(p_.grad_output) + n_ * p_.grad_output_stride[0] +
                          first_channel * p_.grad_output_stride[1];
    const PointBlock<const T> from = {base, grad_output_at_, channels};
    ReadPointBlock<kBlockChannels>(from, first, nullptr, count, g);
  }

  HWY_NOINLINE void AddBatch(const Batch& batch, bool is_first, int64_t first, int64_t count,
                             const F* HWY_RESTRICT g) const {
    for (int64_t k = 0; k < count; ++k) {
      const int64_t next = k + kAhead;
      if (voxels_.fetch && next < count && (batch.taps[next] | batch.own[next]) != 0) {
        voxels_.Fetch(batch, next);
      }
      const F* const grad = g + k * kBlockChannels;
      if (batch.own[k] != 0) SumSlopes(batch, k, grad, is_first, totals_ + 4 * (first + k));
      if (batch.taps[k] == 0) continue;
      if constexpr (kTricubic) {
        AddCubicTaps(batch, static_cast<size_t>(k), grad);
      } else {
        AddTaps(batch, k, grad);
      }
    }
  }

  HWY_INLINE void AddTap(F* HWY_RESTRICT sums, F weight, const F* HWY_RESTRICT g) const {
    const D d;
    for (int64_t lane = 0; lane < kBlockChannels; lane += kLanes) {
      AddTo(d, sums + lane, hn::Set(d, weight), hn::Load(d, g + lane));
    }
  }

  HWY_INLINE void AddTaps(const Batch& batch, int64_t k, const F* g) const {
    for (size_t tap = 0; tap < 8; ++tap) {
      if ((batch.taps[k] >> tap & 1) == 0) continue;
      AddTap(voxels_.Of(batch, k, tap) + sums_, batch.weight[tap][k], g);
    }
  }

  HWY_INLINE void AddCubicTaps(const Batch& batch, size_t p, const F* g) const {
    for (size_t k = 0; k < 4; ++k) {
      const int64_t plane = batch.group.index[2][k][p];
      if (plane < batch.first_plane || plane >= batch.end_plane) continue;
      for (size_t tap = 0; tap < 16; ++tap) {
        F* const voxel = voxels_.Of(batch, p, k, tap / 4, tap % 4);
        if (voxel != nullptr) AddTap(voxel + sums_, batch.weight[16 * k + tap][p], g);
      }
    }
  }

  // Adds the block's sums of a point, before the coordinates' slopes, to its totals.
  HWY_INLINE void SumSlopes(const Batch& batch, int64_t k, const F* HWY_RESTRICT g, bool is_first,
                            F* HWY_RESTRICT totals) const {
    const D d;
    const auto slopes = [&](int64_t r, V& x, V& y, V& z) PORTACL_INLINE_LAMBDA {
      const int64_t lane = r * kLanes;
      if constexpr (kTricubic) {
        CubicSlopesOf(batch, static_cast<size_t>(k), lane, x, y, z);
      } else {
        SlopesOf(batch, k, lane, x, y, z);
      }
      const V grad = hn::Load(d, g + lane);
      x = hn::Mul(grad, x);
      y = hn::Mul(grad, y);
      z = hn::Mul(grad, z);
    };
    V x, y, z;
    SumTree<kVectors, kVectors, 0, 1>(slopes, x, y, z);
    HWY_ALIGN F block[4];
    StoreTreeSums(d, x, y, block);
    StoreTreeSums(d, z, z, block + 2);
    for (int axis = 0; axis < 3; ++axis) {
      totals[axis] = (is_first ? F{0} : totals[axis]) + block[axis];
    }
  }

  // Slopes of one vector of channels, not yet multiplied by gradOutput.
  HWY_INLINE void SlopesOf(const Batch& batch, int64_t k, int64_t lane, V& x, V& y, V& z) const {
    const D d;
    const auto value = [&](size_t tap) PORTACL_INLINE_LAMBDA {
      return (batch.inside[k] >> tap & 1) == 0 ? hn::Zero(d)
                                               : hn::LoadU(d, voxels_.Of(batch, k, tap) + lane);
    };
    LinearSlopes(
        d,
        [&](auto plane, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
          constexpr size_t kFirst = 4 * decltype(plane)::value;
          nw = value(kFirst);
          ne = value(kFirst + 1);
          sw = value(kFirst + 2);
          se = value(kFirst + 3);
        },
        [&](size_t axis) PORTACL_INLINE_LAMBDA { return hn::Set(d, batch.above[axis][k]); },
        [&](size_t axis) PORTACL_INLINE_LAMBDA { return hn::Set(d, batch.below[axis][k]); }, x, y,
        z);
  }

  HWY_INLINE void CubicSlopesOf(const Batch& batch, size_t p, int64_t lane, V& x, V& y,
                                V& z) const {
    const D d;
    const auto& group = batch.group;
    const auto sum = [&](const auto& value) PORTACL_INLINE_LAMBDA {
      CubicSlopes(
          d,
          [&](size_t k, size_t j, V& v0, V& v1, V& v2, V& v3) PORTACL_INLINE_LAMBDA {
            v0 = value(k, j, 0);
            v1 = value(k, j, 1);
            v2 = value(k, j, 2);
            v3 = value(k, j, 3);
          },
          [&](size_t axis, size_t tap)
              PORTACL_INLINE_LAMBDA { return hn::Set(d, group.weight[axis][tap][p]); },
          [&](size_t axis, size_t tap)
              PORTACL_INLINE_LAMBDA { return hn::Set(d, group.slope[axis][tap][p]); },
          x, y, z);
    };
    if (HWY_LIKELY(batch.whole[p] != 0)) {
      const F* const first = voxels_.Of(batch, p, 0, 0, 0) + lane;
      return sum([&](size_t k, size_t j, size_t i) PORTACL_INLINE_LAMBDA {
        return hn::LoadU(d, first + static_cast<int64_t>(k) * voxels_.plane +
                                static_cast<int64_t>(j) * voxels_.row +
                                static_cast<int64_t>(i) * voxels_.voxel);
      });
    }
    sum([&](size_t k, size_t j, size_t i) PORTACL_INLINE_LAMBDA {
      const F* const voxel = voxels_.Of(batch, p, k, j, i);
      return voxel == nullptr ? hn::Zero(d) : hn::LoadU(d, voxel + lane);
    });
  }

  const Params& p_;
  const SummedBlocks& plan_;
  int64_t n_;
  VolumeGeometry<F> geometry_;
  PointStrides grid_at_;
  PointStrides grad_output_at_;
  BlockVoxels<F> voxels_;
  int64_t sums_;  // where a voxel's sums start
  F* totals_;
};

// The result: BlockedVolume::totals().
template <class T, Interpolation kInterpolation>
const base::ComputeType<T>* RunVolume(const Params& p, const SummedBlocks& plan, int64_t n,
                                      base::ComputeType<T>* slot) {
  const BlockedVolume<T, kInterpolation> volume(p, plan, n, slot);
  volume.Run();
  return volume.totals();
}

}  // namespace

// Loops over a volume's parts run on all threads with one slot, and where they are with more.
template <class T>
void RunElements(const Params& p, const SummedBlocks& plan, void* workspace) {
  runtime::ParallelForSlots(p.shape.n, plan.slots, [&](int slot, int64_t n) {
    auto* const memory = static_cast<base::ComputeType<T>*>(workspace) + slot * plan.slot_elements;
    const auto* const totals = p.shape.interpolation == Interpolation::kBicubic
                                   ? RunVolume<T, Interpolation::kBicubic>(p, plan, n, memory)
                                   : RunVolume<T, Interpolation::kBilinear>(p, plan, n, memory);
    if (!p.want_grid_grad) return;
    using GridGrad = TotalsGridGrad<Params, T>;
    const GridGrad finish(p);
    ForChunks(plan.chunks, [&](int64_t begin, int64_t end) HWY_ATTR {
      finish.Run(n, begin, end, [&](int64_t first, int64_t, const auto& sum) PORTACL_INLINE_LAMBDA {
        typename GridGrad::V gap;
        const typename GridGrad::D d;
        hn::LoadInterleaved4(d, totals + 4 * first, sum.x, sum.y, sum.z, gap);
      });
    });
  });
}
PORTACL_PATH_OF_ELEMENTS(Params, SummedBlocks)

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
