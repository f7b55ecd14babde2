// Circular and constant padding, and values for points outside: the reference against sampling of
// padded and shifted images, its gradients against differences, and the vectorised kernels against
// the reference, bit by bit.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/api/thread_counts.h"
#include "support/kernel_test.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::ops::GridSampler2DBackwardParams;
using portacl::ops::GridSampler2DParams;
using portacl::ops::GridSampler3DBackwardParams;
using portacl::ops::GridSampler3DParams;

constexpr double kFill = 2.75;
constexpr double kReplacement = -3.5;

// How points are sampled.
struct Rule {
  int interpolation = kBilinear;
  portacl::ops::Padding padding = portacl::ops::Padding::kZeros;
  bool align_corners = false;
  bool replaces_outside = false;
  double fill = kFill;
};

std::string NameOf(const Rule& rule) {
  return "interpolation " + std::to_string(rule.interpolation) + ", padding " +
         std::to_string(static_cast<int>(rule.padding)) + (rule.align_corners ? ", aligned" : "") +
         (rule.replaces_outside ? ", replaced" : "");
}

// Those that the aclnn functions lack.
std::vector<Rule> ExtendedRules() {
  std::vector<Rule> rules;
  for (const int interpolation : {kBilinear, kNearest, kBicubic}) {
    for (int padding = 0; padding <= 4; ++padding) {
      for (const bool align_corners : {false, true}) {
        for (const bool replaces : {false, true}) {
          const auto as = static_cast<portacl::ops::Padding>(padding);
          if (padding > 2 || replaces)
            rules.push_back({interpolation, as, align_corners, replaces});
        }
      }
    }
  }
  return rules;
}

portacl::ops::GridSampler3DShape ShapeOf(const GridCase& c, const Rule& rule) {
  auto shape = GridShape(c.input, c.grid, {rule.interpolation, 0, rule.align_corners});
  shape.padding = rule.padding;
  shape.fill = rule.fill;
  shape.replaces_outside = rule.replaces_outside;
  shape.outside_value = kReplacement;
  return shape;
}

template <class Params>
[[nodiscard]] bool Sample(const portacl::base::Kernel<Params>& kernel, const GridCase& c,
                          const Rule& rule, Tensor* output, std::string_view path = "") {
  Params params;
  params.shape = ShapeOf(c, rule);
  params.input = c.input.first();
  params.grid = c.grid.first();
  params.output = output->first();
  SetStrides(c.input, &params.input_stride);
  SetStrides(c.grid, &params.grid_stride);
  SetStrides(*output, &params.output_stride);
  return RunKernel(kernel, params, path);
}

// A null result is one that is not wanted.
template <class Params>
[[nodiscard]] bool Spread(const portacl::base::Kernel<Params>& kernel, const GridCase& c,
                          const Rule& rule, Tensor* input_grad, Tensor* grid_grad,
                          std::string_view path = "") {
  Params params;
  params.shape = ShapeOf(c, rule);
  params.want_input_grad = input_grad != nullptr;
  params.want_grid_grad = grid_grad != nullptr;
  params.grad_output = c.grad_output.first();
  params.input = c.input.first();
  params.grid = c.grid.first();
  SetStrides(c.grad_output, &params.grad_output_stride);
  SetStrides(c.input, &params.input_stride);
  SetStrides(c.grid, &params.grid_stride);
  if (input_grad != nullptr) {
    params.input_grad = input_grad->first();
    SetStrides(*input_grad, &params.input_grad_stride);
  }
  if (grid_grad != nullptr) {
    params.grid_grad = grid_grad->first();
    SetStrides(*grid_grad, &params.grid_grad_stride);
  }
  return RunKernel(kernel, params, path);
}

