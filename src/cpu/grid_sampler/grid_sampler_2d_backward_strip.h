// The inner pass of the grid sampler backward kernels: all points of one row strip, one channel
// block, on a slab of pixel-major scratch. Declares the job and, per target, who runs it.
//
// The slab of a strip of rows [s, s + S) of a plane of width W, a cell per pixel:
//
//             col 0   1 ... W   W+1
//   row 0      .      .......    .       nowhere: taps outside the image or above the strip
//   row 1      .      .......    .
//   row 2      .      row s      .       own rows: inputGrad is flushed from here
//   ...
//   row S+1    .      row s+S-1  .
//   row S+2..  .      row s+S..  .       halo (see Halo()): values only; zero below the
//                                        image
//   cell = [L values of input | L sums of inputGrad], only the wanted half if the mask drops
//   one; dots are cells outside the image: values are 0, sums are garbage nobody reads.
//
// A point with taps in two strips is in both strips' lists. Each strip adds to its own rows, so
// every sum sees its points in ascending order. The strip of the upper taps owns gridGrad; it also
// holds the other strip's values, in its halo. (For taps outside the image, the strip of the
// nearest row.) Lists of groups hold points that do not touch the strip as well. They add to cells
// of row 0 or of the halo.
#ifndef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_H_
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_H_

#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_layout.h"

namespace portacl::cpu {

// Copies gradOutput of `count` <= kGroup points into to[count][L], rounding nothing. The points are
// first, first + 1, ... or, with an index, index[0], index[1], ...
template <class F>
using FetchGradOutput = void (*)(const void* source, int64_t first, const int32_t* index,
                                 int64_t count, F* to);

template <class F>
struct StripJob : SlabPoints<F> {
  // Null, or numbers of whole groups of points, in ascending order: group q is the points from q *
  // kGroup on, whether the strip touches them all or not. `count` counts groups, x and y are the
  // entries of all points, and there is no index.
  const int32_t* groups;
  int64_t points;  // of the image
  bool random;     // a random grid's points: gradOutput was gathered, and most points jump
  FetchGradOutput<F> fetch;
  const void* fetch_source;
  // This block's sums (gx, gy) of point p at partial[2 * p]. Pairs behind the last point take sums
  // of points if another strip owns their gridGrad.
  F* partial;
};

template <class F>
using StripPass = void (*)(const StripJob<F>& job);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_STRIP_H_
