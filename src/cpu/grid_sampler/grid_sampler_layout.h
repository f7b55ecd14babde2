// Plain data that the grid sampler kernels of every instruction set share, on images and volumes:
// coordinates' constants, strides of points, limits, pieces of work, and the slabs' geometry.
#ifndef PORTACL_CPU_GRID_SAMPLER_LAYOUT_H_
#define PORTACL_CPU_GRID_SAMPLER_LAYOUT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <tuple>
#include <type_traits>

#include "ops/grid_sampler_params.h"

namespace portacl::cpu {

// Points are handled in groups of this many: a vector of floats on AVX-512.
inline constexpr size_t kGroup = 16;

// Coordinate of points that touch nothing: no tap of it lies inside an image (bicubic: NaN).
inline constexpr int kNowhere = -4;

// The constants of an axis' coordinates, in the arithmetic type.
template <class F>
struct AxisExtent {
  F size;             // extent
  F last;             // extent - 1
  F pixels_per_unit;  // d pixel / d x
  F lo;               // reflection's first mirror
  F span;             // distance of its mirrors
};

struct PointRule {
  ops::Padding padding;
  bool align_corners;
  bool bicubic;
  bool replaces_outside;
  double fill;           // what taps outside hold, and points without taps
  double outside_value;  // of points outside, which the rule replaces

  // Whether padding is by clipping coordinates to the image or to a frame around it.
  bool clips() const {
    return (padding == ops::Padding::kZeros || padding == ops::Padding::kBorder) &&
           !replaces_outside;
  }
};

template <class F>
struct PointGeometry {
  static constexpr int kAxes = 2;
  AxisExtent<F> x;
  AxisExtent<F> y;
  PointRule rule;
};

template <class F>
AxisExtent<F> AxisExtentOf(int64_t extent, bool align_corners) {
  const F size = static_cast<F>(extent);
  const F last = static_cast<F>(extent - 1);
  return {size, last, (align_corners ? last : size) / 2, align_corners ? F{0} : F{-0.5},
          align_corners ? last : size};
}

template <class F>
PointGeometry<F> PointGeometryOf(const ops::GridSampler2DShape& s) {
  return {AxisExtentOf<F>(s.w, s.align_corners),
          AxisExtentOf<F>(s.h, s.align_corners),
          {s.padding, s.align_corners, s.interpolation == ops::Interpolation::kBicubic,
           s.replaces_outside, s.padding == ops::Padding::kConstant ? s.fill : 0, s.outside_value}};
}

template <class F>
struct VolumeGeometry : PointGeometry<F> {
  static constexpr int kAxes = 3;
  AxisExtent<F> z;
};

template <class F>
VolumeGeometry<F> PointGeometryOf(const ops::GridSampler3DShape& s) {
  const ops::GridSampler2DShape& plane = s;
  return {PointGeometryOf<F>(plane), AxisExtentOf<F>(s.d, s.align_corners)};
}

// How one channel's image or volume lies in memory: offsets that vectors of 32-bit integers can
// hold. An image is a volume of one plane, and a column of pixels has dense rows.
struct VolumeStrides {
  int32_t depth, height, width;
  int32_t plane, row, pixel;  // strides; 0 of an axis with one element
};

inline VolumeStrides VolumeStridesOf(const ops::GridSampler2DShape& s,
                                     const std::array<int64_t, 4>& stride) {
  return {1,
          static_cast<int32_t>(s.h),
          static_cast<int32_t>(s.w),
          0,
          s.h == 1 ? 0 : static_cast<int32_t>(stride[2]),
          s.w == 1 ? 1 : static_cast<int32_t>(stride[3])};
}

inline VolumeStrides VolumeStridesOf(const ops::GridSampler3DShape& s,
                                     const std::array<int64_t, 5>& stride) {
  const auto step = [](int64_t extent, int64_t own) {
    return extent == 1 ? 0 : static_cast<int32_t>(own);
  };
  return {static_cast<int32_t>(s.d), static_cast<int32_t>(s.h), static_cast<int32_t>(s.w),
          step(s.d, stride[2]),      step(s.h, stride[3]),      step(s.w, stride[4])};
}

// Of an image or volume without gaps and of less than 2^31 elements.
inline VolumeStrides DenseVolume(const ops::GridSampler2DShape& s) {
  return VolumeStridesOf(s, {0, 0, s.w, 1});
}
inline VolumeStrides DenseVolume(const ops::GridSampler3DShape& s) {
  const auto width = static_cast<int32_t>(s.w);
  const auto plane = static_cast<int32_t>(s.h * s.w);
  return {static_cast<int32_t>(s.d), static_cast<int32_t>(s.h), width, plane, width, 1};
}

// The first line, plane or row, of slab `slab`.
inline int64_t FirstLine(int64_t lines, int64_t slab, int64_t slabs) {
  return lines * slab / slabs;
}
inline int64_t LinesOf(const ops::GridSampler2DShape& s) { return s.h; }
inline int64_t LinesOf(const ops::GridSampler3DShape& s) { return s.d; }

// Axes of a call's points, by its parameters: 2 of images, 3 of volumes.
template <class Params>
inline constexpr int kAxesOf = int{std::tuple_size_v<decltype(Params::grid_stride)>} - 2;

inline int64_t PointsOf(const ops::GridSampler2DShape& s) { return s.oh * s.ow; }
inline int64_t PointsOf(const ops::GridSampler3DShape& s) { return s.od * s.oh * s.ow; }

// Where the points of one image or volume lie in a tensor (n, c, [od,] oh, ow) or (n, [od,] oh, ow,
// axes).
struct PointStrides {
  int64_t row_stride;
  int64_t pixel_stride;
  int64_t channel_stride;
  int64_t row_points;        // ow
  bool flat;                 // point p is at p * pixel_stride
  int64_t plane_points = 0;  // of a volume: oh * ow
  int64_t plane_stride = 0;

