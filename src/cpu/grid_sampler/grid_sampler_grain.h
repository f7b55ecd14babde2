// For the plans of gradients of images and of volumes: when a call is worth more than one thread,
// and how inputGrad is cut among owners who look at all points.
#ifndef PORTACL_CPU_GRID_SAMPLER_GRAIN_H_
#define PORTACL_CPU_GRID_SAMPLER_GRAIN_H_

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/round_up.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/machine/machine.h"
#include "ops/grid_sampler_params.h"
#include "runtime/parallel.h"

namespace portacl::cpu {

// Pixels, or voxels, of a channel of input.
inline int64_t PixelsOf(const ops::GridSampler2DShape& s) { return s.h * s.w; }
inline int64_t PixelsOf(const ops::GridSampler3DShape& s) { return s.d * s.h * s.w; }

// Points, and pixels that count an eighth, in all channels.
template <class Shape>
int64_t WorkOf(const Shape& s) {
  return s.n * s.c * (PointsOf(s) + PixelsOf(s) / 8);
}

// Whether a call is too small to be shared: waking a thread takes some 10 us.
template <class Shape>
bool IsBelowGrain(const Shape& s) {
  return WorkOf(s) < 8192;
}

// Every owner looks at all points of its image or volume, which beyond so many of them costs more
// than adding.
inline constexpr int64_t kMostOwnedSlabs = 16;

// Channels are grouped so that their volumes stay in the L2 cache, as scattered points need. With
// too few of them, finding the points would cost as much as adding them.
inline int64_t GroupChannels(const ops::GridSampler2DShape& s, int64_t channel_bytes) {
  constexpr int64_t kFewest = 4;
  return std::clamp<int64_t>(L2CacheBytes() / 2 / channel_bytes, std::min(kFewest, s.c), s.c);
}

// A channel has `lines` of `line_elements` each, which may be cut anywhere.
template <class Shape>
SlabCut CutInputGrad(const Shape& s, int64_t lines, int64_t line_elements) {
  constexpr int64_t kSumsBytes = int64_t{64} << 20;  // of 16-bit types: an owner's, or a line's
  const int64_t line_bytes = line_elements * (s.dtype == base::DType::kDouble ? 8 : 4);
  const int threads = IsBelowGrain(s) ? 1 : runtime::NumThreads();
  SlabCut cut = {};
  cut.group_channels = GroupChannels(s, lines * line_bytes);
  cut.groups = base::DivideUp(s.c, cut.group_channels);
  // Slabs if volumes and groups do not share the work evenly.
  const int64_t owners = s.n * cut.groups;
  const bool even = owners % threads == 0 || owners >= int64_t{4} * threads;
  const int64_t wanted = even ? 1 : threads / std::gcd(owners, int64_t{threads});
  cut.slabs = std::min({wanted, kMostOwnedSlabs, lines});
  if (base::DTypeSize(s.dtype) == 2) {
    cut.group_channels = 1;
    cut.groups = s.c;
    cut.slabs =
        std::min(lines, std::max(cut.slabs, base::DivideUp(lines * line_bytes, kSumsBytes)));
    cut.slot_elements = base::DivideUp(lines, cut.slabs) * line_elements;
  }
  cut.slots = static_cast<int>(std::min<int64_t>(threads, s.n * cut.groups * cut.slabs));
  return cut;
}

inline SlabCut CutInputGrad(const ops::GridSampler3DShape& s) {
  return CutInputGrad(s, s.d, s.h * s.w);
}

// Bicubic points of an image have rows all over it: the image is whole.
inline SlabCut CutInputGrad(const ops::GridSampler2DShape& s) {
  const bool bicubic = s.interpolation == ops::Interpolation::kBicubic;
  return bicubic ? CutInputGrad(s, 1, s.h * s.w) : CutInputGrad(s, s.h, s.w);
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_GRAIN_H_
