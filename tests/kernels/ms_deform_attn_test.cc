// Multi-scale deformable attention and its gradients: the reference against the definition, and the
// SIMD kernels against the reference, byte for byte, on every instruction set of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "ops/listed_kernels.h"
#include "ops/ms_deform_attn_params.h"
#include "support/api/compare.h"
#include "support/kernel_test.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::ops::MsDeformAttnLevel;
using portacl::ops::MsDeformAttnParams;

// The tensors of a call and of its gradients.
struct AttentionCase {
  Element element, point_element;
  std::vector<MsDeformAttnLevel> levels;
  Tensor value, location, weight, output, grad_output, value_grad, location_grad, weight_grad;
  // If not empty, kernels read the levels from here: all heights, all widths, all starts backwards.
  std::vector<int32_t> narrow;
};

struct Extents {
  int64_t batch, heads, channels, queries, points;
};

// The five layouts: of value, location, weight, gradOutput, and of the results.
AttentionCase MakeCase(Element element, Element points, const Extents& e,
                       std::vector<MsDeformAttnLevel> levels, const std::array<Layout, 5>& layout) {
  int64_t keys = 0;
  for (const MsDeformAttnLevel& level : levels) keys += level.height * level.width;
  const auto count = static_cast<int64_t>(levels.size());
  const Shape value{e.batch, keys, e.heads, e.channels};
  const Shape output{e.batch, e.queries, e.heads, e.channels};
  const Shape weight{e.batch, e.queries, e.heads, count, e.points};
  Shape location = weight;
  location.push_back(2);
  return {element,
          points,
          std::move(levels),
          Tensor(element, value, layout[0]),
          Tensor(points, location, layout[1]),
          Tensor(points, weight, layout[2]),
          Tensor(element, output, layout[4]),
          Tensor(element, output, layout[3]),
          Tensor(element, value, layout[4]),
          Tensor(points, location, layout[4]),
          Tensor(points, weight, layout[4]),
          {}};
}

// Gives the levels in INT32, by other strides.
void Narrow(AttentionCase* c) {
  const size_t count = c->levels.size();
  c->narrow.resize(3 * count);
  for (size_t l = 0; l < count; ++l) {
    c->narrow[l] = static_cast<int32_t>(c->levels[l].height);
    c->narrow[count + l] = static_cast<int32_t>(c->levels[l].width);
    c->narrow[3 * count - 1 - l] = static_cast<int32_t>(c->levels[l].start);
  }
}

// Levels one behind the other, with these extents.
std::vector<MsDeformAttnLevel> Pyramid(const std::vector<std::array<int64_t, 2>>& extents) {
  std::vector<MsDeformAttnLevel> levels;
  int64_t start = 0;
  for (const auto& [height, width] : extents) {
    levels.push_back({height, width, start});
    start += height * width;
  }
  return levels;
}

void FillCase(Random& random, AttentionCase* c) {
  c->value.FillUniform(random, -1, 1);
  c->grad_output.FillUniform(random, -1, 1);
  c->weight.FillUniform(random, 0, 1);
  c->location.FillUniform(random, -0.3, 1.3);
}

MsDeformAttnParams ParamsOf(const AttentionCase& c) {
  MsDeformAttnParams s;
  s.dtype = ToDType(c.element);
  s.point_dtype = ToDType(c.point_element);
  s.batch = c.value.shape()[0];
  s.keys = c.value.shape()[1];
  s.heads = c.value.shape()[2];
  s.channels = c.value.shape()[3];
  s.queries = c.weight.shape()[1];
  s.levels = c.weight.shape()[3];
  s.points = c.weight.shape()[4];
  if (s.levels > 0) {
    s.shapes = {c.levels.data(), {3, 1}, true};
    s.starts = {&c.levels[0].start, {3}, true};
  }
  if (!c.narrow.empty()) {
    s.shapes_dtype = s.starts_dtype = portacl::base::DType::kInt32;
    s.shapes = {c.narrow.data(), {1, s.levels}, true};
    s.starts = {c.narrow.data() + 3 * s.levels - 1, {-1}, true};
  }
  Describe(&c.value, &s.value);
  Describe(&c.location, &s.location);
  Describe(&c.weight, &s.weight);
  return s;
}

bool RunForward(const portacl::base::Kernel<MsDeformAttnParams>& kernel, AttentionCase* c) {
  MsDeformAttnParams p = ParamsOf(*c);
  Describe(&c->output, &p.output);
  return RunKernel(kernel, p);
}

