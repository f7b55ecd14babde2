// The native API: statuses and messages, plans, settings, what it accepts beyond the aclnn API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "support/api/compare.h"
#include "support/api/native.h"
#include "support/api/nearest_oracle.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

void ExpectStatus(const portacl::Status& status, int32_t code,
                  const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), code);
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(static_cast<bool>(status));
  for (const std::string& part : parts) EXPECT_THAT(status.message(), HasSubstr(part));
}

// ---- wider than the aclnn API ------------------------------------------------------------------

using NativeApi = NativeTest;

TEST_F(NativeApi, NearestHasDoubleAnyRatioAnyProfileAndEmptyTensors) {
  portaclSetProfile("atlas-training");
  portaclSetStrict(1);
  Random random(131);
  for (const Element element : kElements) {
    for (const auto& [small, large] :
         {std::pair{Shape{1, 2, 60}, Shape{1, 2, 1}}, std::pair{Shape{1, 2, 1}, Shape{1, 2, 777}},
          std::pair{Shape{1, 1, 1, 2}, Shape{1, 1, 300, 1}},
          std::pair{Shape{0, 2, 5}, Shape{0, 2, 7}}, std::pair{Shape{2, 0, 5}, Shape{2, 0, 7}},
          std::pair{Shape{0, 0, 5, 5}, Shape{0, 0, 7, 7}}}) {
      Tensor g(element, large);
      g.FillUniform(random, -1, 1);
      Tensor result(element, small);
      ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact_backward(View(g), View(result))));
      EXPECT_TRUE(BitIdentical(result, NearestBackward(g, small)));
      EXPECT_TRUE(result.GuardsIntact());
    }
  }
}

TEST_F(NativeApi, GridSamplerHasEveryModeAndDtypeInAnyProfile) {
  portaclSetProfile("atlas-training");
  portaclSetStrict(1);
  Random random(132);
  for (const GridMode& mode : AllGridModes()) {
    for (const Element element : kElements) {
      GridCase c(element, 1, 2, 4, 5, 3, 3);
      c.Fill(GridKind::kRandom, random);
      Tensor input_grad(element, c.input.shape());
      Tensor grid_grad(element, c.grid.shape());
      Tensor output(element, c.grad_output.shape());
      ASSERT_TRUE(Succeeds(NativeGridBackward(c, mode, &input_grad, &grid_grad)));
      ASSERT_TRUE(Succeeds(NativeGrid(c.input, c.grid, mode, &output)));
      const GridGradients want = GridBackward(c.grad_output, c.input, c.grid, mode);
      EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, input_grad, want.input_grad));
      EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, grid_grad, want.grid_grad));
      EXPECT_TRUE(
          WithinTolerance(Operator::kGridSampler, output, GridForward(c.input, c.grid, mode)));
    }
  }
}

// A little before the only pixel of an axis, no other term hides an error of the pixel's weight.
TEST_F(NativeApi, BicubicIsExactRightBeforeAnOnlyPixel) {
  Random random(134);
  std::vector<GridCase> cases;
  cases.emplace_back(Element::kFloat, 1, 2, 1, 1, 20, 21);
  cases.emplace_back(Element::kFloat, 1, 18, 1, 3, 20, 21);
  cases.emplace_back(Element::kFloat, 1, 2, std::array<int64_t, 3>{1, 2, 1},
                     std::array<int64_t, 3>{5, 6, 7});
  for (GridCase& c : cases) {
    c.Fill(GridKind::kRandom, random);
    c.grid.Fill([&](int64_t) { return -std::exp2(-random.Uniform(1, 25)); });
    for (const int padding : {kZeros, kBorder, kReflection}) {
      const GridMode mode{kBicubic, padding, false};
      const GridGradients want = GridBackward(c.grad_output, c.input, c.grid, mode);
      for (const std::string& impl : AvailableImpls()) {
        portaclSetImpl(impl.c_str());
        Tensor input_grad(Element::kFloat, c.input.shape());
        Tensor grid_grad(Element::kFloat, c.grid.shape());
        Tensor output(Element::kFloat, c.grad_output.shape());
        ASSERT_TRUE(Succeeds(NativeGridBackward(c, mode, &input_grad, &grid_grad)));
        ASSERT_TRUE(Succeeds(NativeGrid(c.input, c.grid, mode, &output)));
        EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, input_grad, want.input_grad));
        EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, grid_grad, want.grid_grad));
        EXPECT_TRUE(
            WithinTolerance(Operator::kGridSampler, output, GridForward(c.input, c.grid, mode)));
      }
    }
  }
}

