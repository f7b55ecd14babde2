// Scene 6: a photograph and a test chart enlarged and reduced by each kernel, the gradients of
// each, and aliasing with and without antialias.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "tools/cli_error.h"
#include "tools/demo/forward.h"
#include "tools/demo/scene.h"
#include "tools/tensor/random.h"
#include "tools/tensor/tensor_math.h"

namespace portacl::cli {
namespace {

struct Kernel {
  const char* name;
  bool cubic, antialias, nearest;
};
constexpr Kernel kNearest = {"nearest", false, false, true};
constexpr Kernel kBilinear = {"bilinear", false, false, false};
constexpr Kernel kBicubic = {"bicubic", true, false, false};
constexpr Kernel kBilinearAA = {"bilinear, antialias", false, true, false};
constexpr Kernel kBicubicAA = {"bicubic, antialias", true, true, false};
constexpr Kernel kKernels[] = {kNearest, kBilinear, kBicubic, kBilinearAA, kBicubicAA};

enum class Direction { kForward, kBackward };

Status MakePlan(const Kernel& kernel, Direction direction, const Tensor& from, const Tensor& to,
                Plan& plan) {
  const bool forward = direction == Direction::kForward, antialias = kernel.antialias;
  if (kernel.nearest) {
    return forward ? plan.upsample_nearest(from, to) : plan.upsample_nearest_backward(from, to);
  }
  if (kernel.cubic) {
    return forward ? plan.upsample_cubic(from, to, false, antialias)
                   : plan.upsample_cubic_backward(from, to, false, antialias);
  }
  return forward ? plan.upsample_linear(from, to, false, antialias)
                 : plan.upsample_linear_backward(from, to, false, antialias);
}

// Takes (N, C, H, W). Gives the same with other extents, or the gradient for an input of these
// extents.
HostTensor Resized(const Kernel& kernel, Direction direction, const HostTensor& from,
                   int64_t height, int64_t width) {
  HostTensor to(from.dtype(), {from.extent(0), from.extent(1), height, width}, kernel.name);
  Plan plan;
  Status status = MakePlan(kernel, direction, from.View(), to.View(), plan);
  if (status.ok()) status = plan.run();
  ThrowOnStatus(status.code(), kernel.name, status.message());
  return to;
}

HostTensor Forward(const Kernel& kernel, const HostTensor& from, int64_t side) {
  return Resized(kernel, Direction::kForward, from, side, side);
}
HostTensor Gradient(const Kernel& kernel, const HostTensor& from, int64_t side) {
  return Resized(kernel, Direction::kBackward, from, side, side);
}

// Rings that become finer from the middle to the edge. There they alternate from pixel to pixel.
HostTensor ZonePlate(int64_t side) {
  HostTensor chart(DataType::kFloat32, {1, 1, side, side}, "chart");
  const double middle = static_cast<double>(side - 1) / 2;
  for (int64_t i = 0; i < chart.count(); ++i) {
    const double x = static_cast<double>(i % side) - middle;
    const double y = static_cast<double>(i / side) - middle;
    chart.Set(i, 0.5 + 0.5 * std::cos(M_PI * (x * x + y * y) / static_cast<double>(side)));
  }
  return chart;
}

HostTensor Cut(const HostTensor& photo, int64_t top, int64_t left, int64_t side) {
  HostTensor part(photo.dtype(), {1, photo.extent(1), side, side}, "crop");
  for (int64_t i = 0; i < part.count(); ++i) {
    const int64_t row = i / side % side + top, column = i % side + left;
    part.Set(i, photo.Get((i / side / side * photo.extent(2) + row) * photo.extent(3) + column));
  }
  return part;
}

// <f(x), g> = <x, gradient(g)> in double, enlarging and reducing by fractions.
DemoCheck AdjointCheck(const Kernel& kernel) {
  Random random(7);
  double largest = 0;
  for (const auto& [small, large] : {std::pair<int64_t, int64_t>{61, 100}, {100, 37}}) {
    HostTensor x(DataType::kFloat64, {1, 3, small, small}, "x");
    HostTensor g(DataType::kFloat64, {1, 3, large, large}, "g");
    for (HostTensor* const tensor : {&x, &g}) {
      for (int64_t i = 0; i < tensor->count(); ++i) tensor->Set(i, random.NextSigned());
    }
    const double left = Dot(Forward(kernel, x, large), g);
    const double right = Dot(x, Gradient(kernel, g, small));
    largest = std::max(largest, std::fabs(left - right) / std::sqrt(Dot(g, g)));
  }
  return {fmt::format("adjoint: {}", kernel.name),
          fmt::format("<f(x), g> - <x, gradient(g)> = {:.1e} |g|", largest), largest < 1e-12};
}

// The bits of the library's own choice and of the reference kernels, in every dtype and direction.
DemoCheck BitsCheck(const HostTensor& photo) {
  int same = 0, all = 0;
  for (const Kernel& kernel : kKernels) {
    for (const DataType dtype : kAllDataTypes) {
      const HostTensor from = photo.ConvertedTo(dtype, "photograph");
      for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
        const HostTensor own = Resized(kernel, direction, from, 100, 300);
        static_cast<void>(portaclSetImpl("ref"));
        const HostTensor ref = Resized(kernel, direction, from, 100, 300);
        static_cast<void>(portaclSetImpl(nullptr));
        ++all;
        same += std::memcmp(own.data(), ref.data(), own.bytes()) == 0 ? 1 : 0;
      }
    }
  }
  return {"resizing as ref does it", fmt::format("{} of {} results, 5 kernels", same, all),
          same == all};
}

Panel ChartPanel(const Kernel& kernel, const HostTensor& chart, int64_t side) {
  return {kernel.name,
          kernel.antialias ? "what is too fine becomes grey, as it must"
                           : "false rings: each pixel looks at its nearest neighbours only",
          PhotoImage(Forward(kernel, chart, side)),
          fmt::format("resizing-chart-{}{}.png", kernel.cubic ? "bicubic" : "bilinear",
                      kernel.antialias ? "-antialias" : "")};
}

Panel ReducedPanel(const Kernel& kernel, const HostTensor& photo) {
  return {kernel.name, kernel.antialias ? "64 × 64 pixels, smooth whiskers" : "64 × 64 pixels",
          PhotoImage(Forward(kernel, photo, 64)), ""};
}

Panel EnlargedPanel(const Kernel& kernel, const HostTensor& part, const char* caption) {
  return {fmt::format("{}, × 8", kernel.name), caption, PhotoImage(Forward(kernel, part, 256)),
          fmt::format("resizing-enlarged-{}.png", kernel.name)};
}

Panel GradientPanel(const Kernel& kernel, const HostTensor& from, int64_t side,
                    const std::string& caption) {
  const HostTensor gradient = Gradient(kernel, from, side);
  return {fmt::format("gradInput, {}", kernel.name),
          fmt::format("{}; {}", caption, LargestText(gradient)), GradientImage(gradient), ""};
}

}  // namespace