struct Wanted {
  bool value = true, location = true, weight = true;
};

bool RunBackward(const portacl::base::Kernel<MsDeformAttnParams>& kernel, const Wanted& wanted,
                 AttentionCase* c, std::string_view path = "") {
  MsDeformAttnParams p = ParamsOf(*c);
  p.backward = true;
  Describe(&c->grad_output, &p.output);
  Describe(&c->value_grad, &p.value_grad, wanted.value);
  Describe(&c->location_grad, &p.location_grad, wanted.location);
  Describe(&c->weight_grad, &p.weight_grad, wanted.weight);
  return RunKernel(kernel, p, path);
}

// ---- the definition ----------------------------------------------------------------------------

// A point's coordinate, as the operator computes it.
long double PixelOf(Element element, double location, int64_t extent) {
  if (element == Element::kDouble) return location * static_cast<double>(extent) - 0.5;
  const float scaled = static_cast<float>(location) * static_cast<float>(extent);
  return static_cast<long double>(scaled - 0.5F);
}

// A pixel's weight at this distance of a point, -1 <= distance < 1, and its slope (at a kink the
// right one).
long double Tent(long double distance) { return std::max(0.0L, 1 - std::fabs(distance)); }
long double TentSlope(long double distance) { return distance < 0 ? 1 : -1; }

// What a correct call computes, by visiting every pixel for every point.
struct Exact {
  std::vector<ExactSum> output, value_grad, location_grad, weight_grad;
};

Exact ExactOf(const AttentionCase& c) {
  Exact exact{std::vector<ExactSum>(static_cast<size_t>(c.output.size())),
              std::vector<ExactSum>(static_cast<size_t>(c.value.size())),
              std::vector<ExactSum>(static_cast<size_t>(c.location.size())),
              std::vector<ExactSum>(static_cast<size_t>(c.weight.size()))};
  const MsDeformAttnParams s = ParamsOf(c);
  for (int64_t i = 0; i < c.weight.size(); ++i) {
    const MsDeformAttnLevel& level = c.levels[static_cast<size_t>(i / s.points % s.levels)];
    const int64_t row = i / s.points / s.levels;  // (batch, query, head)
    const int64_t b = row / s.heads / s.queries;
    const long double attention = c.weight.Get(i);
    const long double x = PixelOf(c.element, c.location.Get(2 * i), level.width);
    const long double y = PixelOf(c.element, c.location.Get(2 * i + 1), level.height);
    for (int64_t pixel = 0; pixel < level.height * level.width; ++pixel) {
      const long double dx = x - static_cast<long double>(pixel % level.width);
      const long double dy = y - static_cast<long double>(pixel / level.width);
      if (dx < -1 || dx >= 1 || dy < -1 || dy >= 1) continue;
      const int64_t key = (b * s.keys + level.start + pixel) * s.heads + row % s.heads;
      for (int64_t ch = 0; ch < s.channels; ++ch) {
        const double value = c.value.Get(key * s.channels + ch);
        const double grad = c.grad_output.Get(row * s.channels + ch);
        const long double tap = Tent(dx) * Tent(dy);
        const auto add = [](ExactSum& sum, long double weight, long double factor) {
          sum.Add(weight, std::fabs(weight), factor);
        };
        const auto at = [](auto& sums, int64_t index) -> ExactSum& {
          return sums[static_cast<size_t>(index)];
        };
        add(at(exact.output, row * s.channels + ch), attention * tap, value);
        add(at(exact.value_grad, key * s.channels + ch), attention * tap, grad);
        add(at(exact.weight_grad, i), tap, static_cast<long double>(value) * grad);
        const long double product = static_cast<long double>(value) * grad * attention;
        add(at(exact.location_grad, 2 * i), TentSlope(dx) * Tent(dy),
            product * static_cast<long double>(level.width));
        add(at(exact.location_grad, 2 * i + 1), TentSlope(dy) * Tent(dx),
            product * static_cast<long double>(level.height));
      }
    }
  }
  for (auto* const sums : {&exact.weight_grad, &exact.location_grad}) {
    for (ExactSum& sum : *sums) sum.terms = 8 + (s.channels + 15) / 16;
  }
  return exact;
}

class RefMsDeformAttn : public testing::TestWithParam<Element> {};
INSTANTIATE_TEST_SUITE_P(, RefMsDeformAttn, testing::ValuesIn(kElements),
                         [](const auto& param) { return NameOf(param.param); });