TEST_F(NativeApi, EmptyGridSamplesFillTheOutputsWithZero) {
  for (const auto& [n, c, oh, layout] : {std::tuple{2, 2, 0, Layout::kContiguous},
                                         {3, 2, 0, Layout::kNegative},
                                         {2, 0, 3, Layout::kContiguous},
                                         {0, 2, 3, Layout::kContiguous}}) {
    GridCase empty(Element::kFloat, n, c, 3, 4, oh, 5, layout);
    empty.grid.Fill(0.0);
    Tensor input_grad(Element::kFloat, empty.input.shape());
    Tensor grid_grad(Element::kFloat, empty.grid.shape());
    ASSERT_TRUE(Succeeds(NativeGridBackward(empty, {}, &input_grad, &grid_grad)));
    EXPECT_THAT(input_grad.Values(), testing::Each(0.0));
    EXPECT_THAT(grid_grad.Values(), testing::Each(0.0));
    Tensor output(Element::kFloat, empty.grad_output.shape());
    EXPECT_TRUE(Succeeds(NativeGrid(empty.input, empty.grid, {}, &output)));
  }
}

TEST_F(NativeApi, ExtentsThatAFloatCannotIndexAreExact) {
  if (ShortRun()) GTEST_SKIP() << "reads 2^24 elements one by one, for seconds";
  constexpr int64_t kIn = (int64_t{1} << 24) + 3;
  constexpr int64_t kOut = 1000;
  Tensor g = Tensor(Element::kBFloat16, {1, 1, kOut}).Fill(1.0);
  Tensor result(Element::kBFloat16, {1, 1, kIn});
  ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact_backward(View(g), View(result))));
  int64_t total = 0;
  for (int64_t i = 0; i < kIn; ++i) total += static_cast<int64_t>(result.Get(i));
  EXPECT_EQ(total, kOut);
  for (int64_t o = 0; o < kOut; ++o) {
    ASSERT_EQ(result.Get(NearestSource(o, kIn, kOut, 0)), 1) << o;
  }
}

// ---- statuses ----------------------------------------------------------------------------------

TEST_F(NativeApi, WrongArgumentsOfNearestNameTheParameter) {
  Tensor small(Element::kFloat, {1, 2, 4, 5});
  Tensor large(Element::kFloat, {1, 2, 8, 10});
  const auto call = [](const portacl::Tensor& g, const portacl::Tensor& out,
                       const double* scales = nullptr) {
    return portacl::upsample_nearest_exact_backward(g, out, scales);
  };
  const portacl::Tensor g = View(large);
  const portacl::Tensor out = View(small);
  const double negative[] = {1, -1};
  const double nan[] = {std::nan(""), 0};
  ExpectStatus(call(portacl::Tensor(), out), PORTACL_ERROR_NULL, {"gradOutput", "null"});
  ExpectStatus(call(g, portacl::Tensor()), PORTACL_ERROR_NULL, {"gradInput", "null"});
  ExpectStatus(call(View(Tensor(Element::kFloat, {2, 8})), out), PORTACL_ERROR_INVALID,
               {"gradOutput", "rank"});
  ExpectStatus(call(g, View(Tensor(Element::kFloat, {1, 2, 5}))), PORTACL_ERROR_INVALID,
               {"gradInput", "rank"});
  ExpectStatus(call(g, View(Tensor(Element::kFloat16, {1, 2, 4, 5}))), PORTACL_ERROR_INVALID,
               {"gradInput", "FLOAT16"});
  ExpectStatus(
      call(portacl::Tensor(large.first(), static_cast<portacl::DataType>(3), {1, 2, 8, 10}), out),
      PORTACL_ERROR_INVALID, {"gradOutput", "INT32"});
  ExpectStatus(call(g, View(Tensor(Element::kFloat, {2, 2, 4, 5}))), PORTACL_ERROR_INVALID,
               {"gradInput", "N"});
  ExpectStatus(call(g, View(Tensor(Element::kFloat, {1, 3, 4, 5}))), PORTACL_ERROR_INVALID,
               {"gradInput", "C"});
  ExpectStatus(call(g, View(Tensor(Element::kFloat, {1, 2, 0, 5}))), PORTACL_ERROR_INVALID,
               {"gradInput", "H", "at least 1"});
  ExpectStatus(call(g, out, negative), PORTACL_ERROR_INVALID, {"scales[1]", "-1"});
  ExpectStatus(call(g, out, nan), PORTACL_ERROR_INVALID, {"scales[0]", "nan"});
  ExpectStatus(call(portacl::Tensor(nullptr, portacl::DataType::kFloat32, {1, 2, 8, 10}), out),
               PORTACL_ERROR_NULL, {"gradOutput", "null"});
  ExpectStatus(call(portacl::Tensor(static_cast<float*>(large.first()), {1, 2, -8, 10}), out),
               PORTACL_ERROR_INVALID, {"gradOutput", "-8"});
  ExpectStatus(
      call(portacl::Tensor(static_cast<float*>(large.first()), {INT64_MAX, INT64_MAX, 8, 10}), out),
      PORTACL_ERROR_INVALID, {"gradOutput"});
  ExpectStatus(
      call(portacl::Tensor(large.first(), portacl::DataType::kFloat32, {1, 2, 8, 10}, {80, 10, 1}),
           out),
      PORTACL_ERROR_INVALID, {"gradOutput", "rank"});
  ExpectStatus(call(g, portacl::Tensor(small.first(), portacl::DataType::kFloat32, {1, 2, 4, 5},
                                       {40, 20, 0, 1})),
               PORTACL_ERROR_INVALID, {"gradInput", "overlaps itself"});
  ExpectStatus(call(g, portacl::Tensor(static_cast<float*>(large.first()) + 3, {1, 2, 4, 5})),
               PORTACL_ERROR_INVALID, {"gradInput", "gradOutput", "overlaps"});
  ExpectStatus(call(g, portacl::Tensor(static_cast<char*>(small.first()) + 1,
                                       portacl::DataType::kFloat32, {1, 2, 4, 5})),
               PORTACL_ERROR_INVALID, {"gradInput", "aligned"});
  EXPECT_TRUE(Succeeds(call(g, out)));
}

