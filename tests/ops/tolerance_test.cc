// The tests' own judgement: comparisons fail if they must, guards notice a stray byte, the oracles
// agree with the formulas' meaning.
#include "support/api/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "support/api/compare.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/api/nearest_oracle.h"
#include "support/api/npz.h"
#include "test_paths.h"

namespace portacl_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Operator kOp = Operator::kGridSamplerBackward;

std::vector<ExactSum> Exact(double value, int64_t terms = 1) {
  return {{value, std::fabs(value), terms}};
}

TEST(Tolerance, ANaNWhereANumberIsExpectedFails) {
  for (const Element element : kElements) {
    Tensor got(element, {1});
    EXPECT_FALSE(WithinTolerance(kOp, got.Fill(kNaN), Exact(1)));
    EXPECT_FALSE(WithinTolerance(kOp, got.Fill(kNaN), Exact(kInfinity)));
    EXPECT_FALSE(WithinTolerance(kOp, got.Fill(1.0), Exact(kNaN)));
    EXPECT_TRUE(WithinTolerance(kOp, got.Fill(kNaN), Exact(kNaN)));
    EXPECT_FALSE(WithinCommunityStandard(got.Fill(kNaN), {1}));
    EXPECT_FALSE(BitIdentical(got.Fill(kNaN), Tensor(element, {1}).Fill(1.0)));
  }
}

TEST(Tolerance, InfinitiesMustBeTheSameInfinity) {
  Tensor got(Element::kFloat, {1});
  EXPECT_TRUE(WithinTolerance(kOp, got.Fill(kInfinity), Exact(kInfinity)));
  EXPECT_FALSE(WithinTolerance(kOp, got.Fill(-kInfinity), Exact(kInfinity)));
  EXPECT_FALSE(WithinTolerance(kOp, got.Fill(kInfinity), Exact(1)));
  EXPECT_FALSE(WithinTolerance(kOp, got.Fill(1.0), Exact(kInfinity)));
}

TEST(Tolerance, ErrorsUpToTheBoundPassAndLargerOnesFail) {
  for (const Element element : kElements) {
    const ExactSum exact = Exact(1, 10)[0];
    const auto allowed = static_cast<double>(AllowedError(kOp, element, exact));
    const double step = UlpAt(element, 1);
    // 18 roundings and half a step of the element type.
    EXPECT_DOUBLE_EQ(allowed, 9 * ComputeEpsilon(element) + step / 2);
    Tensor got(element, {1});
    EXPECT_TRUE(WithinTolerance(kOp, got.Fill(1 + std::floor(allowed / step) * step), {exact}));
    EXPECT_FALSE(
        WithinTolerance(kOp, got.Fill(1 + (std::floor(allowed / step) + 1) * step), {exact}));
  }
}

TEST(Tolerance, NearestAllowsNothing) {
  for (const Operator op : {Operator::kNearestExact, Operator::kNearestExactBackward}) {
    EXPECT_EQ(AllowedError(op, Element::kBFloat16, Exact(3, 1000)[0]), 0);
  }
}

TEST(Tolerance, SizesMustAgree) {
  const Tensor got(Element::kFloat, {2});
  EXPECT_FALSE(WithinTolerance(kOp, got, Exact(1)));
  EXPECT_FALSE(WithinCommunityStandard(got, {1}));
  EXPECT_FALSE(BitIdentical(got, Tensor(Element::kFloat, {1, 2})));
  EXPECT_FALSE(BitIdentical(got, Tensor(Element::kDouble, {2})));
}

TEST(Tolerance, TheCommunityStandardLimitsMeanAndMaximum) {
  Tensor got(Element::kFloat, {100});
  const std::vector<double> want(100, 1.0);
  const double t = 0x1p-13;
  EXPECT_TRUE(WithinCommunityStandard(got.Fill(1 + 0.9 * t), want));
  EXPECT_FALSE(WithinCommunityStandard(got.Fill(1 + 1.1 * t), want)) << "the mean";
  got.Fill(1.0).Set(7, 1 + 9 * t);
  EXPECT_TRUE(WithinCommunityStandard(got, want));
  got.Set(7, 1 + 11 * t);
  EXPECT_FALSE(WithinCommunityStandard(got, want)) << "the maximum";
}

TEST(BitComparison, SeesSignsOfZeroAndForgivesPayloads) {
  Tensor a(Element::kFloat, {1});
  Tensor b(Element::kFloat, {1});
  EXPECT_FALSE(BitIdentical(a.Fill(0.0), b.Fill(-0.0)));
  const uint32_t odd_nan = 0xFFC12345;
  std::memcpy(a.first(), &odd_nan, sizeof(odd_nan));
  EXPECT_TRUE(BitIdentical(a, b.Fill(kNaN)));
}

