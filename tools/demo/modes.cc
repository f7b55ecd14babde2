// Scene 4: interpolation and padding modes: which pixels the gradient reaches, and how much of it.
#include <fmt/format.h>

#include <numbers>
#include <vector>

#include "tools/demo/forward.h"
#include "tools/demo/scene.h"
#include "tools/picture/cell_picture.h"
#include "tools/tensor/tensor_math.h"

namespace portacl::cli {
namespace {

// A view that is larger than the photograph: turned by 30 degrees and 1.5 times as far away.
HostTensor WideGrid() {
  constexpr double kAngle = 30 * std::numbers::pi / 180, kZoom = 1.5;
  return GridFrom(kPhotoFrame, [](GridPoint p) {
    const GridPoint turned = Rotate(kPhotoFrame, p, kAngle);
    return GridPoint{turned.x * kZoom, turned.y * kZoom};
  });
}

// The part of inputGrad that is shown: a few pixels with the points around them, or everything.
struct Mode {
  const char* name;
  const char* file;
  const char* caption;
  Interpolation interpolation;
  Padding padding;
  Crop crop;  // side 0: everything
};

constexpr Crop kCentre = {120, 120, 16};
constexpr Crop kCorner = {0, 0, 16};
constexpr Crop kEverything = {0, 0, 0};
constexpr Mode kModes[] = {
    {"bilinear, zeros", "modes-bilinear-zeros.png", "a point's 1 is shared by four pixels",
     Interpolation::kBilinear, Padding::kZeros, kCentre},
    {"nearest, zeros", "modes-nearest-zeros.png", "all of it goes to the nearest pixel",
     Interpolation::kNearest, Padding::kZeros, kCentre},
    {"bicubic, zeros", "modes-bicubic-zeros.png", "16 pixels per point; weights below 0 are white",
     Interpolation::kBicubic, Padding::kZeros, kCentre},
    {"bilinear, border", "modes-bilinear-border.png",
     "top left corner: points outside pile up on the edge", Interpolation::kBilinear,
     Padding::kBorder, kCorner},
    {"bilinear, reflection", "modes-bilinear-reflection.png",
     "whole picture: points outside fold back inside", Interpolation::kBilinear,
     Padding::kReflection, kEverything},
};

// The first channel; with gradOutput 1 all are the same.
HostTensor Coverage(const HostTensor& input_grad) {
  HostTensor map(DataType::kFloat32, {1, 1, input_grad.extent(2), input_grad.extent(3)}, "map");
  for (int64_t i = 0; i < map.count(); ++i) map.Set(i, input_grad.Get(i));
  return map;
}

// The grid's points in pixels of the picture.
std::vector<GridPoint> PixelPoints(const HostTensor& grid) {
  const auto pixel = [](double x, int64_t extent) {
    return ((x + 1) * static_cast<double>(extent) - 1) / 2;
  };
  std::vector<GridPoint> points;
  for (int64_t i = 0; i < grid.count(); i += 2) {
    points.push_back({pixel(grid.Get(i), kPhotoFrame.image_width),
                      pixel(grid.Get(i + 1), kPhotoFrame.image_height)});
  }
  return points;
}

Panel ModePanel(const Mode& mode, const HostTensor& coverage, const HostTensor& grid) {
  constexpr double kScale = 2;  // dark end of the whole picture
  const bool whole = mode.crop.side == 0;
  return {mode.name, fmt::format("{}; {}", mode.caption, LargestText(coverage)),
          whole ? HeatImage(coverage, kScale)
                : CellPicture(coverage, mode.crop, 1, false, PixelPoints(grid)),
          mode.file};
}

}  // namespace

DemoScene ModesScene() {
  const HostTensor photo = Photograph("astronaut.png");
  const HostTensor grid = WideGrid();
  DemoScene scene;
  scene.section.title = "4  Modes: how much gradient reaches each pixel";
  scene.section.text =
      "gradOutput is 1 everywhere; the 256 × 256 points (blue dots) are turned by 30° and spread "
      "1.5 times as wide as the picture, so that many lie outside. inputGrad then is the weight "
      "of each pixel in the result. Cells are single pixels: white 0, violet 1 and more (2 in "
      "the last picture).";
  std::vector<Panel> row;
  for (const Mode& mode : kModes) {
    const Call call = Ran(SampleGradients(Constant(DataType::kFloat32, photo.shape(), 1), photo,
                                          grid, {mode.interpolation, mode.padding}));
    row.push_back(ModePanel(mode, Coverage(TensorOf(call, "inputGrad")), grid));
    scene.cases.push_back({fmt::format("wide view, {}", mode.name), call});
  }
  scene.section.rows = {std::move(row)};
  return scene;
}

}  // namespace portacl::cli
