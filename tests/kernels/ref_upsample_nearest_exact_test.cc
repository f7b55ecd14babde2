// The index rule and the reference kernels of nearest-exact, forward and backward.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/listed_kernels.h"
#include "ops/nearest_axis.h"
#include "ops/upsample_nearest_exact_params.h"
#include "support/api/compare.h"
#include "support/api/nearest_oracle.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::ops::Nearest;
using portacl::ops::NearestIndexRule;
using portacl::ops::NearestTable;
using portacl::ref::kUpsampleNearestExact;
using portacl::ref::kUpsampleNearestExactBackward;

// True where the table's range of every output is the rule's.
testing::AssertionResult TableFollowsTheRule(int64_t in, int64_t out, double scale) {
  const NearestTable table(in, out, scale);
  const auto& axis = table.axis();
  if (axis.begin[0] != 0 || axis.begin[in] != out) return testing::AssertionFailure() << "ends";
  for (int64_t i = 0; i < in; ++i) {
    for (int64_t o = axis.begin[i]; o < axis.begin[i + 1]; ++o) {
      if (NearestSource(o, in, out, scale) != i) {
        return testing::AssertionFailure()
               << in << " <- " << out << " scale " << scale << ": o = " << o << " is in " << i
               << ", by the rule in " << NearestSource(o, in, out, scale);
      }
    }
  }
  const int64_t ratio = axis.ratio;
  for (int64_t i = 0; ratio != 0 && i <= in; ++i) {
    if (axis.begin[i] != ratio * i) return testing::AssertionFailure() << "ratio " << ratio;
  }
  if (ratio == 0 && scale == 0 && out % in == 0) {
    for (int64_t i = 0; i <= in; ++i) {
      if (axis.begin[i] != out / in * i) return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "ratio not found";
  }
  return testing::AssertionSuccess();
}

TEST(NearestRule, EverySizePairUpTo96WithAndWithoutScales) {
  for (int64_t in = 1; in <= 96; ++in) {
    for (int64_t out = 1; out <= 96; ++out) {
      const double ratio = static_cast<double>(out) / static_cast<double>(in);
      for (const double scale : {0.0, ratio, ratio * 1.1, ratio * 0.9, 2.0, 0.37}) {
        ASSERT_TRUE(TableFollowsTheRule(in, out, scale));
      }
    }
  }
}

TEST(NearestRule, ScalesFromTinyToHugeStayInsideTheImage) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const double scale :
       {tiny, 1e-300, 1e-45, 1e-38, 1e-10, 1e-3, 1e3, 1e10, 1e38, 1e300,
        std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity()}) {
    for (const int64_t in : {1, 2, 7, 96}) {
      for (const int64_t out : {1, 2, 7, 96}) {
        ASSERT_TRUE(TableFollowsTheRule(in, out, scale)) << scale;
      }
    }
  }
  // 1 / scale overflows to infinity: the min comes before the conversion to an integer.
  EXPECT_EQ(NearestIndexRule(7, 9, tiny)(0), 6);
  EXPECT_EQ(NearestIndexRule(7, 9, std::numeric_limits<double>::infinity())(8), 0);
}

// The ratio would be infinite, and the first output's place infinity times 0.
TEST(NearestRule, TinyScalesHaveOneTable) {
  for (const double scale : {std::numeric_limits<double>::denorm_min(), 1e-300, 1e-40}) {
    for (const Nearest kind : {Nearest::kExact, Nearest::kFloor, Nearest::kCorners}) {
      for (const int64_t out : {5, 96}) {  // of many outputs, places are searched
        const NearestIndexRule rule(6, out, scale, kind);
        const NearestTable table(6, out, scale, kind);
        const int64_t* const begin = table.axis().begin;
        for (int64_t o = 0; o < out; ++o) {
          const int64_t i = rule(o);
          ASSERT_TRUE(begin[i] <= o && o < begin[i + 1]) << scale << ": " << out << " at " << o;
        }
      }
    }
    for (const int64_t in : {int64_t{6}, int64_t{1} << 25}) {  // calculated in float and in double
      EXPECT_EQ(NearestIndexRule(in, 5, scale, Nearest::kFloor)(0), 0) << in << ' ' << scale;
      EXPECT_EQ(NearestIndexRule(in, 5, scale, Nearest::kFloor)(1), in - 1) << in << ' ' << scale;
    }
  }
}

