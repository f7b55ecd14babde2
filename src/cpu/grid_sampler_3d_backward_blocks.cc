// Both gradients of volumes with many channels, trilinear: a block of channels in the lanes of
// vectors, from a copy of the block's volume in which a voxel's channels stand together.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler_3d_backward_blocks.cc"
#include "cpu/highway.h"
// Highway first.
#include <algorithm>
#include <cstring>

#include "base/dispatch.h"
#include "cpu/caches.h"
#include "cpu/fetch.h"
#include "cpu/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler_3d_backward-inl.h"
#include "cpu/grid_sampler_3d_taps-inl.h"
#include "cpu/transpose-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler3DBackwardParams;

// Points whose taps are fetched ahead where voxels do not stay in the L2 cache.
constexpr int64_t kAhead = 6;

// Of a batch's points, one array per quantity.
template <class F>
struct BlockBatch : TapBatch<F> {
  HWY_ALIGN int32_t inside[kBatch];  // taps in the volume
  HWY_ALIGN int32_t taps[kBatch];    // taps to add to
  HWY_ALIGN int32_t own[kBatch];     // not 0: gridGrad is this task's
};

// One volume's workspace, see VolumeBackwardPlan.
template <class T>
class BlockedVolume {
  using F = base::ComputeType<T>;
  using D = BlockTag<F, kBlockChannels>;
  using V = hn::Vec<D>;
  static constexpr int kLanes = kBlockLanes<F, kBlockChannels>;
  static constexpr int kVectors = kBlockChannels / kLanes;

