// The reference kernels of grid sampling of volumes and its gradients: against the double oracle,
// against images, against finite differences and against each other as adjoints.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
#include "support/api/compare.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::ref::kGridSampler2D;
using portacl::ref::kGridSampler2DBackward;
using portacl::ref::kGridSampler3D;
using portacl::ref::kGridSampler3DBackward;

struct Gradients {
  Tensor input;
  Tensor grid;
};

Gradients BackwardOf(const GridCase& c, const GridMode& mode, Layout layout = Layout::kContiguous) {
  Gradients made = {Tensor(c.input.element(), c.input.shape(), layout),
                    Tensor(c.input.element(), c.grid.shape(), layout)};
  EXPECT_TRUE(RunGridBackward(kGridSampler3DBackward, c.grad_output, c.input, c.grid, mode,
                              &made.input, &made.grid));
  return made;
}

Tensor ForwardOf(const GridCase& c, const GridMode& mode, Layout layout = Layout::kContiguous) {
  Tensor output(c.input.element(), c.grad_output.shape(), layout);
  EXPECT_TRUE(RunGridSampler(kGridSampler3D, c.input, c.grid, mode, &output));
  return output;
}

class RefGridSampler3D : public testing::TestWithParam<std::tuple<GridMode, Element>> {
 protected:
  const GridMode mode_ = std::get<0>(GetParam());
  const Element element_ = std::get<1>(GetParam());

  // Runs both kernels and judges every element.
  void Check(const GridCase& c, Layout layout = Layout::kContiguous) const {
    const Gradients made = BackwardOf(c, mode_, layout);
    const GridGradients want = GridBackward(c.grad_output, c.input, c.grid, mode_);
    EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, made.input, want.input_grad));
    EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, made.grid, want.grid_grad));
    EXPECT_TRUE(made.input.GuardsIntact());
    EXPECT_TRUE(made.grid.GuardsIntact());

    const Tensor output = ForwardOf(c, mode_, layout);
    EXPECT_TRUE(
        WithinTolerance(Operator::kGridSampler, output, GridForward(c.input, c.grid, mode_)));
    EXPECT_TRUE(output.GuardsIntact());
  }
};
INSTANTIATE_TEST_SUITE_P(, RefGridSampler3D,
                         testing::Combine(testing::ValuesIn(AllGridModes()),
                                          testing::ValuesIn(kElements)),
                         [](const auto& param) {
                           return NameOf(std::get<0>(param.param)) +
                                  NameOf(std::get<1>(param.param));
                         });

TEST_P(RefGridSampler3D, StaysWithinTheBoundOnEveryGridKindAndChannelCount) {
  Random random(41);
  for (const GridKind kind : {GridKind::kRandom, GridKind::kSmooth, GridKind::kOneCell}) {
    for (const int64_t channels : {1, 3, 17}) {
      GridCase c(element_, 2, channels, {4, 3, 5}, {3, 4, 3});
      Check(c.Fill(kind, random));
    }
  }
}

TEST_P(RefGridSampler3D, HasTheContractsBits) {
  if (mode_.interpolation == kBicubic) return;  // defined by the reference kernel itself
  Random random(42);
  for (const GridKind kind : {GridKind::kRandom, GridKind::kOneCell}) {
    for (const int64_t channels : {1, 16, 33}) {
      GridCase c(element_, 2, channels, {3, 5, 4}, {4, 3, 5});
      c.Fill(kind, random);
      const std::vector<double> strange = StrangeCoordinates(element_);
      for (size_t i = 0; i < strange.size(); ++i) {
        c.grid.Set(static_cast<int64_t>(7 * i), strange[i]);
      }
      const Gradients made = BackwardOf(c, mode_);
      const GridBits want = GridBackwardBits(c.grad_output, c.input, c.grid, mode_);
      EXPECT_TRUE(BitIdentical(made.input, want.input_grad));
      EXPECT_TRUE(BitIdentical(made.grid, want.grid_grad));
      EXPECT_TRUE(BitIdentical(ForwardOf(c, mode_),
                               GridForwardBits(c.input, c.grid, mode_, c.grad_output.shape())));
    }
  }
}

TEST_P(RefGridSampler3D, StaysWithinTheBoundOnEveryLayout) {
  Random random(43);
  for (const Layout layout : kInputLayouts) {
    GridCase c(element_, 2, 2, {3, 4, 3}, {2, 3, 4}, layout);
    Check(c.Fill(GridKind::kRandom, random),
          layout == Layout::kExpanded ? Layout::kContiguous : layout);
  }
}

TEST_P(RefGridSampler3D, StrangeCoordinatesFollowTheContractOnEachAxis) {
  const std::vector<double> values = StrangeCoordinates(element_);
  const auto count = static_cast<int64_t>(values.size());
  Random random(44);
  for (const std::array<int64_t, 3>& extents :
       {std::array<int64_t, 3>{3, 4, 5}, {1, 1, 1}, {4, 1, 2}}) {
    GridCase c(element_, 1, 2, extents, {3, count, count});
    c.Fill(GridKind::kRandom, random);
    // Each pair of axes takes every pair of values while the third is ordinary.
    c.grid.Fill([&](int64_t i) {
      const int64_t point = i / 3;
      const int64_t ordinary = point / count / count;
      const int64_t axis = i % 3;
      if (axis == ordinary) return 0.3;
      const bool first = axis == (ordinary + 1) % 3;
      return values[static_cast<size_t>(first ? point % count : point / count % count)];
    });
    Check(c);
  }
}