  int64_t OffsetOf(int64_t point) const {
    if (flat) return point * pixel_stride;
    int64_t offset = 0;
    if (plane_points > 0) {
      offset = point / plane_points * plane_stride;
      point %= plane_points;
    }
    return offset + point / row_points * row_stride + point % row_points * pixel_stride;
  }
};

// Of a tensor with these strides: the points' axes begin with `first_axis`.
template <class Shape, size_t kRank>
PointStrides PointStridesOf(const Shape& s, const std::array<int64_t, kRank>& stride,
                            size_t first_axis, size_t channel_axis) {
  const int64_t row = stride[first_axis + kRank - 4];
  const int64_t pixel = s.ow == 1 ? row : stride[first_axis + kRank - 3];
  PointStrides points = {row, pixel, stride[channel_axis], s.ow, s.oh == 1 || row == s.ow * pixel};
  if constexpr (kRank == 5) {
    points.plane_points = s.oh * s.ow;
    points.plane_stride = stride[first_axis];
    if (points.plane_points == 1) points.pixel_stride = points.plane_stride;
    const bool dense = points.plane_stride == points.plane_points * points.pixel_stride;
    points.flat = points.flat && (s.od == 1 || dense);
  }
  return points;
}

// Of (n, [od,] oh, ow, axes): grid and gridGrad.
template <class Shape, size_t kRank>
PointStrides GridPointsOf(const Shape& s, const std::array<int64_t, kRank>& stride) {
  return PointStridesOf(s, stride, 1, kRank - 1);
}

// Of (n, c, [od,] oh, ow): output and gradOutput.
template <class Shape, size_t kRank>
PointStrides ValuePointsOf(const Shape& s, const std::array<int64_t, kRank>& stride) {
  return PointStridesOf(s, stride, 2, 1);
}

// Whether a grid's points, and each one's coordinates, follow each other.
inline bool HasDensePoints(const PointStrides& at, int64_t axes) {
  return at.flat && at.pixel_stride == axes && at.channel_stride == 1;
}
inline bool HasDensePairs(const PointStrides& at) { return HasDensePoints(at, 2); }

// Channels of a block, each a lane. (Points have kGroup.)
inline constexpr int kBlockChannels = 16;

// How channels are cut into blocks: all have kBlockChannels lanes, only the last one has as few of
// 4, 8 and kBlockChannels as it needs.
struct ChannelBlocks {
  int64_t channels;
  int64_t count;

  static int64_t FirstChannel(int64_t block) { return kBlockChannels * block; }
  int64_t ChannelsOf(int64_t block) const {
    return std::min<int64_t>(kBlockChannels, channels - FirstChannel(block));
  }
  int LanesOf(int64_t block) const {
    const int64_t own = ChannelsOf(block);
    return own <= 4 ? 4 : (own <= 8 ? 8 : kBlockChannels);
  }
  int MostLanes() const { return LanesOf(0); }

