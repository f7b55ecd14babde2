// How the kernels of sampling and of its gradients work, on images and volumes, and their
// workspace: the same for every instruction set.
#ifndef PORTACL_CPU_GRID_SAMPLER_PLAN_H_
#define PORTACL_CPU_GRID_SAMPLER_PLAN_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/kernel.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "ops/grid_sampler_params.h"

namespace portacl::cpu {

// ---- sampling -----------------------------------------------------------------------------------

// Blocks of channels are copied to a pixel-major slab of the whole plane, see SlabPoints. Each tap
// of a point is then one or two loads. The workspace is `slabs` slabs: one for each thread
// (by_image), or one for each block that the threads compute together.
struct SamplingGeometry {
  int64_t points;
  ChannelBlocks blocks;
  int64_t pitch;
  int64_t slab_rows;
  int slabs;
  bool by_image;
  uint64_t slab_bytes;
};

// "direct" has PointGathers.
struct GridSampler2DPlan : base::PathPlan<SamplingGeometry, PointGathers> {
  static constexpr std::array kPaths = {"direct", "slab"};
  static constexpr std::array kVariants = {"joined"};
};

// The kernels' plan. Limits and `path` as of the gradients' kernels. `has_windows`: the kernel
// looks taps up in windows of 16 pixels.
std::optional<GridSampler2DPlan> PlanGridSampler2D(const ops::GridSampler2DParams& params,
                                                   bool has_windows, std::string_view path);

// A block of channels in the lanes, from a copy of the block's volume in the workspace:
//
//   voxels[slots][d][h][w][kBlockChannels]    float or double
struct SampledBlocks {
  PointChunks chunks;
  int slots;  // volumes in work at a time
  int64_t slot_bytes;
};

// "blocks" has SampledBlocks, "direct" has PointGathers.
struct GridSampler3DPlan : base::PathPlan<PointGathers, SampledBlocks> {
  static constexpr std::array kPaths = {"blocks", "direct"};
};

// The kernels' plan. None for empty tensors, extents above 2^24 (beyond exact float indices) and
// more than 2^30 points of a volume. Without blocks also none for channels of input that span 2^31
// elements. `path`: the text of a base::PathChoice.
std::optional<GridSampler3DPlan> PlanGridSampler3D(const ops::GridSampler3DParams& params,
                                                   std::string_view path);

// ---- gradients on images ------------------------------------------------------------------------

// Points behind the last one, for each slot: as many as keep two slots off the same cache line.
inline constexpr int64_t kForeignPoints = 8;

// How many points ahead gathered gradOutput is fetched; a list may be read so far past its end.
inline constexpr int64_t kFetchAhead = 32;

// Channels are handled in blocks, and planes of input and inputGrad in row strips. A strip's slab
// (see grid_sampler_2d_backward_strip-inl.h) fits the L2 cache.
//
// Two ways to use the threads: one image each (`by_image`, every stage serial), or all on `images`
// at a time, each stage a parallel loop. Workspace:
//
//   slab[slots]                              one per running (image, block, strip)
//   image scratch[by_image ? slots : images]:
//     x, y                                   padded coordinates of the points, in one of two
//                                            orders: their own, or lists by strip
//     index                                  strips > 1, in one of two layouts:
//                                              numbers of the points in the lists
//                                              first and last strip of each group of kGroup points,
//                                              then the lists of groups: they need at most
//                                              4 * groups + 34 of the 2 * points + 48 entries
//                                              (see CountGroups)
//     cursor[chunks + 1][strips]             strips > 1: where a chunk goes in each list, and the
//                                            lists' ends
//     partial[blocks][partial_points][2]     gridGrad sums of each block: of the points, and
//                                            kForeignPoints for each slot that nobody reads
//     gathered[group_blocks][points][L]      gradOutput by points, for random grids (may be absent)
struct SlabGeometry {
  int64_t points;
  ChannelBlocks blocks;
  int64_t pitch;  // cells of a slab row
  int shift;      // a strip has 1 << shift rows
  int64_t strips;
  int64_t slab_rows;
  int slots;
  bool by_image;
  int64_t images;        // one, or as many as threads if one has too few pieces of work
  bool stream;           // the tensors are larger than the caches: inputGrad is written past them
  int64_t chunk_points;  // points of one piece of work in the loops over points; multiple of kGroup
  int64_t chunks;
  int64_t partial_points;
  int64_t group_blocks;  // blocks of gradOutput that are gathered at a time, 0: never
  // Bytes.
  uint64_t slab_bytes;
  uint64_t image_bytes;
  uint64_t image_offset;
  uint64_t x_offset;  // these from the image scratch's start
  uint64_t y_offset;
  uint64_t index_offset;
  uint64_t cursor_offset;
  uint64_t partial_offset;
  uint64_t gathered_offset;
};

// Float, bilinear, few channels, an image per thread: in copies of the planes with a border around
// them. Workspace, for each slot: padded planes of input if gridGrad is wanted, and of inputGrad if
// it is. Row r of an image is row r + 2 of its plane, column x is x + 1; points that touch nothing
// use cell 0.
struct PaddedGeometry {
  int slots;
  int64_t pitch;  // elements of a padded row
  int64_t plane;  // elements of a padded plane
  int64_t image;  // elements of a slot
  bool stream;    // the tensors are larger than the caches: results are written past them
};

inline constexpr int64_t kCodeBlock = 64;

// Both gradients: gridGrad by gathers, if it is wanted; nearest owners write its zeros. inputGrad:
// an owner has some channels of a slab. A slab is planes of a volume or rows of an image. The owner
// looks at all points or, if slabs are many, at a byte for each point that says which slabs the
// point touches. Workspace: these codes, image after image, or the sums of 16-bit types:
//
//   sums[slots][lines of the largest slab][elements of a line]    float
struct OwnedParts {
  // 2 * 126 + 2 is the greatest code.
  static constexpr int64_t kMostCoded = 127;

