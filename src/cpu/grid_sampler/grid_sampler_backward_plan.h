// Kernel plans of the grid sampler's gradients, on images and volumes: paths, geometries and
// workspace. The same for every instruction set.
#ifndef PORTACL_CPU_GRID_SAMPLER_BACKWARD_PLAN_H_
#define PORTACL_CPU_GRID_SAMPLER_BACKWARD_PLAN_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/kernel.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "ops/grid_sampler_params.h"

namespace portacl::cpu {

// ---- images -------------------------------------------------------------------------------------

// Unused points for each slot, behind the last point: no two slots then share a cache line.
inline constexpr int64_t kForeignPoints = 8;

// Lists are read up to so many entries past their ends: gathered gradOutput is fetched ahead.
inline constexpr int64_t kFetchAhead = 32;

// Path "slab". Cuts channels into blocks, and planes of input and inputGrad into strips. The slab
// of a strip (see grid_sampler_2d_backward_strip-inl.h) fits the L2 cache.
//
// Threads work in one of two ways. With `by_image` each thread has one image, and its stages are
// serial. Else all threads share `images` images, and each stage is a parallel loop. Workspace:
//
//   slab[slots]                              one per running (image, block, strip)
//   image scratch[by_image ? slots : images]:
//     x, y                                   coordinates of the points after padding, in one of two
//                                            orders: by point, or by the strips' lists
//     index                                  strips > 1, in one of two layouts:
//                                              numbers of the points in the lists
//                                              first and last strip of each group of kGroup points,
//                                              then the lists of groups: they need at most
//                                              4 * groups + 34 of the 2 * points + 48 entries
//                                              (see CountGroups)
//     cursor[chunks + 1][strips]             strips > 1: where the entries of a chunk begin in each
//                                            list, then the ends of the lists
//     partial[blocks][partial_points][2]     gridGrad sums of each block: of the points, then
//                                            kForeignPoints unused ones for each slot
//     gathered[group_blocks][points][L]      gradOutput point by point, for random grids (optional)
struct SlabGeometry {
  int64_t points;
  ChannelBlocks blocks;
  int64_t pitch;  // cells of a slab row
  int shift;      // a strip has 1 << shift rows
  int64_t strips;
  int64_t slab_rows;
  int slots;
  bool by_image;
  int64_t images;        // computed at a time: one, or one per thread if one has too few strips
  bool stream;           // tensors exceed the caches: inputGrad is written past the caches
  int64_t chunk_points;  // points of a chunk; multiple of kGroup
  int64_t chunks;
  int64_t partial_points;
  int64_t group_blocks;  // blocks of gradOutput gathered at a time; 0: none is
  // In bytes.
  uint64_t slab_bytes;
  uint64_t image_bytes;
  uint64_t image_offset;
  uint64_t x_offset;  // from here on: relative to the image scratch
  uint64_t y_offset;
  uint64_t index_offset;
  uint64_t cursor_offset;
  uint64_t partial_offset;
  uint64_t gathered_offset;
};

// Path "padded": float, bilinear, few channels, one image per thread. Copies planes to padded
// planes. Each slot has the padded planes of input (if gridGrad is wanted) and of inputGrad (if it
// is wanted). Pixel (y, x) of an image is at (y + 2, x + 1) of its plane. Points without taps use
// cell 0.
struct PaddedGeometry {
  int slots;
  int64_t pitch;  // elements of a padded row
  int64_t plane;  // elements of a padded plane
  int64_t image;  // elements of a slot
  bool stream;    // tensors exceed the caches: results are written past the caches
};

inline constexpr int64_t kCodeBlock = 64;

// Path "owned". Gathers gridGrad, if it is wanted; nearest owners write its zeros. An owner of
// inputGrad has some channels of a slab: planes of a volume or rows of an image. It looks at all
// points. If there are many slabs, it reads a code for each point, one byte that names the point's
// slabs. Workspace: codes of all images, or sums of 16-bit types:
//
//   sums[slots][lines of the largest slab][elements of a line]    float
struct OwnedParts {
  // The greatest code is 2 * 126 + 2.
  static constexpr int64_t kMostCoded = 127;

