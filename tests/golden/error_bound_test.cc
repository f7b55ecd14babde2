// The exact values and bounds that verdicts stand on: against the tests' own oracles.
#include "tools/testing/error_bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/api/grid_oracle.h"
#include "support/api/nearest_oracle.h"
#include "support/api/random.h"
#include "tools/testing/generate_cases.h"
#include "tools/testing/golden_set.h"

namespace portacl::golden {
namespace {

portacl_test::Tensor AsTestTensor(const ViewTensor& tensor) {
  return portacl_test::Tensor(static_cast<portacl_test::Element>(tensor.dtype()), tensor.shape())
      .Fill(tensor.Values());
}

bool IsSame(double a, double b, double allowed) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::fabs(a - b) <= allowed;
}

// Two ways to add the same terms in a wider arithmetic: far nearer than any kernel.
void ExpectSameSums(const Exact& exact, const std::vector<portacl_test::ExactSum>& oracle,
                    const std::string& what) {
  ASSERT_EQ(exact.value.size(), oracle.size()) << what;
  for (size_t i = 0; i < oracle.size(); ++i) {
    const double nearness = 1e-13 * static_cast<double>(oracle[i].magnitude);
    EXPECT_TRUE(IsSame(exact.value[i], static_cast<double>(oracle[i].value), nearness))
        << what << " element " << i << ": " << exact.value[i] << ", oracle " << oracle[i].value;
  }
}

void ExpectOracleOf(const Case& c) {
  const Call call = MakeCall(c);
  const std::vector<Exact> exact = ExactOutputs(call);
  const portacl_test::GridMode mode{static_cast<int>(call.integer("interpolationMode")),
                                    static_cast<int>(call.integer("paddingMode")),
                                    call.integer("alignCorners") != 0};
  const portacl_test::Tensor input = AsTestTensor(call.tensor("input"));
  const portacl_test::Tensor grid = AsTestTensor(call.tensor("grid"));
  if (!c.op->backward()) {
    ExpectSameSums(exact[0], portacl_test::GridForward(input, grid, mode), ToString(c));
    return;
  }
  const portacl_test::GridGradients oracle =
      portacl_test::GridBackward(AsTestTensor(call.tensor("gradOutput")), input, grid, mode);
  if (call.at("inputGrad").wanted) ExpectSameSums(exact[0], oracle.input_grad, ToString(c));
  if (call.at("gridGrad").wanted) ExpectSameSums(exact[1], oracle.grid_grad, ToString(c));
}

// A short run takes every third.
TEST(Exact, AgreesWithTheTestsOracleOnEveryBoundaryOfSampling) {
  const std::vector<Case> cases = GenerateCases("boundary", {});
  const auto step = static_cast<size_t>(portacl_test::ByRunLength(1, 3));
  for (size_t i = 0; i < cases.size(); i += step) {
    const Case& c = cases[i];
    if (!c.op->sampler()) continue;
    // 1e30 in a sum hides the other terms; long double keeps more of them than double.
    if (ToString(c).find("input.values=nonfinite") == std::string::npos) ExpectOracleOf(c);
    if (HasFailure()) return;
  }
}

TEST(Exact, NearestSumsAreWithinOneRoundingOfTheOrderedOnes) {
  GenerateOptions options;
  options.count = 600;
  for (const Case& c : GenerateCases("random", options)) {
    if (c.op->family != Family::kNearestExact || !c.op->backward()) continue;
    const Call call = MakeCall(c);
    const std::vector<double> scales = call.scales();
    const portacl_test::Tensor ordered = portacl_test::NearestBackward(
        AsTestTensor(call.tensor("gradOutput")), call.tensor("out").shape(), scales);
    const Exact exact = ExactOutputs(call)[0];
    for (size_t i = 0; i < exact.value.size(); ++i) {
      const double got = ordered.Get(static_cast<int64_t>(i));
      ASSERT_LE(std::fabs(got - exact.value[i]), exact.bound[i]) << ToString(c) << " element " << i;
    }
  }
}

TEST(Exact, ABoundIsExactWhereCoordinatesAre) {
  // Extents of powers of two and coordinates of few bits: pixel centres and halves are exact in
  // float and in double, so nothing is allowed for them.
  const Call exact = MakeCall(
      ParseCase("grid_sampler_2d_backward input=1x1x8x8 grid=1x20x20x2 grid.values=kinks seed=3"));
  for (const Exact& output : ExactOutputs(exact)) {
    for (size_t i = 0; i < output.value.size(); ++i) {
      EXPECT_LT(output.bound[i], 1e-4) << i;
    }
  }
  // On an extent of 7 the same points are rounded: either side of a kink is right.
  const Call rounded = MakeCall(
      ParseCase("grid_sampler_2d_backward input=1x1x7x7 grid=1x20x20x2 grid.values=kinks seed=3"));
  double largest = 0;
  const std::vector<Exact> outputs = ExactOutputs(rounded);
  for (const double bound : outputs[1].bound) largest = std::max(largest, bound);
  EXPECT_GT(largest, 0.01);
}

}  // namespace
}  // namespace portacl::golden
