// The affine grid and its gradient: the reference against the definition, and the SIMD kernels
// against the reference, byte for byte, on every instruction set of this machine. Kernels run
// through plans.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "ops/call.h"
#include "ops/kernels.h"
#include "ops/plan.h"
#include "ops/settings.h"
#include "support/api/compare.h"
#include "support/end_of_memory.h"
#include "support/kernel_test.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

portacl::base::TensorDesc DescOf(const Tensor& tensor, const void* first) {
  portacl::base::TensorDesc desc;
  desc.dtype = ToDType(tensor.element());
  const auto rank = static_cast<int>(tensor.shape().size());
  desc.shape = portacl::base::Dims(tensor.shape().data(), rank);
  desc.strides = portacl::base::Dims(tensor.strides().data(), rank);
  desc.has_storage = false;
  desc.data = const_cast<void*>(first);
  return desc;
}

std::shared_ptr<const portacl::ops::Plan> PlanAffine(const std::string& impl, bool backward,
                                                     bool align_corners,
                                                     const portacl::base::TensorDesc& theta,
                                                     const portacl::base::TensorDesc& grid) {
  namespace signatures = portacl::ops::signatures;
  portacl::ops::Call call(
      backward ? signatures::portaclPlanAffineGridBackward : signatures::portaclPlanAffineGrid,
      portacl::ops::Surface::kNative, "test");
  call.Add(backward ? &grid : &theta);
  call.Add(backward ? &theta : &grid);
  call.Add(int64_t{align_corners});
  std::shared_ptr<const portacl::ops::Plan> plan;
  portacl::ops::SetForcedImpl(impl);
  const auto status = portacl::ops::MakePlan(call, &plan);
  portacl::ops::SetForcedImpl("");
  EXPECT_TRUE(status.ok()) << status.message();
  return plan;
}

// In a workspace that ends where the process may not read.
void RunPlan(const portacl::ops::Plan& plan) {
  const Tensor bytes(Element::kDouble, {static_cast<int64_t>(plan.workspace_size() + 7) / 8});
  const EndOfMemory workspace(bytes);
  plan.Run(plan.ElementsAt(plan.PlannedStorages()),
           workspace.begin() + workspace.size() - plan.workspace_size());
}

void RunAffine(bool backward, bool align_corners, const Tensor& theta, const Tensor& grid) {
  const auto plan = PlanAffine("ref", backward, align_corners, DescOf(theta, theta.first()),
                               DescOf(grid, grid.first()));
  ASSERT_NE(plan, nullptr);
  RunPlan(*plan);
}

// Where point i of n lies, by the definition in plain words.
long double PlaceOf(int64_t i, int64_t n, bool align_corners) {
  if (n == 1) return 0;
  const long double aligned =
      -1 + 2 * static_cast<long double>(i) / static_cast<long double>(n - 1);
  return align_corners ? aligned
                       : aligned * static_cast<long double>(n - 1) / static_cast<long double>(n);
}

// Calls body(position, x, y, z) for the points of a grid (N, H, W, 2) or (N, D, H, W, 3),
// row-major.
template <class Body>
void ForPoints(const Shape& grid, bool align_corners, const Body& body) {
  const size_t axes = grid.size() - 2;
  const int64_t width = grid[axes];
  const int64_t height = grid[axes - 1];
  const int64_t depth = axes == 3 ? grid[1] : 1;
  for (int64_t at = 0; at < grid[0] * depth * height * width; ++at) {
    body(at, at / (depth * height * width),
         std::array<long double, 3>{
             PlaceOf(at % width, width, align_corners),
             PlaceOf(at / width % height, height, align_corners),
             depth == 1 ? 0 : PlaceOf(at / width / height % depth, depth, align_corners)});
  }
}

std::vector<Shape> SomeGrids() {
  return {{2, 5, 7, 2},  {1, 1, 1, 2},    {3, 64, 33, 2},
          {1, 2, 16, 2}, {2, 3, 4, 5, 3}, {1, 1, 7, 20, 3}};
}

class RefAffineGrid : public testing::TestWithParam<Element> {};
INSTANTIATE_TEST_SUITE_P(, RefAffineGrid, testing::ValuesIn(kElements),
                         [](const auto& param) { return NameOf(param.param); });

Shape ThetaOf(const Shape& grid) {
  const auto axes = static_cast<int64_t>(grid.size()) - 2;
  return {grid[0], axes, axes + 1};
}

