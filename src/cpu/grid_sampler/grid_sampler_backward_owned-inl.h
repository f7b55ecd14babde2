// What owners of parts of inputGrad work with: parts, batches of points, and the sums of cubic
// points. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_BACKWARD_OWNED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_BACKWARD_OWNED_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_BACKWARD_OWNED_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_BACKWARD_OWNED_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_cubic-inl.h"
#include "cpu/grid_sampler/grid_sampler_tap_batch-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

#if defined(__GNUC__) && !defined(__clang__)
#define PORTACL_OPAQUE __attribute__((noipa))
#else
#define PORTACL_OPAQUE HWY_NOINLINE
#endif

// A batch of points, one array for each quantity; `touching` lists points with a tap in the part.
template <class F, int kAxes>
struct LinearBatch : TapBatch<F, kAxes> {
  HWY_ALIGN int32_t taps[kBatch];  // bit i: tap i is in the part; above, which taps wrap
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  int64_t count;
};

// Of these points alone: the pixel or voxel of touching[j] is at cell[j].
struct NearestBatch {
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  HWY_ALIGN int32_t cell[kBatch + kGroup];
  int64_t count;
};

// Bicubic or tricubic points, group by group.
template <class F, int kAxes>
struct CubicBatch {
  CubicGroup<F, kAxes> group[kBatch / kGroup];
  HWY_ALIGN int32_t adjacent[kBatch];  // not 0: the taps of a row are neighbours
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  int64_t count;
};

// The part of an owner: of image or volume n some channels, and in them rows or planes [first,
// end). If joined, all of several images from n on.
struct OwnedPart {
  int64_t n;
  int64_t first_channel;
  int64_t channels;
  int64_t first;
  int64_t end;
  int64_t images = 1;
};

// The places of a part's sums: in every channel, from the channel's first element on.
template <class F>
struct PartSums {
  F* first;
  int64_t channel_stride;
  VolumeStrides size;
};

// Points of an image or volume: `count` from `first` on, or a list's in ascending order.
struct SomePoints {
  int64_t first;
  int64_t count;
  const int32_t* list = nullptr;

  int64_t operator[](int64_t k) const { return list == nullptr ? first + k : list[k]; }
  // Whether points [begin, begin + length) of these follow each other.
  bool AreSideBySide(int64_t begin, int64_t length) const {
    return list == nullptr || list[begin + length - 1] - list[begin] == length - 1;
  }
};

// Adds bicubic or tricubic points to a part. Its channels lie in memory as `size` says. Of an
// image, the part is always whole.
template <class F, int kAxes>
struct CubicSums {
  const OwnedPart& part;
  const VolumeStrides& size;

  using Group = CubicGroup<F, kAxes>;

  // Points and taps in order, each sum by one fused multiply-add. `image`: each point's, if images
  // are joined, as an offset. Not looked into by other functions' optimization: GCC 12 takes it for
  // one without effect, and drops its calls for double.
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

  // Calls use(sums, weight_z) for the planes of point k that are in the part.
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

  // sums[0 ... 3] += g times the weights of a row of taps, `weight` without the plane's share.
  static HWY_INLINE void AddRow(const F* weight, F weight_z, F g, F* sums) {
    const hn::CappedTag<F, 4> d4;
    for (size_t i = 0; i < 4; i += hn::Lanes(d4)) {
      const auto share = hn::Mul(hn::LoadU(d4, weight + i), hn::Set(d4, weight_z));
      hn::StoreU(hn::MulAdd(share, hn::Set(d4, g), hn::LoadU(d4, sums + i)), d4, sums + i);
    }
  }

  // Point k of a group that has vectors as rows of taps.
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

  // Any point.
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