TEST_P(RefMsDeformAttn, IsTheDefinition) {
  Random random(51);
  for (const Layout written : kOutputLayouts) {
    for (const Extents& e : {Extents{2, 3, 5, 7, 3}, Extents{1, 1, 33, 4, 2}}) {
      SCOPED_TRACE(testing::Message() << written << e.channels);
      AttentionCase c =
          MakeCase(GetParam(), GetParam(), e, Pyramid({{4, 5}, {2, 3}, {1, 1}}),
                   {Layout::kOddPadding, Layout::kTransposed, Layout::kStep3, written, written});
      FillCase(random, &c);
      if (e.channels == 5) Narrow(&c);
      ASSERT_TRUE(RunForward(portacl::ref::kMsDeformAttn, &c));
      ASSERT_TRUE(RunBackward(portacl::ref::kMsDeformAttn, {}, &c));
      const Exact exact = ExactOf(c);
      EXPECT_TRUE(WithinTolerance(Operator::kGridSampler, c.output, exact.output));
      EXPECT_TRUE(WithinTolerance(Operator::kGridSampler, c.value_grad, exact.value_grad));
      EXPECT_TRUE(WithinTolerance(Operator::kGridSampler, c.location_grad, exact.location_grad));
      EXPECT_TRUE(WithinTolerance(Operator::kGridSampler, c.weight_grad, exact.weight_grad));
      for (const Tensor* tensor : {&c.output, &c.value_grad, &c.location_grad, &c.weight_grad}) {
        EXPECT_TRUE(tensor->GuardsIntact());
      }
    }
  }
}

// One head and one channel; the point at index 0 is odd.
AttentionCase OddPoint(double x, double y, double weight) {
  AttentionCase c =
      MakeCase(Element::kFloat, Element::kFloat, {1, 1, 3, 2, 2}, Pyramid({{3, 4}}), {});
  Random random(52);
  FillCase(random, &c);
  c.location.Fill(0.4);
  c.location.Set(0, x);
  c.location.Set(1, y);
  c.weight.Set(0, weight);
  EXPECT_TRUE(RunForward(portacl::ref::kMsDeformAttn, &c));
  EXPECT_TRUE(RunBackward(portacl::ref::kMsDeformAttn, {}, &c));
  return c;
}

TEST(RefMsDeformAttnPoints, NanMakesItsSampleNanAndNothingElse) {
  for (const bool is_x : {true, false}) {
    const AttentionCase c = OddPoint(is_x ? kNaN : 0.5, is_x ? 0.5 : kNaN, 1);
    for (int64_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(c.output.Get(i)));
    for (int64_t i = 3; i < 6; ++i) EXPECT_TRUE(std::isfinite(c.output.Get(i)));
    for (const double value : c.value_grad.Values()) EXPECT_TRUE(std::isfinite(value));
    EXPECT_TRUE(std::isnan(c.location_grad.Get(0)) && std::isnan(c.location_grad.Get(1)));
    EXPECT_TRUE(std::isnan(c.weight_grad.Get(0)));
    EXPECT_TRUE(std::isfinite(c.location_grad.Get(2)) && std::isfinite(c.weight_grad.Get(1)));
  }
}

TEST(RefMsDeformAttnPoints, FarAwayContributesNothingWhateverTheWeight) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double x : {infinity, -infinity, 1e30, -1e30, 3e38, 1.2, -0.2}) {
    for (const double weight : {1.0, infinity, kNaN}) {
      const AttentionCase c = OddPoint(x, 0.5, weight);
      for (const double value : c.output.Values()) EXPECT_TRUE(std::isfinite(value)) << x;
      for (const double value : c.value_grad.Values()) EXPECT_TRUE(std::isfinite(value)) << x;
      EXPECT_EQ(c.location_grad.Bits(0), 0U);
      EXPECT_EQ(c.location_grad.Bits(1), 0U);
      EXPECT_EQ(c.weight_grad.Bits(0), 0U);
    }
  }
}

// x = -1 exactly: the inner tap has weight 0 and takes part.
TEST(RefMsDeformAttnPoints, OnePixelBeforeTheEdgeHasASlope) {
  const AttentionCase c = OddPoint(-0.125, 0.5, 1);
  EXPECT_NE(c.location_grad.Get(0), 0);
  EXPECT_EQ(c.location_grad.Get(1), 0);
}

