// The same bytes on every path: every implementation of this machine, thread counts 1, 2, 3 and 7,
// and every floating-point state that a caller may have set.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cfenv>
#include <functional>
#include <limits>

#include "support/api/compare.h"
#include "support/api/float_state.h"
#include "support/api/native.h"
#include "support/api/native_grid.h"
#include "support/api/pick.h"
#include "support/api/shape_list.h"
#include "support/api/thread_counts.h"

namespace portacl_test {
namespace {

// Outputs of one call.
using Outputs = std::vector<Tensor>;
// Runs a call into fresh outputs.
using Computation = std::function<Outputs()>;

// What the reference kernel gives on one thread.
Outputs Reference(const Computation& compute) {
  portaclSetImpl("ref");
  portaclSetNumThreads(1);
  Outputs outputs = compute();
  portaclSetImpl(nullptr);
  portaclSetNumThreads(0);
  return outputs;
}

testing::AssertionResult SameOutputs(const Outputs& got, const Outputs& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    const testing::AssertionResult same = BitIdentical(got[i], want[i]);
    if (!same) return same;
    if (!got[i].GuardsIntact()) return testing::AssertionFailure() << "wrote outside output " << i;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult SameEverywhere(const Computation& compute) {
  const Outputs want = Reference(compute);
  for (const std::string& impl : AvailableImpls()) {
    for (const int threads : ThreadCounts({1, 2, 7, 3})) {
      portaclSetImpl(impl.c_str());
      portaclSetNumThreads(threads);
      const testing::AssertionResult same = SameOutputs(compute(), want);
      if (!same) {
        return testing::AssertionFailure()
               << impl << " with " << threads << " threads: " << same.message();
      }
    }
  }
  portaclSetImpl(nullptr);
  portaclSetNumThreads(0);
  return testing::AssertionSuccess();
}

Computation NearestBackwardOf(const Tensor& grad_output, const Shape& shape, Layout layout,
                              const std::vector<double>& scales = {}) {
  return [&grad_output, shape, layout, scales]() -> Outputs {
    Tensor grad_input(grad_output.element(), shape, layout);
    EXPECT_TRUE(Succeeds(portacl::upsample_nearest_exact_backward(
        View(grad_output), View(grad_input), ScalesOrNull(scales))));
    return {grad_input};
  };
}

Computation NearestForwardOf(const Tensor& input, const Shape& shape, Layout layout,
                             const std::vector<double>& scales = {}) {
  return [&input, shape, layout, scales]() -> Outputs {
    Tensor output(input.element(), shape, layout);
    EXPECT_TRUE(
        Succeeds(portacl::upsample_nearest_exact(View(input), View(output), ScalesOrNull(scales))));
    return {output};
  };
}

// The backward and the forward function; unwanted outputs are left out.
Computation GridOf(const GridCase& c, const GridMode& mode, Layout layout, bool want_input_grad,
                   bool want_grid_grad) {
  return [&c, mode, layout, want_input_grad, want_grid_grad]() -> Outputs {
    Tensor input_grad(c.input.element(), c.input.shape(), layout);
    Tensor grid_grad(c.input.element(), c.grid.shape());
    EXPECT_TRUE(
        Succeeds(SampleGridBackward(View(c.grad_output), View(c.input), View(c.grid),
                                    want_input_grad ? View(input_grad) : portacl::Tensor(),
                                    want_grid_grad ? View(grid_grad) : portacl::Tensor(), mode)));
    Tensor output(c.input.element(), c.grad_output.shape(), layout);
    EXPECT_TRUE(Succeeds(SampleGrid(View(c.input), View(c.grid), View(output), mode)));
    return {input_grad, grid_grad, output};
  };
}

// ---- the shapes of real models -----------------------------------------------------------------

class SameBitsOfShapes : public testing::TestWithParam<ShapeRow> {
 protected:
  ~SameBitsOfShapes() override {
    portaclSetImpl(nullptr);
    portaclSetNumThreads(0);
  }
};
INSTANTIATE_TEST_SUITE_P(, SameBitsOfShapes, testing::ValuesIn(ShapeList()),
                         [](const auto& param) { return param.param.name; });

TEST_P(SameBitsOfShapes, OnEveryImplementationAndThreadCount) {
  const ShapeRow& row = GetParam();
  Random random(111);
  if (row.is_grid) {
    GridCase c(row.element, row.input[0], row.input[1], row.input[2], row.input[3], row.points[0],
               row.points[1]);
    c.input = Tensor(row.element, c.input.shape(), row.layout);
    c.grad_output = Tensor(row.element, c.grad_output.shape(), row.layout);
    c.Fill(row.kind, random);
    EXPECT_TRUE(
        SameEverywhere(GridOf(c, row.mode, row.layout, row.want_input_grad, row.want_grid_grad)));
    return;
  }
  Tensor grad_output(row.element, row.grad_output, row.layout);
  grad_output.FillUniform(random, -1, 1);
  EXPECT_TRUE(SameEverywhere(NearestBackwardOf(grad_output, row.grad_input, row.layout)));
  Tensor input(row.element, row.grad_input, row.layout);
  input.FillUniform(random, -1, 1);
  EXPECT_TRUE(SameEverywhere(NearestForwardOf(input, row.grad_output, row.layout)));
}

// Nearest mode's gridGrad is 0 whatever the inputs hold: a run has no addresses of them.
TEST(SameBits, OfGridGradAloneInNearestModeForSeveralImages) {
  Random random(112);
  for (const Element element : kElements) {
    for (const Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kNegative}) {
      GridCase c(element, 3, 5, 9, 8, 7, 6, layout);
      c.Fill(GridKind::kRandom, random);
      EXPECT_TRUE(
          SameEverywhere(GridOf(c, {.interpolation = kNearest}, Layout::kContiguous, false, true)))
          << NameOf(element) << ' ' << layout;
    }
  }
}

// inputGrad alone does not read the image, which has no address then, wherever it lies.
TEST(SameBits, OfInputGradAloneForSeveralImages) {
  Random random(113);
  for (const Element element : kElements) {
    for (const int64_t channels : {2, 5, 33}) {
      GridCase image(element, 3, channels, 9, 8, 7, 6, Layout::kNegative);
      GridCase volume(element, 3, channels, {3, 4, 5}, {3, 4, 4}, Layout::kNegative);
      for (GridCase* c : {&image, &volume}) {
        c->Fill(GridKind::kRandom, random);
        EXPECT_TRUE(SameEverywhere(GridOf(*c, {}, Layout::kContiguous, true, false)))
            << NameOf(element) << " with " << channels << " channels";
      }
    }
  }
}

// ---- random shapes, with every size around a vector's length -----------------------------------

int64_t NastyExtent(Random& random) {
  static const std::vector<int64_t> kNasty = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33};
  return random.Integer(0, 3) == 0 ? random.Integer(1, 70) : PickOf(random, kNasty);
}

RC_GTEST_PROP(SameBitsRandom, NearestExact, (uint64_t seed)) {
  Random random(seed);
  const Element element = PickOf(random, kElements);
  const bool planar = random.Coin();
  Shape small = {random.Integer(1, 3), NastyExtent(random) % 20 + 1};
  Shape large = small;
  std::vector<double> scales;
  for (int axis = 0; axis < (planar ? 2 : 1); ++axis) {
    small.push_back(NastyExtent(random));
    large.push_back(random.Coin() ? small.back() * random.Integer(1, 4) : NastyExtent(random));
    scales.push_back(random.Integer(0, 3) == 0 ? random.Uniform(0.3, 4) : 0);
  }
  Tensor grad_output(element, large, PickOf(random, kInputLayouts));
  grad_output.FillUniform(random, -1, 1);
  Tensor input(element, small, PickOf(random, kInputLayouts));
  input.FillUniform(random, -1, 1);
  const Layout layout = PickOf(random, kOutputLayouts);
  RC_LOG() << ToString(small) << " <- " << ToString(large) << NameOf(element) << NameOf(layout);
  const testing::AssertionResult backward =
      SameEverywhere(NearestBackwardOf(grad_output, small, layout, scales));
  if (!backward) RC_FAIL(backward.message());
  const testing::AssertionResult forward =
      SameEverywhere(NearestForwardOf(input, large, layout, scales));
  if (!forward) RC_FAIL(forward.message());
}

// Fills a case, and puts in a few points that are not numbers, and values too; then compares.
void CheckRandomGrid(Random& random, GridCase& c) {
  const Element element = c.input.element();
  const GridMode mode = PickOf(random, AllGridModes());
  const Layout layout = PickOf(random, kOutputLayouts);
  c.Fill(static_cast<GridKind>(random.Integer(0, 2)), random);
  for (int64_t strange = random.Integer(0, 4); strange > 0; --strange) {
    c.grid.Set(random.Integer(0, c.grid.size() - 1), PickOf(random, StrangeCoordinates(element)));
  }
  if (random.Integer(0, 4) == 0) {
    c.input.Set(random.Integer(0, c.input.size() - 1), std::numeric_limits<double>::infinity());
    c.grad_output.Set(random.Integer(0, c.grad_output.size() - 1), std::nan(""));
  }
  const int mask = static_cast<int>(random.Integer(0, 5));
  RC_LOG() << ToString(c.input.shape()) << ToString(c.grid.shape()) << NameOf(mode)
           << NameOf(element) << NameOf(layout);
  const testing::AssertionResult same =
      SameEverywhere(GridOf(c, mode, layout, mask != 1, mask != 2));
  if (!same) RC_FAIL(same.message());
}

RC_GTEST_PROP(SameBitsRandom, GridSampler, (uint64_t seed)) {
  Random random(seed);
  GridCase c(PickOf(random, kElements), random.Integer(1, 3), NastyExtent(random),
             NastyExtent(random) % 24 + 1, NastyExtent(random) % 24 + 1, random.Integer(1, 12),
             NastyExtent(random), PickOf(random, kInputLayouts));
  CheckRandomGrid(random, c);
}

RC_GTEST_PROP(SameBitsRandom, GridSamplerOfVolumes, (uint64_t seed)) {
  Random random(seed);
  const auto extent = [&] { return NastyExtent(random) % 10 + 1; };
  GridCase c(PickOf(random, kElements), random.Integer(1, 2), NastyExtent(random) % 20 + 1,
             {extent(), extent(), extent()}, {random.Integer(1, 4), extent(), extent()},
             PickOf(random, kInputLayouts));
  CheckRandomGrid(random, c);
}

// ---- floating-point state ----------------------------------------------------------------------

TEST(FloatStateOfTheCaller, DoesNotReachTheResultsAndIsKept) {
  Random random(121);
  GridCase c(Element::kFloat, 1, 18, 9, 8, 7, 11);
  c.Fill(GridKind::kRandom, random);
  // Subnormal values and sums too.
  for (int64_t i = 0; i < c.grad_output.size(); i += 3) {
    c.grad_output.Set(i, c.grad_output.Get(i) * 0x1p-130);
  }
  Tensor grad_output(Element::kFloat, {1, 3, 9, 22});
  grad_output.Fill([&](int64_t) { return random.Uniform(-1, 1) * 0x1p-128; });
  const Computation grid = GridOf(c, {}, Layout::kContiguous, true, true);
  // Ratios that no binary fraction holds: the index tables must not see the rounding mode either.
  const Computation nearest =
      NearestBackwardOf(grad_output, {1, 3, 7, 9}, Layout::kContiguous, {1.3, 2.4});
  for (const std::string& impl : AvailableImpls()) {
    portaclSetImpl(impl.c_str());
    const Outputs want_grid = grid();
    const Outputs want_nearest = nearest();
    for (const int rounding : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      for (const bool flush : {false, true}) {
        Outputs got_grid;
        Outputs got_nearest;
        {
          const FloatState state(rounding, flush);
          got_grid = grid();
          got_nearest = nearest();
          EXPECT_EQ(std::fegetround(), rounding) << "the caller's mode must be left alone";
        }
        EXPECT_TRUE(SameOutputs(got_grid, want_grid)) << impl << rounding << flush;
        EXPECT_TRUE(SameOutputs(got_nearest, want_nearest)) << impl << rounding << flush;
      }
    }
  }
  portaclSetImpl(nullptr);
}

TEST(FloatStateOfTheCaller, DoesNotReachTheIndexTables) {
  Random random(122);
  for (int64_t in = 1; in <= 30; ++in) {
    for (int64_t out = 1; out <= 60; ++out) {
      const double scale = static_cast<double>(out) / static_cast<double>(in);
      Tensor grad_output(Element::kFloat, {1, 1, out});
      grad_output.FillUniform(random, -1, 1);
      for (const std::vector<double>& scales : {std::vector<double>{}, {scale}}) {
        const Computation compute =
            NearestBackwardOf(grad_output, {1, 1, in}, Layout::kContiguous, scales);
        const Outputs want = compute();
        for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
          const FloatState state(rounding, true);
          const Outputs got = compute();
          ASSERT_TRUE(SameBits(got[0], want[0])) << in << " <- " << out << " " << rounding;
        }
      }
    }
  }
}

}  // namespace
}  // namespace portacl_test
