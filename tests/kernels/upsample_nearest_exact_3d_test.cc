// The vectorised nearest-exact kernels on volumes, forward and backward, equal the reference byte
// by byte: on every instruction set of the machine, for every type, layout and number of threads.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
#include "runtime/parallel.h"
#include "support/api/random.h"
#include "support/api/thread_counts.h"
#include "support/kernel_test.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::cpu::UpsampleNearestExactBackwardKernels;
using portacl::cpu::UpsampleNearestExactKernels;
using portacl::ref::kUpsampleNearestExact;
using portacl::ref::kUpsampleNearestExactBackward;

using Extents3 = std::array<int64_t, 3>;

struct VolumeCase {
  Element element = Element::kFloat;
  int64_t n = 1, c = 1;
  Extents3 small{};
  Extents3 large{};
  Layout from = Layout::kContiguous;
  Layout to = Layout::kContiguous;
  std::vector<double> scales = {};
};

std::string ToString(const VolumeCase& c) {
  std::string text = std::string(NameOf(c.element)) + " (" + std::to_string(c.n) + ", " +
                     std::to_string(c.c) + ")";
  for (const Extents3& extents : {c.small, c.large}) {
    for (const int64_t extent : extents) text += " " + std::to_string(extent);
  }
  return text + " from " + NameOf(c.from) + " to " + NameOf(c.to);
}

Shape ShapeOf(const VolumeCase& c, const Extents3& e) { return {c.n, c.c, e[0], e[1], e[2]}; }

class UpsampleNearestExact3DKernels : public KernelTest {
 protected:
  // Paths of the function and of its gradient.
  static void ExpectRan(const Paths& forward, const Paths& backward) {
    portacl_test::ExpectRan(UpsampleNearestExactKernels(), forward, 10);
    portacl_test::ExpectRan(UpsampleNearestExactBackwardKernels(), backward, 10);
  }

  static void ExpectSameBytes(const VolumeCase& c, Random& random) {
    SCOPED_TRACE(ToString(c));
    Tensor small(c.element, ShapeOf(c, c.small), c.from);
    small.FillUniform(random, -1, 1);
    Tensor large(c.element, ShapeOf(c, c.large), c.from);
    large.FillUniform(random, -1, 1);
    Tensor want_large(c.element, large.shape(), c.to);
    Tensor want_small(c.element, small.shape(), c.to);
    ASSERT_TRUE(RunNearest(kUpsampleNearestExact, small, c.scales, &want_large));
    ASSERT_TRUE(RunNearest(kUpsampleNearestExactBackward, large, c.scales, &want_small));
    for (const auto& kernel : UpsampleNearestExactKernels()) {
      if (!kernel.available()) continue;
      ForPaths(kernel, kServing, [&](const auto&, auto path) {
        Tensor got(c.element, large.shape(), c.to);
        if (!RunNearest(kernel, small, c.scales, &got, path)) return false;
        EXPECT_TRUE(SameAs(want_large, got)) << kernel.name << ":" << path;
        return true;
      });
    }
    for (const auto& kernel : UpsampleNearestExactBackwardKernels()) {
      if (!kernel.available()) continue;
      ForPaths(kernel, kServing, [&](const auto&, auto path) {
        Tensor got(c.element, small.shape(), c.to);
        if (!RunNearest(kernel, large, c.scales, &got, path)) return false;
        EXPECT_TRUE(SameAs(want_small, got)) << kernel.name << ":" << path;
        return true;
      });
    }
  }
};

// Equal ratios on each axis, mixed ones, and volumes that shrink.
TEST_F(UpsampleNearestExact3DKernels, EqualTheReferenceForEveryRatio) {
  Random random(61);
  for (const Element element : kElements) {
    for (int64_t ratio_d = 1; ratio_d <= 3; ++ratio_d) {
      for (int64_t ratio_w = 1; ratio_w <= 4; ++ratio_w) {
        for (const int64_t width : {1, 4, 7, 16, 33, 70}) {
          VolumeCase c{.element = element, .n = 2, .c = 3};
          c.small = {3, 2, width};
          c.large = {3 * ratio_d, 4, ratio_w * width};
          ExpectSameBytes(c, random);
          c.large = {ratio_d, 3, (ratio_w * width + 1) / 2};
          ExpectSameBytes(c, random);
          if (HasFailure()) return;
        }
      }
    }
  }
  ExpectRan({"copy", "permute", "elements"}, {"x1", "x2", "x3", "x4", "permute", "wide"});
}

TEST_F(UpsampleNearestExact3DKernels, EqualTheReferenceOnEveryLayout) {
  Random random(62);
  for (const Element element : kElements) {
    for (const Layout from : kInputLayouts) {
      for (const Layout to : kOutputLayouts) {
        for (const int64_t channels : {1, 3, 40}) {
          VolumeCase c{.element = element, .n = 2, .c = channels, .from = from, .to = to};
          c.small = {3, 4, 10};
          c.large = {random.Integer(1, 8), random.Integer(1, 9), random.Integer(1, 31)};
          ExpectSameBytes(c, random);
          if (HasFailure()) return;
        }
      }
    }
  }
  ExpectRan({"permute", "channels_last", "elements"},
            {"permute", "wide", "channels_last", "packed"});
}

