// Scene 4: interpolation and padding modes: which pixels the gradient reaches, and how much of it.
#include <fmt/format.h>

#include <numbers>

#include "tools/demo_forward.h"
#include "tools/demo_scene.h"
#include "tools/tensor_math.h"

namespace portacl::cli {
namespace {

constexpr GridFrame kFrame = {1, 256, 256, 256, 256, false};

// A view that is larger than the photograph: turned by 30 degrees and 1.5 times as far away.
HostTensor WideGrid() {
  constexpr double kAngle = 30 * std::numbers::pi / 180, kZoom = 1.5;
  return GridFrom(kFrame, [](GridPoint p) {
    const GridPoint turned = Rotate(kFrame, p, kAngle);
    return GridPoint{turned.x * kZoom, turned.y * kZoom};
  });
}

struct Mode {
  const char* name;
  const char* file;
  const char* caption;
  Interpolation interpolation;
  Padding padding;
};

constexpr Mode kModes[] = {
    {"bilinear, zeros", "modes-bilinear-zeros.png",
     "points outside add nothing; the moiré is the turned lattice of points",
     Interpolation::kBilinear, Padding::kZeros},
    {"nearest, zeros", "modes-nearest-zeros.png", "a point adds to one pixel: 0, 1 or 2 per pixel",
     Interpolation::kNearest, Padding::kZeros},
    {"bicubic, zeros", "modes-bicubic-zeros.png", "16 pixels per point, some weights negative",
     Interpolation::kBicubic, Padding::kZeros},
    {"bilinear, border", "modes-bilinear-border.png",
     "points outside pile up on the edge pixels, far beyond the scale", Interpolation::kBilinear,
     Padding::kBorder},
    {"bilinear, reflection", "modes-bilinear-reflection.png",
     "points outside fold back: the corners' share lands inside", Interpolation::kBilinear,
     Padding::kReflection},
};

// Mean over the channels, as one channel.
HostTensor Coverage(const HostTensor& input_grad) {
  HostTensor map(DataType::kFloat32, {1, 1, input_grad.extent(2), input_grad.extent(3)}, "map");
  for (int64_t i = 0; i < map.count(); ++i) map.Set(i, input_grad.Get(i));
  return map;
}

}  // namespace

DemoScene ModesScene() {
  constexpr double kScale = 2;  // dark end of the heat map
  const HostTensor photo = Photograph("astronaut.png");
  const HostTensor grid = WideGrid();
  DemoScene scene;
  scene.section.title = "4  Modes: how much gradient reaches each pixel";
  scene.section.text = fmt::format(
      "gradOutput is 1 everywhere; 256 × 256 points, turned by 30° and spread 1.5 times as wide as "
      "the "
      "picture, so that many lie outside. inputGrad then is the weight that each pixel has in the "
      "result: white 0, violet {:g} and more.",
      kScale);
  std::vector<Panel> row;
  for (const Mode& mode : kModes) {
    Job job = SampleGradientJob(Constant(DataType::kFloat32, photo.shape(), 1), photo, grid);
    job.interpolation = mode.interpolation;
    job.padding = mode.padding;
    RunJob(job, {});
    const HostTensor coverage = Coverage(job.input_grad);
    row.push_back({mode.name, fmt::format("{}; {}", mode.caption, LargestText(coverage)),
                   HeatImage(coverage, kScale), mode.file});
    scene.cases.push_back(MakeCase(fmt::format("wide view, {}", mode.name), job));
  }
  scene.section.rows = {std::move(row)};
  return scene;
}

}  // namespace portacl::cli
