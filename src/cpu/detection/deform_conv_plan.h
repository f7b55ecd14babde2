// Kernel plan of deformable convolution: which calls the kernels serve, how they cut the work, and
// the parts of the workspace.
//
// A tile is some positions of an image, in row-major order. A column (as in im2col) has the samples
// of one position: the kernel's taps, and each tap has all channels. Columns are the rows of a
// matrix. Numbers are of the compute type. Parts of the workspace, each aligned to 64 bytes:
//
//   image     an image, as pixels with adjacent channels; behind them a pixel of zeros
//   weights   the weight as [panel of outputs][element of a column][output] (function)
//   back      the weight as [panel of elements of a column][output][element] (gradients)
//   columns   columns of a tile (function: for each slot)
//   outputs   outputs of a tile, for each slot (function), or their gradients (gradients)
//   grads     gradients of a tile's columns
//   turned    gradients of a tile's outputs, with adjacent positions for each output
//   points    points of a tile (function: for each slot)
//   sums      sums of the image's gradient, laid out as `image`
//   totals    sums of the weight's gradient, laid out as `back`
//   lanes     sums of the bias' gradient: 16 lanes for each output, and their total
//   panel     for each slot: a panel of columns, then the products with it
#ifndef PORTACL_CPU_DETECTION_DEFORM_CONV_PLAN_H_
#define PORTACL_CPU_DETECTION_DEFORM_CONV_PLAN_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/checked.h"
#include "base/kernel.h"
#include "base/round_up.h"
#include "cpu/detection/booking.h"
#include "ops/deform_conv_params.h"
#include "runtime/parallel.h"

namespace portacl::cpu {

// Rows (positions or outputs) and columns (column elements or outputs) of one product. `width` has
// the lanes of two vectors.
struct DeformConvShape {
  int64_t rows;
  int64_t width;
};

struct DeformConvGeometry {
  static constexpr int64_t kBlock = 256;  // positions in one sum of the weight's gradient