// The distance between the lowest and the highest element is 2^64 - 2: -2 in 64 bits.
TEST_F(NativeApi, StridesWhoseSpanExceeds64BitsAreRefused) {
  std::vector<float> memory(16);
  const portacl::DataType dtype = portacl::DataType::kFloat32;
  const int64_t shape[] = {1, 1, 2, 2};
  const int64_t dense[] = {4, 4, 2, 1};
  const int64_t vast[] = {4, 4, INT64_MAX, -INT64_MAX};
  const portacl::Tensor sane(memory.data(), dtype, 4, shape, dense);
  const portacl::Tensor mad(memory.data() + 8, dtype, 4, shape, vast);
  for (const bool output : {false, true}) {
    portacl::Plan plan;
    ExpectStatus(
        plan.upsample_nearest_exact_backward(output ? sane : mad, output ? mad : sane, nullptr),
        PORTACL_ERROR_INVALID, {output ? "gradInput" : "gradOutput", "more than memory can hold"});
  }
}

// An axis of one element is never stepped along: its stride may be anything.
TEST_F(NativeApi, StridesOfAxesWithOneElementDoNotMatter) {
  constexpr int64_t kFar = int64_t{1} << 61;
  const std::vector<float> values(27, 2.0f), points(24, 0.25f);
  for (const size_t axes : {size_t{2}, size_t{3}}) {
    const std::vector<int64_t> input_shape =
        axes == 2 ? std::vector<int64_t>{1, 1, 3, 3} : std::vector<int64_t>{1, 1, 3, 3, 3};
    const std::vector<int64_t> input_strides = axes == 2
                                                   ? std::vector<int64_t>{kFar, kFar, 3, 1}
                                                   : std::vector<int64_t>{kFar, -kFar, 9, 3, 1};
    const std::vector<int64_t> grid_shape =
        axes == 2 ? std::vector<int64_t>{1, 4, 2, 2} : std::vector<int64_t>{1, 2, 2, 2, 3};
    const std::vector<int64_t> output_shape =
        axes == 2 ? std::vector<int64_t>{1, 1, 4, 2} : std::vector<int64_t>{1, 1, 2, 2, 2};
    const std::vector<int64_t> output_strides = axes == 2
                                                    ? std::vector<int64_t>{kFar, -kFar, 2, 1}
                                                    : std::vector<int64_t>{kFar, kFar, 4, 2, 1};
    std::vector<float> got(8, 0.0f);
    const portacl::Tensor input(const_cast<float*>(values.data()), portacl::DataType::kFloat32,
                                axes + 2, input_shape.data(), input_strides.data());
    const portacl::Tensor grid(const_cast<float*>(points.data()), portacl::DataType::kFloat32,
                               axes + 2, grid_shape.data());
    const portacl::Tensor output(got.data(), portacl::DataType::kFloat32, axes + 2,
                                 output_shape.data(), output_strides.data());
    EXPECT_TRUE(Succeeds(axes == 2 ? portacl::grid_sampler_2d(input, grid, output)
                                   : portacl::grid_sampler_3d(input, grid, output)));
    EXPECT_THAT(got, testing::Each(2.0f)) << axes << " axes";
  }
}

// inputGrad alone does not read the input: its strides may then be any numbers.
TEST_F(NativeApi, StridesOfAnUnreadInputDoNotMatter) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  const int64_t shape[] = {1, 1, 2, 2, 2}, strides[] = {8, 8, kLeast, kLeast, 1};
  const int64_t grid_shape[] = {1, 1, 1, 1, 3}, value_shape[] = {1, 1, 1, 1, 1};
  float input_value = 0, grad_output_value = 4;
  float points[3] = {-0.5f, -0.5f, -0.5f};  // the first element's place
  std::vector<float> got(8, 7.0f);
  constexpr auto kFloat = portacl::DataType::kFloat32;
  EXPECT_TRUE(Succeeds(portacl::grid_sampler_3d_backward(
      portacl::Tensor(&grad_output_value, kFloat, 5, value_shape),
      portacl::Tensor(&input_value, kFloat, 5, shape, strides),
      portacl::Tensor(points, kFloat, 5, grid_shape), portacl::Tensor(got.data(), kFloat, 5, shape),
      portacl::Tensor())));
  EXPECT_THAT(got, testing::ElementsAre(4, 0, 0, 0, 0, 0, 0, 0));
}