  // Calls f with the lanes of `block` as a constant.
  template <class Function>
  void WithLanes(int64_t block, const Function& f) const {
    switch (LanesOf(block)) {
      case 4:
        return f(std::integral_constant<int, 4>());
      case 8:
        return f(std::integral_constant<int, 8>());
      default:
        return f(std::integral_constant<int, kBlockChannels>());
    }
  }
};

inline ChannelBlocks CutChannels(int64_t channels) {
  return {channels, (channels + kBlockChannels - 1) / kBlockChannels};
}

// True if points exist, every index of an axis is exact in float (24 bits) and planes and points
// can be numbered in 32 bits.
inline bool ServesPlane(const ops::GridSampler2DShape& s) {
  constexpr int64_t kMaxExtent = int64_t{1} << 24;
  constexpr int64_t kMaxPlane = int64_t{1} << 30;
  if (s.oh == 0 || s.ow == 0 || s.h > kMaxExtent || s.w > kMaxExtent) return false;
  if (s.oh > kMaxPlane || s.ow > kMaxPlane) return false;
  // Two lists may hold a point, and their positions are counted in 32 bits as well.
  return s.h * s.w <= kMaxPlane && s.oh * s.ow < kMaxPlane;
}

// Rows of pixels one after the other, at offsets that vectors of 32-bit integers can hold.
inline bool HasDenseRows(const ops::GridSampler2DShape& s, const std::array<int64_t, 4>& stride) {
  constexpr int64_t kMost = int64_t{1} << 31;
  return stride[3] == 1 && stride[2] >= 0 && stride[2] < kMost &&
         (s.h - 1) * stride[2] + s.w - 1 < kMost;
}

// Whether GatherPairs() can read the planes: their rows are dense, and the offsets of 16-bit types
// are counted in bytes.
inline bool ServesPairs(const ops::GridSampler2DShape& s, const std::array<int64_t, 4>& stride) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return s.w >= 2 && HasDenseRows(s, stride) &&
         (base::DTypeSize(s.dtype) != 2 || (s.h - 1) * stride[2] + s.w - 1 < kMost);
}

// Decides whether a vector of points is tested for a property that makes it faster. If several
// tests in a row have failed, as at random points, only every eighth vector is tested.
class Trial {
  static constexpr int32_t kMostFailures = 4;
  static constexpr int32_t kPause = 8;

 public:
  bool IsDue() { return pause_ == 0 || --pause_ == 0; }
  void Note(bool success) {
    failures_ = success ? 0 : failures_ + 1;
    if (failures_ >= kMostFailures) pause_ = kPause;
  }

 private:
  int32_t failures_ = 0;
  int32_t pause_ = 0;
};

// Images of few points may be joined: points are numbered through all images, so a vector or a
// batch of up to kJoinedBatch points may continue in the next image.
inline constexpr int64_t kMostJoinedPoints = 128;
inline constexpr int64_t kJoinedBatch = 64;

// True if separate images would leave many of the 16 lanes of a vector empty. To prepare joined
// images takes as long as some vectors.
inline bool JoiningPays(const ops::GridSampler2DShape& s) {
  constexpr int64_t kSize = int64_t{kGroup};
  const int64_t points = s.oh * s.ow;
  const int64_t apart = s.n * ((points + kSize - 1) / kSize);
  const int64_t joined = (s.n * points + kSize - 1) / kSize;
  return points <= kMostJoinedPoints && apart >= joined + 8;
}

// Sums of 16-bit types rounded at a time: of one channel of whole images.
inline constexpr int64_t kStagedElements = 8192;

// How many images these are; 0 if they are too large or have too many points.
inline int64_t StagedImages(const ops::GridSampler2DShape& s) {
  return std::min(kJoinedBatch / (s.oh * s.ow), kStagedElements / (s.h * s.w));
}

// Whether all points of a grid, or of gridGrad, follow each other.
inline bool HasJoinedPairs(const ops::GridSampler2DShape& s, const std::array<int64_t, 4>& stride) {
  return stride[0] == 2 * s.oh * s.ow && HasDensePairs(GridPointsOf(s, stride));
}