  DeformConvShape shape{};
  int slots = 1;
  int64_t tile = 0;          // positions of a tile
  int64_t pixel = 0;         // elements from pixel to pixel
  int64_t column = 0;        // elements from row to row of columns
  int64_t outputs = 0;       // elements from position to position of outputs
  int64_t points_pitch = 0;  // points from one kernel tap and offset group to the next
  int64_t tile_points = 0;   // room of a tile's arrays, in points
  // A group's part of a column: `runs` runs of `run` adjacent elements.
  int64_t runs = 1;
  int64_t run = 0;
  Part image, weights, back, columns, output, grads, turned, points, sums, totals, lanes, panel;
};

struct DeformConvPlan : base::PathPlan<DeformConvGeometry> {};

inline constexpr int64_t kVector = 16;  // elements; rows are padded to multiples of it
inline constexpr int64_t kMostExact = int64_t{1} << 24;
inline constexpr int64_t kMostElements = int64_t{1} << 40;  // of a part; Booking checks the sum

// Whether FLOAT can hold coordinates exactly: of pixels, and of positions before offsets.
inline bool Serves(const ops::DeformConvParams& p) {
  const auto exact = [&p](size_t axis, int64_t positions) {
    return base::SaturatedProduct({positions, p.stride[axis]}) <= kMostExact / 4 &&
           base::SaturatedProduct({p.kernel[axis], p.dilation[axis]}) <= kMostExact / 4 &&
           p.padding[axis] <= kMostExact / 4;
  };
  return exact(0, p.out_height) && exact(1, p.out_width) &&
         base::SaturatedProduct({p.height, p.width}) <= kMostExact &&
         base::SaturatedProduct({p.height * p.width + 1, p.channels + kVector}) <= kMostElements &&
         base::SaturatedProduct({p.offset_groups, p.taps(), 512 * kArraysOfPoint}) <=
             kMostElements &&
         base::SaturatedProduct({p.out_channels + kVector, p.taps(), p.channels + kVector, 2}) <=
             kMostElements;
}

// Returns the positions of a tile: so many that their columns stay in L2 during the product. For
// gradients, the fixed number of positions in one sum of the weight's gradient.
inline int64_t TileOf(const ops::DeformConvParams& p, const DeformConvGeometry& g) {
  if (p.backward) return DeformConvGeometry::kBlock;
  constexpr int64_t kElements = int64_t{1} << 17;
  const int64_t wanted = std::clamp<int64_t>(kElements / g.column, g.shape.rows, 96);
  const int64_t shared = base::DivideUp(p.positions(), g.slots);
  return std::max(g.shape.rows, base::RoundUp(std::min(wanted, shared), g.shape.rows));
}

// Elements of all panels: `width` columns (or outputs) and `depth` rows, for each group.
inline int64_t Panels(const ops::DeformConvParams& p, const DeformConvGeometry& g, int64_t columns,
                      int64_t depth) {
  return p.groups * base::RoundUp(columns, g.shape.width) * depth;
}

// Makes the kernel plan. No plan if FLOAT cannot hold each pixel's number or coordinate exactly, or
// if the workspace would be too large.
inline std::optional<DeformConvPlan> PlanDeformConv(const ops::DeformConvParams& p,
                                                    DeformConvShape shape) {
  if (!Serves(p)) return std::nullopt;
  DeformConvPlan plan;
  auto& g = std::get<DeformConvGeometry>(plan.way);
  g.shape = shape;
  constexpr double kGrain = 1 << 18;  // products that are worth a second thread
  const double products = static_cast<double>(p.taps()) * static_cast<double>(p.positions()) *
                          static_cast<double>(p.images) * static_cast<double>(p.channels) *
                          static_cast<double>(4 + p.group_outputs());
  g.slots = products < kGrain ? 1 : runtime::NumThreads();
  const int64_t size = SumBytes(p.dtype);
  const int64_t line = 64 / size;
  g.pixel = base::RoundUp(std::max<int64_t>(p.channels, 1), kVector);
  // One offset group after the other reads the image. An odd number of lines per pixel spreads its
  // pixels over all sets of the caches.
  if (p.offset_groups > 1 && g.pixel / line % 2 == 0) g.pixel += line;
  const bool whole = p.groups == 1;
  g.runs = whole ? 1 : p.taps();
  g.run = whole ? p.taps() * p.channels : p.group_channels();
  g.column = base::RoundUp(p.taps() * p.channels, kVector) + std::max(shape.width, kVector);
  g.outputs = base::RoundUp(p.out_channels, kVector) + shape.width;
  g.tile = TileOf(p, g);
  const int64_t tile_rows = base::RoundUp(g.tile, shape.rows);
  g.points_pitch = base::RoundUp(g.tile, kVector) + kVector;
  g.tile_points = g.points_pitch * (p.backward ? p.offset_groups * p.taps() : 1);
  // A point is read from ten arrays. The arrays start a cache line apart, modulo the sets of the L1
  // cache. If they shared a set with taps, each read would miss.
  if (p.backward) g.tile_points = base::RoundUp(g.tile_points, 64 * line) + line;
  Booking booking;
  const auto take = [&](bool wanted, Part* part, int64_t elements, int copies = 1) {
    if (wanted) *part = booking.Take(elements, size, copies);
  };
  const int copies = p.backward ? 1 : g.slots;
  const bool products_wanted = p.output.has || p.grad_output.has;
  const int64_t output_rows = base::RoundUp(p.group_outputs(), shape.rows);
  take(true, &g.image, (p.height * p.width + 1) * g.pixel);
  take(p.output.has, &g.weights, Panels(p, g, p.group_outputs(), g.runs * g.run));
  take(p.backward && p.weight.has, &g.back, Panels(p, g, g.run, g.runs * p.group_outputs()));
  take(true, &g.columns, tile_rows * g.column, copies);
  take(products_wanted, &g.output, tile_rows * g.outputs, copies);
  take(p.backward, &g.grads, tile_rows * g.column);
  take(p.weight_grad.has || p.bias_grad.has, &g.turned, p.groups * output_rows * g.tile);
  take(true, &g.points, g.tile_points * kArraysOfPoint, copies);
  take(p.input_grad.has, &g.sums, (p.height * p.width + 1) * g.pixel);
  take(p.weight_grad.has, &g.totals, Panels(p, g, g.run, g.runs * p.group_outputs()));
  take(p.bias_grad.has, &g.lanes, p.out_channels * (kVector + 1));
  take(p.backward, &g.panel,
       (DeformConvGeometry::kBlock + std::max(tile_rows, output_rows)) * shape.width, g.slots);
  if (!booking.fits()) return std::nullopt;
  plan.workspace_size = booking.size();
  return plan;
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_DETECTION_DEFORM_CONV_PLAN_H_
