// Shared code of the owners of parts of inputGrad: codes of points, parts, batches of points, and
// sums of cubic points. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_BACKWARD_OWNED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_BACKWARD_OWNED_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_BACKWARD_OWNED_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_BACKWARD_OWNED_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "cpu/grid_sampler/grid_sampler_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/grid_sampler/grid_sampler_taps-inl.h"
#include "cpu/vector/highway.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// ---- codes --------------------------------------------------------------------------------------

// Codes: a byte for each point of an image that says which slabs the point touches. Owners of slabs
// read the codes instead of the points.

// Computes the codes of image n's points from `first` on, up to the end of the block of `last`. A
// code is 2 plus the numbers of the slabs that hold the point's first and last row; 0 without taps.
template <class F, bool kNearest>
void CodePoints(const ops::GridSampler2DBackwardParams& p, const OwnedParts& g, int64_t n,
                int64_t first, int64_t last, uint8_t* codes) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  const hn::Rebind<float, decltype(d)> df;
  const hn::Rebind<uint8_t, decltype(d)> du8;
  using V = hn::Vec<decltype(d)>;
  using VI = hn::Vec<decltype(di)>;
  const auto geometry = PointGeometryOf<F>(p.shape);
  const PointStrides at = GridPointsOf(p.shape, p.grid_stride);
  const F* const grid = static_cast<const F*>(p.grid) + n * p.grid_stride[0];
  const VI rows = hn::Set(di, static_cast<int32_t>(p.shape.h));
  const VI columns = hn::Set(di, static_cast<int32_t>(p.shape.w));
  const VI one = hn::Set(di, 1);
  const auto slab_of = [&](VI row) HWY_ATTR {
    const VI inside = hn::Clamp(row, hn::Zero(di), hn::Sub(rows, one));
    const auto at_slab = hn::Mul(hn::ConvertTo(df, inside), hn::Set(df, g.per_line));
    return hn::Min(hn::ConvertTo(di, at_slab), hn::Set(di, static_cast<int32_t>(g.slabs - 1)));
  };
  for (int64_t i = first; i < last; i += Length(d)) {
    const int64_t left = std::min(Length(d), p.shape.oh * p.shape.ow - i);
    if (left <= 0) {  // behind the last point
      std::memset(codes + i, 0, static_cast<size_t>(last - i));
      return;
    }
    V x = hn::Zero(d);
    V y = x;
    ReadPoints(d, at, grid, i, left, x, y);
    LocatePoints(d, geometry, Axes(x, y));
    const VI column = ToIndex(d, kNearest ? hn::Round(x) : hn::Floor(x));
    const VI row = ToIndex(d, kNearest ? hn::Round(y) : hn::Floor(y));
    const auto touches = [&](VI index, VI extent) HWY_ATTR {
      return kNearest ? IsBelow(di, index, extent)
                      : IsBelow(di, hn::Add(index, one), hn::Add(extent, one));
    };
    const auto exist = hn::FirstN(di, static_cast<size_t>(left));
    const auto any = hn::And(hn::And(touches(column, columns), touches(row, rows)), exist);
    const VI last_row = kNearest ? row : hn::Add(row, one);
    const VI code = hn::Add(hn::Add(slab_of(row), slab_of(last_row)), hn::Set(di, 2));
    hn::StoreU(hn::DemoteTo(du8, hn::IfThenElseZero(any, code)), du8, codes + i);
  }
}

// Computes the codes of all images, if the plan has codes.
template <class F, bool kNearest>
void CodeImages(const ops::GridSampler2DBackwardParams& p, const OwnedParts& g, uint8_t* codes) {
  if (g.image_codes == 0) return;
  constexpr int64_t kGrain = 32;
  const int64_t blocks = g.image_codes / kCodeBlock;
  runtime::ParallelFor(p.shape.n * blocks, kGrain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t n = begin / blocks;
      const int64_t last = std::min(end, (n + 1) * blocks);
      CodePoints<F, kNearest>(p, g, n, (begin - n * blocks) * kCodeBlock,
                              (last - n * blocks) * kCodeBlock, codes + n * g.image_codes);
      begin = last;
    }
  });
}

