// Plain data for the kernels of the grid sampler, the same for every instruction set: constants of
// coordinates, strides, limits, pieces of work, and points of a slab.
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

// The kernels compute points in groups of 16: one AVX-512 vector of floats.
inline constexpr size_t kGroup = 16;

// Points without taps get this coordinate: all taps around it are outside. Bicubic points get NaN.
inline constexpr int kNowhere = -4;

// Constants that turn one axis' grid coordinate into pixels. F is the arithmetic type.
template <class F>
struct AxisExtent {
  F size;             // pixels on the axis
  F last;             // index of the last pixel
  F pixels_per_unit;  // d pixel / d x
  F lo;               // first mirror of reflection padding
  F span;             // distance between the two mirrors
};

struct PointRule {
  ops::Padding padding;
  bool align_corners;
  bool bicubic;
  bool replaces_outside;
  double fill;           // value of taps outside the image, and of points without taps
  double outside_value;  // value of points outside the image, if replaces_outside

  // Whether padding clips coordinates: to the image (border) or to a frame around it (zeros).
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

// Extents and strides of one channel's image or volume; 32 bits hold every offset. An image is a
// volume of one plane. An image of width 1 has pixel stride 1.
struct VolumeStrides {
  int32_t depth, height, width;
  int32_t plane, row, pixel;  // in elements; 0 if the axis has one element
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

// Returns the strides of a dense image or volume, which must have less than 2^31 elements.
inline VolumeStrides DenseVolume(const ops::GridSampler2DShape& s) {
  return VolumeStridesOf(s, {0, 0, s.w, 1});
}
inline VolumeStrides DenseVolume(const ops::GridSampler3DShape& s) {
  const auto width = static_cast<int32_t>(s.w);
  const auto plane = static_cast<int32_t>(s.h * s.w);
  return {static_cast<int32_t>(s.d), static_cast<int32_t>(s.h), width, plane, width, 1};
}

// Returns the first line of slab `slab`: a row of an image or a plane of a volume.
inline int64_t FirstLine(int64_t lines, int64_t slab, int64_t slabs) {
  return lines * slab / slabs;
}
inline int64_t LinesOf(const ops::GridSampler2DShape& s) { return s.h; }
inline int64_t LinesOf(const ops::GridSampler3DShape& s) { return s.d; }

// The number of a point's coordinates: 2 if Params is for images, 3 for volumes.
template <class Params>
inline constexpr int kAxesOf = int{std::tuple_size_v<decltype(Params::grid_stride)>} - 2;

inline int64_t PointsOf(const ops::GridSampler2DShape& s) { return s.oh * s.ow; }
inline int64_t PointsOf(const ops::GridSampler3DShape& s) { return s.od * s.oh * s.ow; }

// Strides, in elements, of the points of one image or volume. The tensor is (n, c, [od,] oh, ow) or
// (n, [od,] oh, ow, axes).
struct PointStrides {
  int64_t row_stride;
  int64_t pixel_stride;
  int64_t channel_stride;
  int64_t row_points;        // ow
  bool flat;                 // point p is at p * pixel_stride
  int64_t plane_points = 0;  // oh * ow of a volume; 0 for an image
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

// Returns the strides of a tensor's points. The axes [od,] oh, ow begin at `first_axis`.
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

// Returns the strides of the points of grid or gridGrad: (n, [od,] oh, ow, axes).
template <class Shape, size_t kRank>
PointStrides GridPointsOf(const Shape& s, const std::array<int64_t, kRank>& stride) {
  return PointStridesOf(s, stride, 1, kRank - 1);
}

// Returns the strides of the points of output or gradOutput: (n, c, [od,] oh, ow).
template <class Shape, size_t kRank>
PointStrides ValuePointsOf(const Shape& s, const std::array<int64_t, kRank>& stride) {
  return PointStridesOf(s, stride, 2, 1);
}

// Whether the points of an image or volume, and the coordinates of each point, lie without gaps.
inline bool HasDensePoints(const PointStrides& at, int64_t axes) {
  return at.flat && at.pixel_stride == axes && at.channel_stride == 1;
}
inline bool HasDensePairs(const PointStrides& at) { return HasDensePoints(at, 2); }

// Channels of a full block. Each channel of a block has one lane of the vectors.
inline constexpr int kBlockChannels = 16;

// Cuts channels into blocks of kBlockChannels lanes. The last block has 4, 8 or kBlockChannels
// lanes, the fewest that hold its channels.
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