// The kernels of images, or of volumes.
struct Images {
  using Forward = GridSampler2DParams;
  using Backward = GridSampler2DBackwardParams;
  static const auto& forward() { return portacl::ref::kGridSampler2D; }
  static const auto& backward() { return portacl::ref::kGridSampler2DBackward; }
  static auto vectorised() { return portacl::cpu::GridSampler2DKernels(); }
  static auto vectorised_backward() { return portacl::cpu::GridSampler2DBackwardKernels(); }
  static GridCase Case(Element element, int64_t n, int64_t c, const std::array<int64_t, 3>& extents,
                       const std::array<int64_t, 3>& points, Layout layout = Layout::kContiguous) {
    return GridCase(element, n, c, extents[1], extents[2], points[0] * points[1], points[2],
                    layout);
  }
};
struct Volumes {
  using Forward = GridSampler3DParams;
  using Backward = GridSampler3DBackwardParams;
  static const auto& forward() { return portacl::ref::kGridSampler3D; }
  static const auto& backward() { return portacl::ref::kGridSampler3DBackward; }
  static auto vectorised() { return portacl::cpu::GridSampler3DKernels(); }
  static auto vectorised_backward() { return portacl::cpu::GridSampler3DBackwardKernels(); }
  static GridCase Case(Element element, int64_t n, int64_t c, const std::array<int64_t, 3>& extents,
                       const std::array<int64_t, 3>& points, Layout layout = Layout::kContiguous) {
    return GridCase(element, n, c, extents, points, layout);
  }
};

template <class Kind>
class RefPaddedGridSampler : public testing::Test {
 protected:
  static Tensor Forward(const GridCase& c, const Rule& rule) {
    Tensor output(c.input.element(), c.grad_output.shape());
    EXPECT_TRUE(Sample(Kind::forward(), c, rule, &output));
    EXPECT_TRUE(output.GuardsIntact());
    return output;
  }
};
using Kinds = testing::Types<Images, Volumes>;
TYPED_TEST_SUITE(RefPaddedGridSampler, Kinds);

// An element of a row-major tensor (N, C, extents...) by the places on its axes, outermost first.
int64_t Flat(const Shape& shape, int64_t plane, const std::vector<int64_t>& at) {
  int64_t index = plane;
  for (size_t a = 0; a < at.size(); ++a) index = index * shape[a + 2] + at[a];
  return index;
}

// The same image `times` times along each axis.
Tensor Tiled(const Tensor& image, int64_t times) {
  Shape shape = image.shape();
  for (size_t a = 2; a < shape.size(); ++a) shape[a] *= times;
  return Tensor(image.element(), shape).Fill([&](int64_t i) {
    std::vector<int64_t> at(shape.size() - 2);
    for (size_t a = at.size(); a-- > 0; i /= shape[a + 2]) {
      at[a] = i % shape[a + 2] % image.shape()[a + 2];
    }
    return image.Get(Flat(image.shape(), i, at));
  });
}

TYPED_TEST(RefPaddedGridSampler, CircularIsSamplingOfTheImageBesideItself) {
  Random random(71);
  for (const int interpolation : {kBilinear, kNearest, kBicubic}) {
    for (const bool align_corners : {false, true}) {
      for (const std::array<int64_t, 3>& extents :
           {std::array<int64_t, 3>{3, 4, 5}, {1, 2, 1}, {2, 1, 6}}) {
        GridCase c = TypeParam::Case(Element::kDouble, 2, 2, extents, {3, 4, 5});
        c.Fill(GridKind::kRandom, random);
        const Rule rule = {interpolation, portacl::ops::Padding::kCircular, align_corners};
        const Tensor got = this->Forward(c, rule);
        // The middle one of nine images begins at pixel 4 * extent.
        constexpr int64_t kTiles = 9;
        GridCase tiled = c;
        tiled.input = Tiled(c.input, kTiles);
        const int64_t axes = c.grid.shape().back();
        tiled.grid.Fill([&](int64_t i) {
          const auto extent =
              static_cast<double>(c.input.shape()[static_cast<size_t>(1 + axes - i % axes)]);
          const double x = c.grid.Get(i);
          const double at = align_corners ? (x + 1) / 2 * (extent - 1) : ((x + 1) * extent - 1) / 2;
          return (2 * (at + 4 * extent) + 1) / (kTiles * extent) - 1;
        });
        const Tensor want =
            this->Forward(tiled, {interpolation, portacl::ops::Padding::kZeros, false});
        for (int64_t i = 0; i < got.size(); ++i) {
          ASSERT_NEAR(got.Get(i), want.Get(i), 1e-12) << NameOf(rule) << ", element " << i;
        }
      }
    }
  }
}