  PointGathers grid_grad = {};
  int64_t group_channels = 0;  // of an owner; the last group may have fewer
  int64_t groups = 1;
  int64_t slabs = 1;  // of a volume or an image
  int64_t grain = 1;  // owners that are worth a thread
  int slots = 1;
  int64_t slot_elements = 0;  // 0: summed in the tensor
  float per_line = 0;         // slabs, if there are codes
  int64_t image_codes = 0;    // bytes, a multiple of kCodeBlock; 0: there are none

  // As vectors of float compute it, so that there is no doubt where a coded slab begins.
  int64_t SlabOf(int64_t line) const {
    return std::min(static_cast<int64_t>(static_cast<float>(line) * per_line), slabs - 1);
  }
  int64_t FirstLineOf(int64_t slab, int64_t lines) const {
    int64_t line = FirstLine(lines, slab, slabs);
    if (image_codes == 0) return line;
    while (line > 0 && SlabOf(line - 1) >= slab) --line;
    while (line < lines && SlabOf(line) < slab) ++line;
    return line;
  }
};

// Bilinear, sums in float, three or four channels. All rows of an image fit the L2 cache as cells
// of a slab. Threads take whole images: there are as many images as threads, or they are small.
// Workspace: the cells, for each slot.
struct PackedGeometry {
  int slots;
  int64_t pitch;  // cells of a row
  int64_t image;  // elements of a slot
};

// Many images of few points: gridGrad as on "direct", and inputGrad by owners of several images
// with points that share vectors. No workspace: sums of 16-bit types are on the stack.
struct JoinedGeometry {
  PointGathers grid_grad;
  int64_t grain;  // images that are worth a thread
};

// The paths, in the order in which they are considered. "owned" has OwnedParts.
struct GridSampler2DBackwardPlan : base::PathPlan<SlabGeometry, PaddedGeometry, PointGathers,
                                                  OwnedParts, PackedGeometry, JoinedGeometry> {
  static constexpr std::array kPaths = {"direct", "joined", "padded", "owned", "packed", "slab"};
  // "gathered": slabs with gradOutput by points. If "joined" is left out, points that are gathered
  // are not joined either.
  static constexpr std::array kVariants = {"gathered"};
};

// The kernels' plan. None for empty tensors, extents above 2^24 (beyond exact float indices) and
// planes or point counts above 2^30. `path`: the text of a base::PathChoice.
std::optional<GridSampler2DBackwardPlan> PlanGridSampler2DBackward(
    const ops::GridSampler2DBackwardParams& params, std::string_view path);

// ---- gradients on volumes -----------------------------------------------------------------------

// Both gradients have a block of channels in the lanes, for as many volumes at a time as slots.
// Each slot holds, as float or double:
//
//   voxels[d][h][w]:  input[kBlockChannels], if gridGrad is wanted
//                     inputGrad's sums[kBlockChannels], if it is wanted
//   totals[points, rounded up to kGroup][4]    gridGrad's sums over the blocks; if it is wanted
struct SummedBlocks {
  PointChunks chunks;
  int64_t slabs;  // of a volume
  int slots;
  int64_t slot_elements;

  // Elements of a voxel.
  static int64_t VoxelElements(const ops::GridSampler3DBackwardParams& p) {
    return kBlockChannels * (int64_t{p.want_input_grad} + int64_t{p.want_grid_grad});
  }
};

// "blocks" has SummedBlocks, "owned" has OwnedParts, "direct" has PointGathers.
struct GridSampler3DBackwardPlan : base::PathPlan<PointGathers, OwnedParts, SummedBlocks> {
  static constexpr std::array kPaths = {"blocks", "direct", "owned"};
};

// The kernels' plan. Limits and `path` as of the sampling kernels: without blocks, no channel of
// input (if it is read) or inputGrad (if it is written) spans 2^31 elements.
std::optional<GridSampler3DBackwardPlan> PlanGridSampler3DBackward(
    const ops::GridSampler3DBackwardParams& params, std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_PLAN_H_
