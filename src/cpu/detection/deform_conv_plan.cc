// Plans of deformable convolution: whether the kernels serve a call, the size of tiles, and the
// workspace.
#include "cpu/detection/deform_conv_plan.h"
#include "base/checked.h"

#include <algorithm>
#include <initializer_list>

#include "base/round_up.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Geometry = DeformConvGeometry;
using ops::DeformConvParams;

constexpr int64_t kVector = 16;  // pads rows of elements
constexpr int64_t kMostExact = int64_t{1} << 24;
constexpr int64_t kMostElements = int64_t{1} << 40;  // of a part: no sum of parts overflows

// Whether a product of extents, each at least 1, is small enough.
bool AtMost(int64_t most, std::initializer_list<int64_t> extents) {
  return base::SaturatedProduct(extents) <= most;
}

// Coordinates are computed in FLOAT: pixels, and positions before they are moved.
bool Serves(const DeformConvParams& p) {
  const auto exact = [&p](size_t axis, int64_t positions) {
    return AtMost(kMostExact / 4, {positions, p.stride[axis]}) &&
           AtMost(kMostExact / 4, {p.kernel[axis], p.dilation[axis]}) &&
           p.padding[axis] <= kMostExact / 4;
  };
  return exact(0, p.out_height) && exact(1, p.out_width) &&
         AtMost(kMostExact, {p.height, p.width}) &&
         AtMost(kMostElements, {p.height * p.width + 1, p.channels + kVector}) &&
         AtMost(kMostElements, {p.out_channels + kVector, p.taps(), p.channels + kVector, 2});
}

// As many positions as keep their columns in the L2 cache while they are multiplied. For gradients,
// the fixed number of positions that one sum of the weight's gradient takes.
int64_t TileOf(const DeformConvParams& p, const Geometry& g) {
  if (p.backward) return Geometry::kBlock;
  constexpr int64_t kElements = int64_t{1} << 17;
  const int64_t wanted = std::clamp<int64_t>(kElements / g.column, g.shape.rows, 96);
  const int64_t shared = base::DivideUp(p.positions(), g.slots);
  return std::max(g.shape.rows, base::RoundUp(std::min(wanted, shared), g.shape.rows));
}

// Elements of panels of `width` columns (or outputs), by `depth`, for each group.
int64_t Panels(const DeformConvParams& p, const Geometry& g, int64_t columns, int64_t depth) {
  return p.groups * base::RoundUp(columns, g.shape.width) * depth;
}

}  // namespace

std::optional<DeformConvPlan> PlanDeformConv(const DeformConvParams& p, DeformConvShape shape) {
  if (!Serves(p)) return std::nullopt;
  DeformConvPlan plan;
  auto& g = std::get<Geometry>(plan.way);
  g.shape = shape;
  constexpr double kGrain = 1 << 18;  // products that are worth a second thread
  const double products = static_cast<double>(p.taps()) * static_cast<double>(p.positions()) *
                          static_cast<double>(p.images) * static_cast<double>(p.channels) *
                          static_cast<double>(4 + p.group_outputs());
  g.slots = products < kGrain ? 1 : runtime::NumThreads();
  const int64_t size = SumBytes(p.dtype);
  const int64_t line = 64 / size;
  g.pixel = base::RoundUp(std::max<int64_t>(p.channels, 1), kVector);
  // Groups of channels pass over the image. An odd number of lines spreads its pixels over all sets
  // of the caches.
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
  // A point is read from ten arrays. Their starts differ by a cache line modulo the L1 cache's
  // sets. If arrays and taps shared a set, each read would be a miss.
  if (p.backward) g.tile_points = base::RoundUp(g.tile_points, 64 * line) + line;
  if (!AtMost(kMostElements, {tile_rows, g.column}) ||
      !AtMost(kMostElements, {tile_rows, g.outputs}) ||
      !AtMost(kMostElements, {g.tile_points, kArraysOfPoint})) {
    return std::nullopt;
  }
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
  take(p.backward, &g.panel, (Geometry::kBlock + std::max(tile_rows, output_rows)) * shape.width,
       g.slots);
  if (!booking.fits()) return std::nullopt;
  plan.workspace_size = booking.size();
  return plan;
}

}  // namespace portacl::cpu
