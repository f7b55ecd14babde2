// Shared by the kernel tests of nearest-exact forward and backward: every kernel of this machine
// against the reference, byte for byte.
//
// A Direction says what differs:
//
//   using Params = ...;
//   static constexpr bool kReadsLarge;                      // backward reads the large tensor
//   static std::span<const base::Kernel<Params>> Kernels();
//   static const base::Kernel<Params>& Reference();
//   static void SetTensors(const GuardedTensor& from, const GuardedTensor& to, Params* params);
#ifndef PORTACL_TESTS_SUPPORT_NEAREST_KERNELS_H_
#define PORTACL_TESTS_SUPPORT_NEAREST_KERNELS_H_

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/kernel.h"
#include "runtime/parallel.h"
#include "support/api/random.h"
#include "support/api/thread_counts.h"
#include "support/kernel_paths.h"
#include "support/nearest_case.h"

namespace portacl::test {

struct NearestPathCase {
  NearestCase params;
  const char* path;
  const char* path_of_2048_bits = path;  // where SVE's registers are that long, the longest
};

inline bool RegistersHave2048Bits() {
#if defined(__aarch64__)
  const int length = prctl(PR_SVE_GET_VL);
  return length > 0 && (length & PR_SVE_VL_LEN_MASK) == 2048 / 8;
#else
  return false;
#endif
}

// The destination's bytes after a run by a path (or by the kernel's choice if it is ""), starting
// from a pattern. Empty if the path does not serve. `taken`: the path.
template <class Params>
std::vector<unsigned char> RunNearestKernel(const base::Kernel<Params>& kernel,
                                            const Params& params, GuardedTensor& to,
                                            std::string_view path, std::string* taken) {
  const auto plan = portacl_test::PlanPath(kernel, params, path);
  if (plan == nullptr) return {};
  *taken = plan->path();
  EXPECT_EQ(plan->workspace_size(), 0u);
  to.FillBytes(0x5A);
  plan->Run(params, nullptr);
  return to.CanonicalBytes();
}

template <class Direction>
typename Direction::Params NearestParams(const NearestCase& c, const NearestTable& h,
                                         const NearestTable& w, const GuardedTensor& from,
                                         const GuardedTensor& to) {
  typename Direction::Params params;
  params.dtype = c.dtype;
  params.n = c.n;
  params.c = c.c;
  static const NearestTable one(1, 1, 0);
  params.d = one.axis();
  params.h = h.axis();
  params.w = w.axis();
  params.from = from.origin();
  params.to = to.origin();
  params.from_stride = from.strides();
  params.to_stride = to.strides();
  return params;
}

// Runs every available kernel by each path that serves the case; returns the path that the first
// kernel chooses.
template <class Direction>
std::string CheckNearest(const NearestCase& c) {
  const NearestTable h(c.h_in, c.h_out, c.h_scale), w(c.w_in, c.w_out, c.w_scale);
  const Shape small = {c.n, c.c, c.h_in, c.w_in}, large = {c.n, c.c, c.h_out, c.w_out};
  const bool from_large = Direction::kReadsLarge;
  GuardedTensor from(c.dtype, from_large ? large : small, c.from, c.at_end, c.offset);
  GuardedTensor to(c.dtype, from_large ? small : large, c.to, c.at_end, c.offset);
  std::mt19937_64 rng(c.seed);
  from.FillRandom(rng, c.finite);
  const auto params = NearestParams<Direction>(c, h, w, from, to);
  std::string path, first_path;
  const auto wanted = RunNearestKernel(Direction::Reference(), params, to, "", &path);
  for (const auto& kernel : Direction::Kernels()) {
    if (!kernel.available()) continue;
    const auto chosen = kernel.plan(params, "");
    EXPECT_NE(chosen, nullptr) << kernel.name << " does not serve " << c;
    if (chosen == nullptr) continue;
    if (first_path.empty()) first_path = chosen->path();
    bool by_chosen = false;
    for (const std::string_view asked : kernel.paths) {
      const auto got = RunNearestKernel(kernel, params, to, asked, &path);
      by_chosen = by_chosen || (!got.empty() && path == chosen->path());
      EXPECT_TRUE(got.empty() || got == wanted) << kernel.name << " path " << path << ": " << c;
    }
    EXPECT_TRUE(by_chosen) << kernel.name << ":" << chosen->path() << " does not serve " << c;
  }
  return first_path;
}

template <class Direction>
void CheckNearestOnRandomCases(uint64_t default_seed) {
  portacl_test::paths_run.clear();
  const uint64_t seed = Seed(default_seed);
  std::mt19937_64 rng(seed);
  for (int i = 0; i < Repetitions(6000); ++i) {
    CheckNearest<Direction>(RandomNearestCase(rng, 20000));
    if (testing::Test::HasFailure()) FAIL() << "case " << i << " of PORTACL_TEST_SEED=" << seed;
  }
  for (const auto& kernel : Direction::Kernels()) {
    portacl_test::ExpectRan(Direction::Kernels(), {kernel.paths.begin(), kernel.paths.end()});
  }
}

// Every equal ratio at every row length around the vector lengths, in each of the dense layouts.
template <class Direction>
void CheckNearestAroundVectorLengths() {
  for (const base::DType dtype : kFloatingTypes) {
    for (int64_t ratio = 1; ratio <= 9; ++ratio) {
      for (int64_t w = 1; w <= 70; ++w) {
        NearestCase c{.dtype = dtype, .c = 3, .h_in = 2, .h_out = 3, .w_in = w, .w_out = ratio * w};
        CheckNearest<Direction>(c);
        c.at_end = false;
        c.offset = static_cast<size_t>(w % 17);
        c.from = c.to = w % 2 == 0 ? Layout::kChannelsLast : Layout::kContiguous;
        CheckNearest<Direction>(c);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

template <class Direction>
void CheckNearestOnThreads(std::span<const NearestPathCase> cases) {
  for (const int threads : portacl_test::ThreadCounts({1, 2, 7, 3})) {
    ASSERT_TRUE(runtime::SetNumThreads(threads));
    for (NearestPathCase c : cases) {
      for (const base::DType dtype : kFloatingTypes) {
        c.params.dtype = dtype;
        CheckNearest<Direction>(c.params);
      }
    }
  }
  runtime::SetNumThreads(0);
}

// The fastest kernel's path.
template <class Direction>
void CheckNearestPaths(std::span<const NearestPathCase> cases) {
  const auto kernels = Direction::Kernels();
  if (kernels.empty() || !kernels.back().available()) {
    GTEST_SKIP() << "no SIMD target on this machine";
  }
  for (const NearestPathCase& c : cases) {
    EXPECT_EQ(CheckNearest<Direction>(c.params),
              RegistersHave2048Bits() ? c.path_of_2048_bits : c.path)
        << c.params;
  }
}

}  // namespace portacl::test

#endif  // PORTACL_TESTS_SUPPORT_NEAREST_KERNELS_H_
