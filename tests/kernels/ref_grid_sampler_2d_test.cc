// The reference kernels of grid sampling and its gradients, against the double oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
#include "ref/grid_sampler_point.h"
#include "support/api/compare.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::ref::kGridSampler2D;
using portacl::ref::kGridSampler2DBackward;

class RefGridSampler : public testing::TestWithParam<std::tuple<GridMode, Element>> {
 protected:
  const GridMode mode_ = std::get<0>(GetParam());
  const Element element_ = std::get<1>(GetParam());

  // Runs both kernels and judges every element.
  void Check(const GridCase& c, Layout layout = Layout::kContiguous) const {
    Tensor input_grad(element_, c.input.shape(), layout);
    Tensor grid_grad(element_, c.grid.shape(), layout);
    ASSERT_TRUE(RunGridBackward(kGridSampler2DBackward, c.grad_output, c.input, c.grid, mode_,
                                &input_grad, &grid_grad));
    const GridGradients want = GridBackward(c.grad_output, c.input, c.grid, mode_);
    EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, input_grad, want.input_grad));
    EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, grid_grad, want.grid_grad));
    EXPECT_TRUE(input_grad.GuardsIntact());
    EXPECT_TRUE(grid_grad.GuardsIntact());

    Tensor output(element_, c.grad_output.shape(), layout);
    ASSERT_TRUE(RunGridSampler(kGridSampler2D, c.input, c.grid, mode_, &output));
    EXPECT_TRUE(
        WithinTolerance(Operator::kGridSampler, output, GridForward(c.input, c.grid, mode_)));
    EXPECT_TRUE(output.GuardsIntact());
  }
};
INSTANTIATE_TEST_SUITE_P(, RefGridSampler,
                         testing::Combine(testing::ValuesIn(AllGridModes()),
                                          testing::ValuesIn(kElements)),
                         [](const auto& param) {
                           return NameOf(std::get<0>(param.param)) +
                                  NameOf(std::get<1>(param.param));
                         });

TEST_P(RefGridSampler, StaysWithinTheBoundOnEveryGridKindAndChannelCount) {
  Random random(21);
  for (const GridKind kind : {GridKind::kRandom, GridKind::kSmooth, GridKind::kOneCell}) {
    for (const int64_t channels : {1, 3, 16, 17, 33}) {
      GridCase c(element_, 2, channels, 6, 7, 5, 9);
      Check(c.Fill(kind, random));
    }
  }
}

TEST_P(RefGridSampler, HasTheContractsBits) {
  if (mode_.interpolation == kBicubic) return;  // defined by the reference kernel itself
  Random random(27);
  for (const GridKind kind : {GridKind::kRandom, GridKind::kOneCell}) {
    for (const int64_t channels : {1, 15, 16, 17, 40}) {
      GridCase c(element_, 2, channels, 7, 5, 6, 8);
      c.Fill(kind, random);
      const std::vector<double> strange = StrangeCoordinates(element_);
      for (size_t i = 0; i < strange.size(); ++i) {
        c.grid.Set(static_cast<int64_t>(7 * i), strange[i]);
      }
      Tensor input_grad(element_, c.input.shape());
      Tensor grid_grad(element_, c.grid.shape());
      ASSERT_TRUE(RunGridBackward(kGridSampler2DBackward, c.grad_output, c.input, c.grid, mode_,
                                  &input_grad, &grid_grad));
      const GridBits want = GridBackwardBits(c.grad_output, c.input, c.grid, mode_);
      EXPECT_TRUE(BitIdentical(input_grad, want.input_grad));
      EXPECT_TRUE(BitIdentical(grid_grad, want.grid_grad));
    }
  }
}

TEST_P(RefGridSampler, StaysWithinTheBoundOnEveryLayout) {
  Random random(22);
  for (const Layout layout : kInputLayouts) {
    GridCase c(element_, 2, 3, 5, 4, 3, 4, layout);
    Check(c.Fill(GridKind::kRandom, random),
          layout == Layout::kExpanded ? Layout::kContiguous : layout);
  }
}

TEST_P(RefGridSampler, ImagesOfOnePixelAreFine) {
  Random random(23);
  for (const auto& [h, w] : {std::pair{1, 1}, std::pair{1, 6}, std::pair{6, 1}}) {
    GridCase c(element_, 1, 2, h, w, 6, 6);
    Check(c.Fill(GridKind::kRandom, random));
  }
}

