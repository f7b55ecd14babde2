// Which calls of deformable convolution the kernels serve, how they cut the work, and the parts of
// the workspace.
//
// A tile is some positions of an image, in row-major order. Its columns are a matrix: a row for
// each position, in it the kernel's taps, in each tap all channels. All numbers are of the type of
// arithmetic. The parts, each aligned to 64 bytes:
//
//   image     the pixels of an image, their channels side by side; behind them a pixel of zeros
//   weights   for the function, by panels of outputs: of each element of a column
//   back      the same for the gradient, by panels of a column's elements: of each output
//   columns   of a tile; of the function, for each slot
//   outputs   of a tile: of the function, for each slot; of the gradient, their gradients
//   grads     the gradients of a tile's columns
//   turned    of a tile: the outputs' gradients, each output's positions side by side
//   points    of a tile; of the function, for each slot
//   sums      of the image's gradient, like the image
//   totals    of the weight's gradient, like `back`
//   lanes     of the bias' gradient: 16 for each output, and their sum
//   panel     for each slot: a panel of columns, and of the products with it
#ifndef PORTACL_CPU_DETECTION_DEFORM_CONV_PLAN_H_
#define PORTACL_CPU_DETECTION_DEFORM_CONV_PLAN_H_

#include <cstdint>
#include <optional>
#include <variant>

#include "base/kernel.h"
#include "cpu/detection/booking.h"
#include "ops/deform_conv_params.h"

namespace portacl::cpu {

// How many positions or outputs, and how many columns or outputs, a product has at a time: the
// lanes of two vectors.
struct DeformConvShape {
  int64_t rows;
  int64_t width;
};

struct DeformConvGeometry {
  static constexpr int64_t kBlock = 256;  // positions of a sum of the weight's gradient

  DeformConvShape shape{};
  int slots = 1;
  int64_t tile = 0;          // positions
  int64_t pixel = 0;         // elements from a pixel to the next
  int64_t column = 0;        // the same of rows of columns
  int64_t outputs = 0;       // and of outputs, as of a position
  int64_t points_pitch = 0;  // from the points of a kernel tap and offset group to the next ones
  int64_t tile_points = 0;   // room of a tile's arrays
  // A group's part of a column: so many runs of elements that lie side by side.
  int64_t runs = 1;
  int64_t run = 0;
  Part image, weights, back, columns, output, grads, turned, points, sums, totals, lanes, panel;
};

struct DeformConvPlan : base::PathPlan<DeformConvGeometry> {};

// Null if FLOAT cannot hold every pixel's number or coordinate exactly, or if the workspace would
// be too large.
std::optional<DeformConvPlan> PlanDeformConv(const ops::DeformConvParams& params,
                                             DeformConvShape shape);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_DETECTION_DEFORM_CONV_PLAN_H_