// Whether offsets from the image of a batch's first point reach all of its last point's image.
inline bool HasJoinedImages(const ops::GridSampler2DShape& s,
                            const std::array<int64_t, 4>& stride) {
  constexpr int64_t kMost = int64_t{1} << 29;
  return stride[0] >= 0 && stride[0] <= kMost / (kJoinedBatch / (s.oh * s.ow) + 1) &&
         (s.h - 1) * stride[2] + s.w - 1 < kMost;
}

// Whether points are so few that gathering their taps costs less than rearranging the images.
inline bool IsSparse(const ops::GridSampler2DShape& s, int64_t pixels_per_point = 16) {
  return s.oh * s.ow * pixels_per_point <= s.h * s.w;
}

// Pieces of work of a loop over all images' points that may be computed in any order.
struct PointChunks {
  int64_t images;
  int64_t points;        // of an image
  int64_t chunk_points;  // multiple of kGroup
  int64_t chunks;        // of an image
  int64_t grain;         // chunks that are worth a thread
};

// `work` of a chunk and of a thread: points x channels.
inline PointChunks ChunksOf(int64_t images, int64_t points, int64_t channels, int64_t chunk_work,
                            int64_t thread_work) {
  constexpr int64_t kSize = int64_t{kGroup};
  PointChunks chunks = {};
  chunks.images = images;
  chunks.points = points;
  const int64_t most = std::min(points, std::max<int64_t>(chunk_work / channels, 64));
  chunks.chunk_points = (most + kSize - 1) / kSize * kSize;
  chunks.chunks = (points + chunks.chunk_points - 1) / chunks.chunk_points;
  chunks.grain = std::max<int64_t>(1, thread_work / (chunks.chunk_points * channels));
  return chunks;
}

// A point in each lane of a vector, its taps gathered straight from the images or volumes, without
// a workspace. In both directions.
struct PointGathers {
  PointChunks chunks;
  bool pairs;   // two taps of a row are read as a pair
  bool joined;  // of images: one after the other, so that a vector holds points of several
};

inline PointChunks PointChunksOf(const ops::GridSampler2DShape& s) {
  return ChunksOf(s.n, s.oh * s.ow, s.c, 4096, 16384);  // some 3 and 12 us
}

// The images as a single one: each point reads lines of its own.
inline PointChunks JoinedChunksOf(const ops::GridSampler2DShape& s) {
  return ChunksOf(1, s.n * s.oh * s.ow, s.c, 512, 512);  // some 6 us
}

// Threads take whole images if that shares the work evenly, or if an image is too little work to
// pay for the barriers between its stages (some 10 us each). The more threads share an image's
// stages, the longer they wait for each other: eight threads wait a quarter of the time.
inline bool ByImage(const ops::GridSampler2DShape& s, int threads) {
  if (s.n < threads) return false;
  const int64_t turns = (s.n + threads - 1) / threads * threads;  // images that there is room for
  if ((turns - s.n) * 32 <= std::min(threads, 8) * turns) return true;
  return (s.oh * s.ow + s.h * s.w) * s.c < 200'000;
}

// True if points exist, every index of an axis is exact in float (24 bits) and points can be
// numbered in 32 bits.
inline bool ServesVolume(const ops::GridSampler3DShape& s) {
  constexpr int64_t kMaxExtent = int64_t{1} << 24;
  constexpr int64_t kMaxPoints = int64_t{1} << 30;
  if (s.n == 0 || s.c == 0 || s.od == 0 || s.oh == 0 || s.ow == 0) return false;
  if (s.d > kMaxExtent || s.h > kMaxExtent || s.w > kMaxExtent) return false;
  return s.od <= kMaxPoints && s.oh <= kMaxPoints && s.ow <= kMaxPoints &&
         s.oh <= kMaxPoints / s.ow && s.od <= kMaxPoints / (s.oh * s.ow);
}

// Whether VolumeStridesOf() holds the strides of a channel, and the offset of each of its elements.
inline bool HasShortOffsets(const ops::GridSampler3DShape& s,
                            const std::array<int64_t, 5>& stride) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const std::array<int64_t, 3> extent = {s.d, s.h, s.w};
  int64_t reach = 0;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (extent[axis] == 1) continue;
    if (stride[axis + 2] <= -kMost || stride[axis + 2] >= kMost) return false;
    const int64_t step = std::abs(stride[axis + 2]);
    if (step * (extent[axis] - 1) >= kMost) return false;
    reach += step * (extent[axis] - 1);
  }
  return reach < kMost;
}

