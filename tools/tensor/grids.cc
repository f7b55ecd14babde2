// Parsing of grid words and the points they stand for.
#include "tools/tensor/grids.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tools/cli_error.h"
#include "tools/parse.h"
#include "tools/tensor/random.h"

namespace portacl::cli {
namespace {

double IdentityCoordinate(int64_t index, int64_t extent, bool align_corners) {
  if (!align_corners)
    return (2.0 * static_cast<double>(index) + 1.0) / static_cast<double>(extent) - 1.0;
  return extent == 1 ? 0.0
                     : 2.0 * static_cast<double>(index) / static_cast<double>(extent - 1) - 1.0;
}

GridPoint MakePoint(const GridSpec& spec, const GridFrame& frame, int64_t row, int64_t column) {
  const GridPoint point = IdentityPoint(frame, row, column);
  switch (spec.kind) {
    case GridKind::kRotate:
      return Rotate(frame, point, spec.value * std::numbers::pi / 180.0);
    case GridKind::kLens:
      return Lens(frame, point, spec.value);
    default:
      return point;
  }
}

void FillRandom(uint64_t seed, HostTensor& grid) {
  Random random(seed);
  for (int64_t i = 0; i < grid.count(); ++i) grid.Set(i, random.NextSigned());
}

}  // namespace

std::optional<GridSpec> ParseGridSpec(const std::string& text) {
  if (text == "identity") return GridSpec{};
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool known = kind == "rotate" || kind == "lens" || kind == "random";
  if (!known) return std::nullopt;
  if (colon == std::string::npos || colon + 1 == text.size()) {
    throw BadInput(fmt::format("--grid {}: a value is missing, for example {}:{}", kind, kind,
                               kind == "rotate" ? "15"
                               : kind == "lens" ? "0.3"
                                                : "1"));
  }
  const std::string value = text.substr(colon + 1);
  const std::string option = "--grid " + kind;
  if (kind == "random") return GridSpec{GridKind::kRandom, 0, ParseSeed(value, option)};
  return GridSpec{kind == "rotate" ? GridKind::kRotate : GridKind::kLens,
                  ParseFinite(value, option), 0};
}

GridPoint IdentityPoint(const GridFrame& frame, int64_t row, int64_t column) {
  return {IdentityCoordinate(column, frame.out_width, frame.align_corners),
          IdentityCoordinate(row, frame.out_height, frame.align_corners)};
}

GridPoint Rotate(const GridFrame& frame, GridPoint point, double radians) {
  const double width = static_cast<double>(frame.image_width);
  const double height = static_cast<double>(frame.image_height);
  const double x = point.x * width, y = point.y * height;
  const double c = std::cos(radians), s = std::sin(radians);
  return {(x * c - y * s) / width, (x * s + y * c) / height};
}

GridPoint Lens(const GridFrame& frame, GridPoint point, double strength) {
  const double shorter = static_cast<double>(std::min(frame.image_width, frame.image_height));
  const double x = point.x * static_cast<double>(frame.image_width) / shorter;
  const double y = point.y * static_cast<double>(frame.image_height) / shorter;
  const double factor = 1.0 + strength * (x * x + y * y);
  return {point.x * factor, point.y * factor};
}

HostTensor MakeGrid(const GridSpec& spec, const GridFrame& frame, DataType dtype) {
  HostTensor grid(dtype, {frame.batch, frame.out_height, frame.out_width, 2}, "grid");
  if (spec.kind == GridKind::kRandom) {
    FillRandom(spec.seed, grid);
    return grid;
  }
  int64_t i = 0;
  for (int64_t n = 0; n < frame.batch; ++n) {
    for (int64_t row = 0; row < frame.out_height; ++row) {
      for (int64_t column = 0; column < frame.out_width; ++column) {
        const GridPoint point = MakePoint(spec, frame, row, column);
        grid.Set(i++, point.x);
        grid.Set(i++, point.y);
      }
    }
  }
  return grid;
}

HostTensor MakeVolumeGrid(const GridSpec& spec, const Shape& points, bool align_corners,
                          DataType dtype) {
  if (spec.kind == GridKind::kRotate || spec.kind == GridKind::kLens) {
    throw BadInput(
        "--grid: rotate and lens are for pictures; volumes take identity, random:SEED "
        "or a file");
  }
  Shape shape = points;
  shape.push_back(3);
  HostTensor grid(dtype, shape, "grid");
  if (spec.kind == GridKind::kRandom) {
    FillRandom(spec.seed, grid);
    return grid;
  }
  for (int64_t i = 0; i < grid.count(); ++i) {
    int64_t index = i / 3;
    const auto axis = static_cast<size_t>(3 - i % 3);  // of `points`: x goes with the last
    for (size_t inner = 3; inner > axis; --inner) index /= points[inner];
    grid.Set(i, IdentityCoordinate(index % points[axis], points[axis], align_corners));
  }
  return grid;
}

}  // namespace portacl::cli
