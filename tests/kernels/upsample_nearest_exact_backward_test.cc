// The SIMD kernels of nearest-exact backward against the reference, bit for bit, on every
// instruction set of this machine.

#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "cpu/resize/nearest_plan.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
#include "support/nearest_kernels.h"

namespace portacl::test {
namespace {

struct Backward {
  using Params = ops::UpsampleNearestExactBackwardParams;
  static constexpr bool kReadsLarge = true;
  static auto Kernels() { return cpu::UpsampleNearestExactBackwardKernels(); }
  static const base::Kernel<Params>& Reference() { return ref::kUpsampleNearestExactBackward; }
};

TEST(UpsampleNearestExactBackwardKernels, EqualReferenceOnRandomCases) {
  CheckNearestOnRandomCases<Backward>(20240611);
}

TEST(UpsampleNearestExactBackwardKernels, EqualReferenceAroundVectorLengths) {
  CheckNearestAroundVectorLengths<Backward>();
}

TEST(UpsampleNearestExactBackwardKernels, EqualReferenceForEveryChannelCount) {
  for (const base::DType dtype : kFloatingTypes) {
    for (int64_t channels = 1; channels <= 70; ++channels) {
      CheckNearest<Backward>({.dtype = dtype,
                              .n = 2,
                              .c = channels,
                              .h_in = 3,
                              .h_out = 6,
                              .w_in = 3,
                              .w_out = 7,
                              .from = Layout::kChannelsLast,
                              .to = Layout::kChannelsLast,
                              .at_end = channels % 2 == 0,
                              .finite = false});
    }
  }
}

// Large enough for several tiles and threads, on every path.
const NearestPathCase kLarge[] = {
    {{.c = 40, .h_in = 33, .h_out = 33, .w_in = 70, .w_out = 70}, "x1"},
    {{.c = 40, .h_in = 33, .h_out = 66, .w_in = 70, .w_out = 140}, "x2"},
    {{.n = 2, .c = 20, .h_in = 21, .h_out = 63, .w_in = 70, .w_out = 210}, "x3"},
    {{.c = 20, .h_in = 21, .h_out = 42, .w_in = 70, .w_out = 280}, "x4"},
    {{.c = 3, .w_in = 100003, .w_out = 200006}, "x2"},
    {{.c = 3, .h_in = 200, .h_out = 273, .w_in = 211, .w_out = 280}, "permute"},
    {{.c = 1, .w_in = 100003, .w_out = 180001}, "permute"},
    {{.c = 1, .w_in = 100003, .w_out = 230001}, "permute", "wide"},
    {{.c = 500, .h_in = 16, .h_out = 12, .w_in = 16, .w_out = 12}, "permute"},
    {{.c = 500, .h_in = 16, .h_out = 6, .w_in = 16, .w_out = 6}, "scatter"},
    {{.n = 2, .c = 30, .h_in = 90, .h_out = 15, .w_in = 100, .w_out = 13}, "scatter"},
    {{.c = 3, .h_in = 130, .h_out = 5, .w_in = 400, .w_out = 130}, "scatter"},
    {{.c = 2, .h_in = 130, .h_out = 1, .w_in = 140, .w_out = 1}, "scatter"},
    // Rows have sources of several rows, in few columns.
    {{.c = 3, .h_in = 71, .h_out = 580, .w_in = 516, .w_out = 6}, "scatter"},
    {{.n = 2, .c = 5, .h_in = 40, .h_out = 65, .w_in = 600, .w_out = 9}, "scatter"},
    {{.n = 2,
      .c = 21,
      .h_in = 40,
      .h_out = 90,
      .w_in = 101,
      .w_out = 33,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "scatter"},
    // Planes that are joined; the last group of 601 is shorter.
    {{.c = 600, .h_in = 7, .h_out = 2, .w_in = 7, .w_out = 2}, "scatter"},
    {{.c = 601, .h_in = 7, .h_out = 2, .w_in = 7, .w_out = 2}, "scatter"},
    {{.n = 3,
      .c = 21,
      .h_in = 90,
      .h_out = 40,
      .w_in = 101,
      .w_out = 33,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "scatter"},
    {{.w_in = 3000, .w_out = 768000}, "wide"},
    {{.c = 600, .h_in = 7, .h_out = 49, .w_in = 7, .w_out = 49}, "wide"},
    {{.n = 2, .c = 50, .h_in = 1, .h_out = 60, .w_in = 1, .w_out = 60}, "wide"},
    {{.n = 2,
      .c = 67,
      .h_in = 30,
      .h_out = 60,
      .w_in = 30,
      .w_out = 60,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "channels_last"},
    {{.c = 37,
      .h_in = 9,
      .h_out = 45,
      .w_in = 9,
      .w_out = 43,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "channels_last"},
    // Small pixels: rows of elements.
    {{.n = 2,
      .c = 3,
      .h_in = 90,
      .h_out = 180,
      .w_in = 70,
      .w_out = 141,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "permute"},
    {{.c = 5,
      .h_in = 90,
      .h_out = 130,
      .w_in = 100,
      .w_out = 70,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "permute"},
    // Pixels that stay together.
    {{.n = 2,
      .c = 67,
      .h_in = 30,
      .h_out = 30,
      .w_in = 40,
      .w_out = 40,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "channels_last"},
    {{.c = 67,
      .h_in = 30,
      .h_out = 60,
      .w_in = 40,
      .w_out = 40,
      .from = Layout::kChannelsLast,
      .to = Layout::kChannelsLast},
     "channels_last"},
    {{.c = 9, .h_in = 130, .h_out = 260, .w_in = 130, .w_out = 260, .from = Layout::kTransposed},
     "packed"},
    {{.c = 9, .h_in = 130, .h_out = 200, .w_in = 130, .w_out = 200, .to = Layout::kChannelsLast},
     "packed"},
};

TEST(UpsampleNearestExactBackwardKernels, DoNotDependOnThreads) {
  CheckNearestOnThreads<Backward>(kLarge);
}

// Beyond the caches the kernels read memory strictly forward and fetch it ahead (from 16 MiB) and
// store past the caches (from the last level's size): the bytes are the same. Tensors have 20 to 50
// MB, in double twice as much.
TEST(UpsampleNearestExactBackwardKernels, EqualReferenceBeyondTheCaches) {
  const NearestPathCase kCases[] = {
      {{.c = 64, .h_in = 128, .h_out = 128, .w_in = 320, .w_out = 320}, "x1"},
      {{.c = 32, .h_in = 128, .h_out = 256, .w_in = 256, .w_out = 512}, "x2"},
      {{.c = 16, .h_in = 160, .h_out = 480, .w_in = 144, .w_out = 432}, "x3"},
      {{.c = 8, .h_in = 128, .h_out = 512, .w_in = 144, .w_out = 576}, "x4"},
      {{.c = 16, .h_in = 300, .h_out = 391, .w_in = 304, .w_out = 407}, "permute"},
      {{.c = 9000, .h_in = 16, .h_out = 6, .w_in = 16, .w_out = 6}, "scatter"},
      {{.c = 7000, .h_in = 16, .h_out = 6, .w_in = 17, .w_out = 6}, "scatter"},
      {{.c = 9000, .h_in = 16, .h_out = 12, .w_in = 16, .w_out = 12}, "permute"},
      {{.w_in = 9000, .w_out = 2304000}, "wide"},
      // Rows without a source; the last block overlaps its neighbour and is cleared by itself.
      {{.c = 16,
        .h_in = 256,
        .h_out = 128,
        .w_in = 2049,
        .w_out = 2049,
        .to = Layout::kPaddedLines,
        .at_end = false},
       "x1"},
      {{.c = 16,
        .h_in = 256,
        .h_out = 128,
        .w_in = 2049,
        .w_out = 2500,
        .to = Layout::kPaddedLines,
        .at_end = false},
       "permute"},
      {{.c = 80,
        .h_in = 96,
        .h_out = 192,
        .w_in = 96,
        .w_out = 192,
        .from = Layout::kChannelsLast,
        .to = Layout::kChannelsLast},
       "channels_last"},
      {{.c = 100,
        .h_in = 30,
        .h_out = 170,
        .w_in = 30,
        .w_out = 170,
        .from = Layout::kChannelsLast,
        .to = Layout::kChannelsLast},
       "channels_last"},
      // Small pixels, and pixels that stay together.
      {{.c = 5,
        .h_in = 500,
        .h_out = 1000,
        .w_in = 501,
        .w_out = 1003,
        .from = Layout::kChannelsLast,
        .to = Layout::kChannelsLast},
       "permute"},
      {{.c = 48,
        .h_in = 250,
        .h_out = 251,
        .w_in = 400,
        .w_out = 400,
        .from = Layout::kChannelsLast,
        .to = Layout::kChannelsLast},
       "channels_last"},
      {{.c = 48,
        .h_in = 250,
        .h_out = 250,
        .w_in = 400,
        .w_out = 400,
        .from = Layout::kChannelsLast,
        .to = Layout::kChannelsLast},
       "channels_last"},
      // Pixels that fit the registers, that share a page, that have pages of their own.
      {{.c = 48,
        .h_in = 130,
        .h_out = 260,
        .w_in = 130,
        .w_out = 260,
        .from = Layout::kChannelsLast,
        .to = Layout::kChannelsLast},
       "channels_last"},
      {{.c = 512,
        .h_in = 40,
        .h_out = 80,
        .w_in = 41,
        .w_out = 81,
        .from = Layout::kChannelsLast,
        .to = Layout::kChannelsLast},
       "channels_last"},
      {{.c = 1100,
        .h_in = 28,
        .h_out = 56,
        .w_in = 28,
        .w_out = 55,
        .from = Layout::kChannelsLast,
        .to = Layout::kChannelsLast},
       "channels_last"},
  };
  for (const NearestPathCase& each : kCases) {
    NearestCase c = each.params;
    EXPECT_EQ(CheckNearest<Backward>(c), each.path) << c;
    if (portacl_test::ShortRun()) continue;
    c.dtype = base::DType::kBFloat16;
    c.n = 2;
    CheckNearest<Backward>(c);
    c.dtype = base::DType::kDouble;
    c.n = 1;
    CheckNearest<Backward>(c);
  }
}

TEST(UpsampleNearestExactBackwardKernels, TakeTheExpectedPath) {
  CheckNearestPaths<Backward>(kLarge);
}

// Planes are joined up to 64 sources and up to a tile's bytes. Larger planes are cut instead, so
// the cost of planning does not grow with their size.
TEST(UpsampleNearestExactBackwardKernels, JoinSmallPlanesOnly) {
  const auto joined = [](int64_t c, int64_t in, int64_t out, int64_t gap = 0) {
    const NearestTable axis(in, out), one(1, 1);
    const ops::UpsampleNearestExactBackwardParams p = {
        {.n = 1,
         .c = c,
         .d = one.axis(),
         .h = axis.axis(),
         .w = axis.axis(),
         .from_stride = {c * out * out, out * out, out, 1},
         .to_stride = {c * (in * in + gap), in * in + gap, in, 1}}};
    const auto plan = cpu::PlanNearestBackward(p, 4, {8, 8, true}, "");
    EXPECT_TRUE(plan && std::string(plan->path) == "scatter") << c << " " << in << " " << out;
    const auto& mine = std::get<cpu::NearestBackwardKernelPlan>(plan->way);
    EXPECT_EQ(static_cast<int64_t>(mine.place.size()),
              mine.joined == 0 ? out : mine.joined * out * out);
    return mine.joined;
  };
  EXPECT_EQ(joined(600, 7, 2), 16);
  EXPECT_EQ(joined(601, 7, 2), 16);
  EXPECT_EQ(joined(100, 4, 1), 64);
  EXPECT_EQ(joined(3, 4, 1), 3);
  EXPECT_EQ(joined(601, 7, 2, 1), 0);
  EXPECT_EQ(joined(64, 64, 1), 4);
  EXPECT_EQ(joined(64, 128, 1), 1);
  EXPECT_EQ(joined(64, 129, 1), 0);
  EXPECT_EQ(joined(64, 800, 1), 0);
  EXPECT_EQ(joined(1, 4000, 8), 0);
}

// A sum that cancels, or has only negative zeros, is +0.
TEST(UpsampleNearestExactBackwardKernels, KeepPlusZero) {
  for (const base::DType dtype : kFloatingTypes) {
    for (const int64_t ratio : {1, 2, 3, 4, 5, 8}) {
      const NearestTable h(1, 1), w(20, 20 * ratio);
      GuardedTensor grad_output(dtype, {1, 1, 1, 20 * ratio}, Layout::kContiguous, true, 0);
      GuardedTensor grad_input(dtype, {1, 1, 1, 20}, Layout::kContiguous, true, 0);
      const auto size = static_cast<size_t>(base::DTypeSize(dtype));
      grad_output.FillBytes(0);
      auto* bytes = static_cast<unsigned char*>(grad_output.origin());
      for (size_t i = 1; i <= static_cast<size_t>(20 * ratio); ++i) bytes[i * size - 1] = 0x80;
      const auto params = NearestParams<Backward>({.dtype = dtype}, h, w, grad_output, grad_input);
      for (const auto& kernel : Backward::Kernels()) {
        std::string path;
        if (!kernel.available()) continue;
        for (const std::string_view asked : kernel.paths) {
          const auto got = RunNearestKernel(kernel, params, grad_input, asked, &path);
          EXPECT_TRUE(got.empty() || got == std::vector<unsigned char>(20 * size, 0))
              << kernel.name << ":" << asked << " " << base::DTypeName(dtype) << " x" << ratio;
        }
      }
    }
  }
}

}  // namespace
}  // namespace portacl::test
