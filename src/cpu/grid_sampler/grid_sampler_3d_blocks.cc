// Grid sampling of volumes with many channels, trilinear and tricubic: a block of channels in the
// lanes of vectors, point by point. grid_sampler_2d_slab.cc says why images have separate code.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_3d_blocks.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <limits>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_3d_blocks-inl.h"
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler3DParams;

// Whether four points from k on have all their taps.
template <class F>
HWY_INLINE bool AreWhole(const TricubicBatch<F>& batch, int64_t k) {
  const int32_t* const whole = batch.whole + k;
  return (whole[0] & whole[1] & whole[2] & whole[3]) != 0;
}

// Sums start from +0 and take the taps inside in order, one fused multiply-add each. Sums of
// unusable points start from NaN and take no taps.
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

  // Points [first, last) of some channels.
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

  // Four points, from point p on. Additions wait for each other only within a point.
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

// Loops over a volume's parts run on all threads with one slot, and where they are with more.
template <class T, Interpolation kInterpolation>
void RunVolumes(const Params& p, const SampledBlocks& plan, void* workspace) {
  runtime::ParallelForSlots(p.shape.n, plan.slots, [&](int slot, int64_t n) {
    auto* const memory = static_cast<unsigned char*>(workspace) + slot * plan.slot_bytes;
    BlockSampling<T, kInterpolation>(p, n, memory).Run(plan.chunks);
  });
}

}  // namespace

void RunPath(const Params& p, const SampledBlocks& plan, void* workspace) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (p.shape.interpolation == Interpolation::kBicubic) {
      RunVolumes<T, Interpolation::kBicubic>(p, plan, workspace);
    } else {
      RunVolumes<T, Interpolation::kBilinear>(p, plan, workspace);
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
