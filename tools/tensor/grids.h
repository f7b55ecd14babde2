// Sampling grids made from a word: `identity`, `rotate:15`, `lens:0.3`, `random:7`.
#ifndef PORTACL_TOOLS_TENSOR_GRIDS_H_
#define PORTACL_TOOLS_TENSOR_GRIDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

enum class GridKind { kIdentity, kRotate, kLens, kRandom };

struct GridSpec {
  GridKind kind = GridKind::kIdentity;
  double value = 0;   // rotate: degrees; lens: strength
  uint64_t seed = 0;  // random
};

// Nothing if the text does not name a kind of grid; then it is a file. Throws BadInput if it names
// one, but the value is malformed or not finite.
std::optional<GridSpec> ParseGridSpec(const std::string& text);

// Where a grid points to and how its coordinates count.
struct GridFrame {
  int64_t batch = 1;
  int64_t out_height = 1, out_width = 1;      // points
  int64_t image_height = 1, image_width = 1;  // pixels, for the aspect ratio of a rotation
  bool align_corners = false;
};

// A point of a grid: x right, y down, -1..1 across the image.
struct GridPoint {
  double x = 0, y = 0;
};

// The point (row, column) of the identity grid: output pixel centres (or corners, with
// align_corners) on the image of the same relative position.
GridPoint IdentityPoint(const GridFrame& frame, int64_t row, int64_t column);

// Turns the picture by `radians` counter-clockwise about the centre, in pixels (not in -1..1).
GridPoint Rotate(const GridFrame& frame, GridPoint point, double radians);

// p * (1 + strength * r^2), r = 1 at the middle of the shorter side. A strength above 0 gives a
// barrel (the picture bulges and more of it is seen), below 0 a pincushion.
GridPoint Lens(const GridFrame& frame, GridPoint point, double strength);

// (N, OH, OW, 2), computed in double and rounded once to `dtype`. Random points are uniform in
// [-1, 1) per coordinate.
HostTensor MakeGrid(const GridSpec& spec, const GridFrame& frame, DataType dtype);

// (N, OD, OH, OW, 3) of a volume; `points` is (N, OD, OH, OW): identity and random. Throws BadInput
// for the kinds that only pictures have.
HostTensor MakeVolumeGrid(const GridSpec& spec, const Shape& points, bool align_corners,
                          DataType dtype);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_TENSOR_GRIDS_H_
