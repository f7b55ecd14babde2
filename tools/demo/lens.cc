// Scene 3: inputGrad straightens a photograph that a lens has bent.
#include <fmt/format.h>

#include <cmath>

#include "tools/demo/forward.h"
#include "tools/demo/scene.h"
#include "tools/picture/flow_picture.h"
#include "tools/picture/plot.h"
#include "tools/tensor/tensor_math.h"

namespace portacl::cli {
namespace {

constexpr double kStrength = 0.3;
constexpr double kWrongStrength = 0.25;
constexpr int kSteps = 40;
// More points than pixels: a barrel lens shows the corners smaller than they are.
constexpr GridFrame kLens = {1, 384, 384, 256, 256, false};

HostTensor LensGrid(double strength) {
  return GridFrom(kLens, [strength](GridPoint p) { return Lens(kLens, p, strength); });
}

// How much of all points' weight each pixel of `shape` gets: inputGrad of ones.
HostTensor PixelWeights(const HostTensor& target, const Shape& shape, const HostTensor& grid) {
  SamplingModes modes;
  modes.input_grad_only = true;
  return TensorOf(Ran(SampleGradients(Constant(DataType::kFloat32, target.shape(), 1),
                                      Constant(DataType::kFloat32, shape, 0), grid, modes)),
                  "inputGrad");
}

// A descent on the pixels of a guess, with the guesses that the sheet shows.
struct Descent {
  Call first;  // the gradients at the grey start
  std::vector<double> losses;
  HostTensor after_1, after_5, final;
};

Descent Straighten(const HostTensor& target, const Shape& shape, const HostTensor& grid) {
  const HostTensor weights = PixelWeights(target, shape, grid);
  HostTensor guess = Constant(DataType::kFloat32, shape, 0.5);
  Descent descent;
  for (int step = 0; step <= kSteps; ++step) {
    const HostTensor error = Difference(Sample(guess, grid), target);
    descent.losses.push_back(Dot(error, error) / 2);
    Call call = Ran(SampleGradients(error, guess, grid));
    if (step == 1) descent.after_1 = Copy(guess);
    if (step == 5) descent.after_5 = Copy(guess);
    if (step < kSteps) DescendWeighted(guess, TensorOf(call, "inputGrad"), weights);
    if (step == 0) descent.first = std::move(call);
  }
  descent.final = std::move(guess);
  return descent;
}

Panel GuessPanel(const std::string& when, const HostTensor& guess, const std::string& file) {
  return {"guess after " + when,
          "mean error " + fmt::format(
                              "{:.2f} of 255 levels",
                              255 *
                                  [&] {
                                    const HostTensor photo = Photograph("coffee.png");
                                    const HostTensor error = AbsoluteDifference(guess, photo);
                                    return Dot(error,
                                               Constant(DataType::kFloat32, error.shape(), 1)) /
                                           static_cast<double>(error.count());
                                  }()),
          PhotoImage(guess), file};
}

}  // namespace

DemoScene LensScene() {
  const HostTensor photo = Photograph("coffee.png");
  const HostTensor grid = LensGrid(kStrength);
  const HostTensor target = Sample(photo, grid);
  const Descent descent = Straighten(target, photo.shape(), grid);
  // gridGrad if the strength is guessed wrong.
  const HostTensor wrong_grid = LensGrid(kWrongStrength);
  const Call wrong =
      Ran(SampleGradients(Difference(Sample(photo, wrong_grid), target), photo, wrong_grid));
  const HostTensor wrong_grid_grad = TensorOf(wrong, "gridGrad");
  const double reference = FlowReference(wrong_grid_grad);

  DemoScene scene;
  scene.section.title = "3  Bending a picture (grid sampler, bilinear): inputGrad undoes a lens";
  scene.section.text =
      "A barrel lens (strength 0.3) has photographed a cup; only its picture is known. inputGrad "
      "says how each pixel of a straight guess must change so that the lens would show the same. "
      "From plain grey, steps against it (each pixel divided by the weight it has in the lens's "
      "picture) bring the straight photograph back.";
  Curve curve{descent.losses, {}};
  scene.section.rows = {
      {{"target: what the lens saw", "384 × 384 pixels; black lies outside the photograph",
        PhotoImage(target), "lens-target.png"},
       {"inputGrad at the grey start",
        "mid-grey is 0, " + LargestText(TensorOf(descent.first, "inputGrad")),
        GradientImage(TensorOf(descent.first, "inputGrad")), "lens-inputGrad.png"},
       GuessPanel("1 step", descent.after_1, ""),
       GuessPanel("5 steps", descent.after_5, ""),
       GuessPanel(fmt::format("{} steps", kSteps), descent.final, "lens-straightened.png")},
      {{"the photograph itself", "a cup by Rachel Michetti, never shown to the descent",
        PhotoImage(photo), "lens-photo.png"},
       {"what is left × 32",
        fmt::format("|guess − photograph| after {} steps, 32 times as bright", kSteps),
        TensorToImage(AbsoluteDifference(descent.final, photo), {0, 1.0 / 32}, "error"), ""},
       {"gridGrad at a wrong strength",
        "0.25 instead of 0.3; colours as in section 2, rim " + fmt::format("{:.3g}", reference),
        FlowPicture(wrong_grid_grad, reference), "lens-gridGrad.png"},
       {"loss over the steps",
        fmt::format("from {:.0f} to {:.3g}", descent.losses.front(), descent.losses.back()),
        DrawLossPlot(curve, PanelWidth(2), "loss = ½ \u2211 error²"), "lens-loss.png", 2}}};
  scene.cases = {{"lens 0.3, bilinear zeros", descent.first}, {"lens 0.25, bilinear zeros", wrong}};
  const double left = descent.losses.back() / descent.losses.front();
  scene.checks = {{"the lens is undone",
                   fmt::format("loss {:.4g} became {:.3g} in {} steps", descent.losses.front(),
                               descent.losses.back(), kSteps),
                   left < 1e-3}};
  return scene;
}

}  // namespace portacl::cli