TYPED_TEST(RefPaddedGridSampler, CircularHasThePeriodOfTheExtent) {
  Random random(72);
  GridCase c = TypeParam::Case(Element::kDouble, 1, 3, {3, 4, 5}, {2, 4, 9});
  c.Fill(GridKind::kRandom, random);
  GridCase far = c;
  far.grid.Fill([&](int64_t i) { return c.grid.Get(i) + 2.0 * static_cast<double>(i % 7 - 3); });
  for (const int interpolation : {kBilinear, kBicubic}) {
    const Rule rule = {interpolation, portacl::ops::Padding::kCircular, false};
    const Tensor near_values = this->Forward(c, rule);
    const Tensor far_values = this->Forward(far, rule);
    for (int64_t i = 0; i < near_values.size(); ++i) {
      ASSERT_NEAR(near_values.Get(i), far_values.Get(i), 1e-11);
    }
  }
}

TYPED_TEST(RefPaddedGridSampler, ConstantIsZerosOfTheDifferencePlusTheConstant) {
  Random random(73);
  for (const int interpolation : {kBilinear, kNearest, kBicubic}) {
    for (const bool align_corners : {false, true}) {
      GridCase c = TypeParam::Case(Element::kDouble, 2, 2, {3, 4, 5}, {3, 4, 5});
      c.Fill(GridKind::kRandom, random);
      for (int64_t i = 0; i < 12; ++i) {
        c.grid.Set(i, i % 2 == 0 ? 40.0 : -std::numeric_limits<double>::infinity());
      }
      const Rule rule = {interpolation, portacl::ops::Padding::kConstant, align_corners};
      const Tensor got = this->Forward(c, rule);
      GridCase shifted = c;
      shifted.input.Fill([&](int64_t i) { return c.input.Get(i) - kFill; });
      const Tensor want =
          this->Forward(shifted, {interpolation, portacl::ops::Padding::kZeros, align_corners});
      for (int64_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got.Get(i), want.Get(i) + kFill, 1e-12) << NameOf(rule) << ", element " << i;
      }
      EXPECT_EQ(got.Get(0), kFill) << "a point without taps is the constant itself";
    }
  }
}

// A rule that replaces points is the rule without, except at these.
TYPED_TEST(RefPaddedGridSampler, PointsOutsideAreReplacedAndHaveNoGradients) {
  Random random(74);
  for (const Rule& rule : ExtendedRules()) {
    if (!rule.replaces_outside) continue;
    SCOPED_TRACE(NameOf(rule));
    GridCase c = TypeParam::Case(Element::kDouble, 1, 2, {3, 4, 5}, {3, 4, 5});
    c.Fill(GridKind::kRandom, random);
    const int64_t axes = c.grid.shape().back();
    c.grid.Set(0, 1.0);  // the edge itself is inside
    c.grid.Set(axes, std::numeric_limits<double>::infinity());
    c.grid.Set(2 * axes, std::nan(""));
    Rule plain = rule;
    plain.replaces_outside = false;
    GridCase inside = c;  // with gradients of points outside left out
    const int64_t points = c.grid.size() / axes;
    const auto is_outside = [&](int64_t point) {
      for (int64_t a = 0; a < axes; ++a) {
        if (std::fabs(c.grid.Get(point * axes + a)) > 1) return true;
      }
      return false;
    };
    const auto spread = [&](const GridCase& of, const Rule& by) {
      Tensor input_grad(Element::kDouble, c.input.shape());
      Tensor grid_grad(Element::kDouble, c.grid.shape());
      EXPECT_TRUE(Spread(TypeParam::backward(), of, by, &input_grad, &grid_grad));
      return std::pair(input_grad, grid_grad);
    };
    const Tensor got = this->Forward(c, rule);
    const Tensor without = this->Forward(c, plain);
    for (int64_t i = 0; i < got.size(); ++i) {
      const bool out = is_outside(i % points);
      ASSERT_EQ(std::isnan(got.Get(i)), !out && std::isnan(without.Get(i)));
      if (std::isnan(got.Get(i))) continue;
      ASSERT_EQ(got.Get(i), out ? kReplacement : without.Get(i)) << i;
      if (out) inside.grad_output.Set(i, 0);
    }
    const auto [input_grad, grid_grad] = spread(c, rule);
    const auto [plain_input, plain_grid] = spread(inside, plain);
    for (int64_t i = 0; i < input_grad.size(); ++i) {
      ASSERT_EQ(input_grad.Get(i), plain_input.Get(i));
    }
    for (int64_t i = 0; i < grid_grad.size(); ++i) {
      if (is_outside(i / axes)) {
        ASSERT_EQ(grid_grad.Get(i), 0);
      } else if (!std::isnan(plain_grid.Get(i))) {
        ASSERT_EQ(grid_grad.Get(i), plain_grid.Get(i));
      }
    }
  }
}

