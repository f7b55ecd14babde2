// When a gradient of the grid sampler is worth more than one thread, on images and volumes.
#ifndef PORTACL_CPU_GRID_SAMPLER_GRAIN_H_
#define PORTACL_CPU_GRID_SAMPLER_GRAIN_H_

#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "ops/grid_sampler_3d_params.h"

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

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_GRAIN_H_
