// Grid sampling of images on slabs: a vector of channels for each tap and point. Volumes have code
// of their own (grid_sampler_3d_blocks.cc): taps are checked there. A slab has cells around the
// image, so taps are not checked here. So the passes share no loop.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_slab.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <bit>

#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/grid_sampler/grid_sampler_taps-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DParams;
using ops::Interpolation;

// Value of cells outside the image: taps there must add nothing. A fused multiply-add of -0 and a
// weight of +0 or more leaves every sum as it is, also a sum of -0. With constant padding (`fills`)
// these cells hold the constant instead.
template <class F>
inline constexpr F kNothing = F{-0.0};

// The classes below compute sums[k] for point k of a group: L lanes, from +0, tap by tap.

template <class F, int L>
struct BilinearSum {
  BilinearGroup<F> group;

  void Prepare(const SlabPoints<F>& points, bool /*fills*/) { PrepareBilinear(points, 0, &group); }

  HWY_INLINE hn::Vec<BlockTag<F, L>> At(const F* slab, int64_t pitch, int64_t k) const {
    const BlockTag<F, L> d;
    const F* upper = slab + int64_t{group.cell[k]} * L;
    const F* lower = upper + pitch * L;
    auto sum = hn::MulAdd(hn::Set(d, group.nw[k]), hn::Load(d, upper), hn::Zero(d));
    sum = hn::MulAdd(hn::Set(d, group.ne[k]), hn::Load(d, upper + L), sum);
    sum = hn::MulAdd(hn::Set(d, group.sw[k]), hn::Load(d, lower), sum);
    return hn::MulAdd(hn::Set(d, group.se[k]), hn::Load(d, lower + L), sum);
  }
};

template <class F, int L>
struct NearestSum {
  HWY_ALIGN int32_t cells[kGroup];

  void Prepare(const SlabPoints<F>& points, bool /*fills*/) { PrepareNearest(points, 0, cells); }

  HWY_INLINE hn::Vec<BlockTag<F, L>> At(const F* slab, int64_t, int64_t k) const {
    const BlockTag<F, L> d;
    return hn::Add(hn::Load(d, slab + int64_t{cells[k]} * L), hn::Zero(d));
  }
};

template <class F, int L>
struct BicubicSum {
  BicubicGroup<F> group;

  // Bicubic weights may be negative: taps outside the image get the weight +0 instead.
  void Prepare(const SlabPoints<F>& points, bool fills) {
    PrepareBicubic(points, 0, &group);
    for (size_t tap = 0; !fills && tap < 16; ++tap) {
      for (size_t k = 0; k < kGroup; ++k) {
        const bool outside = group.row[tap / 4][k] == 0 || group.column[tap % 4][k] == 0;
        group.weight[tap][k] = outside ? F{0} : group.weight[tap][k];
      }
    }
  }

  HWY_INLINE hn::Vec<BlockTag<F, L>> At(const F* slab, int64_t, int64_t k) const {
    const BlockTag<F, L> d;
    auto sum = hn::Zero(d);
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < 4; ++i) {
        const F* cell = slab + (int64_t{group.row[j][k]} + group.column[i][k]) * L;
        sum = hn::MulAdd(hn::Set(d, group.weight[4 * j + i][k]), hn::Load(d, cell), sum);
      }
    }
    return sum;
  }
};

template <class T>
class Sampling {
 public:
  using F = base::ComputeType<T>;