TEST_P(RefAffineGrid, PointsAreTheMapsOfPlaces) {
  Random random(41);
  for (const Shape& shape : SomeGrids()) {
    for (const bool align : {false, true}) {
      for (const Layout layout : kOutputLayouts) {
        SCOPED_TRACE(testing::Message() << ToString(shape) << align << layout);
        const auto axes = static_cast<int64_t>(shape.size()) - 2;
        Tensor theta(GetParam(), ThetaOf(shape), layout);
        theta.FillUniform(random, -1, 1);
        Tensor grid(GetParam(), shape, layout);
        RunAffine(false, align, theta, grid);
        ForPoints(shape, align, [&](int64_t at, int64_t n, const std::array<long double, 3>& b) {
          for (int64_t j = 0; j < axes; ++j) {
            const int64_t row = (n * axes + j) * (axes + 1);
            long double want = theta.Get(row + axes);
            for (int64_t k = 0; k < axes; ++k)
              want += theta.Get(row + k) * b[static_cast<size_t>(k)];
            const long double allowed =
                8 * ComputeEpsilon(GetParam()) + UlpAt(GetParam(), static_cast<double>(want)) / 2;
            ASSERT_LE(std::fabs(grid.Get(at * axes + j) - want), allowed) << at << " " << j;
          }
        });
        EXPECT_TRUE(grid.GuardsIntact());
      }
    }
  }
}

TEST_P(RefAffineGrid, GradientIsTheSumOverPlaces) {
  Random random(42);
  for (const Shape& shape : SomeGrids()) {
    for (const bool align : {false, true}) {
      SCOPED_TRACE(testing::Message() << ToString(shape) << align);
      const auto axes = static_cast<int64_t>(shape.size()) - 2;
      Tensor grid_grad(GetParam(), shape, Layout::kOddPadding);
      grid_grad.FillUniform(random, -1, 1);
      Tensor theta_grad(GetParam(), ThetaOf(shape), Layout::kTransposed);
      RunAffine(true, align, theta_grad, grid_grad);
      std::vector<ExactSum> want(static_cast<size_t>(theta_grad.size()));
      ForPoints(shape, align, [&](int64_t at, int64_t n, std::array<long double, 3> b) {
        for (int64_t j = 0; j < axes; ++j) {
          for (int64_t k = 0; k <= axes; ++k) {
            const long double place = k == axes ? 1 : b[static_cast<size_t>(k)];
            want[static_cast<size_t>((n * axes + j) * (axes + 1) + k)].Add(
                place, std::fabs(place) + 1, grid_grad.Get(at * axes + j));
          }
        }
      });
      EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, theta_grad, want));
      EXPECT_TRUE(theta_grad.GuardsIntact());
    }
  }
}

float FusedPlace(int64_t i, int64_t n, bool align_corners) {
  if (n == 1) return 0;
  const float last = static_cast<float>(n - 1);
  const float step = 2 / last;
  const float place = i < n / 2 ? std::fma(step, static_cast<float>(i), -1.0F)
                                : std::fma(-step, static_cast<float>(n - 1 - i), 1.0F);
  return align_corners ? place : place * last / static_cast<float>(n);
}

// Element k of theta's gradient, one-hot: the place itself; the grid of a one-hot theta: the same.
TEST(RefAffineGridBits, PlacesAreFusedStepsInBothDirections) {
  for (const bool align : {false, true}) {
    for (int64_t width = 1; width <= 70; ++width) {
      Tensor theta = Tensor(Element::kFloat, {1, 2, 3}).Fill({1, 0, 0, 0, 0, 0});
      Tensor grid(Element::kFloat, {1, 1, width, 2});
      RunAffine(false, align, theta, grid);
      for (int64_t i = 0; i < width; ++i) {
        ASSERT_EQ(grid.Get(2 * i), FusedPlace(i, width, align)) << width << " " << i;
        Tensor one = Tensor(Element::kFloat, grid.shape()).Fill([i](int64_t at) {
          return at == 2 * i ? 1.0 : 0.0;
        });
        Tensor theta_grad(Element::kFloat, {1, 2, 3});
        RunAffine(true, align, theta_grad, one);
        ASSERT_EQ(theta_grad.Get(0), grid.Get(2 * i)) << width << " " << i;
        ASSERT_EQ(theta_grad.Get(2), 1);
      }
    }
  }
}

TEST(RefAffineGridBits, RowsAreSummedInSixteenLanesThenInOrder) {
  Random random(43);
  Tensor grid_grad(Element::kFloat, {1, 3, 37, 2});
  grid_grad.FillUniform(random, -1, 1);
  Tensor theta_grad(Element::kFloat, {1, 2, 3});
  RunAffine(true, false, theta_grad, grid_grad);
  for (int64_t j = 0; j < 2; ++j) {
    float sum = 0;
    for (int64_t row = 0; row < 3; ++row) {
      std::array<float, 16> lanes{};
      for (int64_t w = 0; w < 37; ++w) {
        lanes[static_cast<size_t>(w % 16)] +=
            static_cast<float>(grid_grad.Get((row * 37 + w) * 2 + j));
      }
      const auto pair = [&](size_t i) { return lanes[i] + lanes[i + 8]; };
      const auto four = [&](size_t i) { return pair(i) + pair(i + 4); };
      sum += (four(0) + four(2)) + (four(1) + four(3));
    }
    EXPECT_EQ(theta_grad.Get(3 * j + 2), static_cast<double>(sum));
  }
}

// ---- SIMD kernels ------------------------------------------------------------------------------