// <f(x), g> = <x, gradient(g)> of each pair of C++ functions.
TEST_F(NativeApi, EveryResizingFunctionHasItsTranspose) {
  using In = const portacl::Tensor&;
  const double scales[] = {1.5, 0.75};
  struct Pair {
    std::function<portacl::Status(In, In)> forward, backward;
  };
  std::vector<Pair> pairs = {
      {[](In x, In y) { return portacl::upsample_nearest(x, y); },
       [](In g, In x) { return portacl::upsample_nearest_backward(g, x); }},
      {[](In x, In y) { return portacl::affine_grid(x, y, true); },
       [](In g, In x) { return portacl::affine_grid_backward(g, x, true); }}};
  pairs.push_back({[=](In x, In y) { return portacl::upsample_lanczos(x, y, scales); },
                   [=](In g, In x) { return portacl::upsample_lanczos_backward(g, x, scales); }});
  for (const bool corners : {false, true}) {
    for (const bool antialias : {false, true}) {
      pairs.push_back(
          {[=](In x, In y) { return portacl::upsample_linear(x, y, corners, antialias, scales); },
           [=](In g, In x) {
             return portacl::upsample_linear_backward(g, x, corners, antialias, scales);
           }});
      pairs.push_back(
          {[=](In x, In y) { return portacl::upsample_cubic(x, y, corners, antialias, scales); },
           [=](In g, In x) {
             return portacl::upsample_cubic_backward(g, x, corners, antialias, scales);
           }});
    }
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const bool affine = i == 1;
    const Shape from = affine ? Shape{2, 2, 3} : Shape{2, 3, 4, 8};
    const Shape to = affine ? Shape{2, 4, 5, 2} : Shape{2, 3, 6, 6};
    Tensor x(Element::kDouble, from), gradient(Element::kDouble, from);
    Tensor y(Element::kDouble, to), g(Element::kDouble, to);
    for (int64_t k = 0; k < x.size(); ++k) x.Set(k, std::sin(k + 1.0));
    for (int64_t k = 0; k < g.size(); ++k) g.Set(k, std::cos(2.0 * k));
    ASSERT_TRUE(Succeeds(pairs[i].forward(View(x), View(y)))) << i;
    ASSERT_TRUE(Succeeds(pairs[i].backward(View(g), View(gradient)))) << i;
    double forward = 0, backward = 0;
    for (int64_t k = 0; k < g.size(); ++k) forward += y.Get(k) * g.Get(k);
    for (int64_t k = 0; k < x.size(); ++k) backward += x.Get(k) * gradient.Get(k);
    EXPECT_NEAR(forward, backward, 1e-12) << i;
    EXPECT_GT(std::fabs(forward), 1e-3) << i;
    ExpectStatus(pairs[i].forward(portacl::Tensor(), View(y)), PORTACL_ERROR_NULL,
                 {affine ? "theta is null" : "input is null"});
  }
  Tensor image(Element::kFloat, {1, 1, 4, 4});
  ExpectStatus(portacl::upsample_linear(View(image), View(image)), PORTACL_ERROR_INVALID,
               {"portacl::upsample_linear: output overlaps input in memory, but must not"});
}

TEST_F(NativeApi, LanczosRefusesCornersAndTakesPicturesAsPillowDoes) {
  Tensor image(Element::kFloat, {1, 1, 4, 4});
  Tensor small(Element::kFloat, {1, 1, 2, 2});
  portaclPlan* plan = nullptr;
  for (const bool backward : {false, true}) {
    const auto make = backward ? portaclPlanUpsampleLanczosBackward : portaclPlanUpsampleLanczos;
    const portacl::Tensor from = View(backward ? small : image);
    const portacl::Tensor to = View(backward ? image : small);
    const portacl::Status status(make(from.c_tensor(), to.c_tensor(), 1, 1, nullptr, &plan));
    ExpectStatus(status, PORTACL_ERROR_INVALID,
                 {"alignCorners is true, but must be false: Lanczos has no corners"});
    EXPECT_EQ(plan, nullptr);
  }
  const portacl::Tensor from = View(image), to = View(small);
  const portacl::Status floats(portaclPlanUpsampleLanczos(from.c_tensor(), to.c_tensor(), 0,
                                                          PORTACL_PILLOW_13, nullptr, &plan));
  ExpectStatus(floats, PORTACL_ERROR_INVALID, {"antialias is 13", "images (N, C, H, W) of UINT8"});
}