TEST(Guards, SeeAByteBesideTheViewInEveryLayout) {
  for (const Layout layout : kOutputLayouts) {
    Tensor tensor(Element::kFloat16, {2, 3, 4, 5}, layout);
    tensor.Fill(1.0);
    EXPECT_TRUE(tensor.GuardsIntact()) << NameOf(layout);
    std::byte* const first = static_cast<std::byte*>(tensor.data());
    std::byte* const end = first + tensor.storage_bytes();
    for (std::byte* at : {first - 1, end, end + Tensor::kRedZone - 1}) {
      *at ^= std::byte{1};
      EXPECT_FALSE(tensor.GuardsIntact()) << NameOf(layout);
      *at ^= std::byte{1};
    }
  }
  Tensor padded(Element::kFloat, {1, 1, 2, 3}, Layout::kOddPadding);
  static_cast<std::byte*>(padded.data())[13] ^= std::byte{1};  // behind the first row
  EXPECT_FALSE(padded.GuardsIntact());
}

TEST(Layouts, DescribeEachElementOnce) {
  for (const Layout layout : kOutputLayouts) {
    Tensor tensor(Element::kDouble, {2, 3, 4, 5}, layout);
    tensor.Fill([](int64_t i) { return static_cast<double>(i); });
    for (int64_t i = 0; i < tensor.size(); ++i) {
      ASSERT_EQ(tensor.Get(i), static_cast<double>(i)) << NameOf(layout);
    }
  }
}

TEST(Goldens, DamagedFilesAreRefused) {
  EXPECT_THROW(ReadNpz("/nonexistent.npz"), std::runtime_error);
  EXPECT_THROW(ReadNpz(std::string(PORTACL_SOURCE_DIR) + "/CMakeLists.txt"), std::runtime_error);
  const Npz goldens = ReadGoldens("pytorch_nearest.npz");
  EXPECT_THROW(goldens.at("pairs").As<double>(), std::runtime_error);
}

// The oracle's gradients are the derivatives of the oracle's forward function.
TEST(GridOracle, GradientsAreTheFiniteDifferencesOfItsForward) {
  Random random(171);
  GridCase c(Element::kDouble, 1, 2, 4, 5, 3, 4);
  c.Fill(GridKind::kRandom, random);
  for (const GridMode& mode : AllGridModes()) {
    SCOPED_TRACE(NameOf(mode));
    const GridGradients gradients = GridBackward(c.grad_output, c.input, c.grid, mode);
    const auto loss = [&](const Tensor& input, const Tensor& grid) {
      const std::vector<ExactSum> output = GridForward(input, grid, mode);
      long double sum = 0;
      for (size_t i = 0; i < output.size(); ++i) {
        sum += output[i].value * c.grad_output.Get(static_cast<int64_t>(i));
      }
      return sum;
    };
    Tensor input = c.input;
    for (int64_t i = 0; i < input.size(); ++i) {
      input.Set(i, c.input.Get(i) + 1);
      const long double difference = loss(input, c.grid) - loss(c.input, c.grid);
      input.Set(i, c.input.Get(i));
      EXPECT_NEAR(static_cast<double>(difference),
                  static_cast<double>(gradients.input_grad[static_cast<size_t>(i)].value), 1e-12);
    }
    constexpr double kStep = 1e-7;  // kinks this near to a random point do not occur with this seed
    Tensor grid = c.grid;
    for (int64_t i = 0; i < grid.size(); ++i) {
      grid.Set(i, c.grid.Get(i) + kStep);
      const long double above = loss(c.input, grid);
      grid.Set(i, c.grid.Get(i) - kStep);
      const long double below = loss(c.input, grid);
      grid.Set(i, c.grid.Get(i));
      EXPECT_NEAR(static_cast<double>((above - below) / (2 * kStep)),
                  static_cast<double>(gradients.grid_grad[static_cast<size_t>(i)].value), 1e-5);
    }
  }
}

TEST(NearestOracle, KnowsTheExampleOfDocument001AndPlainDoubling) {
  EXPECT_EQ(NearestSource(0, 8, 4, 2.0), 0);
  EXPECT_EQ(NearestSource(3, 8, 4, 2.0), 1);
  for (int64_t o = 0; o < 10; ++o) EXPECT_EQ(NearestSource(o, 5, 10, 0), o / 2);
}

}  // namespace
}  // namespace portacl_test
