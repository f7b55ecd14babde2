// What the gradients mean: adjoints of the forward functions, derivatives by finite differences,
// linearity. Everything in double through the native API.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "support/api/compare.h"
#include "support/api/native.h"
#include "support/api/nearest_oracle.h"

namespace portacl_test {
namespace {

double Dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.size(); ++i) sum += a.Get(i) * b.Get(i);
  return sum;
}

// Small integers: sums and products are exact in any order, in every element type.
void FillIntegers(Random* random, Tensor* tensor) {
  tensor->Fill([&](int64_t) { return static_cast<double>(random->Integer(-3, 3)); });
}

// ---- nearest-exact -----------------------------------------------------------------------------

struct NearestProblem {
  Shape small;
  Shape large;
  std::vector<double> scales;
};

NearestProblem RandomNearest(Random* random) {
  NearestProblem p;
  const bool planar = random->Coin();
  p.small = {random->Integer(1, 3), random->Integer(1, 3)};
  p.large = p.small;
  for (int axis = 0; axis < (planar ? 2 : 1); ++axis) {
    p.small.push_back(random->Integer(1, 40));
    p.large.push_back(random->Integer(1, 40));
  }
  if (random->Coin()) {
    for (size_t axis = 2; axis < p.small.size(); ++axis) {
      p.scales.push_back(random->Coin() ? 0 : random->Uniform(0.05, 20));
    }
  }
  return p;
}

RC_GTEST_PROP(NativeNearest, BackwardIsTheExactAdjointOfForward, (uint64_t seed)) {
  Random random(seed);
  const NearestProblem p = RandomNearest(&random);
  for (const Element element : kElements) {
    Tensor x(element, p.small);
    Tensor g(element, p.large);
    FillIntegers(&random, &x);
    FillIntegers(&random, &g);
    Tensor forward(element, p.large);
    Tensor backward(Element::kDouble, p.small);
    Tensor wide_g = Tensor(Element::kDouble, p.large).Fill(g.Values());
    RC_ASSERT(portacl::upsample_nearest_exact(View(x), View(forward), ScalesOrNull(p.scales)).ok());
    RC_ASSERT(portacl::upsample_nearest_exact_backward(View(wide_g), View(backward),
                                                       ScalesOrNull(p.scales))
                  .ok());
    RC_ASSERT(Dot(forward, g) == Dot(x, backward));
  }
}

RC_GTEST_PROP(NativeNearest, RandomCallsHaveTheContractsBits, (uint64_t seed)) {
  Random random(seed);
  const NearestProblem p = RandomNearest(&random);
  for (const Element element : kElements) {
    const auto pick = [&](const auto& layouts) {
      return layouts[static_cast<size_t>(
          random.Integer(0, static_cast<int64_t>(layouts.size()) - 1))];
    };
    Tensor g(element, p.large, pick(kInputLayouts));
    g.FillUniform(random, -1, 1);
    Tensor backward(element, p.small, pick(kOutputLayouts));
    RC_ASSERT(
        portacl::upsample_nearest_exact_backward(View(g), View(backward), ScalesOrNull(p.scales))
            .ok());
    RC_ASSERT(SameBits(backward, NearestBackward(g, p.small, p.scales)));
    RC_ASSERT(backward.GuardsIntact());
    Tensor forward(element, p.large, pick(kOutputLayouts));
    RC_ASSERT(portacl::upsample_nearest_exact(View(backward), View(forward), ScalesOrNull(p.scales))
                  .ok());
    RC_ASSERT(SameBits(forward, NearestForward(backward, p.large, p.scales)));
    RC_ASSERT(forward.GuardsIntact());
  }
}

RC_GTEST_PROP(NativeNearest, BackwardIsLinear, (uint64_t seed)) {
  Random random(seed);
  const NearestProblem p = RandomNearest(&random);
  Tensor a(Element::kFloat, p.large);
  Tensor b(Element::kFloat, p.large);
  FillIntegers(&random, &a);
  FillIntegers(&random, &b);
  const auto backward = [&](const Tensor& g) {
    Tensor result(Element::kFloat, p.small);
    RC_ASSERT(
        portacl::upsample_nearest_exact_backward(View(g), View(result), ScalesOrNull(p.scales))
            .ok());
    return result;
  };
  const Tensor sum =
      Tensor(Element::kFloat, p.large).Fill([&](int64_t i) { return 4 * a.Get(i) - b.Get(i); });
  const Tensor of_sum = backward(sum);
  const Tensor of_a = backward(a);
  const Tensor of_b = backward(b);
  for (int64_t i = 0; i < of_sum.size(); ++i) {
    RC_ASSERT(of_sum.Get(i) == 4 * of_a.Get(i) - of_b.Get(i));
  }
}