TEST_F(NativeApi, TheForwardFunctionsSpeakOfTheirOwnParameters) {
  Tensor small(Element::kFloat, {1, 2, 4, 5});
  Tensor large(Element::kFloat, {1, 2, 8, 10});
  small.Fill(0.0);
  ExpectStatus(portacl::upsample_nearest_exact(portacl::Tensor(), View(large)), PORTACL_ERROR_NULL,
               {"portacl::upsample_nearest_exact", "input", "null"});
  ExpectStatus(portacl::upsample_nearest_exact(View(small), portacl::Tensor()), PORTACL_ERROR_NULL,
               {"output", "null"});
  ExpectStatus(
      portacl::upsample_nearest_exact(View(small), View(Tensor(Element::kFloat, {1, 3, 8, 10}))),
      PORTACL_ERROR_INVALID, {"input", "output", "C"});
  ExpectStatus(portacl::upsample_nearest_exact(View(large), View(large)), PORTACL_ERROR_INVALID,
               {"output", "input", "overlaps"});
  GridCase c(Element::kFloat, 1, 2, 3, 4, 5, 6);
  Tensor wrong(Element::kFloat, {1, 2, 6, 5});
  ExpectStatus(NativeGrid(c.input, c.grid, {}, &wrong), PORTACL_ERROR_INVALID,
               {"portacl::grid_sampler_2d", "output", "[1, 2, 6, 5]", "[1, 2, 5, 6]"});
  ExpectStatus(portacl::grid_sampler_2d(View(c.input), portacl::Tensor(), View(c.grad_output)),
               PORTACL_ERROR_NULL, {"grid", "null"});
}

TEST_F(NativeApi, WrongArgumentsOfTheGridSamplerNameTheParameter) {
  GridCase c(Element::kFloat, 1, 2, 3, 4, 5, 6);
  Tensor input_grad(Element::kFloat, c.input.shape());
  Tensor grid_grad(Element::kFloat, c.grid.shape());
  for (const auto& [mode, part] : {std::pair{GridMode{3, 0, false}, "interpolation is 3"},
                                   std::pair{GridMode{-1, 0, false}, "interpolation is -1"},
                                   std::pair{GridMode{0, 3, false}, "padding is 3"},
                                   std::pair{GridMode{0, -1, false}, "padding is -1"}}) {
    ExpectStatus(NativeGridBackward(c, mode, &input_grad, &grid_grad), PORTACL_ERROR_INVALID,
                 {part});
  }
  Tensor wrong(Element::kFloat, {1, 2, 4, 3});
  ExpectStatus(NativeGridBackward(c, {}, &wrong, nullptr), PORTACL_ERROR_INVALID,
               {"inputGrad", "[1, 2, 4, 3]", "[1, 2, 3, 4]"});
  ExpectStatus(NativeGridBackward(c, {}, nullptr, &wrong), PORTACL_ERROR_INVALID,
               {"gridGrad", "[1, 2, 4, 3]", "[1, 5, 6, 2]"});
  EXPECT_TRUE(Succeeds(NativeGridBackward(c, {}, nullptr, nullptr))) << "nothing wanted";
}

TEST_F(NativeApi, ARefusedPlanIsNullAndItsMessageStaysReadable) {
  portaclPlan* plan = reinterpret_cast<portaclPlan*>(8);
  EXPECT_EQ(portaclPlanUpsampleNearestExactBackward(nullptr, nullptr, nullptr, &plan),
            PORTACL_ERROR_NULL);
  EXPECT_EQ(plan, nullptr);
  const std::string message = portaclGetErrorMessage();
  EXPECT_THAT(message, HasSubstr("gradOutput"));
  EXPECT_EQ(portaclGetErrorMessage(), message) << "reading does not clear it";
  EXPECT_EQ(portaclPlanUpsampleNearestExactBackward(nullptr, nullptr, nullptr, nullptr),
            PORTACL_ERROR_NULL);
  EXPECT_THAT(portaclGetErrorMessage(), HasSubstr("plan is null"));
  std::thread([] { EXPECT_STREQ(portaclGetErrorMessage(), ""); }).join();
}

// ---- plans -------------------------------------------------------------------------------------

class NativePlan : public NativeTest {
 protected:
  NativePlan() {
    Random random(141);
    case_.Fill(GridKind::kRandom, random);
    portaclSetImpl("ref");
  }
  portacl::Status Make(portacl::Plan* plan) {
    return plan->grid_sampler_2d_backward(View(case_.grad_output), View(case_.input),
                                          View(case_.grid), View(input_grad_), View(grid_grad_));
  }
  GridCase case_{Element::kFloat, 1, 3, 6, 5, 4, 7};
  Tensor input_grad_{Element::kFloat, case_.input.shape()};
  Tensor grid_grad_{Element::kFloat, case_.grid.shape()};
};