  Sampling(const Params& p, const SamplingGeometry& g, void* workspace)
      : p_(p),
        s_(p.shape),
        g_(g),
        memory_(static_cast<unsigned char*>(workspace)),
        geometry_(PointGeometryOf<F>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        output_at_(ValuePointsOf(p.shape, p.output_stride)) {}

  void Run() const {
    if (g_.by_image) {
      runtime::ParallelForSlots(s_.n, g_.slabs, [&](int slot, int64_t n) {
        for (int64_t block = 0; block < g_.blocks.count; ++block) RunBlock(n, block, SlabOf(slot));
      });
      return;
    }
    for (int64_t n = 0; n < s_.n; ++n) {
      for (int64_t block = 0; block < g_.blocks.count; block += g_.slabs) {
        RunGroup(n, block, std::min<int64_t>(g_.slabs, g_.blocks.count - block));
      }
    }
  }

 private:
  F* SlabOf(int64_t slot) const {
    return reinterpret_cast<F*>(memory_ + static_cast<uint64_t>(slot) * g_.slab_bytes);
  }

  void RunBlock(int64_t n, int64_t block, F* slab) const {
    g_.blocks.WithLanes(block, [&](auto lanes) {
      LoadRows<lanes>(n, block, 0, g_.slab_rows, slab);
      SamplePoints<lanes>(n, block, 0, g_.points, slab);
    });
  }

  // Computes a few blocks on all threads: first fills the slabs' rows, then runs over the points.
  void RunGroup(int64_t n, int64_t first_block, int64_t blocks) const {
    runtime::ParallelFor(blocks * g_.slab_rows, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t block = i / g_.slab_rows;
        const int64_t row = i % g_.slab_rows;
        g_.blocks.WithLanes(first_block + block, [&](auto lanes) {
          LoadRows<lanes>(n, first_block + block, row, row + 1, SlabOf(block));
        });
      }
    });
    constexpr int64_t kChunk = 16 * int64_t{kGroup};
    const int64_t chunks = (g_.points + kChunk - 1) / kChunk;
    runtime::ParallelFor(blocks * chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t block = i / chunks;
        const int64_t first = i % chunks * kChunk;
        g_.blocks.WithLanes(first_block + block, [&](auto lanes) {
          SamplePoints<lanes>(n, first_block + block, first, std::min(first + kChunk, g_.points),
                              SlabOf(block));
        });
      }
    });
  }

  bool Fills() const { return s_.padding == ops::Padding::kConstant; }
  F Around() const { return Fills() ? static_cast<F>(s_.fill) : kNothing<F>; }

  template <int L>
  void LoadRows(int64_t n, int64_t block, int64_t begin, int64_t end, F* slab) const {
    const int64_t row_size = g_.pitch * L;
    const T* base = static_cast<const T*>(p_.input) + n * p_.input_stride[0] +
                    g_.blocks.FirstChannel(block) * p_.input_stride[1];
    for (int64_t r = begin; r < end; ++r) {
      F* row = slab + r * row_size;
      const int64_t y = r - 2;
      if (y < 0 || y >= s_.h) {
        std::fill_n(row, row_size, Around());
        continue;
      }
      std::fill_n(row, L, Around());
      std::fill_n(row + row_size - L, L, Around());
      const Planar<const T> from = {base + y * p_.input_stride[2], p_.input_stride[1],
                                    s_.w == 1 ? 1 : p_.input_stride[3], g_.blocks.ChannelsOf(block),
                                    s_.w};
      ReadPixels<T, L>(from, row + L, L);
    }
  }

  template <int L>
  void SamplePoints(int64_t n, int64_t block, int64_t first, int64_t last, F* slab) const {
    switch (s_.interpolation) {
      case Interpolation::kNearest:
        return SampleWith<L, NearestSum<F, L>>(n, block, first, last, slab);
      case Interpolation::kBilinear:
        return SampleWith<L, BilinearSum<F, L>>(n, block, first, last, slab);
      default:
        return SampleWith<L, BicubicSum<F, L>>(n, block, first, last, slab);
    }
  }

  template <int L, class Sum>
  void SampleWith(int64_t n, int64_t block, int64_t first, int64_t last, F* slab) const {
    const BlockTag<F, L> d;
    const T* grid = static_cast<const T*>(p_.grid) + n * p_.grid_stride[0];
    HWY_ALIGN F x[kGroup];
    HWY_ALIGN F y[kGroup];
    HWY_ALIGN F instead[kGroup];
    HWY_ALIGN F sums[kGroup * L];
    const SlabPoints<F> points = {.geometry = geometry_,
                                  .pitch = g_.pitch,
                                  .first_row = 0,
                                  .end_row = s_.h,
                                  .halo_end = s_.h,
                                  .slab = slab,
                                  .x = x,
                                  .y = y};
    Sum sum;
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      const int64_t count = std::min<int64_t>(last - p, int64_t{kGroup});
      const uint32_t none = LocateGroup(grid, p, count, x, y, instead);
      sum.Prepare(points, Fills());
      for (int64_t k = 0; k < count; ++k) {
        for (int64_t lane = 0; lane < L; lane += kBlockLanes<F, L>) {
          hn::Store(sum.At(slab + lane, g_.pitch, k), d, sums + k * L + lane);
        }
      }
      for (uint32_t left = none; left != 0; left &= left - 1) {
        const int k = std::countr_zero(left);
        std::fill_n(sums + k * L, L, instead[k]);
      }
      WriteOutput<L>(n, block, p, count, sums);
    }
  }

  // Locates `count` points from `first` on. Returns a bit for each point without taps; `instead`
  // gets the values of such points. In nearest mode all points have cells: returns 0.
  uint32_t LocateGroup(const T* grid, int64_t first, int64_t count, F* x, F* y, F* instead) const {
    const PointTag<F> d;
    uint32_t none = 0;
    for (int64_t i = 0; i < int64_t{kGroup}; i += Length(d)) {
      auto at_x = hn::Zero(d);
      auto at_y = at_x;
      auto value = at_x;
      ReadPoints(d, grid_at_, grid, first + i, std::min(Length(d), count - i), at_x, at_y);
      const auto without = LocateTaps(d, geometry_, Axes(at_x, at_y), value);
      hn::Store(at_x, d, x + i);
      hn::Store(at_y, d, y + i);
      hn::Store(value, d, instead + i);
      uint8_t bits[8] = {};
      hn::StoreMaskBits(d, without, bits);
      none |= (uint32_t{bits[0]} | uint32_t{bits[1]} << 8) << i;
    }
    return s_.interpolation == Interpolation::kNearest ? 0 : none;
  }

  template <int L>
  void WriteOutput(int64_t n, int64_t block, int64_t first, int64_t count, const F* sums) const {
    T* const base = static_cast<T*>(p_.output) + n * p_.output_stride[0] +
                    g_.blocks.FirstChannel(block) * p_.output_stride[1];
    const PointBlock<T> to = {base, output_at_, g_.blocks.ChannelsOf(block)};
    WritePointBlock<L>(sums, first, count, to);
  }

  const Params& p_;
  const ops::GridSampler2DShape& s_;
  const SamplingGeometry& g_;
  unsigned char* memory_;
  PointGeometry<F> geometry_;
  PointStrides grid_at_;
  PointStrides output_at_;
};

}  // namespace

template <class T>
void RunElements(const Params& p, const SamplingGeometry& slabs, void* workspace) {
  Sampling<T>(p, slabs, workspace).Run();
}
PORTACL_PATH_OF_ELEMENTS(Params, SamplingGeometry)

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
