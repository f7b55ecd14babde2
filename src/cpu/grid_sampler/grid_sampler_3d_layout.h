// Plain data that the kernels of every instruction set share when they sample volumes: what
// grid_sampler_2d_layout.h holds for images, with one axis more.
#ifndef PORTACL_CPU_GRID_SAMPLER_3D_LAYOUT_H_
#define PORTACL_CPU_GRID_SAMPLER_3D_LAYOUT_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "cpu/grid_sampler/grid_sampler_2d_layout.h"
#include "ops/grid_sampler_3d_params.h"

namespace portacl::cpu {

template <class F>
struct VolumeGeometry : PointGeometry<F> {
  AxisExtent<F> z;
};

template <class F>
VolumeGeometry<F> VolumeGeometryOf(const ops::GridSampler3DShape& s) {
  return {PointGeometryOf<F>(s), AxisExtentOf<F>(s.d, s.align_corners)};
}

inline PointStrides PointStridesOf(const ops::GridSampler3DShape& s, int64_t plane_stride,
                                   int64_t row_stride, int64_t pixel_stride,
                                   int64_t channel_stride) {
  const ops::GridSampler2DShape& plane = s;
  PointStrides points = PointStridesOf(plane, row_stride, pixel_stride, channel_stride);
  points.plane_points = s.oh * s.ow;
  points.plane_stride = plane_stride;
  if (points.plane_points == 1) points.pixel_stride = plane_stride;
  points.flat =
      points.flat && (s.od == 1 || plane_stride == points.plane_points * points.pixel_stride);
  return points;
}

// Of (n, od, oh, ow, 3): grid and gridGrad.
inline PointStrides GridPointsOf(const ops::GridSampler3DShape& s,
                                 const std::array<int64_t, 5>& stride) {
  return PointStridesOf(s, stride[1], stride[2], stride[3], stride[4]);
}

// Of (n, c, od, oh, ow): output and gradOutput.
inline PointStrides ValuePointsOf(const ops::GridSampler3DShape& s,
                                  const std::array<int64_t, 5>& stride) {
  return PointStridesOf(s, stride[2], stride[3], stride[4], stride[1]);
}

// How one channel's volume lies in memory: offsets that vectors of 32-bit integers can hold.
struct VolumeStrides {
  int32_t depth, height, width;
  int32_t plane, row, pixel;  // strides; 0 of an axis with one element
};

inline VolumeStrides VolumeStridesOf(const ops::GridSampler3DShape& s,
                                     const std::array<int64_t, 5>& stride) {
  const auto step = [](int64_t extent, int64_t own) {
    return extent == 1 ? 0 : static_cast<int32_t>(own);
  };
  return {static_cast<int32_t>(s.d), static_cast<int32_t>(s.h), static_cast<int32_t>(s.w),
          step(s.d, stride[2]),      step(s.h, stride[3]),      step(s.w, stride[4])};
}

// Of a volume without gaps and of less than 2^31 elements.
inline VolumeStrides DenseVolume(const ops::GridSampler3DShape& s) {
  const auto width = static_cast<int32_t>(s.w);
  const auto plane = static_cast<int32_t>(s.h * s.w);
  return {static_cast<int32_t>(s.d), static_cast<int32_t>(s.h), width, plane, width, 1};
}

// True where points exist, every index of an axis is exact in float (24 bits) and points can be
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

// Whether a call has so many channels that their blocks are mostly full, and so many points that
// turning the volumes costs less than the lines that gathers would read.
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

// How many volumes are in work at a time where their channels are in the lanes: one for each thread
// if that shares the work evenly or a volume is too little work for two threads. One for all if
// there are too few of them, or if they are large: those gain nothing from it.
inline int BlockSlots(const ops::GridSampler3DShape& s, const PointChunks& chunks, int threads) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const bool even = s.n % threads == 0 || s.n >= 4 * int64_t{threads};
  const bool small = chunks.chunks <= chunks.grain;
  const bool whole =
      s.n >= threads && (even || small) && BlockBytes(s, kBlockChannels) <= kMostBytes;
  return whole ? threads : 1;
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_3D_LAYOUT_H_