// Appends to `to` the numbers of a block's points that have codes least ... least + 2. The first
// point has the number `first`. Returns how many it appended.
inline int64_t ListBlock(const uint8_t* codes, uint8_t least, int64_t first, int32_t* to) {
  const hn::CappedTag<uint8_t, kCodeBlock> d;
  int64_t listed = 0;
  for (int64_t i = 0; i < kCodeBlock; i += Length(d)) {
    const auto above = hn::Sub(hn::Load(d, codes + i), hn::Set(d, least));
    const auto hit = hn::Eq(hn::Min(above, hn::Set(d, 2)), above);
    if (hn::AllFalse(d, hit)) continue;
    if (hn::AllTrue(d, hit)) {
      std::iota(to + listed, to + listed + Length(d), static_cast<int32_t>(first + i));
      listed += Length(d);
      continue;
    }
    HWY_ALIGN uint8_t bits[8] = {};
    hn::StoreMaskBits(d, hit, bits);
    uint64_t left;
    std::memcpy(&left, bits, sizeof(left));
    for (; left != 0; left &= left - 1) {
      to[listed++] = static_cast<int32_t>(first + i + std::countr_zero(left));
    }
  }
  return listed;
}

// Writes the lanes of a mask to a list, as hn::CompressStore() does. Returns how many it wrote. The
// list must have room for a whole vector. On Zen 4, AVX-512's own instruction takes some 26 ns to
// memory, hardly any time to a register. On AVX2, GCC would copy a table of 1 KiB to the stack in
// each call; mostly the mask has all lanes or none.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE size_t StoreListed(V v, M listed, D d, hn::TFromD<D>* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_AVX2
  if (HWY_LIKELY(hn::AllTrue(d, listed))) {
    hn::StoreU(v, d, to);
    return hn::Lanes(d);
  }
  if (hn::AllFalse(d, listed)) return 0;
#endif
#if HWY_TARGET <= HWY_AVX3
  hn::StoreU(hn::Compress(v, listed), d, to);
  return hn::CountTrue(d, listed);
#else
  return hn::CompressStore(v, listed, d, to);
#endif
}

// ---- parts and batches --------------------------------------------------------------------------

#if defined(__GNUC__) && !defined(__clang__)
#define PORTACL_OPAQUE __attribute__((noipa))
#else
#define PORTACL_OPAQUE HWY_NOINLINE
#endif

// A batch of linear points, one array per quantity. `touching`: points with a tap in the part.
template <class F, int kAxes>
struct LinearBatch : TapBatch<F, kAxes> {
  HWY_ALIGN int32_t taps[kBatch];  // bit i: tap i is in the part; bits above: WrapsAlong()
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  int64_t count;
};

// Nearest points in the part: the pixel or voxel of point touching[j] is at cell[j].
struct NearestBatch {
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  HWY_ALIGN int32_t cell[kBatch + kGroup];
  int64_t count;
};

// A batch of bicubic or tricubic points, in groups.
template <class F, int kAxes>
struct CubicBatch {
  CubicGroup<F, kAxes> group[kBatch / kGroup];
  HWY_ALIGN int32_t adjacent[kBatch];  // not 0: the taps of a row are adjacent
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  int64_t count;
};

// An owner's part: some channels of image or volume n, and in them rows or planes [first, end).
// With joined images: `images` whole images from n on.
struct OwnedPart {
  int64_t n;
  int64_t first_channel;
  int64_t channels;
  int64_t first;
  int64_t end;
  int64_t images = 1;
};

// Where a part's sums are: `first` is element 0 of the image or volume in its first channel.
template <class F>
struct PartSums {
  F* first;
  int64_t channel_stride;
  VolumeStrides size;
};

// Points of an image or volume: `count` from `first` on, or a list in ascending order.
struct SomePoints {
  int64_t first;
  int64_t count;
  const int32_t* list = nullptr;