 public:
  BlockedVolume(const Params& p, const VolumeBackwardPlan& plan, int64_t n, void* workspace)
      : p_(p),
        plan_(plan),
        n_(n),
        geometry_(VolumeGeometryOf<F>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        size_(DenseVolume(p.shape)),
        sums_(p.want_grid_grad ? kBlockChannels : 0),
        voxel_(plan.VoxelElements(p)),
        row_(voxel_ * p.shape.w),
        plane_(row_ * p.shape.h),
        fetch_(plane_ * p.shape.d * static_cast<int64_t>(sizeof(F)) > L2CacheBytes()),
        voxels_(static_cast<F*>(workspace)),
        totals_(voxels_ + plane_ * p.shape.d) {}

  // All stages of all blocks.
  void Run() const {
    for (int64_t first = 0; first < p_.shape.c; first += kBlockChannels) {
      const int64_t channels = std::min<int64_t>(kBlockChannels, p_.shape.c - first);
      ReadVoxels(first, channels);
      AddPoints(first, channels);
      if (p_.want_input_grad) WriteSums(first, channels);
    }
  }

  const F* totals() const { return totals_; }

 private:
  // Calls row(offset of its first element in a tensor of these strides, its voxels) on all threads.
  template <class Row>
  void ForRows(const std::array<int64_t, 5>& stride, const Row& row) const {
    const int64_t grain = 1 + 65536 / row_;
    runtime::ParallelFor(p_.shape.d * p_.shape.h, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        row(i / p_.shape.h * stride[2] + i % p_.shape.h * stride[3], voxels_ + i * row_);
      }
    });
  }

  void ReadVoxels(int64_t first, int64_t channels) const {
    const auto& stride = p_.input_stride;
    const T* const input = static_cast<const T*>(p_.input) + n_ * stride[0] + first * stride[1];
    ForRows(stride, [&](int64_t offset, F* row) {
      if (!p_.want_grid_grad) return Clear(row, row_);
      const Planar<const T> from = {input + offset, stride[1], stride[4], channels, p_.shape.w};
      if (p_.want_input_grad) {
        ReadPixels<T, kBlockChannels, Beside::kZeros>(from, row, voxel_);
      } else {
        ReadPixels<T, kBlockChannels, Beside::kNothing>(from, row, voxel_);
      }
    });
  }

  void WriteSums(int64_t first, int64_t channels) const {
    const auto& stride = p_.input_grad_stride;
    T* const out = static_cast<T*>(p_.input_grad) + n_ * stride[0] + first * stride[1];
    ForRows(stride, [&](int64_t offset, const F* row) {
      WritePixels<T, kBlockChannels>(
          row + sums_, voxel_, Planar<T>{out + offset, stride[1], stride[4], channels, p_.shape.w});
    });
  }

  // Each task owns a slab of planes and looks at all points; without inputGrad, a range of points.
  void AddPoints(int64_t first_channel, int64_t channels) const {
    const int64_t points = plan_.chunks.points;
    if (!p_.want_input_grad) {
      runtime::ParallelFor(plan_.chunks.chunks, plan_.chunks.grain,
                           [&](int64_t begin, int64_t end) {
                             const int64_t size = plan_.chunks.chunk_points;
                             AddBatches(first_channel, channels, begin * size,
                                        std::min(end * size, points), 0, p_.shape.d);
                           });
      return;
    }
    runtime::ParallelFor(plan_.slabs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slab = begin; slab < end; ++slab) {
        AddBatches(first_channel, channels, 0, points, plan_.FirstPlane(p_.shape, slab),
                   plan_.FirstPlane(p_.shape, slab + 1));
      }
    });
  }

  void AddBatches(int64_t first_channel, int64_t channels, int64_t first, int64_t last,
                  int64_t first_plane, int64_t end_plane) const {
    BlockBatch<F> batch;
    HWY_ALIGN F g[kBatch * kBlockChannels];
    for (; first < last; first += kBatch) {
      const int64_t count = std::min(kBatch, last - first);
      if (!Prepare(first, count, first_plane, end_plane, &batch)) continue;
      ReadGradOutput(first_channel, channels, first, count, g);
      AddBatch(batch, first_channel == 0, first, count, g);
    }
  }

  // False where no point concerns the task. Not inlined: the compiler would keep the weights in
  // vectors and extract them lane by lane.
  HWY_NOINLINE bool Prepare(int64_t first, int64_t count, int64_t first_plane, int64_t end_plane,
                            BlockBatch<F>* HWY_RESTRICT batch) const {
    const PointTag<F> d;
    const IndexTag<PointTag<F>> di;
    const T* const grid = static_cast<const T*>(p_.grid) + n_ * p_.grid_stride[0];
    auto any = hn::Zero(di);
    for (int64_t i = 0; i < count; i += Length(d)) {
      auto x = hn::Zero(d);
      auto y = x;
      auto z = x;
      const int64_t left = std::min(Length(d), count - i);
      ReadPoints(grid_at_, grid, first + i, left, x, y, z);
      LocateTaps(geometry_, x, y, z);
      const auto listed = Place(x, y, z, first_plane, end_plane, i, batch);
      any = hn::Or(any, hn::IfThenElseZero(hn::FirstN(di, static_cast<size_t>(left)), listed));
    }
    return !hn::AllTrue(di, hn::Eq(any, hn::Zero(di)));
  }

  // Stores what is known of a vector of points; the result is not 0 for those of the task.
  template <class VF, class VI = hn::Vec<IndexTag<PointTag<F>>>>
  HWY_INLINE VI Place(VF x, VF y, VF z, int64_t first_plane, int64_t end_plane, int64_t i,
                      BlockBatch<F>* HWY_RESTRICT batch) const {
    const IndexTag<PointTag<F>> di;
    VI plane;
    const VI in_image = PlaceTaps(size_, x, y, z, i, batch, plane);
    hn::Store(hn::And(in_image, TapsInPlanes(di, plane, 0, size_.depth)), di, batch->inside + i);
    VI taps = hn::Zero(di);
    VI own = taps;
    if (p_.want_input_grad) {
      taps = hn::And(in_image, TapsInPlanes(di, plane, first_plane, end_plane));
    }
    if (p_.want_grid_grad) {  // the slab of the plane next to the first tap
      const VI nearest = hn::Min(hn::Max(plane, hn::Zero(di)), hn::Set(di, size_.depth - 1));
      const VI in_slab = hn::Sub(nearest, hn::Set(di, static_cast<int32_t>(first_plane)));
      own = BitsBelow(di, in_slab, end_plane - first_plane, kAllTaps);
    }
    hn::Store(taps, di, batch->taps + i);
    hn::Store(own, di, batch->own + i);
    return hn::Or(taps, own);
  }

  void ReadGradOutput(int64_t first_channel, int64_t channels, int64_t first, int64_t count,
                      F* g) const {
    const auto& at = grad_output_at_;
    const int64_t channel_stride = at.plane.channel_stride;
    const T* const from = static_cast<const T*>(p_.grad_output) + n_ * p_.grad_output_stride[0] +
                          first_channel * channel_stride;
    if (at.flat) {
      return ReadPixels<T, kBlockChannels, Beside::kNothing>(
          Planar<const T>{from + first * at.plane.pixel_stride, channel_stride,
                          at.plane.pixel_stride, channels, count},
          g, kBlockChannels);
    }
    for (int64_t k = 0; k < count; ++k) {
      const Planar<const T> point = {from + at.OffsetOf(first + k), channel_stride, 0, channels, 1};
      ReadPixelsScalar<T, kBlockChannels, Beside::kNothing>(point, 0, g + k * kBlockChannels,
                                                            kBlockChannels);
    }
  }

  HWY_NOINLINE void AddBatch(const BlockBatch<F>& batch, bool is_first, int64_t first,
                             int64_t count, const F* HWY_RESTRICT g) const {
    for (int64_t k = 0; k < count; ++k) {
      if (fetch_ && k + kAhead < count) Fetch(batch, k + kAhead);
      const F* const grad = g + k * kBlockChannels;
      if (batch.own[k] != 0) SumSlopes(batch, k, grad, is_first, totals_ + 4 * (first + k));
      if (batch.taps[k] != 0) AddTaps(batch, k, grad);
    }
  }

  // Of tap `tap`, which must be inside.
  HWY_INLINE F* Voxel(const BlockBatch<F>& batch, int64_t k, size_t tap) const {
    return voxels_ + batch.cell[k] * voxel_ + ((tap & 1) != 0 ? voxel_ : 0) +
           ((tap & 2) != 0 ? row_ : 0) + ((tap & 4) != 0 ? plane_ : 0);
  }

  HWY_INLINE void Fetch(const BlockBatch<F>& batch, int64_t k) const {
    if ((batch.taps[k] | batch.own[k]) == 0) return;
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(F));
    const int64_t at = batch.cell[k] * voxel_;
    for (const int64_t row : {at, at + row_, at + plane_, at + plane_ + row_}) {
      for (int64_t i = 0; i < 2 * voxel_; i += kLine) FetchElement<3>(voxels_, row + i);
    }
  }

  HWY_INLINE void AddTaps(const BlockBatch<F>& batch, int64_t k, const F* HWY_RESTRICT g) const {
    const D d;
    for (size_t tap = 0; tap < 8; ++tap) {
      if ((batch.taps[k] >> tap & 1) == 0) continue;
      F* const sums = Voxel(batch, k, tap) + sums_;
      const V weight = hn::Set(d, batch.weight[tap][k]);
      for (int64_t lane = 0; lane < kBlockChannels; lane += kLanes) {
        AddTo(d, sums + lane, weight, hn::Load(d, g + lane));
      }
    }
  }

  // Adds the block's sums of a point, before the coordinates' slopes, to its totals.
  HWY_INLINE void SumSlopes(const BlockBatch<F>& batch, int64_t k, const F* HWY_RESTRICT g,
                            bool is_first, F* HWY_RESTRICT totals) const {
    const D d;
    const V tx = hn::Set(d, batch.above[0][k]);
    const V ux = hn::Set(d, batch.below[0][k]);
    const V ty = hn::Set(d, batch.above[1][k]);
    const V uy = hn::Set(d, batch.below[1][k]);
    const V tz = hn::Set(d, batch.above[2][k]);
    const V uz = hn::Set(d, batch.below[2][k]);
    const int32_t inside = batch.inside[k];
    const auto value = [&](size_t tap, int64_t lane) PORTACL_INLINE_LAMBDA {
      return (inside >> tap & 1) == 0 ? hn::Zero(d) : hn::LoadU(d, Voxel(batch, k, tap) + lane);
    };
    const auto slopes = [&](int64_t r, V& x, V& y, V& z) PORTACL_INLINE_LAMBDA {
      const int64_t lane = r * kLanes;
      V top_x, top_y, top, bottom_x, bottom_y, bottom;
      PlaneSlopes(d, value(0, lane), value(1, lane), value(2, lane), value(3, lane), tx, ux, ty, uy,
                  top_x, top_y, top);
      PlaneSlopes(d, value(4, lane), value(5, lane), value(6, lane), value(7, lane), tx, ux, ty, uy,
                  bottom_x, bottom_y, bottom);
      const V grad = hn::Load(d, g + lane);
      x = hn::Mul(grad, hn::MulAdd(bottom_x, tz, hn::Mul(top_x, uz)));
      y = hn::Mul(grad, hn::MulAdd(bottom_y, tz, hn::Mul(top_y, uz)));
      z = hn::Mul(grad, hn::Sub(bottom, top));
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

  const Params& p_;
  const VolumeBackwardPlan& plan_;
  int64_t n_;
  VolumeGeometry<F> geometry_;
  VolumePoints grid_at_;
  VolumePoints grad_output_at_;
  VolumeStrides size_;  // in voxels
  int64_t sums_;        // where a voxel's sums start
  int64_t voxel_;       // elements of a voxel, of a row and of a plane of them
  int64_t row_;
  int64_t plane_;
  bool fetch_;
  F* voxels_;
  F* totals_;  // x, y, z and a gap of each point
};

// gridGrad from the totals.
template <class T>
class TotalsGridGrad : VolumeGridGrad<T> {
  using Base = VolumeGridGrad<T>;
  using typename Base::D;
  using typename Base::F;
  using typename Base::Points;
  using typename Base::V;

 public:
  TotalsGridGrad(const Params& p, const F* totals) : Base(p), totals_(totals) {}

  // Points [first, last) of volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    Base::ForPoints(n, first, last,
                    [&](const Points& points, V& x, V& y, V& z) PORTACL_INLINE_LAMBDA {
                      const D d;
                      V slope_x, slope_y, slope_z, gap;
                      hn::Mask<D> unusable;
                      hn::Mask<D> outside;
                      LocatePoints(d, Base::source_.geometry, x, y, z, slope_x, slope_y, slope_z,
                                   unusable, outside);
                      hn::LoadInterleaved4(d, totals_ + 4 * points.first, x, y, z, gap);
                      x = FinishGrad(d, x, slope_x, unusable, outside);
                      y = FinishGrad(d, y, slope_y, unusable, outside);
                      z = FinishGrad(d, z, slope_z, unusable, outside);
                    });
  }

 private:
  const F* totals_;
};

}  // namespace

void RunVolumeBlocks(const Params& p, const VolumeBackwardPlan& plan, void* workspace) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t n = 0; n < p.shape.n; ++n) {
      const BlockedVolume<T> volume(p, plan, n, workspace);
      volume.Run();
      if (!p.want_grid_grad) continue;
      const TotalsGridGrad<T> finish(p, volume.totals());
      const PointChunks& g = plan.chunks;
      runtime::ParallelFor(g.chunks, g.grain, [&](int64_t begin, int64_t end) {
        finish.Run(n, begin * g.chunk_points, std::min(end * g.chunk_points, g.points));
      });
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
