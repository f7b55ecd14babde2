// Path "blocks": sampling and both gradients on volumes with many channels, trilinear and tricubic.
// Each lane has one channel of a block; points come one by one. grid_sampler_2d_slab.cc says why
// images have code of their own.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_3d_blocks.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/grid_sampler/grid_sampler_taps-inl.h"
#include "cpu/machine/fetch.h"
#include "cpu/machine/machine.h"
#include "cpu/vector/channel_tree-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler3DParams;
using BackwardParams = ops::GridSampler3DBackwardParams;

// Taps are fetched for the point so many places ahead, if voxels do not stay in the L2 cache.
constexpr int64_t kAhead = 6;

// ---- points -------------------------------------------------------------------------------------

// A batch of trilinear points, one array per quantity.
template <class F>
struct TrilinearBatch : SlopeBatch<F> {
  static constexpr int64_t kPoints = kBatch;
  HWY_ALIGN int32_t inside[kPoints];  // bits of the taps inside the volume
};

// A group of tricubic points, one array per quantity.
template <class F>
struct TricubicBatch {
  static constexpr int64_t kPoints = kGroup;
  CubicGroup<F, 3> group;
  HWY_ALIGN F weight[64][kPoints];   // tap (k, j, i) is 16 k + 4 j + i
  HWY_ALIGN int32_t whole[kPoints];  // not 0: all taps are inside, and adjacent on each axis
};

template <class F, ops::Interpolation kInterpolation>
using BlockBatch = std::conditional_t<kInterpolation == ops::Interpolation::kBicubic,
                                      TricubicBatch<F>, TrilinearBatch<F>>;

// Fills place i of the batch with a vector of points from LocateTaps(). Returns bits of the taps
// that are inside along x and y. `plane` gets the plane of each point's first tap.
template <class F, class V = hn::Vec<PointTag<F>>, class VI = hn::Vec<IndexTag<PointTag<F>>>>
HWY_INLINE VI PlaceInBlock(const VolumeGeometry<F>&, const VolumeStrides& size, V x, V y, V z,
                           int64_t i, TrilinearBatch<F>* batch, VI& plane) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  // A coordinate far away gets the least or greatest index, which is outside as well.
  VI column = ToIndex(d, hn::Floor(x));
  VI row = ToIndex(d, hn::Floor(y));
  plane = ToIndex(d, hn::Floor(z));
  PlaceTaps<3, F>(size, Axes(x, y, z), Axes(column, row, plane), i, batch);
  const VI in_image =
      hn::And(TapsAlong<3, 0>(di, column, 0, size.width), TapsAlong<3, 1>(di, row, 0, size.height));
  const VI inside = hn::And(in_image, TapsAlong<3, 2>(di, plane, 0, size.depth));
  hn::Store(inside, di, batch->inside + i);
  return in_image;
}

template <class F, class V = hn::Vec<PointTag<F>>, class VI = hn::Vec<IndexTag<PointTag<F>>>>
HWY_INLINE void PlaceInBlock(const VolumeGeometry<F>& geometry, V x, V y, V z, size_t i,
                             TricubicBatch<F>* batch) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  CubicGroup<F, 3>& group = batch->group;
  PlaceCubic<true>(geometry, Axes(x, y, z), i, &group);
  VI whole = AreAdjacent<F>(group.index[0], i);
  whole = hn::And(whole, AreAdjacent<F>(group.index[1], i));
  whole = hn::And(whole, AreAdjacent<F>(group.index[2], i));
  hn::Store(whole, di, batch->whole + i);
  for (size_t tap = 0; tap < 64; ++tap) {
    hn::Store(CubicWeight(group, tap, i), d, batch->weight[tap] + i);
  }
}

// ---- voxels -------------------------------------------------------------------------------------