TEST(NativeNearestOnce, TotalsArePreserved) {
  // Every gradOutput element reaches exactly one gradInput element.
  Random random(91);
  Tensor g(Element::kDouble, {2, 3, 23, 31});
  FillIntegers(&random, &g);
  for (const Shape& small : {Shape{2, 3, 5, 7}, Shape{2, 3, 40, 50}, Shape{2, 3, 1, 1}}) {
    Tensor backward(Element::kDouble, small);
    ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact_backward(View(g), View(backward))));
    Tensor ones_small = Tensor(Element::kDouble, small).Fill(1.0);
    Tensor ones_large = Tensor(Element::kDouble, g.shape()).Fill(1.0);
    EXPECT_EQ(Dot(backward, ones_small), Dot(g, ones_large));
  }
}

// ---- grid sampler ------------------------------------------------------------------------------

class NativeGridMaths : public testing::TestWithParam<GridMode> {
 protected:
  const GridMode mode_ = GetParam();
  static constexpr double kRounding = 1e-12;  // some thousand roundings of double
};
INSTANTIATE_TEST_SUITE_P(, NativeGridMaths, testing::ValuesIn(AllGridModes()),
                         [](const auto& param) { return NameOf(param.param); });

GridCase RandomGridCase(uint64_t seed) {
  Random random(seed);
  GridCase c(Element::kDouble, 2, 3, 6, 7, 5, 8);
  return c.Fill(GridKind::kRandom, random);
}

TEST_P(NativeGridMaths, InputGradIsTheAdjointOfForward) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const GridCase c = RandomGridCase(seed);
    Tensor output(Element::kDouble, c.grad_output.shape());
    Tensor input_grad(Element::kDouble, c.input.shape());
    ASSERT_TRUE(Succeeds(NativeGrid(c.input, c.grid, mode_, &output)));
    ASSERT_TRUE(Succeeds(NativeGridBackward(c, mode_, &input_grad, nullptr)));
    EXPECT_NEAR(Dot(output, c.grad_output), Dot(c.input, input_grad), kRounding * 100);
  }
}

TEST_P(NativeGridMaths, InputGradIsTheFiniteDifferenceOfForward) {
  const GridCase c = RandomGridCase(100);
  Tensor input_grad(Element::kDouble, c.input.shape());
  ASSERT_TRUE(Succeeds(NativeGridBackward(c, mode_, &input_grad, nullptr)));
  Tensor output(Element::kDouble, c.grad_output.shape());
  // Forward is linear in the input: any step is exact but for rounding.
  Tensor moved = c.input;
  for (int64_t i = 0; i < c.input.size(); i += 5) {
    double loss[2];
    for (const int side : {0, 1}) {
      moved.Set(i, c.input.Get(i) + (side == 0 ? -1 : 1));
      ASSERT_TRUE(Succeeds(NativeGrid(moved, c.grid, mode_, &output)));
      loss[side] = Dot(output, c.grad_output);
    }
    moved.Set(i, c.input.Get(i));
    EXPECT_NEAR((loss[1] - loss[0]) / 2, input_grad.Get(i), kRounding * 100);
  }
}

// True where no kink (pixel, pixel edge) is within `margin` of the coordinate in pixels.
bool FarFromKinks(double x, int64_t extent, bool align_corners, double margin) {
  const double size = static_cast<double>(extent);
  const double at = align_corners ? (x + 1) / 2 * (size - 1) : ((x + 1) * size - 1) / 2;
  return std::fabs(at * 2 - std::nearbyint(at * 2)) > 2 * margin;
}

