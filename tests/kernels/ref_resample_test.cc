// The reference kernel of linear, cubic and antialiased resizing: the contract's order of sums,
// written a second time axis by axis; transposition; values that are not finite.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/listed_kernels.h"
#include "ops/resample_params.h"
#include "support/api/compare.h"
#include "support/resample_kernels.h"

namespace portacl_test {
namespace {

using portacl::ops::ResampleAxis;
using portacl::ops::ResampleMode;
using portacl::ref::kResample;

// The sums along one axis of (outer, extent, inner), in T, or in `Wide` with the same table.
template <class T, class Wide>
std::vector<Wide> Along(const ResampleAxis& axis, const std::vector<Wide>& from, int64_t outer,
                        int64_t inner, bool backward, bool magnitudes) {
  if (axis.identity) return from;
  std::vector<Wide> to(static_cast<size_t>(outer * axis.to * inner), Wide{0});
  for (int64_t a = 0; a < outer; ++a) {
    for (int64_t o = 0; o < axis.to; ++o) {
      for (int64_t b = 0; b < inner; ++b) {
        Wide sum = 0;
        for (int64_t k = axis.start[o]; k < axis.start[o + 1]; ++k) {
          const Wide v = from[static_cast<size_t>((a * axis.from + axis.source[k]) * inner + b)];
          auto w = static_cast<Wide>(static_cast<const T*>(axis.weight)[k]);
          if (magnitudes) w = std::fabs(w);
          sum = k == axis.start[o] && !backward ? w * v : std::fma(w, v, sum);
        }
        to[static_cast<size_t>((a * axis.to + o) * inner + b)] = sum;
      }
    }
  }
  return to;
}

// All axes in the contract's order.
template <class T, class Wide>
std::vector<Wide> Sums(const ResampleTables& tables, const Tensor& from, bool backward,
                       bool magnitudes = false) {
  std::vector<Wide> values;
  for (const double v : from.Dense().Values()) {
    values.push_back(static_cast<Wide>(magnitudes ? std::fabs(v) : v));
  }
  int64_t extent[] = {tables[0].from, tables[1].from, tables[2].from};
  for (int step = 0; step < 3; ++step) {
    const int axis = backward ? step : 2 - step;
    int64_t outer = from.shape()[0] * from.shape()[1];
    int64_t inner = 1;
    for (int other = 0; other < 3; ++other) {
      if (other < axis) outer *= extent[other];
      if (other > axis) inner *= extent[other];
    }
    const ResampleAxis& table = tables[static_cast<size_t>(axis)];
    values = Along<T, Wide>(table, values, outer, inner, backward, magnitudes);
    extent[axis] = table.to;
  }
  return values;
}

// By hand: three elements become two.
TEST(RefResampleTest, BytesHaveFixedPointWeights) {
  using portacl::ops::FixedWeights;
  const portacl::ops::ResampleRule rule = {.mode = ResampleMode::kAntialiasedLinear,
                                           .in = 3,
                                           .out = 2,
                                           .in_double = true,
                                           .fixed = FixedWeights::kPyTorch};
  const portacl::ops::ResampleTable table(rule, false);
  const ResampleAxis& axis = table.axis();
  // 1 - |i + 0.5 - 0.75| / 1.5 is 5/6 and 1/2, together 4/3.
  EXPECT_EQ(axis.shift, 15);
  EXPECT_EQ(axis.Count(0) % 2, 0);
  const auto* const weight = static_cast<const int32_t*>(axis.weight);
  EXPECT_EQ(portacl::ops::FixedWeight(weight, 0), 20480);  // 0.625 * 2^15
  EXPECT_EQ(portacl::ops::FixedWeight(weight, 1), 12288);  // 0.375 * 2^15
  portacl::ops::ResampleRule pillow = rule;
  pillow.fixed = FixedWeights::kPillow;
  const portacl::ops::ResampleTable finer(pillow, false);
  const auto* const fine = static_cast<const int32_t*>(finer.axis().weight);
  EXPECT_EQ(finer.axis().shift, 22);
  EXPECT_EQ(portacl::ops::FixedWeight(fine, 0), 2621440);
  EXPECT_EQ(portacl::ops::FixedWeight(fine, 1), 1572864);
}

struct Shapes {
  Shape in;
  Shape out;
  std::vector<double> scales;
};

std::vector<Shapes> ResampleShapes() {
  return {{{2, 3, 5}, {2, 3, 9}, {}},
          {{1, 2, 31}, {1, 2, 7}, {}},
          {{2, 2, 4, 5}, {2, 2, 8, 10}, {}},
          {{1, 3, 9, 11}, {1, 3, 4, 5}, {}},
          {{1, 1, 7, 7}, {1, 1, 7, 14}, {}},
          {{2, 1, 1, 6}, {2, 1, 5, 1}, {}},
          {{1, 2, 10, 9}, {1, 2, 13, 6}, {1.3, 0.7}},
          {{1, 1, 6, 6}, {1, 1, 6, 9}, {2.5, 0}},
          {{1, 2, 3, 4, 5}, {1, 2, 5, 3, 7}, {}},
          {{1, 1, 6, 5, 4}, {1, 1, 2, 10, 8}, {}},
          {{2, 1, 3, 3, 4}, {2, 1, 3, 6, 3}, {1.1, 2, 0.8}}};
}

class RefResample : public testing::TestWithParam<Element> {};
INSTANTIATE_TEST_SUITE_P(, RefResample, testing::ValuesIn(kElements),
                         [](const auto& param) { return NameOf(param.param); });

// Calls body(case, input shape, output shape) for all modes.
template <class Body>
void ForSomeCases(const Body& body) {
  for (const ResampleMode mode : kResampleModes) {
    for (const bool align : {false, true}) {
      for (const Shapes& s : ResampleShapes())
        body(ResampleCase{mode, align, s.scales}, s.in, s.out);
    }
  }
}

template <class T>
void HasTheContractsBits(Element element, bool backward, Layout from_layout, Layout to_layout) {
  Random random(31);
  ForSomeCases([&](const ResampleCase& c, const Shape& in, const Shape& out) {
    SCOPED_TRACE(testing::Message() << c << ToString(in) << ToString(out));
    Tensor from(element, backward ? out : in, from_layout);
    from.FillUniform(random, -1, 1);
    Tensor to(element, backward ? in : out, to_layout);
    ASSERT_TRUE(RunResample(kResample, c, backward, from, &to));
    const std::vector<T> sums =
        Sums<T, T>(ResampleTables(element, in, out, c, backward), from, backward);
    Tensor want(element, to.shape());
    want.Fill([&](int64_t i) { return static_cast<double>(sums[static_cast<size_t>(i)]); });
    EXPECT_TRUE(BitIdentical(to, want));
    EXPECT_TRUE(to.GuardsIntact());
    EXPECT_TRUE(from.GuardsIntact());
  });
}

TEST_P(RefResample, HasTheContractsBitsInEveryLayout) {
  for (const bool backward : {false, true}) {
    for (const Layout from : kInputLayouts) {
      for (const Layout to : kOutputLayouts) {
        if (from != to && from != Layout::kContiguous && to != Layout::kContiguous) continue;
        SCOPED_TRACE(testing::Message() << backward << NameOf(from) << NameOf(to));
        if (GetParam() == Element::kDouble) {
          HasTheContractsBits<double>(GetParam(), backward, from, to);
        } else {
          HasTheContractsBits<float>(GetParam(), backward, from, to);
        }
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
}

// |error| <= (n_W + n_H + n_D) * eps/2 * S + half an ULP, against the same tables in long double.
TEST_P(RefResample, ErrsNoMoreThanItsRoundings) {
  Random random(32);
  const auto check = [&]<class T>(T) {
    for (const bool backward : {false, true}) {
      ForSomeCases([&](const ResampleCase& c, const Shape& in, const Shape& out) {
        SCOPED_TRACE(testing::Message() << c << ToString(in) << ToString(out));
        Tensor from(GetParam(), backward ? out : in);
        from.FillUniform(random, -1, 1);
        Tensor to(GetParam(), backward ? in : out);
        ASSERT_TRUE(RunResample(kResample, c, backward, from, &to));
        const ResampleTables tables(GetParam(), in, out, c, backward);
        const auto exact = Sums<T, long double>(tables, from, backward);
        const auto magnitude = Sums<T, long double>(tables, from, backward, true);
        const auto terms =
            static_cast<long double>(tables[0].most + tables[1].most + tables[2].most);
        for (int64_t i = 0; i < to.size(); ++i) {
          const auto at = static_cast<size_t>(i);
          const long double allowed = terms * ComputeEpsilon(GetParam()) / 2 * magnitude[at] +
                                      UlpAt(GetParam(), static_cast<double>(exact[at])) / 2;
          ASSERT_LE(std::fabs(to.Get(i) - exact[at]), allowed) << i;
        }
      });
    }
  };
  if (GetParam() == Element::kDouble) {
    check(double());
  } else {
    check(float());
  }
}

// One-hot inputs give the matrices of both directions.
TEST(RefResampleAdjoint, BackwardIsTheTransposeOfForwardForAllSizesUpTo24) {
  for (const ResampleMode mode : kResampleModes) {
    for (const bool align : {false, true}) {
      for (int64_t in = 1; in <= 24; ++in) {
        for (int64_t out = 1; out <= 24; ++out) {
          const ResampleCase c = {mode, align, {}};
          const auto one_hot = [](int64_t n) {
            return Tensor(Element::kFloat, {1, n, n}).Fill([n](int64_t i) {
              return i / n == i % n ? 1.0 : 0.0;
            });
          };
          Tensor forward(Element::kFloat, {1, in, out});
          Tensor backward(Element::kFloat, {1, out, in});
          ASSERT_TRUE(RunResample(kResample, c, false, one_hot(in), &forward));
          ASSERT_TRUE(RunResample(kResample, c, true, one_hot(out), &backward));
          for (int64_t i = 0; i < in; ++i) {
            for (int64_t o = 0; o < out; ++o) {
              ASSERT_EQ(forward.Get(i * out + o), backward.Get(o * in + i))
                  << c << in << " -> " << out << " at " << i << ", " << o;
            }
          }
        }
      }
    }
  }
}

TEST(RefResampleNotFinite, ZeroWeightsTakePartAndIdentityCopies) {
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor input = Tensor(Element::kFloat, {1, 1, 3}).Fill({1, infinity, -0.0});
  Tensor same(Element::kFloat, {1, 1, 3});
  for (const ResampleMode mode : kResampleModes) {
    for (const bool backward : {false, true}) {
      ASSERT_TRUE(RunResample(kResample, {mode}, backward, input, &same));
      if (mode == ResampleMode::kCubic) {  // 0 * infinity
        EXPECT_TRUE(std::isnan(same.Get(0)));
        EXPECT_EQ(same.Get(1), infinity);
        EXPECT_TRUE(std::isnan(same.Get(2)));
      } else {
        EXPECT_TRUE(BitIdentical(same, input));
      }
    }
  }
  // Aligned corners: the first output is the first input, with the second's weight 0.
  Tensor enlarged(Element::kFloat, {1, 1, 5});
  ASSERT_TRUE(RunResample(kResample, {ResampleMode::kLinear, true}, false, input, &enlarged));
  EXPECT_TRUE(std::isnan(enlarged.Get(0)));
  EXPECT_EQ(enlarged.Get(1), infinity);
}

TEST(RefResampleNotFinite, WithoutTapsTheResultIsPlusZero) {
  // By this scale the third output lies behind the image.
  const ResampleCase c = {ResampleMode::kAntialiasedLinear, false, {0.1}};
  Tensor input = Tensor(Element::kFloat, {1, 1, 10}).Fill(-1.0);
  Tensor output(Element::kFloat, {1, 1, 4});
  ASSERT_TRUE(RunResample(kResample, c, false, input, &output));
  EXPECT_EQ(output.Get(0), -1);
  EXPECT_EQ(output.Bits(3), 0u);
  // A first product of -0 keeps its sign forward; backward sums begin with +0.
  Tensor zeros = Tensor(Element::kFloat, {1, 1, 2}).Fill(-0.0);
  Tensor doubled(Element::kFloat, {1, 1, 4});
  ASSERT_TRUE(RunResample(kResample, {}, false, zeros, &doubled));
  EXPECT_TRUE(std::signbit(doubled.Get(1)));
  Tensor halved(Element::kFloat, {1, 1, 1});
  ASSERT_TRUE(RunResample(kResample, {}, true, zeros, &halved));
  EXPECT_FALSE(std::signbit(halved.Get(0)));
}

}  // namespace
}  // namespace portacl_test
