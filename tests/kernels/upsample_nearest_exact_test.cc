// The SIMD kernels of nearest-exact forward against the reference, byte for byte, on every
// instruction set of this machine.

#include <gtest/gtest.h>

#include <variant>

#include "cpu/resize/nearest_plan.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
#include "support/nearest_kernels.h"

namespace portacl::test {
namespace {

struct Forward {
  using Params = ops::UpsampleNearestExactParams;
  static constexpr bool kReadsLarge = false;
  static auto Kernels() { return cpu::UpsampleNearestExactKernels(); }
  static const base::Kernel<Params>& Reference() { return ref::kUpsampleNearestExact; }
};

TEST(UpsampleNearestExactKernels, EqualReferenceOnRandomCases) {
  CheckNearestOnRandomCases<Forward>(20240612);
}

TEST(UpsampleNearestExactKernels, EqualReferenceAroundVectorLengths) {
  CheckNearestAroundVectorLengths<Forward>();
}

// Large enough for several tiles and threads, on every path.
const NearestPathCase kLarge[] = {
    {{.c = 40, .h_in = 33, .h_out = 66, .w_in = 70, .w_out = 70}, "copy"},
    {{.c = 40, .h_in = 33, .h_out = 66, .w_in = 70, .w_out = 140}, "permute"},
    {{.c = 3, .w_in = 100003, .w_out = 200006}, "permute"},
    {{.w_in = 3000, .w_out = 768000}, "permute"},
    {{.w_in = 5, .w_out = 200000}, "permute"},
    {{.c = 20, .h_in = 90, .h_out = 180, .w_in = 70, .w_out = 211}, "permute"},
    {{.n = 2,
      .c = 3,
      .h_in = 90,
      .h_out = 180,
      .w_in = 70,
      .w_out = 140,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "permute"},
    // Hardly larger: a vector of destinations needs as many sources as it has elements.
    {{.c = 3,
      .h_in = 90,
      .h_out = 90,
      .w_in = 70,
      .w_out = 80,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "permute"},
    {{.n = 2,
      .c = 67,
      .h_in = 30,
      .h_out = 60,
      .w_in = 30,
      .w_out = 60,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "channels_last"},
    // Pixels that stay together.
    {{.n = 2,
      .c = 3,
      .h_in = 90,
      .h_out = 180,
      .w_in = 170,
      .w_out = 170,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "copy"},
    {{.c = 67,
      .h_in = 90,
      .h_out = 90,
      .w_in = 40,
      .w_out = 40,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "copy"},
    {{.c = 9, .h_in = 130, .h_out = 260, .w_in = 130, .w_out = 260, .from = Layout::kTransposed},
     "elements"},
};

TEST(UpsampleNearestExactKernels, DoNotDependOnThreads) { CheckNearestOnThreads<Forward>(kLarge); }

TEST(UpsampleNearestExactKernels, TakeTheExpectedPath) { CheckNearestPaths<Forward>(kLarge); }

// Of a result of one column the rows are a row.
TEST(UpsampleNearestExactKernels, EqualReferenceOfOneColumn) {
  for (const base::DType dtype : kFloatingTypes) {
    for (const Layout layout : {Layout::kContiguous, Layout::kTransposed, Layout::kChannelsLast}) {
      for (const int64_t rows : {1, 2, 7, 16, 33, 200}) {
        CheckNearest<Forward>({.dtype = dtype,
                               .n = 2,
                               .c = 3,
                               .h_in = 33,
                               .h_out = rows,
                               .w_in = 9,
                               .w_out = 1,
                               .from = layout});
      }
    }
  }
}

// Small planes that follow each other on both sides are rows.
TEST(UpsampleNearestExactKernels, JoinSmallPlanes) {
  const NearestTable axis(3, 5), one(1, 1);
  for (const int64_t gap : {0, 1}) {
    const ops::UpsampleNearestExactParams p = {{.n = 1,
                                                .c = 40,
                                                .d = one.axis(),
                                                .h = axis.axis(),
                                                .w = axis.axis(),
                                                .from_stride = {360, 9, 3, 1},
                                                .to_stride = {40 * (25 + gap), 25 + gap, 5, 1}}};
    for (const int64_t lanes : {16, 32}) {
      const auto plan = cpu::PlanNearestForward(p, 4, lanes, true, "");
      ASSERT_TRUE(plan);
      const auto& mine = std::get<cpu::NearestForwardKernelPlan>(plan->way);
      EXPECT_EQ(mine.row, gap > 0 ? 5 : 25 * (lanes / 16)) << gap << " " << lanes;
      EXPECT_EQ(mine.rows, gap > 0 ? 5 : 40 / (lanes / 16)) << gap << " " << lanes;
    }
  }
}

}  // namespace
}  // namespace portacl::test