TEST_P(RefGridSampler, StrangeCoordinatesFollowTheContractAndNeverIndexMemory) {
  const std::vector<double> values = StrangeCoordinates(element_);
  const auto count = static_cast<int64_t>(values.size());
  Random random(24);
  for (const auto& [h, w] : {std::pair{4, 5}, std::pair{1, 1}, std::pair{1, 4}}) {
    GridCase c(element_, 1, 2, h, w, count, count);
    c.Fill(GridKind::kRandom, random);
    c.grid.Fill([&](int64_t i) {
      return values[static_cast<size_t>(i % 2 == 0 ? i / 2 % count : i / 2 / count)];
    });
    Check(c);
  }
}

TEST_P(RefGridSampler, CoordinatesOfAnySizeStayWithinTheBound) {
  Random random(28);
  const double digits = element_ == Element::kFloat16 ? 4 : 12;
  for (const auto& [h, w] : {std::pair{5, 7}, std::pair{3, 10}}) {
    GridCase c(element_, 1, 2, h, w, 12, 15);
    c.Fill(GridKind::kRandom, random);
    c.grid.Fill([&](int64_t) {
      return (random.Coin() ? 1 : -1) * std::pow(10, random.Uniform(-3, digits));
    });
    Check(c);
  }
}

TEST_P(RefGridSampler, NonFiniteValuesFollowIeeeArithmetic) {
  const double infinity = std::numeric_limits<double>::infinity();
  Random random(25);
  for (const double value : {infinity, -infinity, std::nan("")}) {
    GridCase c(element_, 1, 2, 5, 5, 6, 6);
    c.Fill(GridKind::kRandom, random);
    c.grad_output.Set(7, value);
    c.grad_output.Set(40, -value);
    c.input.Set(12, value);
    c.input.Set(13, -value);
    c.input.Set(30, value);
    Check(c);
  }
}

TEST_P(RefGridSampler, MasksLeaveTheOtherOutputsBitsUnchanged) {
  Random random(26);
  GridCase c(element_, 1, 3, 5, 4, 6, 3);
  c.Fill(GridKind::kRandom, random);
  Tensor input_grad(element_, c.input.shape());
  Tensor grid_grad(element_, c.grid.shape());
  ASSERT_TRUE(RunGridBackward(kGridSampler2DBackward, c.grad_output, c.input, c.grid, mode_,
                              &input_grad, &grid_grad));
  Tensor only_input(element_, c.input.shape());
  Tensor only_grid(element_, c.grid.shape());
  ASSERT_TRUE(RunGridBackward(kGridSampler2DBackward, c.grad_output, c.input, c.grid, mode_,
                              &only_input, nullptr));
  ASSERT_TRUE(RunGridBackward(kGridSampler2DBackward, c.grad_output, c.input, c.grid, mode_,
                              nullptr, &only_grid));
  EXPECT_TRUE(BitIdentical(only_input, input_grad));
  EXPECT_TRUE(BitIdentical(only_grid, grid_grad));
}

// ---- coordinates -------------------------------------------------------------------------------

TEST(RefGridPoint, CoordinatesAreWithinFourRoundingsOfTheFormula) {
  Random random(31);
  for (int i = 0; i < 20000; ++i) {
    const int64_t extent = random.Integer(1, 5000);
    portacl::ops::GridSampler2DShape shape;
    shape.align_corners = random.Coin();
    const auto x = static_cast<float>(random.Uniform(-3, 3));
    const auto place = portacl::ref::Locate<float>(x, extent, shape);
    const long double exact =
        shape.align_corners
            ? (static_cast<long double>(x) + 1) / 2 * static_cast<long double>(extent - 1)
            : ((static_cast<long double>(x) + 1) * static_cast<long double>(extent) - 1) / 2;
    const long double allowed =
        4 * std::numeric_limits<float>::epsilon() *
        std::max<long double>(static_cast<long double>(extent), std::fabs(exact));
    ASSERT_LE(std::fabs(static_cast<long double>(place.at) - exact), allowed) << x << " " << extent;
  }
}

TEST(RefGridPoint, ReflectionAlwaysLandsInTheImage) {
  Random random(32);
  for (int i = 0; i < 20000; ++i) {
    const int64_t extent = random.Integer(1, 100);
    const auto at = static_cast<float>(random.Uniform(-1, 1) * std::pow(10, random.Uniform(0, 38)));
    for (const bool aligned : {false, true}) {
      float sign = 0;
      const portacl::ref::AxisRule rule{extent, portacl::ops::Padding::kReflection, aligned};
      const float reflected = portacl::ref::Reflect(at, rule, &sign);
      ASSERT_GE(reflected, 0);
      ASSERT_LE(reflected, static_cast<float>(extent - 1));
      ASSERT_TRUE(sign == 0 || sign == 1 || sign == -1);
    }
  }
}

}  // namespace
}  // namespace portacl_test