  int64_t operator[](int64_t k) const { return list == nullptr ? first + k : list[k]; }
  // Whether the numbers of points [begin, begin + length) are successive.
  bool AreSideBySide(int64_t begin, int64_t length) const {
    return list == nullptr || list[begin + length - 1] - list[begin] == length - 1;
  }
};

// Adds bicubic or tricubic points to a part. `size` gives extents and strides of the channels. A
// part of images always has whole images.
template <class F, int kAxes>
struct CubicSums {
  const OwnedPart& part;
  const VolumeStrides& size;

  using Group = CubicGroup<F, kAxes>;

  // Adds points and taps in order; each sum takes one fused multiply-add. `image`: offset of each
  // point's image, if images are joined. Opaque to the optimizer: GCC 12 drops the calls for
  // double, because it thinks that the function has no effect.
  PORTACL_OPAQUE void AddPoints(const CubicBatch<F, kAxes>& batch, const F* g, const int32_t* image,
                                F* channel) const {
    for (int64_t j = 0; j < batch.count; ++j) {
      const auto k = static_cast<size_t>(batch.touching[j]);
      const Group& group = batch.group[k / kGroup];
      F* const sums = channel + (image == nullptr ? 0 : image[k]);
      if (size.pixel == 1 && batch.adjacent[k] != 0) {
        AddRows(group, k % kGroup, g[k], sums);
      } else {
        AddTaps(group, k % kGroup, g[k], sums);
      }
    }
  }

  // Calls use(sums, weight_z) for the planes of point k's taps that are in the part.
  template <class Use>
  HWY_INLINE void ForPlanes(const Group& group, size_t k, F* channel, const Use& use) const {
    if constexpr (kAxes == 2) {
      use(channel, F{1});
    } else {
      for (size_t plane = 0; plane < 4; ++plane) {
        const int64_t z = group.index[2][plane][k];
        if (z < part.first || z >= part.end) continue;
        use(channel + z * size.plane, group.weight[2][plane][k]);
      }
    }
  }

  // Adds g times a row of weights to sums[0 ... 3]. `weight` has no share of the plane yet.
  static HWY_INLINE void AddRow(const F* weight, F weight_z, F g, F* sums) {
    const hn::CappedTag<F, 4> d4;
    for (size_t i = 0; i < 4; i += hn::Lanes(d4)) {
      const auto share = hn::Mul(hn::LoadU(d4, weight + i), hn::Set(d4, weight_z));
      hn::StoreU(hn::MulAdd(share, hn::Set(d4, g), hn::LoadU(d4, sums + i)), d4, sums + i);
    }
  }

  // Adds point k of a group. In each row, its four taps must be adjacent.
  HWY_INLINE void AddRows(const Group& group, size_t k, F g, F* channel) const {
    F weight[4][4];
    for (size_t row = 0; row < 4; ++row) {
      for (size_t column = 0; column < 4; ++column) {
        weight[row][column] = group.weight[0][column][k] * group.weight[1][row][k];
      }
    }
    ForPlanes(group, k, channel, [&](F* plane, F weight_z) HWY_ATTR {
      F* const sums = plane + group.index[0][0][k];
      for (size_t row = 0; row < 4; ++row) {
        const int64_t y = group.index[1][row][k];
        if (y < 0) continue;
        AddRow(weight[row], weight_z, g, sums + y * size.row);
      }
    });
  }

  // Adds point k of a group. Its taps may be anywhere.
  HWY_INLINE void AddTaps(const Group& group, size_t k, F g, F* channel) const {
    ForPlanes(group, k, channel, [&](F* plane, F weight_z) HWY_ATTR {
      for (size_t row = 0; row < 4; ++row) {
        const int64_t y = group.index[1][row][k];
        if (y < 0) continue;
        F* const at = plane + y * size.row;
        const F weight_y = group.weight[1][row][k];
        for (size_t column = 0; column < 4; ++column) {
          const int64_t x = group.index[0][column][k];
          if (x < 0) continue;
          F* const sum = at + x * size.pixel;
          *sum = std::fma((group.weight[0][column][k] * weight_y) * weight_z, g, *sum);
        }
      }
    });
  }
};

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