TEST(NearestRule, IntegerRatiosAreExactBelowSixMillion) {
  for (int64_t ratio = 2; ratio <= 7; ++ratio) {
    const int64_t in = 6'000'000 / ratio;
    const NearestIndexRule rule(in, in * ratio, 0);
    for (int64_t o = 0; o < in * ratio; o += ratio == 2 ? 1 : 3) {
      ASSERT_EQ(rule(o), o / ratio) << "ratio " << ratio;
    }
  }
}

TEST(NearestRule, DoublingFirstLeavesTheIdealRatioAt8388609) {
  const int64_t in = 8'000'000;
  const NearestIndexRule rule(in, 2 * in, 0);
  for (int64_t o = 8'380'000; o < 8'388'609; ++o) ASSERT_EQ(rule(o), o / 2);
  // (8388609 + 0.5) / 2 = 4194304.75 is no float; it rounds up to 4194305.
  EXPECT_EQ(rule(8'388'609), 4'194'305);
  EXPECT_EQ(rule(8'388'609), NearestSource(8'388'609, in, 2 * in, 0));
  const NearestTable table(in, 2 * in, 0);
  EXPECT_EQ(table.axis().ratio, 0) << "the rule counts, not the ideal ratio";
  EXPECT_EQ(table.axis().begin[4'194'305], 8'388'609);
}

TEST(NearestRule, ExtentsAbove16MillionAreCalculatedInDouble) {
  constexpr int64_t kLargest = int64_t{1} << 24;
  for (const int64_t in : {kLargest - 1, kLargest, kLargest + 1, kLargest + 3, 3 * kLargest}) {
    for (const int64_t out : {in, in + 1, in - 1, 2 * in, in / 2, int64_t{1000}}) {
      const NearestIndexRule rule(in, out, 0);
      const NearestIndexRule scaled(in, out, 1.7);
      for (const int64_t from : {int64_t{0}, out / 2, out - 1000}) {
        for (int64_t o = from; o < from + 1000; ++o) {
          ASSERT_EQ(rule(o), NearestSource(o, in, out, 0)) << in << " <- " << out;
          ASSERT_EQ(scaled(o), NearestSource(o, in, out, 1.7)) << in << " <- " << out;
        }
      }
    }
  }
  // In double the identity is exact everywhere; in float it could not even name the odd indices.
  const NearestIndexRule identity(kLargest + 3, kLargest + 3, 0);
  for (int64_t o = kLargest - 10; o < kLargest + 3; ++o) EXPECT_EQ(identity(o), o);
}

TEST(NearestRule, SourcesNeverDecrease) {
  Random random(FreshSeed());
  SCOPED_TRACE(FreshSeed());
  for (int i = 0; i < 300; ++i) {
    const int64_t in = random.Integer(1, 3000);
    const int64_t out = random.Integer(1, 3000);
    const double scale = random.Coin() ? 0 : random.Uniform(0.01, 60);
    ASSERT_TRUE(TableFollowsTheRule(in, out, scale));
  }
}

// ---- kernels -----------------------------------------------------------------------------------

struct NearestShapes {
  Shape small;
  Shape large;
  std::vector<double> scales;
};

