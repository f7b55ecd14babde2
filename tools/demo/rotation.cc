// Scene 2: gridGrad finds the angle by which a photograph was turned.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tools/demo/forward.h"
#include "tools/demo/scene.h"
#include "tools/picture/canvas.h"
#include "tools/picture/flow_picture.h"
#include "tools/picture/plot.h"
#include "tools/tensor/tensor_math.h"

namespace portacl::cli {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kTrueAngle = 12 * kDegree;

HostTensor TurnedGrid(double angle, DataType dtype) {
  return GridFrom(
      kPhotoFrame, [angle](GridPoint p) { return Rotate(kPhotoFrame, p, angle); }, dtype);
}

// The loss at an angle, half the squared error, with the gradients that lead there.
struct Evaluation {
  double angle = 0;
  double loss = 0;
  double slope = 0;  // d loss / d angle
  HostTensor error;  // gradOutput
  Call call;
};

double Loss(const HostTensor& photo, const HostTensor& target, double angle) {
  const HostTensor error = Difference(Sample(photo, TurnedGrid(angle, photo.dtype())), target);
  return Dot(error, error) / 2;
}

// Chain rule: sum over the points of gridGrad times the movement of the point with the angle.
double SlopeFrom(const HostTensor& grid_grad, double angle) {
  const auto derivative = [angle](GridPoint p) {
    return Rotate(kPhotoFrame, p, angle + std::numbers::pi / 2);
  };
  return Dot(grid_grad, GridFrom(kPhotoFrame, derivative, DataType::kFloat64));
}

Evaluation Evaluate(const HostTensor& photo, const HostTensor& target, double angle) {
  Evaluation e;
  e.angle = angle;
  const HostTensor grid = TurnedGrid(angle, photo.dtype());
  e.error = Difference(Sample(photo, grid), target);
  e.loss = Dot(e.error, e.error) / 2;
  e.call = Ran(SampleGradients(e.error, photo, grid));
  e.slope = SlopeFrom(TensorOf(e.call, "gridGrad"), angle);
  return e;
}

// Where the straight line through two slopes is 0, kept off the ends of the interval.
double NextInside(const Evaluation& low, const Evaluation& high) {
  constexpr double kMargin = 0.01;
  const double part = low.slope / (low.slope - high.slope);
  return low.angle + (high.angle - low.angle) * std::clamp(part, kMargin, 1 - kMargin);
}

// Walks against the slope until its sign changes, then closes in on its zero.
std::vector<Evaluation> FindAngle(const HostTensor& photo, const HostTensor& target) {
  constexpr int kMaxSteps = 12;
  constexpr double kStride = 5 * kDegree, kEnough = 0.005 * kDegree;
  std::vector<Evaluation> path;
  path.push_back(Evaluate(photo, target, 0));
  size_t low = 0, high = 0;  // the nearest angles with a slope below and above 0
  bool has_low = false, has_high = false;
  while (path.size() <= kMaxSteps) {
    const size_t last = path.size() - 1;
    const bool rising = path[last].slope > 0;
    (rising ? high : low) = last;
    (rising ? has_high : has_low) = true;
    const double next = has_low && has_high ? NextInside(path[low], path[high])
                                            : path[last].angle + (rising ? -kStride : kStride);
    path.push_back(Evaluate(photo, target, next));
    if (std::fabs(path.back().angle - path[last].angle) < kEnough) break;
  }
  return path;
}

DemoCheck SlopeCheck(const HostTensor& photo, const HostTensor& target) {
  constexpr double kAngle = 5 * kDegree, kStep = 1e-7;
  const HostTensor x = photo.ConvertedTo(DataType::kFloat64, "photo");
  const HostTensor t = target.ConvertedTo(DataType::kFloat64, "target");
  const double slope = Evaluate(x, t, kAngle).slope;
  const double finite = (Loss(x, t, kAngle + kStep) - Loss(x, t, kAngle - kStep)) / (2 * kStep);
  return {"gridGrad", fmt::format("d loss / d angle {:.6g}, by differences {:.6g}", slope, finite),
          std::fabs(slope - finite) < 1e-3 * std::fabs(finite)};
}

std::string Degrees(double angle) { return fmt::format("{:.2f}°", angle / kDegree); }

Panel ErrorPanel(const Evaluation& e, size_t step) {
  return {fmt::format("error after step {}", step), fmt::format("angle {}", Degrees(e.angle)),
          TensorToImage(e.error, {-1, 1}, "error"), ""};
}

Panel LegendPanel(double reference) {
  Canvas canvas(kPanelSide, kPanelSide, {255, 255, 255});
  DrawFlowLegend(canvas, kPanelSide / 2.0, kPanelSide / 2.0, 84);
  const TextStyle text{13, Weight::kRegular, {84, 94, 107}};
  const auto centred = [&](const std::string& line, double y) {
    canvas.DrawText((kPanelSide - TextWidth(line, text)) / 2, y, line, text);
  };
  centred("up (−y)", 34);
  centred("down (+y)", 232);
  canvas.DrawText(226, 132, "+x", text);
  canvas.DrawText(16, 132, "−x", text);
  return {"how to read gridGrad",
          fmt::format("hue: direction; white: 0; rim: length {:.3g} and more", reference),
          canvas.image(),
          "",
          1,
          true};
}

Panel PlotPanel(const std::vector<Evaluation>& path) {
  Curve curve;
  for (const Evaluation& e : path) {
    curve.values.push_back(std::max(e.loss, 1e-6));
    curve.labels.push_back(Degrees(e.angle));
  }
  return {"loss and angle over the steps",
          fmt::format("found {:.4f}°; the photograph was turned by {:.4f}°",
                      path.back().angle / kDegree, kTrueAngle / kDegree),
          DrawLossPlot(curve, PanelWidth(2), "loss = ½ \u2211 error²"), "rotation-loss.png", 2};
}

}  // namespace