DemoScene ResizingScene() {
  const HostTensor photo = Photograph("chelsea.png");
  const HostTensor chart = ZonePlate(512);
  const HostTensor part = Cut(photo, 80, 84, 32);
  const HostTensor error = Difference(Constant(DataType::kFloat32, photo.shape(), 0.5), photo);
  const HostTensor small_error = Cut(error, 96, 96, 64);
  const HostTensor linear = Forward(kBilinear, part, 256), cubic = Forward(kBicubic, part, 256);

  DemoScene scene;
  scene.section.title = "6  Resizing by each kernel: aliasing, sharpness, gradients";
  scene.section.text =
      "Reducing by 4, bilinear interpolation without antialias looks at 2 × 2 of every 4 × 4 "
      "pixels: "
      "rings that are finer than the result's pixels come back as rings that are not there, and "
      "three of four pixels get no gradient. With antialias the window grows with the ratio. "
      "Enlarging, the kernels differ in sharpness. Each gradient is the exact transpose of its "
      "function.";
  scene.section.rows = {
      {{"test chart", "512 × 512 pixels; at the edges, black and white alternate",
        PhotoImage(chart), "resizing-chart.png"},
       ChartPanel(kBilinear, chart, 128),
       ChartPanel(kBicubic, chart, 128),
       ChartPanel(kBilinearAA, chart, 128),
       ChartPanel(kBicubicAA, chart, 128)},
      {{"photograph", "Chelsea, 256 × 256 pixels, reduced by 4", PhotoImage(photo), ""},
       ReducedPanel(kBilinear, photo),
       ReducedPanel(kBicubic, photo),
       ReducedPanel(kBilinearAA, photo),
       ReducedPanel(kBicubicAA, photo)},
      {{"a part of it", "32 × 32 pixels, enlarged by 8", PhotoImage(part), ""},
       EnlargedPanel(kNearest, part, "copies"),
       EnlargedPanel(kBilinear, part, "between two pixels"),
       EnlargedPanel(kBicubic, part, "between four pixels: sharper"),
       {"bicubic − bilinear", "the edges; mid-grey is 0", GradientImage(Difference(cubic, linear)),
        ""}},
      {{"gradOutput = grey − target", "a part of the error of a plain grey picture",
        GradientImage(small_error), ""},
       GradientPanel(kBilinear, small_error, 256, "a quarter of the pixels"),
       GradientPanel(kBilinearAA, small_error, 256, "every pixel"),
       GradientPanel(kBicubicAA, small_error, 256, "every pixel, some with a negative weight"),
       GradientPanel(kBicubic, error, 64, "the gradient of an enlargement by 4")}};
  for (const Kernel& kernel : kKernels) scene.checks.push_back(AdjointCheck(kernel));
  scene.checks.push_back(BitsCheck(photo));
  return scene;
}

}  // namespace portacl::cli