// Uniform, and some of the values that arithmetic treats in its own way.
void FillWithSome(Random& random, bool finite, Tensor* tensor) {
  tensor->FillUniform(random, -1, 1);
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (random.Integer(0, 9) > 0) continue;
    const double odd[] = {0.0, -0.0, 1e-40, -6e-8, INFINITY, -INFINITY, NAN};
    tensor->Set(i, odd[random.Integer(0, finite ? 3 : 6)]);
  }
}

struct AffineCase {
  bool backward, align_corners;
  Tensor theta, grid;
};

AffineCase RandomAffineCase(Random& random) {
  const auto element = kElements[static_cast<size_t>(
      random.Integer(0, static_cast<int64_t>(std::size(kElements)) - 1))];
  const int64_t width = random.Integer(0, 3) > 0 ? random.Integer(1, 70) : random.Integer(70, 700);
  Shape shape = {random.Integer(1, 3), random.Integer(1, 5), width, 2};
  if (random.Coin()) shape = {random.Integer(1, 2), random.Integer(1, 4), shape[1], width, 3};
  const bool backward = random.Coin();
  const auto layout = [&](const auto& layouts) {
    const auto last = static_cast<int64_t>(layouts.size()) - 1;
    return random.Coin() ? Layout::kContiguous
                         : layouts[static_cast<size_t>(random.Integer(0, last))];
  };
  const auto read = layout(kInputLayouts);
  const auto written = layout(kOutputLayouts);
  const bool finite = random.Coin();
  AffineCase made{backward, random.Coin(),
                  Tensor(element, ThetaOf(shape), backward ? written : read),
                  Tensor(element, shape, backward ? read : written)};
  FillWithSome(random, finite, backward ? &made.grid : &made.theta);
  return made;
}

TEST(AffineGridKernels, EqualTheReferenceOnRandomCases) {
  const uint64_t seed = FreshSeed();
  Random random(seed);
  SCOPED_TRACE(testing::Message() << "PORTACL_TEST_SEED=" << seed);
  std::map<std::string, int> runs;
  const int64_t count = ByRunLength(1500, 200);
  for (int64_t i = 0; i < count; ++i) {
    const AffineCase c = RandomAffineCase(random);
    SCOPED_TRACE(testing::Message() << i << " " << ToString(c.grid.shape())
                                    << NameOf(c.grid.element()) << (c.backward ? " gradient" : ""));
    Tensor want = c.backward ? c.theta : c.grid;
    RunAffine(c.backward, c.align_corners, c.backward ? want : c.theta, c.backward ? c.grid : want);
    for (const std::string& impl : portacl::ops::AvailableImpls()) {
      portacl::runtime::SetNumThreads(static_cast<int>(random.Integer(1, 3)));
      Tensor got = c.backward ? c.theta : c.grid;
      const Tensor& source = c.backward ? c.grid : c.theta;
      const EndOfMemory from(source), to(got);
      const auto first = [](const EndOfMemory& memory, const Tensor& tensor) {
        return memory.begin() + tensor.offset() * static_cast<int64_t>(SizeOf(tensor.element()));
      };
      const auto read = DescOf(source, first(from, source));
      const auto written = DescOf(got, first(to, got));
      const auto plan = PlanAffine(impl, c.backward, c.align_corners, c.backward ? written : read,
                                   c.backward ? read : written);
      ASSERT_NE(plan, nullptr);
      ++runs[plan->kernel()];
      RunPlan(*plan);
      std::memcpy(got.data(), to.begin(), to.size());
      ASSERT_TRUE(SameAs(want, got)) << plan->kernel();
    }
  }
  portacl::runtime::SetNumThreads(0);
  for (const std::string& impl : portacl::ops::AvailableImpls()) {
    EXPECT_GT(runs[impl], count / 2) << impl << " was tested too seldom";
  }
}

// A gradient of few points and one of many, shared out or not.
TEST(AffineGridKernels, DoNotDependOnThreads) {
  Random random(44);
  for (const Shape& shape :
       {Shape{1, 300, 600, 2}, Shape{40, 30, 28, 2}, Shape{2, 20, 40, 60, 3}}) {
    for (const bool backward : {false, true}) {
      Tensor want_theta(Element::kFloat, ThetaOf(shape)), want_grid(Element::kFloat, shape);
      (backward ? want_grid : want_theta).FillUniform(random, -1, 1);
      for (const int threads : {1, 2, 3, 7}) {
        portacl::runtime::SetNumThreads(threads);
        Tensor theta = want_theta, grid = want_grid;
        const auto plan = PlanAffine(threads == 1 ? "ref" : "", backward, false,
                                     DescOf(theta, theta.first()), DescOf(grid, grid.first()));
        ASSERT_NE(plan, nullptr);
        RunPlan(*plan);
        if (threads == 1) (backward ? want_theta : want_grid) = backward ? theta : grid;
        EXPECT_TRUE(SameAs(backward ? want_theta : want_grid, backward ? theta : grid)) << threads;
      }
    }
  }
  portacl::runtime::SetNumThreads(0);
}

}  // namespace
}  // namespace portacl_test