// Levels that no pyramid of the tests can hold.
constexpr MsDeformAttnLevel kUnfit[] = {
    {0, 0, 0}, {-1, 2, 0}, {int64_t{1} << 62, 4, 0}, {1, 1, -1}, {1, 1, int64_t{1} << 62}};

TEST(RefMsDeformAttnPoints, ALevelThatDoesNotFitContributesNothing) {
  Random random(53);
  for (const MsDeformAttnLevel& level : kUnfit) {
    SCOPED_TRACE(level.height);
    AttentionCase c =
        MakeCase(Element::kFloat, Element::kFloat, {1, 2, 3, 2, 2}, Pyramid({{3, 4}, {2, 2}}), {});
    FillCase(random, &c);
    c.location.Set(8, kNaN);  // level 0 of head 1
    c.levels[0] = level;
    ASSERT_TRUE(RunForward(portacl::ref::kMsDeformAttn, &c));
    ASSERT_TRUE(RunBackward(portacl::ref::kMsDeformAttn, {}, &c));
    c.levels[0] = {};
    const Exact exact = ExactOf(c);
    EXPECT_TRUE(WithinTolerance(Operator::kGridSampler, c.output, exact.output));
    for (int64_t i = 0; i < c.weight.size(); ++i) {
      if (i / 2 % 2 == 1) continue;
      EXPECT_EQ(c.weight_grad.Bits(i), 0U) << i;
    }
  }
}

// ---- SIMD kernels ------------------------------------------------------------------------------

template <size_t kCount>
Layout PickLayout(Random& random, const std::array<Layout, kCount>& layouts) {
  if (random.Integer(0, 2) > 0) return random.Coin() ? Layout::kContiguous : Layout::kOffset;
  return layouts[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(kCount) - 1))];
}

void PutOddValues(Random& random, Tensor* tensor) {
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (random.Integer(0, 19) > 0) continue;
    const double odd[] = {0.0, -0.0, 1e-40, -6e-8, -1, 1, 1e30, INFINITY, -INFINITY, NAN, -1e-44};
    tensor->Set(i, odd[random.Integer(0, std::size(odd) - 1)]);
  }
}

AttentionCase RandomAttentionCase(Random& random) {
  const auto element = kElements[static_cast<size_t>(random.Integer(0, 3))];
  const bool half = element == Element::kFloat16 || element == Element::kBFloat16;
  const Element points = half && random.Coin() ? Element::kFloat : element;
  const int64_t widths[] = {1, 2, 5, 8, 15, 16, 17, 31, 32, 33, 48, 64, 80, 131};
  const Extents e{random.Integer(1, 2), random.Integer(1, 4),
                  widths[random.Integer(0, std::size(widths) - 1)], random.Integer(0, 40),
                  random.Integer(0, 9) == 0 ? random.Integer(60, 300) : random.Integer(0, 5)};
  std::vector<std::array<int64_t, 2>> extents;
  for (int64_t l = random.Integer(0, 4); l > 0; --l) {
    extents.push_back({random.Integer(1, 9), random.Integer(1, 9)});
  }
  auto levels = Pyramid(extents);
  if (!levels.empty() && random.Integer(0, 3) == 0) {
    levels[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(levels.size()) - 1))] =
        kUnfit[random.Integer(0, std::size(kUnfit) - 1)];
  }
  AttentionCase c = MakeCase(element, points, e, Pyramid(extents),
                             {PickLayout(random, kInputLayouts), PickLayout(random, kInputLayouts),
                              PickLayout(random, kInputLayouts), PickLayout(random, kInputLayouts),
                              PickLayout(random, kOutputLayouts)});
  if (levels.size() > 1 && random.Integer(0, 3) == 0) levels[1].start = 0;  // they overlap
  c.levels = levels;
  const bool fits = std::none_of(levels.begin(), levels.end(), [](const MsDeformAttnLevel& level) {
    return std::max(level.height, level.start) > std::numeric_limits<int32_t>::max();
  });
  if (fits && random.Coin()) Narrow(&c);
  FillCase(random, &c);
  if (random.Coin()) PutOddValues(random, &c.location);
  if (random.Integer(0, 3) == 0) {
    PutOddValues(random, &c.value);
    PutOddValues(random, &c.weight);
    PutOddValues(random, &c.grad_output);
  }
  return c;
}

int SomeThreads(Random& random) {
  return static_cast<int>(random.Coin() ? 1 : random.Integer(2, 40));
}