TEST_P(RefGridSampler3D, MasksLeaveTheOtherOutputsBitsUnchanged) {
  Random random(45);
  GridCase c(element_, 1, 3, {3, 5, 4}, {2, 6, 3});
  c.Fill(GridKind::kRandom, random);
  const Gradients both = BackwardOf(c, mode_);
  Tensor input(element_, c.input.shape());
  Tensor grid(element_, c.grid.shape());
  ASSERT_TRUE(RunGridBackward(kGridSampler3DBackward, c.grad_output, c.input, c.grid, mode_, &input,
                              nullptr));
  ASSERT_TRUE(RunGridBackward(kGridSampler3DBackward, c.grad_output, c.input, c.grid, mode_,
                              nullptr, &grid));
  EXPECT_TRUE(BitIdentical(input, both.input));
  EXPECT_TRUE(BitIdentical(grid, both.grid));
}

// A volume of equal planes, sampled between its outermost planes, gives the plane's samples: the
// sums differ by the roundings of weights that add up to 1.
TEST_P(RefGridSampler3D, AConstantThirdAxisGivesTheImagesResult) {
  if (element_ != Element::kDouble || mode_.interpolation == kNearest) return;
  Random random(46);
  constexpr int64_t kPlanes = 7;
  GridCase image(element_, 1, 3, 5, 6, 4, 7);
  image.Fill(GridKind::kSmooth, random);
  GridCase volume(element_, 1, 3, {kPlanes, 5, 6}, {1, 4, 7});
  volume.grad_output.Fill(image.grad_output.Values());
  volume.input.Fill([&](int64_t i) { return image.input.Get(i / (kPlanes * 30) * 30 + i % 30); });
  volume.grid.Fill(
      [&](int64_t i) { return i % 3 == 2 ? 0.13 : image.grid.Get(i / 3 * 2 + i % 3); });
  const Gradients made = BackwardOf(volume, mode_);
  Tensor input(element_, image.input.shape());
  Tensor grid(element_, image.grid.shape());
  ASSERT_TRUE(RunGridBackward(kGridSampler2DBackward, image.grad_output, image.input, image.grid,
                              mode_, &input, &grid));
  for (int64_t i = 0; i < input.size(); ++i) {
    double sum = 0;
    for (int64_t k = 0; k < kPlanes; ++k) {
      sum += made.input.Get((i / 30 * kPlanes + k) * 30 + i % 30);
    }
    ASSERT_NEAR(sum, input.Get(i), 1e-12) << i;
  }
  for (int64_t i = 0; i < grid.size(); ++i) {
    ASSERT_NEAR(made.grid.Get(i / 2 * 3 + i % 2), grid.Get(i), 1e-11) << i;
  }
  Tensor output(element_, image.grad_output.shape());
  ASSERT_TRUE(RunGridSampler(kGridSampler2D, image.input, image.grid, mode_, &output));
  const Tensor sampled = ForwardOf(volume, mode_);
  for (int64_t i = 0; i < output.size(); ++i) ASSERT_NEAR(sampled.Get(i), output.Get(i), 1e-13);
}

// <gradOutput, forward(x)> is linear in x; its gradient by x is inputGrad, and its slope along a
// coordinate is gridGrad.
TEST_P(RefGridSampler3D, GradientsAreThoseOfTheForwardFunction) {
  if (element_ != Element::kDouble || mode_.interpolation == kNearest) return;
  Random random(47);
  GridCase c(element_, 1, 2, {5, 4, 6}, {3, 4, 3});
  c.Fill(GridKind::kRandom, random);
  const auto product = [&] {
    const Tensor output = ForwardOf(c, mode_);
    double sum = 0;
    for (int64_t i = 0; i < output.size(); ++i) sum += output.Get(i) * c.grad_output.Get(i);
    return sum;
  };
  const Gradients made = BackwardOf(c, mode_);
  double adjoint = 0;
  for (int64_t i = 0; i < c.input.size(); ++i) adjoint += c.input.Get(i) * made.input.Get(i);
  EXPECT_NEAR(adjoint, product(), 1e-11);

  constexpr double kStep = 1e-6;
  int smooth = 0;
  for (int64_t i = 0; i < c.grid.size(); ++i) {
    const double at = c.grid.Get(i);
    std::array<double, 3> values{};
    for (size_t k = 0; k < 3; ++k) {
      c.grid.Set(i, at + (static_cast<double>(k) - 1) * kStep);
      values[k] = product();
    }
    c.grid.Set(i, at);
    const double left = (values[1] - values[0]) / kStep;
    const double right = (values[2] - values[1]) / kStep;
    if (std::fabs(left - right) > 1e-3) continue;  // a kink within the step
    ++smooth;
    EXPECT_NEAR(made.grid.Get(i), (left + right) / 2, 2e-4) << i;
  }
  EXPECT_GT(smooth, c.grid.size() / 2);
}

}  // namespace
}  // namespace portacl_test