  // Calls f with LanesOf(block) as a compile-time constant.
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

// Whether the kernels can serve an image: it has points, float holds every index of an axis, and 32
// bits number the pixels and the points.
inline bool ServesPlane(const ops::GridSampler2DShape& s) {
  constexpr int64_t kMaxExtent = int64_t{1} << 24;
  constexpr int64_t kMaxPlane = int64_t{1} << 30;
  if (s.oh == 0 || s.ow == 0 || s.h > kMaxExtent || s.w > kMaxExtent) return false;
  if (s.oh > kMaxPlane || s.ow > kMaxPlane) return false;
  // Two strips may list the same point, and 32 bits also number the entries of all lists.
  return s.h * s.w <= kMaxPlane && s.oh * s.ow < kMaxPlane;
}

// Whether pixels of a row are adjacent, and 32 bits hold the offset of every pixel.
inline bool HasDenseRows(const ops::GridSampler2DShape& s, const std::array<int64_t, 4>& stride) {
  constexpr int64_t kMost = int64_t{1} << 31;
  return stride[3] == 1 && stride[2] >= 0 && stride[2] < kMost &&
         (s.h - 1) * stride[2] + s.w - 1 < kMost;
}

// Whether GatherPairs() can read two neighbours of a row at once. Rows must be dense. Offsets of
// 16-bit types are counted in bytes, so their limit is half as large.
inline bool ServesPairs(const ops::GridSampler2DShape& s, const std::array<int64_t, 4>& stride) {
  constexpr int64_t kMost = int64_t{1} << 30;
  return s.w >= 2 && HasDenseRows(s, stride) &&
         (base::DTypeSize(s.dtype) != 2 || (s.h - 1) * stride[2] + s.w - 1 < kMost);
}

// Decides whether to test a vector of points for a property that makes it faster. After four
// failures in a row, as at random points, only every eighth vector is tested.
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

// Small images may be joined: points are numbered across images. So a vector, or a batch of up to
// kJoinedBatch points, may hold points of several images.
inline constexpr int64_t kMostJoinedPoints = 128;
inline constexpr int64_t kJoinedBatch = 64;

// Whether joining images saves at least 8 vectors of points. Separate images would leave lanes
// empty; joined images cost as much preparation as some vectors.
inline bool JoiningPays(const ops::GridSampler2DShape& s) {
  constexpr int64_t kSize = int64_t{kGroup};
  const int64_t points = s.oh * s.ow;
  const int64_t apart = s.n * ((points + kSize - 1) / kSize);
  const int64_t joined = (s.n * points + kSize - 1) / kSize;
  return points <= kMostJoinedPoints && apart >= joined + 8;
}

// At most so many float sums of a 16-bit type are kept before they are rounded.
inline constexpr int64_t kStagedElements = 8192;

// How many whole images a batch and kStagedElements sums of a channel hold; 0: not even one.
inline int64_t StagedImages(const ops::GridSampler2DShape& s) {
  return std::min(kJoinedBatch / (s.oh * s.ow), kStagedElements / (s.h * s.w));
}

// Whether the points of all images of grid or gridGrad lie without gaps.
inline bool HasJoinedPairs(const ops::GridSampler2DShape& s, const std::array<int64_t, 4>& stride) {
  return stride[0] == 2 * s.oh * s.ow && HasDensePairs(GridPointsOf(s, stride));
}

// Whether 32-bit offsets from the first image of a batch reach every pixel of its last image.
inline bool HasJoinedImages(const ops::GridSampler2DShape& s,
                            const std::array<int64_t, 4>& stride) {
  constexpr int64_t kMost = int64_t{1} << 29;
  return stride[0] >= 0 && stride[0] <= kMost / (kJoinedBatch / (s.oh * s.ow) + 1) &&
         (s.h - 1) * stride[2] + s.w - 1 < kMost;
}

// Whether gathering the taps of so few points costs less than copying the images to slabs.
inline bool IsSparse(const ops::GridSampler2DShape& s, int64_t pixels_per_point = 16) {
  return s.oh * s.ow * pixels_per_point <= s.h * s.w;
}

// How a loop over the points of all images is cut into chunks. Chunks may run in any order.
struct PointChunks {
  int64_t images;
  int64_t points;        // of one image
  int64_t chunk_points;  // multiple of kGroup
  int64_t chunks;        // of one image
  int64_t grain;         // chunks that are worth a thread
};

// Returns chunks of about `chunk_work`. A thread gets `thread_work`. Work is points x channels.
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

// Each lane of a vector has one point; its taps are gathered from the tensors. There is no
// workspace. Serves the function and its gradients.
struct PointGathers {
  PointChunks chunks;
  bool pairs;   // two taps of a row are read as a pair
  bool joined;  // a vector may hold points of several images
};

inline PointChunks PointChunksOf(const ops::GridSampler2DShape& s) {
  return ChunksOf(s.n, s.oh * s.ow, s.c, 4096, 16384);  // some 3 and 12 us
}

// Returns chunks of joined images: smaller, because each point reads cache lines of its own.
inline PointChunks JoinedChunksOf(const ops::GridSampler2DShape& s) {
  return ChunksOf(1, s.n * s.oh * s.ow, s.c, 512, 512);  // some 6 us
}

// Whether each thread takes whole images. True if that shares the work evenly, or if an image is
// too small to pay for barriers between its stages (some 10 us each). Threads that share a stage
// wait for each other: eight threads wait a quarter of the time.
inline bool ByImage(const ops::GridSampler2DShape& s, int threads) {
  if (s.n < threads) return false;
  const int64_t turns = (s.n + threads - 1) / threads * threads;  // n rounded up to full turns
  if ((turns - s.n) * 32 <= std::min(threads, 8) * turns) return true;
  return (s.oh * s.ow + s.h * s.w) * s.c < 200'000;
}

// Whether the kernels can serve a volume: it has points, float holds every index of an axis, and 32
// bits number the points.
inline bool ServesVolume(const ops::GridSampler3DShape& s) {
  constexpr int64_t kMaxExtent = int64_t{1} << 24;
  constexpr int64_t kMaxPoints = int64_t{1} << 30;
  if (s.n == 0 || s.c == 0 || s.od == 0 || s.oh == 0 || s.ow == 0) return false;
  if (s.d > kMaxExtent || s.h > kMaxExtent || s.w > kMaxExtent) return false;
  return s.od <= kMaxPoints && s.oh <= kMaxPoints && s.ow <= kMaxPoints &&
         s.oh <= kMaxPoints / s.ow && s.od <= kMaxPoints / (s.oh * s.ow);
}

// Whether 32 bits hold a channel's strides, in VolumeStridesOf(), and the offset of each element.
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

// Whether GatherPairs() can read two neighbours of a row at once. Elements must be adjacent and
// strides not negative. Offsets of 16-bit types are counted in bytes.
inline bool ServesVolumePairs(const ops::GridSampler3DShape& s,
                              const std::array<int64_t, 5>& stride) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if (s.w < 2 || stride[4] != 1 || !HasShortOffsets(s, stride)) return false;
  const int64_t row = s.h == 1 ? 0 : stride[3];
  const int64_t plane = s.d == 1 ? 0 : stride[2];
  if (row < 0 || plane < 0) return false;
  return base::DTypeSize(s.dtype) != 2 || (s.d - 1) * plane + (s.h - 1) * row + s.w - 1 < kMost;
}

// Whether the path "blocks" can serve: 32 bits number the voxels, and points have several taps.
inline bool ServesBlocks(const ops::GridSampler3DShape& s) {
  constexpr int64_t kMostVoxels = int64_t{1} << 31;
  return s.interpolation != ops::Interpolation::kNearest && s.h * s.w < kMostVoxels &&
         s.d * (s.h * s.w) < kMostVoxels;
}

// Whether the path "blocks" is faster: a block is full, and enough points share the cost of
// transposing the volumes.
inline bool BlocksPay(const ops::GridSampler3DShape& s) {
  constexpr int64_t kVoxelsPerPoint = 8;
  return s.c >= kBlockChannels && s.d * s.h * s.w <= kVoxelsPerPoint * s.od * s.oh * s.ow;
}

// Bytes of a volume with `voxel_elements` floats or doubles per voxel.
inline int64_t BlockBytes(const ops::GridSampler3DShape& s, int64_t voxel_elements) {
  return s.d * s.h * s.w * voxel_elements * (s.dtype == base::DType::kDouble ? 8 : 4);
}

// Returns an image with the volume's points: its planes of points lie below each other.
inline ops::GridSampler2DShape AsImage(const ops::GridSampler3DShape& s) {
  ops::GridSampler2DShape image = s;
  image.oh = s.od * s.oh;
  return image;
}

// Returns the chunks of the points for one block of channels.
inline PointChunks BlockChunksOf(const ops::GridSampler3DShape& s) {
  ops::GridSampler2DShape block = AsImage(s);
  block.c = std::min<int64_t>(s.c, kBlockChannels);
  return PointChunksOf(block);
}

// How many volumes the path "blocks" computes at a time: one per thread, or one that all threads
// share. One per thread if that shares the work evenly or a volume has too little work for two
// threads. Large volumes are always shared: separate ones gain nothing.
inline int BlockSlots(const ops::GridSampler3DShape& s, const PointChunks& chunks, int threads) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const bool even = s.n % threads == 0 || s.n >= 4 * int64_t{threads};
  const bool small = chunks.chunks <= chunks.grain;
  const bool whole =
      s.n >= threads && (even || small) && BlockBytes(s, kBlockChannels) <= kMostBytes;
  return whole ? threads : 1;
}

// A slab and its points, in ascending order. A row has `pitch` cells: one for each pixel and one
// more on each side. A cell has a block's channels. Row r is row first_row + r - 2 of the image.
// Rows 0 and 1 and the cells at the sides serve taps outside the image.
template <class F>
struct SlabPoints {
  PointGeometry<F> geometry;
  int64_t pitch;
  int64_t first_row;
  int64_t end_row;   // of the strip, without its halo
  int64_t halo_end;  // the first row behind the slab
  F* slab;           // cell (0, 0)
  // x, y: coordinates after padding, readable up to the next multiple of kGroup. index: numbers of
  // the points; null means first, first + 1, ...
  const F* x;
  const F* y;
  const int32_t* index = nullptr;
  int64_t first = 0;
  int64_t count = 0;    // points; in a StripJob maybe groups
  int64_t foreign = 0;  // number that stands for points with gridGrad in another strip
};

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_LAYOUT_H_