// The input's gradient is the transpose of the function; the grid's is its differences' quotient.
TYPED_TEST(RefPaddedGridSampler, GradientsAreDerivatives) {
  Random random(75);
  for (Rule rule : ExtendedRules()) {
    SCOPED_TRACE(NameOf(rule));
    GridCase c = TypeParam::Case(Element::kDouble, 1, 3, {3, 4, 5}, {2, 3, 4});
    c.Fill(GridKind::kRandom, random);
    Tensor input_grad(Element::kDouble, c.input.shape());
    Tensor grid_grad(Element::kDouble, c.grid.shape());
    ASSERT_TRUE(Spread(TypeParam::backward(), c, rule, &input_grad, &grid_grad));
    const auto dot = [](const Tensor& a, const Tensor& b) {
      double sum = 0;
      for (int64_t i = 0; i < a.size(); ++i) sum += a.Get(i) * b.Get(i);
      return sum;
    };
    const auto value = [&](const GridCase& at) {
      return dot(c.grad_output, this->Forward(at, rule));
    };
    GridCase zero = c;
    zero.input.Fill(0.0);
    EXPECT_NEAR(dot(input_grad, c.input), value(c) - value(zero), 1e-10);
    if (rule.interpolation == kNearest) {
      for (int64_t i = 0; i < grid_grad.size(); ++i) ASSERT_EQ(grid_grad.Get(i), 0);
      continue;
    }
    constexpr double kStep = 1e-6;
    int far_off = 0;  // a kink or an edge lies between the two points
    for (int64_t i = 0; i < c.grid.size(); ++i) {
      GridCase low = c;
      GridCase high = c;
      low.grid.Set(i, c.grid.Get(i) - kStep);
      high.grid.Set(i, c.grid.Get(i) + kStep);
      const double quotient = (value(high) - value(low)) / (2 * kStep);
      far_off += std::fabs(quotient - grid_grad.Get(i)) > 1e-6 * (1 + std::fabs(quotient)) ? 1 : 0;
    }
    EXPECT_EQ(far_off, 0);
  }
}

// ---- the vectorised kernels ---------------------------------------------------------------------

template <class Kind>
class PaddedGridSamplerKernels : public KernelTest {
 protected:
  static constexpr std::array<std::pair<bool, bool>, 3> kMasks = {
      std::pair{true, true}, {true, false}, {false, true}};

  template <class Params, class Check>
  static void ForKernels(std::span<const portacl::base::Kernel<Params>> kernels, const Rule& rule,
                         const GridCase& c, const std::vector<int>& threads, const Check& check) {
    for (const auto& kernel : kernels) {
      if (!kernel.available()) continue;
      for (const int count : ThreadCounts(threads)) {
        SCOPED_TRACE(std::string(kernel.name) + ", threads " + std::to_string(count) + ", " +
                     NameOf(rule) + ", input " + ToString(c.input.shape()) + ", grid " +
                     ToString(c.grid.shape()));
        portacl::runtime::SetNumThreads(count);
        ForPaths(kernel, kServing, check);
      }
    }
  }

  static void ExpectSameBits(const GridCase& c, const Rule& rule,
                             Layout layout = Layout::kContiguous,
                             const std::vector<int>& threads = {1, 2}) {
    const Element element = c.input.element();
    Tensor want(element, c.grad_output.shape(), layout);
    ASSERT_TRUE(Sample(Kind::forward(), c, rule, &want));
    ForKernels(Kind::vectorised(), rule, c, threads, [&](const auto& kernel, auto path) {
      Tensor got(element, c.grad_output.shape(), layout);
      if (!Sample(kernel, c, rule, &got, path)) return false;
      EXPECT_TRUE(SameAs(want, got)) << path;
      return true;
    });
    for (const auto& [wants_input, wants_grid] : kMasks) {
      Tensor want_input(element, c.input.shape(), layout);
      Tensor want_grid(element, c.grid.shape(), layout);
      const auto run = [&, input = wants_input, grid = wants_grid](
                           const auto& kernel, Tensor* input_grad, Tensor* grid_grad, auto path) {
        return Spread(kernel, c, rule, input ? input_grad : nullptr, grid ? grid_grad : nullptr,
                      path);
      };
      ASSERT_TRUE(run(Kind::backward(), &want_input, &want_grid, ""));
      ForKernels(Kind::vectorised_backward(), rule, c, threads, [&](const auto& kernel, auto path) {
        Tensor input_grad(element, c.input.shape(), layout);
        Tensor grid_grad(element, c.grid.shape(), layout);
        if (!run(kernel, &input_grad, &grid_grad, path)) return false;
        EXPECT_TRUE(SameAs(want_input, input_grad)) << path;
        EXPECT_TRUE(SameAs(want_grid, grid_grad)) << path;
        return true;
      });
    }
  }
};
TYPED_TEST_SUITE(PaddedGridSamplerKernels, Kinds);