TEST_P(NativeGridMaths, GridGradIsTheFiniteDifferenceOfForward) {
  GridCase c = RandomGridCase(101);
  Random random(102);
  constexpr double kMargin = 0.02;
  for (int64_t i = 0; i < c.grid.size(); ++i) {
    const int64_t extent = c.input.shape()[i % 2 == 0 ? 3 : 2];
    while (!FarFromKinks(c.grid.Get(i), extent, mode_.align_corners, kMargin)) {
      c.grid.Set(i, random.Uniform(-1.6, 1.6));
    }
  }
  Tensor grid_grad(Element::kDouble, c.grid.shape());
  ASSERT_TRUE(Succeeds(NativeGridBackward(c, mode_, nullptr, &grid_grad)));
  Tensor output(Element::kDouble, c.grad_output.shape());
  Tensor moved = c.grid;
  constexpr double kStep = 1e-4;  // less than the margin: error ~ step^2 / 6 * third derivative
  for (int64_t i = 0; i < c.grid.size(); ++i) {
    double loss[2];
    for (const int side : {0, 1}) {
      moved.Set(i, c.grid.Get(i) + (side == 0 ? -kStep : kStep));
      ASSERT_TRUE(Succeeds(NativeGrid(c.input, moved, mode_, &output)));
      loss[side] = Dot(output, c.grad_output);
    }
    moved.Set(i, c.grid.Get(i));
    EXPECT_NEAR((loss[1] - loss[0]) / (2 * kStep), grid_grad.Get(i), 5e-6) << i;
  }
}

TEST_P(NativeGridMaths, BothGradientsAreLinearInGradOutput) {
  const GridCase a = RandomGridCase(103);
  GridCase b = RandomGridCase(103);
  GridCase sum = RandomGridCase(103);
  Random random(104);
  b.grad_output.FillUniform(random, -1, 1);
  sum.grad_output.Fill(
      [&](int64_t i) { return 2 * a.grad_output.Get(i) - 0.5 * b.grad_output.Get(i); });
  struct Gradients {
    Tensor input{Element::kDouble, {2, 3, 6, 7}};
    Tensor grid{Element::kDouble, {2, 5, 8, 2}};
  };
  const auto run = [&](const GridCase& c) {
    Gradients g;
    EXPECT_TRUE(Succeeds(NativeGridBackward(c, mode_, &g.input, &g.grid)));
    return g;
  };
  const Gradients ga = run(a);
  const Gradients gb = run(b);
  const Gradients gs = run(sum);
  for (int64_t i = 0; i < gs.input.size(); ++i) {
    ASSERT_NEAR(gs.input.Get(i), 2 * ga.input.Get(i) - 0.5 * gb.input.Get(i), kRounding);
  }
  for (int64_t i = 0; i < gs.grid.size(); ++i) {
    ASSERT_NEAR(gs.grid.Get(i), 2 * ga.grid.Get(i) - 0.5 * gb.grid.Get(i), kRounding * 100);
  }
}

TEST_P(NativeGridMaths, TheIdentityGridSamplesTheImageItself) {
  // Sizes whose pixel centres have exact coordinates.
  const int64_t h = mode_.align_corners ? 5 : 4;
  const int64_t w = mode_.align_corners ? 9 : 8;
  GridCase c(Element::kDouble, 1, 2, h, w, h, w);
  Random random(105);
  c.input.FillUniform(random, -1, 1);
  c.grad_output.FillUniform(random, -1, 1);
  const auto centre = [&](int64_t pixel, int64_t extent) {
    const auto at = static_cast<double>(pixel);
    const auto size = static_cast<double>(extent);
    return mode_.align_corners ? 2 * at / (size - 1) - 1 : (2 * at + 1) / size - 1;
  };
  c.grid.Fill([&](int64_t i) { return i % 2 == 0 ? centre(i / 2 % w, w) : centre(i / 2 / w, h); });
  Tensor output(Element::kDouble, c.grad_output.shape());
  Tensor input_grad(Element::kDouble, c.input.shape());
  ASSERT_TRUE(Succeeds(NativeGrid(c.input, c.grid, mode_, &output)));
  ASSERT_TRUE(Succeeds(NativeGridBackward(c, mode_, &input_grad, nullptr)));
  EXPECT_EQ(output.Values(), c.input.Values());
  EXPECT_EQ(input_grad.Values(), c.grad_output.Values());
}

// ---- kinks: the one-sided values, by hand ------------------------------------------------------

struct Kink {
  const char* name;
  GridMode mode;
  double x;       // grid value; W = 4, the image is the ramp 10, 20, 40, 80
  double output;  // forward
  double slope;   // gridGrad x for gradOutput 1
};

// GoogleTest would print the bytes, padding among them.
void PrintTo(const Kink& kink, std::ostream* out) { *out << kink.name; }

class NativeKinks : public testing::TestWithParam<Kink> {};