  PointGathers grid_grad = {};
  int64_t group_channels = 0;  // channels of an owner; the last group may have fewer
  int64_t groups = 1;
  int64_t slabs = 1;  // slabs of a volume or an image
  int64_t grain = 1;  // owners that are worth a thread
  int slots = 1;
  int64_t slot_elements = 0;  // 0: sums are in the tensor
  float per_line = 0;         // slabs per line, if there are codes
  int64_t image_codes = 0;    // bytes of codes per image, a multiple of kCodeBlock; 0: no codes

  // Rounds as vectors of float do: plan and kernel then agree where a coded slab begins.
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

// Path "packed": bilinear, float sums, three or four channels. The cells of an image fit the L2
// cache. Threads take whole images: there are as many images as threads, or images are small. The
// workspace has the cells of one image for each slot.
struct PackedGeometry {
  int slots;
  int64_t pitch;  // cells of a row
  int64_t image;  // elements of a slot
};

// Path "joined": many images of few points. Gathers gridGrad as "direct" does. An owner of
// inputGrad has several images. No workspace: sums of 16-bit types are on the stack.
struct JoinedGeometry {
  PointGathers grid_grad;
  int64_t grain;  // images that are worth a thread
};

// The paths, in the order in which they are tried. "owned" uses OwnedParts.
struct GridSampler2DBackwardPlan : base::PathPlan<SlabGeometry, PaddedGeometry, PointGathers,
                                                  OwnedParts, PackedGeometry, JoinedGeometry> {
  static constexpr std::array kPaths = {"direct", "joined", "padded", "owned", "packed", "slab"};
  // "gathered": slabs, and gradOutput in `gathered`. A call that leaves out "joined" does not join
  // the points of other paths either.
  static constexpr std::array kVariants = {"gathered"};
};

// Makes the kernel plan. No plan for empty tensors, extents above 2^24 (beyond exact floats), and
// images of more than 2^30 pixels or at least 2^30 points. `path`: the text of a base::PathChoice.
std::optional<GridSampler2DBackwardPlan> PlanGridSampler2DBackward(
    const ops::GridSampler2DBackwardParams& params, std::string_view path);

// ---- volumes ------------------------------------------------------------------------------------

// Path "blocks". Each lane has one channel of a block, in both gradients. Each slot serves one
// volume at a time; it holds floats or doubles:
//
//   voxels[d][h][w]:  input[kBlockChannels], if gridGrad is wanted
//                     inputGrad's sums[kBlockChannels], if it is wanted
//   totals[points, rounded up to kGroup][4]    gridGrad's sums over the blocks; if it is wanted
struct SummedBlocks {
  PointChunks chunks;
  int64_t slabs;  // slabs of a volume
  int slots;
  int64_t slot_elements;

  // Elements of a voxel in a slot.
  static int64_t VoxelElements(const ops::GridSampler3DBackwardParams& p) {
    return kBlockChannels * (int64_t{p.want_input_grad} + int64_t{p.want_grid_grad});
  }
};

// The path "blocks" uses SummedBlocks, "owned" OwnedParts, "direct" PointGathers.
struct GridSampler3DBackwardPlan : base::PathPlan<PointGathers, OwnedParts, SummedBlocks> {
  static constexpr std::array kPaths = {"blocks", "direct", "owned"};
};

// Makes the kernel plan. Limits and `path` are as for PlanGridSampler3D(): without blocks, no
// channel of input (if read) or inputGrad (if written) spans 2^31 elements.
std::optional<GridSampler3DBackwardPlan> PlanGridSampler3DBackward(
    const ops::GridSampler3DBackwardParams& params, std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_BACKWARD_PLAN_H_