class MsDeformAttnKernels : public KernelTest {};

TEST_F(MsDeformAttnKernels, EqualTheReferenceOnRandomCases) {
  const uint64_t seed = FreshSeed();
  Random random(seed);
  SCOPED_TRACE(testing::Message() << "PORTACL_TEST_SEED=" << seed);
  std::map<std::string, int> served;
  const int64_t count = ByRunLength(400, 60);
  for (int64_t i = 0; i < count; ++i) {
    const AttentionCase c = RandomAttentionCase(random);
    SCOPED_TRACE(testing::Message() << i << " value " << portacl_test::ToString(c.value.shape())
                                    << " points " << portacl_test::ToString(c.weight.shape())
                                    << NameOf(c.element) << NameOf(c.point_element));
    AttentionCase want = c;
    ASSERT_TRUE(RunForward(portacl::ref::kMsDeformAttn, &want));
    for (const auto& kernel : portacl::cpu::MsDeformAttnKernels()) {
      if (!kernel.available()) continue;
      portacl::runtime::SetNumThreads(SomeThreads(random));
      AttentionCase got = c;
      if (!RunForward(kernel, &got)) continue;
      ++served[kernel.name];
      ASSERT_TRUE(SameAs(want.output, got.output)) << kernel.name;
    }
    const Wanted wanted{random.Integer(0, 3) > 0, random.Integer(0, 3) > 0,
                        random.Integer(0, 3) > 0};
    ASSERT_TRUE(RunBackward(portacl::ref::kMsDeformAttn, wanted, &want));
    for (const auto& kernel : portacl::cpu::MsDeformAttnKernels()) {
      if (!kernel.available()) continue;
      for (const char* const path : kernel.paths) {
        portacl::runtime::SetNumThreads(SomeThreads(random));
        AttentionCase got = c;
        if (!RunBackward(kernel, wanted, &got, path)) continue;
        ++served[std::string(kernel.name) + ":" + path];
        ASSERT_TRUE(SameAs(want.value_grad, got.value_grad)) << kernel.name << path;
        ASSERT_TRUE(SameAs(want.location_grad, got.location_grad)) << kernel.name << path;
        ASSERT_TRUE(SameAs(want.weight_grad, got.weight_grad)) << kernel.name << path;
      }
    }
  }
  for (const auto& kernel : portacl::cpu::MsDeformAttnKernels()) {
    if (!kernel.available()) continue;
    EXPECT_GT(served[kernel.name], count / 3) << kernel.name;
    EXPECT_GT(served[std::string(kernel.name) + ":slab"], count / 3) << kernel.name;
    EXPECT_GT(served[std::string(kernel.name) + ":direct"], count / 9) << kernel.name;
  }
}

// Enough work that every number of threads shares it out, and that heads are cut into parts.
TEST_F(MsDeformAttnKernels, DoNotDependOnThreads) {
  Random random(54);
  AttentionCase c = MakeCase(Element::kFloat, Element::kFloat, {1, 2, 96, 150, 4},
                             Pyramid({{12, 15}, {6, 8}, {3, 4}}), {});
  FillCase(random, &c);
  AttentionCase want = c;
  ASSERT_TRUE(RunForward(portacl::ref::kMsDeformAttn, &want));
  ASSERT_TRUE(RunBackward(portacl::ref::kMsDeformAttn, {}, &want));
  for (int threads = 1; threads <= 40; threads += threads < 8 ? 1 : 8) {
    portacl::runtime::SetNumThreads(threads);
    const auto kernels = portacl::cpu::MsDeformAttnKernels();
    size_t best = 0;
    while (best < kernels.size() && !kernels[best].available()) ++best;
    if (best == kernels.size()) GTEST_SKIP() << "this CPU has the reference alone";
    const auto& kernel = kernels[best];
    ASSERT_TRUE(RunForward(kernel, &c));
    EXPECT_TRUE(SameAs(want.output, c.output)) << threads;
    for (const char* const path : kernel.paths) {
      ASSERT_TRUE(RunBackward(kernel, {}, &c, path));
      EXPECT_TRUE(SameAs(want.value_grad, c.value_grad)) << threads << path;
      EXPECT_TRUE(SameAs(want.location_grad, c.location_grad)) << threads << path;
      EXPECT_TRUE(SameAs(want.weight_grad, c.weight_grad)) << threads << path;
    }
  }
}

}  // namespace
}  // namespace portacl_test