TEST_F(NativePlan, RunsOftenOnItsOwnAndOnOtherAddresses) {
  portacl::Plan plan;
  ASSERT_TRUE(Succeeds(Make(&plan)));
  EXPECT_STREQ(plan.kernel(), "ref");
  ASSERT_TRUE(Succeeds(plan.run()));
  const Tensor first = input_grad_;
  ASSERT_TRUE(Succeeds(plan.run()));
  EXPECT_TRUE(BitIdentical(input_grad_, first));

  Random random(142);
  GridCase other(Element::kFloat, 1, 3, 6, 5, 4, 7);
  other.Fill(GridKind::kRandom, random);
  Tensor input_grad(Element::kFloat, other.input.shape());
  void* const addresses[] = {other.grad_output.first(), other.input.first(), other.grid.first(),
                             input_grad.first(), nullptr};
  ASSERT_TRUE(Succeeds(plan.run(addresses)));
  const GridGradients want = GridBackward(other.grad_output, other.input, other.grid, {});
  EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, input_grad, want.input_grad));
  EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, grid_grad_, want.grid_grad))
      << "a null entry keeps the planned address";
  void* const overlapping[] = {nullptr, nullptr, nullptr, case_.input.first(), nullptr};
  ExpectStatus(plan.run(overlapping), PORTACL_ERROR_INVALID, {"inputGrad", "overlaps"});
}

TEST_F(NativePlan, TakesAWorkspaceOrFindsOneItself) {
  portacl::Plan plan;
  ASSERT_TRUE(Succeeds(Make(&plan)));
  ASSERT_GT(plan.workspace_size(), 0u);
  ASSERT_TRUE(Succeeds(plan.run()));
  const Tensor want = input_grad_;
  Tensor workspace(Element::kDouble, {static_cast<int64_t>(plan.workspace_size() / 8 + 16)});
  ASSERT_TRUE(Succeeds(plan.run(nullptr, workspace.data(), plan.workspace_size())));
  EXPECT_TRUE(BitIdentical(input_grad_, want));
  EXPECT_TRUE(workspace.GuardsIntact());
  ExpectStatus(plan.run(nullptr, workspace.data(), plan.workspace_size() - 1),
               PORTACL_ERROR_INVALID, {"workspaceSize"});
}

// A view that repeats one element may have any extent. Its plan looks at the other tensor.
TEST_F(NativePlan, OfOneElementRepeatedIsMade) {
  std::vector<float> one(1), memory(64);
  for (const std::string& impl : AvailableImpls()) {
    ASSERT_EQ(portaclSetImpl(impl.c_str()), PORTACL_OK);
    for (const int64_t extent : {int64_t{1} << 40, (int64_t{1} << 62) + 1}) {
      const portacl::Tensor endless(one.data(), portacl::DataType::kFloat32, {1, 1, extent},
                                    {0, 0, 0});
      for (int64_t columns = 1; columns <= 8; ++columns) {
        const portacl::Tensor few(memory.data(), portacl::DataType::kFloat32, {1, 1, columns});
        portacl::Plan plan;
        EXPECT_TRUE(Succeeds(plan.upsample_nearest_exact_backward(endless, few, nullptr))) << impl;
        EXPECT_TRUE(Succeeds(plan.upsample_nearest_backward(endless, few, nullptr))) << impl;
        EXPECT_TRUE(Succeeds(plan.upsample_linear(endless, few))) << impl;
        EXPECT_TRUE(Succeeds(plan.upsample_cubic(endless, few))) << impl;
      }
    }
  }
}

TEST_F(NativePlan, WithTablesOfAllElementsRepeatedIsRefused) {
  std::vector<float> one(1), memory(64);
  const portacl::Tensor endless(one.data(), portacl::DataType::kFloat32, {1, 1, int64_t{1} << 40},
                                {0, 0, 0});
  const portacl::Tensor few(memory.data(), portacl::DataType::kFloat32, {1, 1, 5});
  portacl::Plan plan;
  const std::vector<std::string> words = {"out of memory", "table"};
  ExpectStatus(plan.upsample_nearest_exact(endless, few, nullptr), PORTACL_ERROR_RUNTIME, words);
  ExpectStatus(plan.upsample_nearest(endless, few, nullptr), PORTACL_ERROR_RUNTIME, words);
  ExpectStatus(plan.upsample_linear_backward(endless, few), PORTACL_ERROR_RUNTIME, words);
  ExpectStatus(plan.upsample_cubic_backward(endless, few), PORTACL_ERROR_RUNTIME, words);
  ExpectStatus(plan.upsample_linear(endless, few, false, true), PORTACL_ERROR_RUNTIME, words);
}

TEST_F(NativePlan, IsMovableReusableAndRefusesToRunWhenEmpty) {
  portacl::Plan plan;
  ExpectStatus(plan.run(), PORTACL_ERROR_NULL, {"plan"});
  EXPECT_EQ(plan.workspace_size(), 0u);
  EXPECT_STREQ(plan.kernel(), "");
  ASSERT_TRUE(Succeeds(Make(&plan)));
  portacl::Plan moved(std::move(plan));
  EXPECT_TRUE(Succeeds(moved.run()));
  portacl::Plan assigned;
  assigned = std::move(moved);
  EXPECT_TRUE(Succeeds(assigned.run()));
  Tensor small(Element::kFloat, {1, 1, 2});
  Tensor large = Tensor(Element::kFloat, {1, 1, 4}).Fill(1.0);
  ASSERT_TRUE(Succeeds(assigned.upsample_nearest_exact_backward(View(large), View(small))));
  ASSERT_TRUE(Succeeds(assigned.run()));
  EXPECT_THAT(small.Values(), testing::Each(2.0));
  EXPECT_FALSE(assigned.upsample_nearest_exact(View(large), portacl::Tensor()).ok());
  ExpectStatus(assigned.run(), PORTACL_ERROR_NULL, {"plan"});
  portaclPlanDestroy(nullptr);
}