// Voxels of one block of a volume, `voxel` elements each.
template <class F>
struct BlockVoxels {
  VolumeStrides size;  // in voxels
  int64_t voxel;       // elements of a voxel, of a row and of a plane
  int64_t row;
  int64_t plane;
  bool fetch;  // fetch taps ahead: voxels do not stay in the L2 cache
  F* first;

  BlockVoxels(const ops::GridSampler3DShape& s, int64_t voxel_elements, void* memory)
      : size(DenseVolume(s)),
        voxel(voxel_elements),
        row(voxel * s.w),
        plane(row * s.h),
        fetch(Elements() * static_cast<int64_t>(sizeof(F)) > L2CacheBytes()),
        first(static_cast<F*>(memory)) {}

  int64_t Elements() const { return plane * size.depth; }

  // Calls use(offset, voxels) for each row, on all threads. `offset`: the row's first element in a
  // tensor with these strides. `voxels`: the row's first voxel.
  template <class Use>
  void ForRows(const std::array<int64_t, 5>& stride, const Use& use) const {
    const int64_t grain = 1 + 65536 / row;
    const int64_t height = size.height;
    runtime::ParallelFor(size.depth * height, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        use(i / height * stride[2] + i % height * stride[3], first + i * row);
      }
    });
  }

  // Returns the voxel of tap `tap` of trilinear point k. The tap must be inside.
  HWY_INLINE F* Of(const SlopeBatch<F>& batch, int64_t k, size_t tap) const {
    return first + batch.cell[k] * voxel + ((tap & 1) != 0 ? voxel : 0) +
           ((tap & 2) != 0 ? row : 0) + ((tap & 4) != 0 ? plane : 0);
  }

  // Returns the voxel of tap (k, j, i) of tricubic point p; null if the tap is outside.
  HWY_INLINE F* Of(const TricubicBatch<F>& batch, size_t p, size_t k, size_t j, size_t i) const {
    const int32_t x = batch.group.index[0][i][p];
    const int32_t y = batch.group.index[1][j][p];
    const int32_t z = batch.group.index[2][k][p];
    return (x | y | z) < 0 ? nullptr : first + z * plane + y * row + x * voxel;
  }

  HWY_INLINE void Fetch(const TrilinearBatch<F>& batch, int64_t k) const {
    if (batch.inside[k] == 0) return;
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(F));
    const int64_t at = batch.cell[k] * voxel;
    for (const int64_t from : {at, at + row, at + plane, at + plane + row}) {
      for (int64_t i = 0; i < 2 * voxel; i += kLine) FetchElement<3>(first, from + i);
    }
  }

  // Fetches nothing: with 64 taps per point, enough loads are under way.
  HWY_INLINE void Fetch(const TricubicBatch<F>&, int64_t) const {}
};

// ---- sampling -----------------------------------------------------------------------------------

// Whether all taps of the four points from k on are inside and adjacent.
template <class F>
HWY_INLINE bool AreWhole(const TricubicBatch<F>& batch, int64_t k) {
  const int32_t* const whole = batch.whole + k;
  return (whole[0] & whole[1] & whole[2] & whole[3]) != 0;
}

// Computes samples. Sums start from +0 and take the taps inside in order, each by one fused
// multiply-add. Sums of unusable points start from NaN and take no taps.
template <class T, Interpolation kInterpolation>
class BlockSampling {
  using F = base::ComputeType<T>;
  using D = BlockTag<F, kBlockChannels>;
  using V = hn::Vec<D>;
  static constexpr int kLanes = kBlockLanes<F, kBlockChannels>;

  struct Batch : BlockBatch<F, kInterpolation> {
    HWY_ALIGN F start[BlockBatch<F, kInterpolation>::kPoints];
  };