// Few destinations have a source: along each axis some have none.
TEST_F(UpsampleNearestExact3DKernels, EqualTheReferenceWhereVolumesShrink) {
  Random random(64);
  for (const Element element : kElements) {
    for (const Layout layout : {Layout::kContiguous, Layout::kChannelsLast}) {
      for (const int64_t channels : {3, 300}) {
        VolumeCase c{.element = element, .n = 2, .c = channels, .from = layout, .to = layout};
        c.small = {7, 9, 20};
        c.large = {3, 4, 6};
        ExpectSameBytes(c, random);
        c.large = {2, 3, 4};  // planes that are joined
        ExpectSameBytes(c, random);
        c.small = {3, 5, 300};
        c.large = {7, 11, 4};  // several sources along D and H
        ExpectSameBytes(c, random);
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({}, {"scatter"});
}

// The sums of a pixel's channels have a place of a fixed size, whatever its tile.
TEST_F(UpsampleNearestExact3DKernels, EqualTheReferenceForOneColumnOfManyChannels) {
  Random random(65);
  for (const Element element : kElements) {
    for (const Layout to : {Layout::kContiguous, Layout::kChannelsLast}) {
      VolumeCase c{.element = element, .c = 5000, .from = Layout::kChannelsLast, .to = to};
      c.small = {2, 2, 1};
      c.large = {4, 4, 2};
      ExpectSameBytes(c, random);
    }
  }
}

// Large enough for several tiles and threads; past the caches, where results are streamed.
TEST_F(UpsampleNearestExact3DKernels, DoNotDependOnThreads) {
  Random random(63);
  const std::vector<VolumeCase> cases = {
      {.c = 3, .small = {20, 24, 32}, .large = {40, 48, 64}},
      {.c = 2, .small = {9, 40, 70}, .large = {20, 71, 133}},
      {.c = 70,
       .small = {6, 8, 8},
       .large = {12, 16, 16},
       .from = Layout::kChannelsLast,
       .to = Layout::kChannelsLast},
      {.c = 37, .small = {6, 9, 8}, .large = {13, 16, 17}, .from = Layout::kChannelsLast},
      {.c = 3, .small = {6, 5, 22}, .large = {13, 16, 17}, .to = Layout::kChannelsLast},
      {.c = 3, .small = {5, 6, 20}, .large = {35, 42, 140}},
      {.c = 2, .small = {5, 6, 20}, .large = {35, 42, 140}, .from = Layout::kTransposed},
      {.element = Element::kBFloat16, .c = 8, .small = {16, 16, 16}, .large = {32, 48, 64}},
      // Rows that end inside cache lines, gathered: copied, short, of 16 bits, too long for that.
      {.c = 3, .small = {9, 10, 133}, .large = {20, 31, 133}},
      {.c = 5, .small = {20, 30, 3}, .large = {40, 61, 7}},
      {.element = Element::kFloat16, .c = 3, .small = {9, 21, 50}, .large = {20, 43, 101}},
      {.small = {3, 9, 600}, .large = {5, 19, 1501}},
  };
  for (const VolumeCase& c : cases) {
    for (const int threads : ThreadCounts({1, 3})) {
      portacl::runtime::SetNumThreads(threads);
      for (const bool past_the_caches : {false, true}) {
        OtherMachine machine;
        if (past_the_caches) machine->last_level_cache = 1;
        ExpectSameBytes(c, random);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(UpsampleNearestExact3DKernels, EqualTheReferenceOnRandomCalls) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int64_t round = 0; round < ByRunLength(400, 80); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    VolumeCase c{.element = PickOf(random, kElements),
                 .n = random.Integer(1, 2),
                 .c = random.Integer(1, 20),
                 .small = {random.Integer(1, 6), random.Integer(1, 7), random.Integer(1, 40)},
                 .large = {random.Integer(1, 12), random.Integer(1, 14), random.Integer(1, 80)},
                 .from = PickOf(random, kInputLayouts),
                 .to = PickOf(random, kOutputLayouts)};
    if (random.Coin()) {
      for (int axis = 0; axis < 3; ++axis) c.scales.push_back(random.Uniform(0.3, 4));
    }
    OtherMachine machine;
    if (random.Coin()) machine->last_level_cache = 1;
    portacl::runtime::SetNumThreads(static_cast<int>(random.Integer(1, 5)));
    ExpectSameBytes(c, random);
    if (HasFailure()) return;
  }
  ExpectRan({"permute", "elements"}, {"permute", "wide", "packed"});
}

}  // namespace
}  // namespace portacl_test