inline bool HasShortOffsets(const ops::GridSampler2DShape& s,
                            const std::array<int64_t, 4>& stride) {
  ops::GridSampler3DShape volume = {};
  static_cast<ops::GridSampler2DShape&>(volume) = s;
  volume.d = 1;
  return HasShortOffsets(volume, {stride[0], stride[1], 0, stride[2], stride[3]});
}

// Whether GatherPairs() can read the rows: elements side by side, forward, and the offsets of
// 16-bit types counted in bytes.
inline bool ServesVolumePairs(const ops::GridSampler3DShape& s,
                              const std::array<int64_t, 5>& stride) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (s.w < 2 || stride[4] != 1 || !HasShortOffsets(s, stride)) return false;
  const int64_t row = s.h == 1 ? 0 : stride[3];
  const int64_t plane = s.d == 1 ? 0 : stride[2];
  if (row < 0 || plane < 0) return false;
  return base::DTypeSize(s.dtype) != 2 || (s.d - 1) * plane + (s.h - 1) * row + s.w - 1 < kMost;
}

// Whether a volume's voxels can be numbered in 32 bits, and each point has several taps.
inline bool ServesBlocks(const ops::GridSampler3DShape& s) {
  constexpr int64_t kMostVoxels = int64_t{1} << 31;
  return s.interpolation != ops::Interpolation::kNearest && s.h * s.w < kMostVoxels &&
         s.d * (s.h * s.w) < kMostVoxels;
}

// Whether a call has enough channels to fill most blocks, and so many points that turning the
// volumes costs less than the lines that gathers would read.
inline bool BlocksPay(const ops::GridSampler3DShape& s) {
  constexpr int64_t kVoxelsPerPoint = 8;
  return s.c >= kBlockChannels && s.d * s.h * s.w <= kVoxelsPerPoint * s.od * s.oh * s.ow;
}

// Bytes of a block's volume with so many elements a voxel.
inline int64_t BlockBytes(const ops::GridSampler3DShape& s, int64_t voxel_elements) {
  return s.d * s.h * s.w * voxel_elements * (s.dtype == base::DType::kDouble ? 8 : 4);
}

// An image of as many points as all planes have together.
inline ops::GridSampler2DShape AsImage(const ops::GridSampler3DShape& s) {
  ops::GridSampler2DShape image = s;
  image.oh = s.od * s.oh;
  return image;
}

// Pieces of a pass over the points of a volume, for a block of its channels.
inline PointChunks BlockChunksOf(const ops::GridSampler3DShape& s) {
  ops::GridSampler2DShape block = AsImage(s);
  block.c = std::min<int64_t>(s.c, kBlockChannels);
  return PointChunksOf(block);
}

// How many volumes are computed at a time if their channels are in the lanes. One for each thread
// if that shares the work evenly, or if a volume is too little work for two threads. Else one for
// all threads; so also if volumes are large, because these gain nothing.
inline int BlockSlots(const ops::GridSampler3DShape& s, const PointChunks& chunks, int threads) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const bool even = s.n % threads == 0 || s.n >= 4 * int64_t{threads};
  const bool small = chunks.chunks <= chunks.grain;
  const bool whole =
      s.n >= threads && (even || small) && BlockBytes(s, kBlockChannels) <= kMostBytes;
  return whole ? threads : 1;
}

// Points of a slab, in ascending order. A slab is pixel-major scratch of rows of `pitch` cells, one
// cell per pixel and one more on both sides. Row r is row first_row + r - 2 of the image; rows 0
// and 1 are no rows of it. Taps outside the image use these two rows or the side cells.
template <class F>
struct SlabPoints {
  PointGeometry<F> geometry;
  int64_t pitch;
  int64_t first_row;
  int64_t end_row;   // of the strip, without its halo
  int64_t halo_end;  // the first row behind the slab
  F* slab;           // cell (0, 0)
  // Padded coordinates, readable up to the next multiple of kGroup, and the points' numbers; a null
  // index means first, first + 1, ...
  const F* x;
  const F* y;
  const int32_t* index = nullptr;
  int64_t first = 0;
  int64_t count = 0;    // of points (of groups: see StripJob)
  int64_t foreign = 0;  // number of points for which another strip owns gridGrad
};

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_LAYOUT_H_
