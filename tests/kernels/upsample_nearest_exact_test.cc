// The SIMD kernels of nearest-exact forward against the reference, byte for byte, on every
// instruction set of this machine.
#include "cpu/upsample_nearest_exact.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "ref/upsample_nearest_exact.h"
#include "runtime/parallel.h"
#include "support/nearest_case.h"

namespace portacl::test {
namespace {

using Params = ops::UpsampleNearestExactParams;
using Kernel = base::Kernel<Params>;

// Bytes of the output's storage after a run, starting from a pattern.
std::vector<unsigned char> RunKernel(const Kernel& kernel, const Params& params,
                                     GuardedTensor& output, std::string* path) {
  base::KernelPlan plan;
  if (!kernel.plan(params, &plan)) return {};
  *path = plan.path;
  EXPECT_EQ(plan.workspace_size, 0u);
  output.FillBytes(0x5A);
  kernel.run(params, plan, nullptr);
  return output.CanonicalBytes();
}

// Runs every available kernel; returns the path of the first.
std::string Check(const NearestCase& c) {
  const NearestTable h(c.h_in, c.h_out, c.h_scale), w(c.w_in, c.w_out, c.w_scale);
  GuardedTensor input(c.dtype, {c.n, c.c, c.h_in, c.w_in}, c.from, c.at_end, c.offset);
  GuardedTensor output(c.dtype, {c.n, c.c, c.h_out, c.w_out}, c.to, c.at_end, c.offset);
  std::mt19937_64 rng(c.seed);
  input.FillRandom(rng, c.finite);
  const Params params = {.dtype = c.dtype,
                         .n = c.n,
                         .c = c.c,
                         .h = h.axis(),
                         .w = w.axis(),
                         .input = input.origin(),
                         .output = output.origin(),
                         .input_stride = input.strides(),
                         .output_stride = output.strides()};
  std::string path, first_path;
  const auto wanted = RunKernel(ref::kUpsampleNearestExact, params, output, &path);
  for (const Kernel& kernel : cpu::UpsampleNearestExactKernels()) {
    if (!kernel.available()) continue;
    const auto got = RunKernel(kernel, params, output, &path);
    if (first_path.empty()) first_path = path;
    EXPECT_TRUE(got == wanted) << kernel.name << " path " << path << ": " << c;
  }
  return first_path;
}

constexpr uint64_t kSeed = 20240612;

TEST(UpsampleNearestExactKernels, EqualReferenceOnRandomCases) {
  std::mt19937_64 rng(Seed(kSeed));
  for (int i = 0; i < Repetitions(6000); ++i) {
    Check(RandomNearestCase(rng, 20000));
    if (HasFailure()) FAIL() << "case " << i << " of PORTACL_TEST_SEED=" << Seed(kSeed);
  }
}

TEST(UpsampleNearestExactKernels, EqualReferenceAroundVectorLengths) {
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

struct PathCase {
  NearestCase params;
  const char* path;
};

// Large enough for several tiles and threads, on every path.
const PathCase kLarge[] = {
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
    {{.c = 9, .h_in = 130, .h_out = 260, .w_in = 130, .w_out = 260, .from = Layout::kTransposed},
     "elements"},
};

TEST(UpsampleNearestExactKernels, DoNotDependOnThreads) {
  for (const int threads : {1, 2, 3, 7}) {
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

TEST(UpsampleNearestExactKernels, TakeTheExpectedPath) {
  const auto kernels = cpu::UpsampleNearestExactKernels();
  if (kernels.empty() || !kernels.back().available()) {
    GTEST_SKIP() << "no SIMD target on this machine";
  }
  for (const PathCase& c : kLarge) EXPECT_EQ(Check(c.params), c.path) << c.params;
}

}  // namespace
}  // namespace portacl::test