 public:
  BlockSampling(const Params& p, int64_t n, void* workspace)
      : p_(p),
        n_(n),
        geometry_(PointGeometryOf<F>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        output_at_(ValuePointsOf(p.shape, p.output_stride)),
        voxels_(p.shape, kBlockChannels, workspace) {}

  void Run(const PointChunks& chunks) const {
    for (int64_t first = 0; first < p_.shape.c; first += kBlockChannels) {
      const int64_t channels = std::min<int64_t>(kBlockChannels, p_.shape.c - first);
      ReadVoxels(first, channels);
      ForChunks(chunks, [&](int64_t begin, int64_t end) { Sample(first, channels, begin, end); });
    }
  }

 private:
  void ReadVoxels(int64_t first, int64_t channels) const {
    const auto& stride = p_.input_stride;
    const T* const input = static_cast<const T*>(p_.input) + n_ * stride[0] + first * stride[1];
    voxels_.ForRows(stride, [&](int64_t offset, F* row) {
      ReadPixels<T, kBlockChannels>(
          Planar<const T>{input + offset, stride[1], stride[4], channels, p_.shape.w}, row,
          voxels_.voxel);
    });
  }

  // Samples points [first, last) in one block of channels.
  void Sample(int64_t first_channel, int64_t channels, int64_t first, int64_t last) const {
    Batch batch;
    HWY_ALIGN F sums[Batch::kPoints * kBlockChannels];
    for (; first < last; first += Batch::kPoints) {
      const int64_t count = std::min(Batch::kPoints, last - first);
      Prepare(first, count, &batch);
      SumTaps(batch, count, sums);
      Write(first_channel, channels, first, count, sums);
    }
  }

  // Not inlined: the compiler would keep the weights in vectors and extract them lane by lane.
  HWY_NOINLINE void Prepare(int64_t first, int64_t count, Batch* HWY_RESTRICT batch) const {
    const PointTag<F> d;
    const T* const grid = static_cast<const T*>(p_.grid) + n_ * p_.grid_stride[0];
    ForGridVectors<3>(grid_at_, grid, first, first + count,
                      [&](int64_t p, int64_t, auto x, auto y, auto z) PORTACL_INLINE_LAMBDA {
                        const int64_t i = p - first;
                        const auto unusable = LocateTaps(d, geometry_, Axes(x, y, z));
                        const auto nan = hn::Set(d, std::numeric_limits<F>::quiet_NaN());
                        hn::Store(hn::IfThenElseZero(unusable, nan), d, batch->start + i);
                        if constexpr (kInterpolation == Interpolation::kBicubic) {
                          PlaceInBlock(geometry_, x, y, z, static_cast<size_t>(i), batch);
                        } else {
                          auto plane = hn::Zero(IndexTag<PointTag<F>>());
                          PlaceInBlock(geometry_, voxels_.size, x, y, z, i, batch, plane);
                        }
                      });
  }

  HWY_NOINLINE void SumTaps(const Batch& batch, int64_t count, F* HWY_RESTRICT sums) const {
    for (int64_t k = 0; k < count; ++k) {
      F* const to = sums + k * kBlockChannels;
      if constexpr (kInterpolation == Interpolation::kBicubic) {
        if (k + 4 <= count && AreWhole(batch, k)) {
          SumWhole(batch, static_cast<size_t>(k), to);
          k += 3;
        } else {
          SumTricubic(batch, static_cast<size_t>(k), to);
        }
      } else {
        if (voxels_.fetch && k + kAhead < count) voxels_.Fetch(batch, k + kAhead);
        if (HWY_LIKELY(batch.inside[k] == kAllTaps<3>)) {
          SumTrilinear<true>(batch, k, to);
        } else {
          SumTrilinear<false>(batch, k, to);
        }
      }
    }
  }

  template <bool kAll>
  HWY_INLINE void SumTrilinear(const Batch& batch, int64_t k, F* HWY_RESTRICT to) const {
    const D d;
    for (int64_t lane = 0; lane < kBlockChannels; lane += kLanes) {
      V sum = hn::Set(d, batch.start[k]);
      Unroll<8>([&](auto tap) PORTACL_INLINE_LAMBDA {
        if (!kAll && (batch.inside[k] >> tap & 1) == 0) return;
        const V value = hn::LoadU(d, voxels_.Of(batch, k, tap) + lane);
        sum = hn::MulAdd(hn::Set(d, batch.weight[tap][k]), value, sum);
      });
      hn::Store(sum, d, to + lane);
    }
  }

  HWY_INLINE void SumTricubic(const Batch& batch, size_t p, F* HWY_RESTRICT to) const {
    const D d;
    for (int64_t lane = 0; lane < kBlockChannels; lane += kLanes) {
      V sum = hn::Set(d, batch.start[p]);
      for (size_t tap = 0; tap < 64; ++tap) {
        const F* const voxel = voxels_.Of(batch, p, tap / 16, tap / 4 % 4, tap % 4);
        if (voxel == nullptr) continue;
        sum = hn::MulAdd(hn::Set(d, batch.weight[tap][p]), hn::LoadU(d, voxel + lane), sum);
      }
      hn::Store(sum, d, to + lane);
    }
  }

  // Sums four points from point p on together. Only additions of one point wait for each other.
  HWY_INLINE void SumWhole(const Batch& batch, size_t p, F* HWY_RESTRICT to) const {
    const D d;
    const F* const first0 = voxels_.Of(batch, p, 0, 0, 0);
    const F* const first1 = voxels_.Of(batch, p + 1, 0, 0, 0);
    const F* const first2 = voxels_.Of(batch, p + 2, 0, 0, 0);
    const F* const first3 = voxels_.Of(batch, p + 3, 0, 0, 0);
    for (int64_t lane = 0; lane < kBlockChannels; lane += kLanes) {
      V sum0 = hn::Zero(d);
      V sum1 = sum0;
      V sum2 = sum0;
      V sum3 = sum0;
      for (size_t row = 0; row < 16; ++row) {
        const auto line = static_cast<int64_t>(row / 4) * voxels_.plane +
                          static_cast<int64_t>(row % 4) * voxels_.row + lane;
        Unroll<4>([&](auto i) PORTACL_INLINE_LAMBDA {
          const F* const weight = batch.weight[4 * row + i] + p;
          const int64_t at = line + static_cast<int64_t>(i) * kBlockChannels;
          sum0 = hn::MulAdd(hn::Set(d, weight[0]), hn::LoadU(d, first0 + at), sum0);
          sum1 = hn::MulAdd(hn::Set(d, weight[1]), hn::LoadU(d, first1 + at), sum1);
          sum2 = hn::MulAdd(hn::Set(d, weight[2]), hn::LoadU(d, first2 + at), sum2);
          sum3 = hn::MulAdd(hn::Set(d, weight[3]), hn::LoadU(d, first3 + at), sum3);
        });
      }
      hn::Store(sum0, d, to + lane);
      hn::Store(sum1, d, to + kBlockChannels + lane);
      hn::Store(sum2, d, to + 2 * kBlockChannels + lane);
      hn::Store(sum3, d, to + 3 * kBlockChannels + lane);
    }
  }

  void Write(int64_t first_channel, int64_t channels, int64_t first, int64_t count,
             const F* sums) const {
    T* const base =
        static_cast<T*>(p_.output) + n_ * p_.output_stride[0] + first_channel * p_.output_stride[1];
    WritePointBlock<kBlockChannels>(sums, first, count, PointBlock<T>{base, output_at_, channels});
  }

  const Params& p_;
  int64_t n_;
  VolumeGeometry<F> geometry_;
  PointStrides grid_at_;
  PointStrides output_at_;
  BlockVoxels<F> voxels_;
};

// ---- gradients ----------------------------------------------------------------------------------

// A batch of points, and which of its taps and gradients belong to one task.
template <class F, Interpolation kInterpolation>
struct OwnedBatch : BlockBatch<F, kInterpolation> {
  using Base = BlockBatch<F, kInterpolation>;
  // Bits of the taps that the task adds to. For tricubic points: not 0 if there are such taps.
  HWY_ALIGN int32_t taps[Base::kPoints];
  HWY_ALIGN int32_t own[Base::kPoints];  // not 0: the task computes gridGrad
  int64_t first_plane;
  int64_t end_plane;
};

// Computes the gradients of one volume in a slot of the workspace; see SummedBlocks.
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
  BlockedVolume(const BackwardParams& p, const SummedBlocks& plan, int64_t n, F* slot)
      : p_(p),
        plan_(plan),
        n_(n),
        geometry_(PointGeometryOf<F>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        voxels_(p.shape, plan.VoxelElements(p), slot),
        sums_(p.want_grid_grad ? kBlockChannels : 0),
        totals_(voxels_.first + voxels_.Elements()) {}

  // Runs all stages for all blocks. Returns gridGrad's sums of each point (x, y, z, unused),
  // without the coordinates' slopes.
  const F* Run() const {
    for (int64_t first = 0; first < p_.shape.c; first += kBlockChannels) {
      const int64_t channels = std::min<int64_t>(kBlockChannels, p_.shape.c - first);
      ReadVoxels(first, channels);
      AddPoints(first, channels);
      if (p_.want_input_grad) WriteSums(first, channels);
    }
    return totals_;
  }

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

  // Each task owns a slab and looks at all points. Without inputGrad, a task has a range of points.
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

  // Returns false if no point has a tap in the task's planes. Not inlined: the compiler would keep
  // the weights in vectors and extract them lane by lane.
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

  // Stores the places of a vector of points. The result is not 0 in lanes that the task needs.
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
    if (p_.want_grid_grad) {  // gridGrad: the slab of the plane nearest to the first tap
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

  // Adds the block's sums for a point to its totals; the coordinates' slopes are not yet applied.
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

  // Computes the slopes of one vector of channels, not yet multiplied by gradOutput.
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

  const BackwardParams& p_;
  const SummedBlocks& plan_;
  int64_t n_;
  VolumeGeometry<F> geometry_;
  PointStrides grid_at_;
  PointStrides grad_output_at_;
  BlockVoxels<F> voxels_;
  int64_t sums_;  // offset of the sums in a voxel
  F* totals_;
};

}  // namespace

// Samples all volumes. One slot: loops over a volume use all threads; more slots: one thread each.
template <class T>
void RunElements(const Params& p, const SampledBlocks& plan, void* workspace) {
  runtime::ParallelForSlots(p.shape.n, plan.slots, [&](int slot, int64_t n) {
    auto* const memory = static_cast<unsigned char*>(workspace) + slot * plan.slot_bytes;
    if (p.shape.interpolation == Interpolation::kBicubic) {
      BlockSampling<T, Interpolation::kBicubic>(p, n, memory).Run(plan.chunks);
    } else {
      BlockSampling<T, Interpolation::kBilinear>(p, n, memory).Run(plan.chunks);
    }
  });
}
PORTACL_PATH_OF_ELEMENTS(Params, SampledBlocks)

// Computes both gradients. One slot: loops over a volume use all threads; more slots: one each.
template <class T>
void RunElements(const BackwardParams& p, const SummedBlocks& plan, void* workspace) {
  runtime::ParallelForSlots(p.shape.n, plan.slots, [&](int slot, int64_t n) {
    auto* const memory = static_cast<base::ComputeType<T>*>(workspace) + slot * plan.slot_elements;
    const auto* const totals =
        p.shape.interpolation == Interpolation::kBicubic
            ? BlockedVolume<T, Interpolation::kBicubic>(p, plan, n, memory).Run()
            : BlockedVolume<T, Interpolation::kBilinear>(p, plan, n, memory).Run();
    if (!p.want_grid_grad) return;
    using GridGrad = TotalsGridGrad<BackwardParams, T>;
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
PORTACL_PATH_OF_ELEMENTS(BackwardParams, SummedBlocks)

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