DemoScene RotationScene() {
  const HostTensor photo = Photograph("astronaut.png");
  const HostTensor target = Sample(photo, TurnedGrid(kTrueAngle, DataType::kFloat32));
  const std::vector<Evaluation> path = FindAngle(photo, target);
  const Evaluation &start = path.front(), &end = path.back();
  const HostTensor grid_grad = TensorOf(start.call, "gridGrad");
  const HostTensor input_grad = TensorOf(start.call, "inputGrad");
  const double reference = FlowReference(grid_grad);

  DemoScene scene;
  scene.section.title = "2  Turning a picture (grid sampler, bilinear): gridGrad finds the angle";
  scene.section.text =
      "A photograph was turned by an unknown angle. gridGrad says for every sampling point where "
      "to move it so that the error grows fastest; added up along the rotation it is one number, "
      "d loss / d angle. Following it to its zero finds the angle. inputGrad is the same error, "
      "carried back through the sampling onto the photograph's own pixels.";
  scene.section.rows = {
      {{"input", "Eileen Collins (NASA), 256 × 256 pixels", PhotoImage(photo),
        "rotation-photo.png"},
       {"target", "turned by 12° counter-clockwise", PhotoImage(target), "rotation-target.png"},
       {"gradOutput = sampled − target", "the error at 0°; mid-grey is 0",
        TensorToImage(start.error, {-1, 1}, "error"), ""},
       {"gridGrad at 0°", "colour: direction in which a point's error grows",
        FlowPicture(grid_grad, reference), "rotation-gridGrad.png"},
       LegendPanel(reference)},
      {{"inputGrad at 0°", "the error on the input's pixels; " + LargestText(input_grad),
        GradientImage(input_grad), "rotation-inputGrad.png"},
       ErrorPanel(path[std::min<size_t>(2, path.size() - 1)], std::min<size_t>(2, path.size() - 1)),
       ErrorPanel(end, path.size() - 1),
       PlotPanel(path)}};
  scene.cases = {{"rotate 0°, bilinear zeros", start.call},
                 {"rotate 3°, bilinear zeros", path[1].call}};
  const double miss = std::fabs(end.angle - kTrueAngle) / kDegree;
  scene.checks = {
      SlopeCheck(photo, target),
      {"the angle is found",
       fmt::format("{:.4f}° of 12° after {} steps", end.angle / kDegree, path.size() - 1),
       miss < 0.01}};
  return scene;
}

}  // namespace portacl::cli
