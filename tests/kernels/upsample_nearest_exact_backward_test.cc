// The SIMD kernels of nearest-exact backward against the reference, bit for bit, on every
// instruction set of this machine.
#include "cpu/upsample_nearest_exact_backward.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "ref/upsample_nearest_exact_backward.h"
#include "runtime/parallel.h"
#include "support/api/random.h"
#include "support/nearest_case.h"

namespace portacl::test {
namespace {

using Params = ops::UpsampleNearestExactBackwardParams;
using Kernel = base::Kernel<Params>;

// Bytes of gradInput's storage after a run, starting from a pattern; empty where not served.
std::vector<unsigned char> RunKernel(const Kernel& kernel, const Params& params,
                                     GuardedTensor& grad_input, std::string* path) {
  base::KernelPlan plan;
  if (!kernel.plan(params, &plan)) return {};
  *path = plan.path;
  EXPECT_EQ(plan.workspace_size, 0u);
  grad_input.FillBytes(0x5A);
  kernel.run(params, plan, nullptr);
  return grad_input.CanonicalBytes();
}

// Runs every available kernel; returns the path of the first.
std::string Check(const NearestCase& c) {
  const NearestTable h(c.h_in, c.h_out, c.h_scale), w(c.w_in, c.w_out, c.w_scale);
  GuardedTensor grad_output(c.dtype, {c.n, c.c, c.h_out, c.w_out}, c.from, c.at_end, c.offset);
  GuardedTensor grad_input(c.dtype, {c.n, c.c, c.h_in, c.w_in}, c.to, c.at_end, c.offset);
  std::mt19937_64 rng(c.seed);
  grad_output.FillRandom(rng, c.finite);
  const Params params = {.dtype = c.dtype,
                         .n = c.n,
                         .c = c.c,
                         .h = h.axis(),
                         .w = w.axis(),
                         .grad_output = grad_output.origin(),
                         .grad_input = grad_input.origin(),
                         .grad_output_stride = grad_output.strides(),
                         .grad_input_stride = grad_input.strides()};
  std::string path, first_path;
  const auto wanted = RunKernel(ref::kUpsampleNearestExactBackward, params, grad_input, &path);
  for (const Kernel& kernel : cpu::UpsampleNearestExactBackwardKernels()) {
    if (!kernel.available()) continue;
    const auto got = RunKernel(kernel, params, grad_input, &path);
    if (first_path.empty()) first_path = path;
    EXPECT_EQ(got.size(), wanted.size()) << kernel.name << " does not serve " << c;
    EXPECT_TRUE(got == wanted) << kernel.name << " path " << path << ": " << c;
  }
  return first_path;
}

constexpr uint64_t kSeed = 20240611;

TEST(UpsampleNearestExactBackwardKernels, EqualReferenceOnRandomCases) {
  std::mt19937_64 rng(Seed(kSeed));
  for (int i = 0; i < Repetitions(6000); ++i) {
    Check(RandomNearestCase(rng, 20000));
    if (HasFailure()) FAIL() << "case " << i << " of PORTACL_TEST_SEED=" << Seed(kSeed);
  }
}

// Every equal ratio at every row length around the vector lengths, in each of the dense layouts.
TEST(UpsampleNearestExactBackwardKernels, EqualReferenceAroundVectorLengths) {
  for (const base::DType dtype : kFloatingTypes) {
    for (int64_t ratio = 1; ratio <= 9; ++ratio) {
      for (int64_t w = 1; w <= 70; ++w) {
        NearestCase c{.dtype = dtype, .c = 3, .h_in = 2, .h_out = 3, .w_in = w, .w_out = ratio * w};
        Check(c);
        c.at_end = false;
        c.offset = static_cast<size_t>(w % 17);
        c.from = c.to = w % 2 == 0 ? Layout::kChannelsLast : Layout::kContiguous;
        Check(c);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(UpsampleNearestExactBackwardKernels, EqualReferenceForEveryChannelCount) {
  for (const base::DType dtype : kFloatingTypes) {
    for (int64_t channels = 1; channels <= 70; ++channels) {
      Check({.dtype = dtype,
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

struct PathCase {
  NearestCase params;
  const char* path;
};

// Large enough for several tiles and threads, on every path.
const PathCase kLarge[] = {
    {{.c = 40, .h_in = 33, .h_out = 33, .w_in = 70, .w_out = 70}, "x1"},
    {{.c = 40, .h_in = 33, .h_out = 66, .w_in = 70, .w_out = 140}, "x2"},
    {{.n = 2, .c = 20, .h_in = 21, .h_out = 63, .w_in = 70, .w_out = 210}, "x3"},
    {{.c = 20, .h_in = 21, .h_out = 42, .w_in = 70, .w_out = 280}, "x4"},
    {{.c = 3, .w_in = 100003, .w_out = 200006}, "x2"},
    {{.c = 3, .h_in = 200, .h_out = 273, .w_in = 211, .w_out = 280}, "permute"},
    {{.c = 1, .w_in = 100003, .w_out = 230001}, "permute"},
    {{.c = 500, .h_in = 16, .h_out = 6, .w_in = 16, .w_out = 6}, "permute"},
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
    {{.c = 9, .h_in = 130, .h_out = 260, .w_in = 130, .w_out = 260, .from = Layout::kTransposed},
     "packed"},
    {{.c = 9, .h_in = 130, .h_out = 200, .w_in = 130, .w_out = 200, .to = Layout::kChannelsLast},
     "packed"},
};

TEST(UpsampleNearestExactBackwardKernels, DoNotDependOnThreads) {
  for (const int threads : {1, 2, 3, 7}) {
    if (portacl_test::ShortRun() && threads != 3) continue;
    ASSERT_TRUE(runtime::SetNumThreads(threads));
    for (PathCase c : kLarge) {
      for (const base::DType dtype : kFloatingTypes) {
        c.params.dtype = dtype;
        Check(c.params);
      }
    }
  }
  runtime::SetNumThreads(0);
}

// Beyond the caches the kernels read memory strictly forward and fetch it ahead (from 16 MiB) and
// store past the caches (from the last level's size): the bytes are the same. 20 to 50 MB, double
// the twofold.
TEST(UpsampleNearestExactBackwardKernels, EqualReferenceBeyondTheCaches) {
  const PathCase kCases[] = {
      {{.c = 64, .h_in = 128, .h_out = 128, .w_in = 320, .w_out = 320}, "x1"},
      {{.c = 32, .h_in = 128, .h_out = 256, .w_in = 256, .w_out = 512}, "x2"},
      {{.c = 16, .h_in = 160, .h_out = 480, .w_in = 144, .w_out = 432}, "x3"},
      {{.c = 8, .h_in = 128, .h_out = 512, .w_in = 144, .w_out = 576}, "x4"},
      {{.c = 16, .h_in = 300, .h_out = 391, .w_in = 304, .w_out = 407}, "permute"},
      {{.c = 9000, .h_in = 16, .h_out = 6, .w_in = 16, .w_out = 6}, "permute"},
      {{.c = 7000, .h_in = 16, .h_out = 6, .w_in = 17, .w_out = 6}, "permute"},
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
  for (const PathCase& each : kCases) {
    NearestCase c = each.params;
    EXPECT_EQ(Check(c), each.path) << c;
    c.dtype = base::DType::kBFloat16;
    c.n = 2;
    Check(c);
    if (portacl_test::ShortRun()) continue;
    c.dtype = base::DType::kDouble;
    c.n = 1;
    Check(c);
  }
}

TEST(UpsampleNearestExactBackwardKernels, TakeTheExpectedPath) {
  if (cpu::UpsampleNearestExactBackwardKernels().empty() ||
      !cpu::UpsampleNearestExactBackwardKernels().back().available()) {
    GTEST_SKIP() << "no SIMD target on this machine";
  }
  for (const PathCase& c : kLarge) EXPECT_EQ(Check(c.params), c.path) << c.params;
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
      const Params params = {.dtype = dtype,
                             .n = 1,
                             .c = 1,
                             .h = h.axis(),
                             .w = w.axis(),
                             .grad_output = grad_output.origin(),
                             .grad_input = grad_input.origin(),
                             .grad_output_stride = grad_output.strides(),
                             .grad_input_stride = grad_input.strides()};
      for (const Kernel& kernel : cpu::UpsampleNearestExactBackwardKernels()) {
        std::string path;
        if (!kernel.available()) continue;
        EXPECT_EQ(RunKernel(kernel, params, grad_input, &path),
                  std::vector<unsigned char>(20 * size, 0))
            << kernel.name << " " << base::DTypeName(dtype) << " x" << ratio;
      }
    }
  }
}

}  // namespace
}  // namespace portacl::test
