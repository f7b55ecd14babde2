// Scene 5: the gradients in four dtypes and their distance from float64.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tools/demo/forward.h"
#include "tools/demo/scene.h"
#include "tools/tensor/tensor_math.h"
#include "tools/testing/host_tensors.h"

namespace portacl::cli {
namespace {

// The gradient of the photograph's brightness through a rotation, in one dtype. All dtypes start
// from the same inputs, rounded to the dtype.
HostTensor Gradient(const Call& call, DataType dtype) {
  return TensorOf(Ran(golden::InDType(call, dtype)), "inputGrad");
}

// Largest error over the three channels per pixel, in units of the dtype's epsilon times `most`.
HostTensor ErrorMap(const HostTensor& gradient, const HostTensor& exact, double most) {
  const int64_t plane = exact.extent(2) * exact.extent(3);
  HostTensor map(DataType::kFloat32, {1, 1, exact.extent(2), exact.extent(3)}, "map");
  for (int64_t i = 0; i < plane; ++i) {
    double error = 0;
    for (int64_t c = 0; c < exact.extent(1); ++c) {
      error = std::max(error, std::fabs(gradient.Get(c * plane + i) - exact.Get(c * plane + i)));
    }
    map.Set(i, error / (most * Epsilon(gradient.dtype())));
  }
  return map;
}

}  // namespace

DemoScene DataTypesScene() {
  const HostTensor photo = Photograph("chelsea.png");
  const HostTensor grid = GridFrom(
      kPhotoFrame, [](GridPoint p) { return Rotate(kPhotoFrame, p, 20 * std::numbers::pi / 180); });
  const Call call = SampleGradients(photo, photo, grid);
  const HostTensor exact = Gradient(call, DataType::kFloat64);
  const double most = LargestMagnitude(exact);

  constexpr double kScale = 64;  // dark end of the maps, in ε × most
  DemoScene scene;
  scene.section.title =
      "5  Element types: the same gradient in float64, float32, float16, bfloat16";
  scene.section.text =
      "inputGrad of a picture turned by 20°, with the picture itself as gradOutput. The maps "
      "show the error per pixel against float64: white 0, violet 64 ε × the largest gradient (ε: "
      "the type's last place at 1). Nearly all of it is where a point lies: its coordinate is "
      "rounded to the type, finer near the middle (grid values near 0) and, in float32, where "
      "pixel coordinates are small.";
  std::vector<Panel> row = {
      {"inputGrad, float64", LargestText(exact), GradientImage(exact), "dtypes-float64.png"}};
  for (const DataType dtype : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16}) {
    const HostTensor gradient = Gradient(call, dtype);
    const HostTensor map = ErrorMap(gradient, exact, most);
    const double largest = LargestMagnitude(map);
    row.push_back({fmt::format("error of {}", DataTypeName(dtype)),
                   fmt::format("largest {:.2g}, which is {:.0f} ε × {:.3g}; ε = {:.2g}",
                               largest * Epsilon(dtype) * most, largest, most, Epsilon(dtype)),
                   HeatImage(map, kScale),
                   fmt::format("dtypes-error-{}.png", DataTypeName(dtype))});
    if (dtype == DataType::kBFloat16) {
      row.push_back({"inputGrad, bfloat16", "points sit on a coarse grid: some pixels get more",
                     GradientImage(gradient), "dtypes-bfloat16.png"});
    }
  }
  scene.section.rows = {std::move(row)};
  scene.cases = {{"rotate 20°, gradOutput = photo", call}};
  return scene;
}

}  // namespace portacl::cli