TEST_F(NativePlan, RunsOnManyThreadsAtOnceWithTheirOwnTensors) {
  portacl::Plan plan;
  ASSERT_TRUE(Succeeds(Make(&plan)));
  ASSERT_TRUE(Succeeds(plan.run()));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Tensor input_grad(Element::kFloat, case_.input.shape());
      Tensor grid_grad(Element::kFloat, case_.grid.shape());
      void* const addresses[] = {nullptr, nullptr, nullptr, input_grad.first(), grid_grad.first()};
      for (int round = 0; round < 20; ++round) {
        ASSERT_TRUE(Succeeds(plan.run(addresses)));
        ASSERT_TRUE(BitIdentical(input_grad, input_grad_));
        ASSERT_TRUE(BitIdentical(grid_grad, grid_grad_));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NativePlan, OutlivesAChangeOfThreadCount) {
  portaclSetNumThreads(2);
  portacl::Plan plan;
  ASSERT_TRUE(Succeeds(Make(&plan)));
  ASSERT_TRUE(Succeeds(plan.run()));
  const Tensor want = input_grad_;
  for (const int threads : {7, 1, 3}) {
    portaclSetNumThreads(threads);
    ASSERT_TRUE(Succeeds(plan.run()));
    EXPECT_TRUE(BitIdentical(input_grad_, want));
  }
}

// ---- settings ----------------------------------------------------------------------------------

using NativeSettings = NativeTest;

TEST_F(NativeSettings, ProfilesAreTheFourNamesAndNoOther) {
  for (const char* name : {"atlas-a2", "atlas-a3", "atlas-training", "ascend-950", "open"}) {
    EXPECT_EQ(portaclSetProfile(name), PORTACL_OK);
    EXPECT_STREQ(portaclGetProfile(), name);
  }
  EXPECT_EQ(portaclSetProfile("atlas-a9"), PORTACL_ERROR_INVALID);
  EXPECT_THAT(
      portaclGetErrorMessage(),
      testing::AllOf(HasSubstr("atlas-a9"), HasSubstr("atlas-training"), HasSubstr("open")));
  EXPECT_EQ(portaclSetProfile(nullptr), PORTACL_ERROR_NULL);
  EXPECT_STREQ(portaclGetProfile(), "open") << "a refused name changes nothing";
}

TEST_F(NativeSettings, StrictIsASwitch) {
  EXPECT_EQ(portaclGetStrict(), 0);
  EXPECT_EQ(portaclSetStrict(1), PORTACL_OK);
  EXPECT_EQ(portaclGetStrict(), 1);
}

TEST_F(NativeSettings, ThreadCountsAreCheckedAndZeroRestoresTheDefault) {
  const int32_t usual = portaclGetNumThreads();
  EXPECT_GE(usual, 1);
  EXPECT_EQ(portaclSetNumThreads(5), PORTACL_OK);
  EXPECT_EQ(portaclGetNumThreads(), 5);
  EXPECT_EQ(portaclSetNumThreads(-1), PORTACL_ERROR_INVALID);
  EXPECT_THAT(portaclGetErrorMessage(), HasSubstr("-1"));
  EXPECT_EQ(portaclSetNumThreads(1 << 20), PORTACL_ERROR_INVALID);
  EXPECT_EQ(portaclGetNumThreads(), 5);
  EXPECT_EQ(portaclSetNumThreads(0), PORTACL_OK);
  EXPECT_EQ(portaclGetNumThreads(), usual);
}

TEST_F(NativeSettings, AnUnknownImplementationIsRefusedByTheNextPlanWithTheChoices) {
  Tensor small(Element::kFloat, {1, 1, 2});
  Tensor large = Tensor(Element::kFloat, {1, 1, 4}).Fill(1.0);
  EXPECT_EQ(portaclSetImpl("avx9000"), PORTACL_OK);
  EXPECT_STREQ(portaclGetImpl(), "avx9000");
  ExpectStatus(portacl::upsample_nearest_exact_backward(View(large), View(small)),
               PORTACL_ERROR_INVALID, {"avx9000", "ref"});
  for (const char* name : {"", static_cast<const char*>(nullptr)}) {
    EXPECT_EQ(portaclSetImpl(name), PORTACL_OK);
    EXPECT_STREQ(portaclGetImpl(), "");
    EXPECT_TRUE(Succeeds(portacl::upsample_nearest_exact_backward(View(large), View(small))));
  }
}

TEST_F(NativeSettings, EveryListedImplementationCanBeForced) {
  Tensor small(Element::kFloat, {1, 32, 64, 64});
  Tensor large = Tensor(Element::kFloat, {1, 32, 128, 128}).Fill(1.0);
  for (const std::string& impl : AvailableImpls()) {
    ASSERT_EQ(portaclSetImpl(impl.c_str()), PORTACL_OK);
    portacl::Plan plan;
    ASSERT_TRUE(Succeeds(plan.upsample_nearest_exact_backward(View(large), View(small))));
    EXPECT_THAT(std::string(plan.kernel()),
                testing::AnyOf(testing::StartsWith(impl), testing::StartsWith("ref")));
  }
}

TEST_F(NativeSettings, APathIsForcedOrTheCallIsRefusedWithTheChoices) {
  Tensor small(Element::kFloat, {1, 32, 64, 64});
  Tensor large = Tensor(Element::kFloat, {1, 32, 128, 128}).Fill(1.0);
  for (const std::string& impl : AvailableImpls()) {
    const auto plan_by = [&](const std::string& name, portacl::Plan* plan) {
      EXPECT_EQ(portaclSetImpl(name.c_str()), PORTACL_OK);
      return plan->upsample_nearest_exact_backward(View(large), View(small));
    };
    portacl::Plan plan;
    if (impl == "ref") {
      ExpectStatus(plan_by("ref:x2", &plan), PORTACL_ERROR_INVALID, {"ref:x2", "none"});
      continue;
    }
    for (const char* path : {":x2", ":permute", ":wide"}) {
      ASSERT_TRUE(Succeeds(plan_by(impl + path, &plan)));
      EXPECT_EQ(plan.kernel(), impl + path);
      EXPECT_TRUE(Succeeds(plan.run()));
    }
    ExpectStatus(plan_by(impl + ":x3", &plan), PORTACL_ERROR_NO_KERNEL, {impl + ":x3", "serve"});
    ExpectStatus(plan_by(impl + ":slab", &plan), PORTACL_ERROR_INVALID,
                 {impl + ":slab", "x1, x2, x3, x4, permute, wide, channels_last, packed"});
  }
  EXPECT_EQ(portaclSetImpl("sse:x2"), PORTACL_OK);
  ExpectStatus(portacl::upsample_nearest_exact_backward(View(large), View(small)),
               PORTACL_ERROR_INVALID, {"\"sse\"", "ref"});
}

TEST_F(NativeSettings, PathsAreLeftOutOrTheCallIsRefusedWithTheNames) {
  Tensor small(Element::kFloat, {1, 32, 64, 64});
  Tensor large = Tensor(Element::kFloat, {1, 32, 128, 128}).Fill(1.0);
  for (const std::string& impl : AvailableImpls()) {
    const auto plan_by = [&](const std::string& name, portacl::Plan* plan) {
      EXPECT_EQ(portaclSetImpl(name.c_str()), PORTACL_OK);
      return plan->upsample_nearest_exact_backward(View(large), View(small));
    };
    portacl::Plan plan;
    if (impl == "ref") {
      ExpectStatus(plan_by("ref:-x2", &plan), PORTACL_ERROR_INVALID, {"ref:-x2", "x2"});
      continue;
    }
    const std::vector<std::pair<const char*, const char*>> rows = {
        {":-slab-gathered", ":x2"}, {":-x2", ":permute"}, {":-x2-permute", ":wide"}};
    for (const auto& [without, path] : rows) {
      ASSERT_TRUE(Succeeds(plan_by(impl + without, &plan)));
      EXPECT_EQ(plan.kernel(), impl + path);
      EXPECT_TRUE(Succeeds(plan.run()));
    }
    ExpectStatus(plan_by(impl + ":-x2-permute-wide", &plan), PORTACL_ERROR_NO_KERNEL,
                 {impl + ":-x2-permute-wide", "leaves out every path"});
    for (const char* wrong : {":-x5", ":-x2-", ":-", ":-x2-X3"}) {
      ExpectStatus(plan_by(impl + wrong, &plan), PORTACL_ERROR_INVALID,
                   {impl + wrong, "gathered", "permute", "slab"});
    }
  }
}

TEST_F(NativeSettings, InfoDescribesTheLibraryAsItRuns) {
  portaclSetProfile("open");
  portaclSetStrict(1);
  portaclSetNumThreads(3);
  portaclSetImpl("ref");
  EXPECT_EQ(InfoAt("/version"), portaclGetVersion());
  EXPECT_STREQ(portaclGetVersion(), PORTACL_VERSION_STRING);
  EXPECT_EQ(InfoAt("/profile"), "open");
  EXPECT_EQ(InfoAt("/threads"), "3");
  EXPECT_EQ(InfoAt("/impl"), "ref");
  EXPECT_EQ(InfoAt("/strict"), "true");
  EXPECT_NE(InfoAt("/cpu"), "");
  for (const char* op : {"upsample_nearest_exact_backward", "upsample_nearest_exact",
                         "grid_sampler_2d_backward", "grid_sampler_2d"}) {
    EXPECT_THAT(InfoAt(std::string("/operators/") + op),
                testing::EndsWith(R"({"available":true,"name":"ref"}])"))
        << "best first, ref last";
  }
}

}  // namespace
}  // namespace portacl_test