std::vector<NearestShapes> SomeShapes() {
  return {{{2, 3, 4, 5}, {2, 3, 8, 10}, {}},
          {{1, 2, 3, 7}, {1, 2, 9, 21}, {}},
          {{2, 1, 5, 3}, {2, 1, 7, 11}, {}},
          {{1, 4, 9, 17}, {1, 4, 4, 5}, {}},
          {{1, 1, 8, 4}, {1, 1, 4, 2}, {2, 2}},
          {{2, 2, 6, 6}, {2, 2, 6, 6}, {}},
          {{1, 3, 5, 6}, {1, 3, 13, 9}, {2.5, 0}},
          {{3, 2, 1, 1}, {3, 2, 17, 33}, {}},
          {{2, 3, 7}, {2, 3, 31}, {}},
          {{1, 2, 50}, {1, 2, 1}, {}},
          {{1, 1, 4}, {1, 1, 1025}, {256.25}}};
}

class RefNearestExact : public testing::TestWithParam<Element> {};
INSTANTIATE_TEST_SUITE_P(, RefNearestExact, testing::ValuesIn(kElements),
                         [](const auto& param) { return NameOf(param.param); });

TEST_P(RefNearestExact, BackwardHasTheContractsBitsInEveryLayout) {
  Random random(11);
  for (const NearestShapes& shapes : SomeShapes()) {
    for (const Layout from : kInputLayouts) {
      for (const Layout to : kOutputLayouts) {
        SCOPED_TRACE(ToString(shapes.small) + ToString(shapes.large) + NameOf(from) + NameOf(to));
        Tensor grad_output(GetParam(), shapes.large, from);
        grad_output.FillUniform(random, -1, 1);
        Tensor grad_input(GetParam(), shapes.small, to);
        ASSERT_TRUE(
            RunNearest(kUpsampleNearestExactBackward, grad_output, shapes.scales, &grad_input));
        EXPECT_TRUE(
            BitIdentical(grad_input, NearestBackward(grad_output, shapes.small, shapes.scales)));
        EXPECT_TRUE(grad_input.GuardsIntact());
        EXPECT_TRUE(grad_output.GuardsIntact());
      }
    }
  }
}

TEST_P(RefNearestExact, ForwardCopiesBitsInEveryLayout) {
  Random random(12);
  for (const NearestShapes& shapes : SomeShapes()) {
    for (const Layout from : kInputLayouts) {
      for (const Layout to : kOutputLayouts) {
        SCOPED_TRACE(ToString(shapes.small) + ToString(shapes.large) + NameOf(from) + NameOf(to));
        Tensor input(GetParam(), shapes.small, from);
        input.FillUniform(random, -1, 1);
        Tensor output(GetParam(), shapes.large, to);
        ASSERT_TRUE(RunNearest(kUpsampleNearestExact, input, shapes.scales, &output));
        EXPECT_TRUE(BitIdentical(output, NearestForward(input, shapes.large, shapes.scales)));
        EXPECT_TRUE(output.GuardsIntact());
      }
    }
  }
}

TEST_P(RefNearestExact, NaNAndInfinityFollowIeeeArithmetic) {
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor grad_output(GetParam(), {1, 1, 2, 8});
  grad_output.Fill({infinity, 1, -infinity, 2, infinity, 3, std::nan(""), 4,  //
                    1, 1, 1, 1, -infinity, 1, 1, 1});
  Tensor grad_input(GetParam(), {1, 1, 1, 4});
  ASSERT_TRUE(RunNearest(kUpsampleNearestExactBackward, grad_output, {}, &grad_input));
  EXPECT_EQ(grad_input.Get(0), infinity);
  EXPECT_EQ(grad_input.Get(1), -infinity);
  EXPECT_TRUE(std::isnan(grad_input.Get(2)));
  EXPECT_TRUE(std::isnan(grad_input.Get(3)));
}

TEST_P(RefNearestExact, SumsStartFromPlusZero) {
  Tensor grad_output(GetParam(), {1, 1, 4});
  grad_output.Fill(-0.0);
  Tensor grad_input(GetParam(), {1, 1, 2});
  ASSERT_TRUE(RunNearest(kUpsampleNearestExactBackward, grad_output, {}, &grad_input));
  EXPECT_FALSE(std::signbit(grad_input.Get(0)));
}

}  // namespace
}  // namespace portacl_test