INSTANTIATE_TEST_SUITE_P(
    , NativeKinks,
    testing::Values(
        // A pixel centre takes the slope to its right: ix = 1, (40 - 20) * W / 2.
        Kink{"CentreTakesTheRightSlope", {kBilinear, kZeros, false}, -0.25, 20, 40},
        // x = -1: half a pixel outside. Zeros: between 0 and 10.
        Kink{"LeftEdgeZeros", {kBilinear, kZeros, false}, -1, 5, 20},
        Kink{"RightEdgeZeros", {kBilinear, kZeros, false}, 1, 40, -160},
        Kink{"LeftEdgeBorder", {kBilinear, kBorder, false}, -1, 10, 0},
        Kink{"RightEdgeBorder", {kBilinear, kBorder, false}, 1, 80, 0},
        // ix = 0 and ix = W - 1 exactly: border's m is 0 there.
        Kink{"FirstPixelBorder", {kBilinear, kBorder, false}, -0.75, 10, 0},
        Kink{"LastPixelBorder", {kBilinear, kBorder, false}, 0.75, 80, 0},
        Kink{"FirstPixelZeros", {kBilinear, kZeros, false}, -0.75, 10, 20},
        Kink{"LastPixelZeros", {kBilinear, kZeros, false}, 0.75, 80, -160},
        // The fold of reflection lies at -0.5; the coordinate there clips to 0, m = 0.
        Kink{"LeftFoldReflection", {kBilinear, kReflection, false}, -1, 10, 0},
        Kink{"RightFoldReflection", {kBilinear, kReflection, false}, 1, 80, 0},
        // Half a pixel further in the mirror: ix = -1.5 is 0.5, running backwards.
        Kink{"BehindTheLeftFold", {kBilinear, kReflection, false}, -1.5, 15, -20},
        Kink{"BehindTheRightFold", {kBilinear, kReflection, false}, 1.5, 60, -80},
        // alignCorners: x = -1 and 1 are the outer pixels' centres.
        Kink{"LeftCornerAligned", {kBilinear, kZeros, true}, -1, 10, 15},
        Kink{"RightCornerAligned", {kBilinear, kZeros, true}, 1, 80, -120},
        Kink{"LeftCornerAlignedBorder", {kBilinear, kBorder, true}, -1, 10, 0},
        Kink{"RightCornerAlignedBorder", {kBilinear, kBorder, true}, 1, 80, 0},
        Kink{"LeftCornerAlignedReflection", {kBilinear, kReflection, true}, -1, 10, 0},
        Kink{"RightCornerAlignedReflection", {kBilinear, kReflection, true}, 1, 80, 0},
        // Nearest rounds half to even: ix = 0.5 is 0, ix = 1.5 is 2, ix = -0.5 is 0, 3.5 is
        // outside.
        Kink{"NearestHalfDown", {kNearest, kZeros, false}, -0.5, 10, 0},
        Kink{"NearestHalfUp", {kNearest, kZeros, false}, 0, 40, 0},
        Kink{"NearestLeftEdge", {kNearest, kZeros, false}, -1, 10, 0},
        Kink{"NearestRightEdge", {kNearest, kZeros, false}, 1, 0, 0},
        // Bicubic is smooth at pixel centres: (40 - 10) / 2 * 1.5 * W / 2 with A = -0.75.
        Kink{"BicubicCentre", {kBicubic, kZeros, false}, -0.25, 20, 45}),
    [](const auto& param) { return param.param.name; });

TEST_P(NativeKinks, HaveTheOneSidedValuesOfTheContract) {
  const Kink& kink = GetParam();
  for (const Element element : kElements) {
    SCOPED_TRACE(NameOf(element));
    GridCase c(element, 1, 1, 1, 4, 1, 1);
    c.input.Fill({10, 20, 40, 80});
    c.grad_output.Fill(1.0);
    // y: the centre of the one row; aligned, any y is.
    c.grid.Fill({kink.x, kink.mode.align_corners ? -1.0 : 0.0});
    Tensor output(element, {1, 1, 1, 1});
    Tensor grid_grad(element, {1, 1, 1, 2});
    ASSERT_TRUE(Succeeds(NativeGrid(c.input, c.grid, kink.mode, &output)));
    ASSERT_TRUE(Succeeds(NativeGridBackward(c, kink.mode, nullptr, &grid_grad)));
    EXPECT_EQ(output.Get(0), kink.output);
    EXPECT_EQ(grid_grad.Get(0), kink.slope);
  }
}

}  // namespace
}  // namespace portacl_test
