// Scene 1: the gradient of a picture that was enlarged with nearest-exact.
#include <fmt/format.h>

#include <cmath>

#include "tools/demo/forward.h"
#include "tools/demo/scene.h"
#include "tools/picture/cell_picture.h"
#include "tools/tensor/random.h"
#include "tools/tensor/tensor_math.h"

namespace portacl::cli {
namespace {

constexpr int64_t kSide = 256;

// One size of the small picture: the gradient from a grey start, and the picture after one step.
struct Enlargement {
  int64_t side;
  std::string factor;
  Call call;
  HostTensor gradient;
  HostTensor copies;  // how many pixels each small pixel was copied to
  HostTensor after_step;
};

Enlargement MakeEnlargement(const HostTensor& error, int64_t side, const std::string& factor) {
  Enlargement e{side, factor, Ran(EnlargeGradient(error, {side, side})), {}, {}, {}};
  e.gradient = TensorOf(e.call, "gradInput");
  const HostTensor ones = Constant(DataType::kFloat32, error.shape(), 1);
  e.copies = TensorOf(Ran(EnlargeGradient(ones, {side, side})), "gradInput");
  e.after_step = Constant(DataType::kFloat32, e.gradient.shape(), 0.5);
  DescendWeighted(e.after_step, e.gradient, e.copies);
  return e;
}

// Every row of every channel is a signal of its own.
Call RowsGradient(const HostTensor& error, int64_t length) {
  HostTensor rows(error.dtype(), {3, kSide, kSide}, "rows");
  for (int64_t i = 0; i < error.count(); ++i) rows.Set(i, error.Get(i));
  return EnlargeGradient(rows, {length});
}

// <enlarge(x), g> = <x, gradient(g)> in double: the backward function is the adjoint.
DemoCheck AdjointCheck(const HostTensor& photo) {
  constexpr int64_t kSmall = 160;
  HostTensor x(DataType::kFloat64, {1, 3, kSmall, kSmall}, "x");
  Random random(1);
  for (int64_t i = 0; i < x.count(); ++i) x.Set(i, random.NextSigned());
  const HostTensor g = photo.ConvertedTo(DataType::kFloat64, "g");
  const HostTensor gradient = TensorOf(Ran(EnlargeGradient(g, {kSmall, kSmall})), "gradInput");
  const double left = Dot(Enlarge(x, kSide, kSide), g), right = Dot(x, gradient);
  const double error = std::fabs(left - right) / std::sqrt(Dot(g, g));
  return {"adjoint: nearest-exact", fmt::format("<f(x), g> - <x, gradient(g)> = {:.1e} |g|", error),
          error < 1e-12};
}

Panel GradientPanel(const Enlargement& e) {
  return {fmt::format("gradInput, {}", e.factor),
          fmt::format("{0} × {0} pixels; {1}", e.side, LargestText(e.gradient)),
          GradientImage(e.gradient), fmt::format("upsample-{}-gradInput.png", e.side)};
}

Panel StepPanel(const Enlargement& e, const std::string& caption) {
  return {fmt::format("after one step, {}", e.factor), caption, PhotoImage(e.after_step),
          fmt::format("upsample-{}-after-step.png", e.side)};
}

}  // namespace

DemoScene UpsampleScene() {
  const HostTensor photo = Photograph("chelsea.png");
  const HostTensor error = Difference(Constant(DataType::kFloat32, photo.shape(), 0.5), photo);
  const Enlargement twice = MakeEnlargement(error, 128, "× 2");
  const Enlargement four = MakeEnlargement(error, 64, "× 4");
  const Enlargement fraction = MakeEnlargement(error, 160, "× 1.6");
  const Call rows = Ran(RowsGradient(error, 64));
  const HostTensor rows_gradient = TensorOf(rows, "gradInput");

  DemoScene scene;
  scene.section.title = "1  Enlarging a picture (nearest-exact): the gradient of every small pixel";
  scene.section.text =
      "Which small picture looks most like the cat once it is enlarged? The loss is half the "
      "squared difference. Starting from plain grey, gradOutput is the error, and gradInput adds "
      "up, for each small pixel, the errors of all the pixels it was copied to. One step against "
      "it (divided by the number of copies) already is the answer: the photograph, reduced.";
  scene.section.rows = {
      {{"target", "Chelsea, 256 × 256 pixels", PhotoImage(photo), "upsample-photo.png"},
       {"gradOutput = grey − target", "the error of a plain grey picture; mid-grey is 0",
        GradientImage(error), ""},
       GradientPanel(twice),
       GradientPanel(four),
       GradientPanel(fraction)},
      {{"gradInput in 1D, × 4",
        "each row by itself: 256 values become 64; " + LargestText(rows_gradient),
        GradientImage(rows_gradient), "upsample-1d-gradInput.png"},
       {"copies of each pixel, × 1.6",
        "the first 12 × 12 small pixels: each is copied to 1, 2 or 4 pixels",
        CellPicture(fraction.copies, {0, 0, 12}, 5, true), "upsample-160-copies.png"},
       StepPanel(twice, "each pixel is the mean of 2 × 2 pixels"),
       StepPanel(four, "each pixel is the mean of 4 × 4 pixels"),
       StepPanel(fraction, "divided by each pixel's own copies, the plaid is gone")}};
  scene.cases = {{"upsample 2D ×2", twice.call},
                 {"upsample 2D ×4", four.call},
                 {"upsample 2D ×1.6", fraction.call},
                 {"upsample 1D ×4", rows}};
  scene.checks = {AdjointCheck(photo)};
  return scene;
}

}  // namespace portacl::cli