TYPED_TEST(PaddedGridSamplerKernels, EqualTheReferenceInEveryModeAndType) {
  Random random(76);
  for (const Element element : kElements) {
    for (const Rule& rule : ExtendedRules()) {
      for (const GridKind kind : {GridKind::kRandom, GridKind::kSmooth}) {
        GridCase c = TypeParam::Case(element, 2, random.Integer(1, 20), {3, 9, 13}, {2, 5, 17});
        this->ExpectSameBits(c.Fill(kind, random), rule);
        if (this->HasFailure()) return;
      }
    }
  }
}

// Images of few pixels, where taps meet, on every layout.
TYPED_TEST(PaddedGridSamplerKernels, EqualTheReferenceOnEveryLayoutAndExtent) {
  Random random(77);
  const auto rules = ExtendedRules();
  for (const Layout layout : kInputLayouts) {
    for (const Element element : kElements) {
      for (int turn = 0; turn < 6; ++turn) {
        const std::array<int64_t, 3> extents = {random.Integer(1, 4), random.Integer(1, 5),
                                                random.Integer(2, 9)};
        GridCase c = TypeParam::Case(element, random.Integer(1, 3), random.Integer(1, 9), extents,
                                     {1, random.Integer(1, 3), random.Integer(1, 40)}, layout);
        c.Fill(GridKind::kRandom, random);
        if (random.Coin()) c.grid.FillUniform(random, -6, 6);
        this->ExpectSameBits(c, PickOf(random, rules),
                             layout == Layout::kExpanded ? Layout::kContiguous : layout, {1, 40});
        if (this->HasFailure()) return;
      }
    }
  }
}

TYPED_TEST(PaddedGridSamplerKernels, EqualTheReferenceAtKinksAndOnStrangeNumbers) {
  Random random(78);
  for (const Element element : kElements) {
    const auto strange = StrangeCoordinates(element);
    for (Rule rule : ExtendedRules()) {
      GridCase c = TypeParam::Case(element, 1, random.Integer(1, 6), {4, 7, 9}, {2, 3, 21});
      c.Fill(GridKind::kRandom, random);
      const int64_t axes = c.grid.shape().back();
      c.grid.Fill([&](int64_t i) {
        if (random.Integer(0, 5) == 0) return PickOf(random, strange);
        const auto size =
            static_cast<double>(c.input.shape()[static_cast<size_t>(1 + axes - i % axes)]);
        const double at = static_cast<double>(random.Integer(-40, 80)) / 2;
        return rule.align_corners ? 2 * at / (size - 1) - 1 : (2 * at + 1) / size - 1;
      });
      for (int i = 0; i < 20; ++i) {
        c.input.Set(random.Integer(0, c.input.size() - 1),
                    random.Coin() ? PickOf(random, strange) : -1e-45 * random.Unit());
      }
      if (random.Coin()) rule.fill = PickOf(random, strange);
      this->ExpectSameBits(c, rule);
      if (this->HasFailure()) return;
    }
  }
}

// So large that threads share an image's rows or a volume's planes.
TYPED_TEST(PaddedGridSamplerKernels, EqualTheReferenceOnManyThreads) {
  Random random(79);
  for (const Element element : kElements) {
    for (const int interpolation : {kBilinear, kNearest, kBicubic}) {
      GridCase c = TypeParam::Case(element, 1, 3, {9, 33, 41}, {4, 16, 63});
      c.Fill(GridKind::kRandom, random);
      const Rule rule = {interpolation, portacl::ops::Padding::kCircular, random.Coin(), false};
      this->ExpectSameBits(c, rule, Layout::kContiguous, {3, 7, 40});
      if (this->HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace portacl_test
