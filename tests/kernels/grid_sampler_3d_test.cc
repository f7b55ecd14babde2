// The vectorised kernels of grid sampling of volumes and of its gradients equal the reference bit
// by bit: on every instruction set of the machine, for every mode, type, layout, mask and number of
// threads.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cpu/machine/machine.h"
#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
#include "runtime/parallel.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/grid_kernels.h"

namespace portacl_test {
namespace {

using portacl::cpu::GridSampler3DBackwardKernels;
using portacl::cpu::GridSampler3DKernels;
using portacl::cpu::Vendor;
using portacl::ref::kGridSampler3D;
using portacl::ref::kGridSampler3DBackward;

Layout OutputLayout(Layout layout) {
  return layout == Layout::kExpanded ? Layout::kContiguous : layout;
}

class GridSampler3DKernelsTest : public KernelTest {
 protected:
  // By all paths that serve the call.
  static void ExpectSameSamples(const GridCase& c, const GridMode& mode, Layout layout,
                                const std::vector<int>& threads) {
    portacl_test::ExpectSameSamples(GridSampler3DKernels(), kGridSampler3D, c, mode, layout,
                                    threads, kServing);
  }

  static void ExpectSameGradients(const GridCase& c, const GridMode& mode, Mask mask, Layout layout,
                                  const std::vector<int>& threads) {
    portacl_test::ExpectSameGradients(GridSampler3DBackwardKernels(), kGridSampler3DBackward, c,
                                      mode, mask, layout, threads, kServing);
  }

  // Both functions.
  static void ExpectSameBits(const GridCase& c, const GridMode& mode,
                             Layout layout = Layout::kContiguous,
                             const std::vector<int>& threads = {1, 2}) {
    ExpectSameSamples(c, mode, layout, threads);
    ExpectSameGradients(c, mode, kBoth, layout, threads);
  }

  // Paths of the function and of its gradients.
  static void ExpectRan(const Paths& samples, const Paths& gradients, int times) {
    portacl_test::ExpectRan(GridSampler3DKernels(), samples, times);
    portacl_test::ExpectRan(GridSampler3DBackwardKernels(), gradients, times);
  }
};

TEST_F(GridSampler3DKernelsTest, EqualTheReferenceInEveryModeAndType) {
  Random random(51);
  for (const Element element : kElements) {
    for (const GridMode& mode : AllGridModes()) {
      for (const GridKind kind : {GridKind::kRandom, GridKind::kSmooth, GridKind::kOneCell}) {
        GridCase c(element, 2, 3, {7, 6, 21}, {3, 5, 13});
        ExpectSameBits(c.Fill(kind, random), mode);
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"blocks", "direct"}, {"blocks", "owned"}, 50);
}

// Every width of a block of channels, alone and behind whole blocks.
TEST_F(GridSampler3DKernelsTest, EqualTheReferenceForEveryChannelCount) {
  Random random(52);
  for (int64_t channels = 1; channels <= 37; ++channels) {
    for (const Element element : kElements) {
      GridCase c(element, 1, channels, {4, 5, 9}, {2, 3, 7});
      ExpectSameBits(c.Fill(GridKind::kRandom, random), GridMode{});
      if (HasFailure()) return;
    }
  }
  ExpectRan({"blocks", "direct"}, {"blocks", "owned"}, 50);
}

TEST_F(GridSampler3DKernelsTest, EqualTheReferenceOnEveryLayoutAndMask) {
  Random random(53);
  for (const Layout layout : kInputLayouts) {
    for (const Element element : kElements) {
      for (const int64_t channels : {1, 3, 21}) {
        for (const int interpolation : {0, 1, 2}) {
          GridCase c(element, 2, channels, {6, 5, 8}, {3, 4, 17}, layout);
          c.Fill(GridKind::kSmooth, random);
          GridMode mode;
          mode.interpolation = interpolation;
          ExpectSameSamples(c, mode, OutputLayout(layout), {1, 2});
          for (const Mask mask : {kBoth, Mask{true, false}, Mask{false, true}}) {
            ExpectSameGradients(c, mode, mask, OutputLayout(layout), {3});
          }
          if (HasFailure()) return;
        }
      }
    }
  }
  ExpectRan({"blocks", "direct"}, {"blocks", "direct", "owned"}, 20);
}

// Groups of points inside the volume, at its faces and beyond; volumes of one element on some axes.
TEST_F(GridSampler3DKernelsTest, EqualTheReferenceAroundTheFacesAndVectorLengths) {
  Random random(54);
  const auto modes = AllGridModes();
  for (const Element element : kElements) {
    for (const int64_t points : {1, 3, 7, 8, 15, 16, 17, 31, 33, 65}) {
      for (const double reach : {0.5, 0.99, 1.5}) {
        const std::array<int64_t, 3> extents = {random.Integer(1, 5), random.Integer(1, 6),
                                                random.Integer(1, 20)};
        GridCase c(element, 2, random.Integer(1, 5), extents,
                   {random.Integer(1, 2), random.Integer(1, 2), points});
        c.Fill(GridKind::kRandom, random);
        c.grid.FillUniform(random, -reach, reach);
        ExpectSameBits(c, PickOf(random, modes), Layout::kContiguous, {1, 3});
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"blocks", "direct"}, {"blocks", "owned"}, 20);
}

// Centres of voxels, faces, folds of the reflection, coordinates that are not finite, and values
// with products that underflow to -0 or are not finite.
TEST_F(GridSampler3DKernelsTest, EqualTheReferenceAtKinksAndOnStrangeNumbers) {
  Random random(55);
  for (const Element element : kElements) {
    const std::vector<double> strange = StrangeCoordinates(element);
    for (const GridMode& mode : AllGridModes()) {
      for (const int64_t channels : {1, 3, 16}) {
        GridCase c(element, 1, channels, {4, 5, 9}, {3, 4, 11});
        c.Fill(GridKind::kRandom, random);
        c.grid.Fill([&](int64_t i) {
          if (random.Integer(0, 8) == 0) return PickOf(random, strange);
          const double size = std::array<double, 3>{9, 5, 4}[static_cast<size_t>(i % 3)];
          const double at = static_cast<double>(random.Integer(-24, 24)) / 2;
          return mode.align_corners ? 2 * at / (size - 1) - 1 : (2 * at + 1) / size - 1;
        });
        for (int i = 0; i < 20; ++i) {
          c.input.Set(random.Integer(0, c.input.size() - 1),
                      random.Coin() ? PickOf(random, strange) : -1e-45 * random.Unit());
          c.grad_output.Set(random.Integer(0, c.grad_output.size() - 1), PickOf(random, strange));
        }
        ExpectSameBits(c, mode);
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"blocks", "direct"}, {"blocks", "owned"}, 50);
}

// Points along lines share a few rows of one plane or two: from level lines to steep ones, in
// volumes around the width of two vectors, with a last vector that is not full, and values that are
// not finite. The CPU's vendor decides how taps are read.
TEST_F(GridSampler3DKernelsTest, EqualTheReferenceForPointsCloseTogether) {
  Random random(60);
  const std::vector<double> strange = StrangeCoordinates(Element::kFloat);
  for (const Vendor vendor : {Vendor::kAmd, Vendor::kOther}) {
    machine_->vendor = vendor;
    for (const GridMode& mode : AllGridModes()) {
      for (const int64_t channels : {1, 2, 3, 5}) {
        for (const double steepest : {0.05, 0.15, 0.5}) {
          const std::array<int64_t, 3> extents = {random.Integer(4, 7), random.Integer(4, 9),
                                                  random.Integer(31, 66)};
          const std::array<int64_t, 3> points = {1, random.Integer(3, 5), random.Integer(41, 48)};
          GridCase c(Element::kFloat, 2, channels, extents, points, PickOf(random, kInputLayouts));
          c.Fill(GridKind::kRandom, random);
          for (int i = 0; i < 5; ++i) {
            c.input.Set(random.Integer(0, c.input.size() - 1), PickOf(random, strange));
            c.grad_output.Set(random.Integer(0, c.grad_output.size() - 1), PickOf(random, strange));
          }
          const double step = (random.Coin() ? -1 : 1) * (0.2 + random.Unit());
          const std::array<double, 3> slope = {step, steepest * random.Uniform(-1, 1),
                                               steepest * random.Uniform(-1, 1)};
          const double noise = random.Coin() ? 0 : 0.6;
          c.grid.Fill([&](int64_t i) {
            const auto axis = static_cast<size_t>(i % 3);
            const auto along = static_cast<double>(i / 3 % 24);
            const auto size = static_cast<double>(extents[2 - axis]);
            const double at = size / 3 + slope[axis] * along + noise * random.Unit();
            return (2 * at + 1) / size - 1;
          });
          ExpectSameBits(c, mode);
          ExpectSameGradients(c, mode, Mask{false, true}, Layout::kContiguous, {1});
          if (HasFailure()) return;
        }
      }
    }
  }
  ExpectRan({"blocks", "direct"}, {"blocks", "direct", "owned"}, 20);
}

// Enough points to be shared by threads: owners of slabs of planes, more of them than planes, and
// of groups of channels.
TEST_F(GridSampler3DKernelsTest, EqualTheReferenceForOwnersOfSlabs) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  const auto modes = AllGridModes();
  for (int64_t round = 0; round < ByRunLength(24, 12); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::array<int64_t, 3> extents = {random.Integer(1, 12), random.Integer(1, 12),
                                            random.Integer(1, 40)};
    GridCase c(PickOf(random, kElements), random.Integer(1, 2),
               random.Coin() ? random.Integer(1, 3) : random.Integer(4, 20), extents,
               {random.Integer(1, 5), random.Integer(1, 10), random.Integer(100, 200)},
               PickOf(random, kInputLayouts));
    c.Fill(static_cast<GridKind>(random.Integer(0, 2)), random);
    OtherMachine machine;
    if (random.Coin()) machine->l2_cache = 4096;
    const int64_t mask = random.Integer(1, 3);
    ExpectSameGradients(c, PickOf(random, modes), {(mask & 1) != 0, (mask & 2) != 0},
                        PickOf(random, kOutputLayouts),
                        {1, 2, static_cast<int>(random.Integer(3, 20))});
    if (HasFailure()) return;
  }
  ExpectRan({}, {"owned"}, 5);
}

// A point that is clipped to the first plane has a tap of weight 0 in the second plane. There an
// infinite gradOutput gives NaN, also if the second plane has another owner.
TEST_F(GridSampler3DKernelsTest, EqualTheReferenceForInfinitePointsBeyondTheFirstPlane) {
  Random random(58);
  for (const Element element : kElements) {
    for (const GridMode& mode : AllGridModes()) {
      GridCase c(element, 1, 3, {4, 3, 5}, {4, 8, 100});  // enough for threads
      c.Fill(GridKind::kRandom, random);
      c.grid.Fill([&](int64_t i) {  // z: whole vectors beyond either face, and inside
        if (i % 3 != 2) return random.Uniform(-1, 1);
        return std::array<double, 4>{-3, 0, 3, 0.6}[static_cast<size_t>(i / 300 % 4)];
      });
      for (int64_t i = 0; i < c.grad_output.size(); i += 7) {
        if (i / 100 % 4 == 0) c.grad_output.Set(i, std::numeric_limits<double>::infinity());
      }
      ExpectSameGradients(c, mode, {true, false}, Layout::kContiguous, {1, 4, 7});
      if (HasFailure()) return;
    }
  }
  ExpectRan({}, {"blocks", "owned"}, 20);
}

TEST_F(GridSampler3DKernelsTest, EqualTheReferenceOnRandomCalls) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  const auto modes = AllGridModes();
  for (int64_t round = 0; round < ByRunLength(120, 30); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::array<int64_t, 3> extents = {random.Integer(1, 9), random.Integer(1, 20),
                                            random.Integer(1, 40)};
    GridCase c(PickOf(random, kElements), random.Integer(1, 3), random.Integer(1, 40), extents,
               {random.Integer(1, 5), random.Integer(1, 6), random.Integer(1, 40)},
               PickOf(random, kInputLayouts));
    c.Fill(static_cast<GridKind>(random.Integer(0, 2)), random);
    ExpectSameBits(c, PickOf(random, modes), PickOf(random, kOutputLayouts),
                   {1, static_cast<int>(random.Integer(2, 7))});
    if (HasFailure()) return;
  }
  ExpectRan({"blocks", "direct"}, {"blocks", "owned"}, 10);
}

// A volume of `channels` channels: planes lie `plane` elements apart, channels `channel`. Only
// their elements' memory is touched.
void ExpectSameFarSamples(int64_t channels, int64_t plane, int64_t channel) {
  constexpr int64_t kPlane = 5 * 64;
  const auto bytes = static_cast<size_t>((channels - 1) * channel + plane + kPlane) * sizeof(float);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << bytes << " bytes of addresses are not to be had";
  auto* const volume = static_cast<float*>(memory);
  Random random(56);
  for (int64_t i = 0; i < 2 * kPlane * channels; ++i) {
    volume[i / (2 * kPlane) * channel + i / kPlane % 2 * plane + i % kPlane] =
        static_cast<float>(random.Uniform(-1, 1));
  }
  GridCase c(Element::kFloat, 1, channels, {2, 5, 64}, {3, 4, 20});
  c.Fill(GridKind::kRandom, random);
  for (const GridMode& mode : AllGridModes()) {
    ExpectSameSamplesOf(GridSampler3DKernels(), kGridSampler3D, c, mode, volume,
                        std::array<int64_t, 5>{channels * channel, channel, plane, 64, 1},
                        {"direct"});
  }
  munmap(memory, bytes);
}

// The last plane's offset in bytes has no 32 bits.
TEST_F(GridSampler3DKernelsTest, PlanesMayLieGigabytesApart) {
  constexpr int64_t kFar = (int64_t{1} << 29) + 4096;  // in elements
  ExpectSameFarSamples(1, kFar, kFar);
}

// The last channel's offset in elements has no 32 bits: a tensor of more than 2^31 elements.
TEST_F(GridSampler3DKernelsTest, ChannelsMayLieBeyondWhatIntegersOf32BitsCount) {
  ExpectSameFarSamples(2, 5 * 64, (int64_t{1} << 31) + 4096);
}

TEST_F(GridSampler3DKernelsTest, RefuseEmptyCallsAndExtentsBeyondExactFloats) {
  GridCase c(Element::kFloat, 1, 1, {2, 2, 2}, {1, 1, 1});
  portacl::ops::GridSampler3DBackwardParams good;
  good.shape = GridShape(c.input, c.grid, GridMode{});
  for (const auto& kernel : GridSampler3DBackwardKernels()) {
    EXPECT_NE(kernel.plan(good, ""), nullptr);
    for (int64_t portacl::ops::GridSampler3DShape::*extent :
         {&portacl::ops::GridSampler3DShape::od, &portacl::ops::GridSampler3DShape::d}) {
      auto refused = good;
      refused.shape.*extent = extent == &portacl::ops::GridSampler3DShape::od ? 0 : (1 << 24) + 1;
      EXPECT_EQ(kernel.plan(refused, ""), nullptr);
    }
  }
}

// If taps are gathered, offsets inside a channel have 32 bits. With channels in the lanes there is
// no such limit.
TEST_F(GridSampler3DKernelsTest, ServeChannelsThatSpan32BitsWhereTheyAreInTheLanes) {
  GridCase c(Element::kFloat, 1, 16, {2, 2, 2}, {1, 1, 1});
  portacl::ops::GridSampler3DBackwardParams params;
  params.shape = GridShape(c.input, c.grid, GridMode{});
  // Planes that are too far apart, and planes and rows that are so together.
  constexpr std::array<std::array<int64_t, 5>, 2> kFar = {
      {{0, 1, int64_t{1} << 31, 32, 16}, {0, 1, int64_t{3} << 29, int64_t{1} << 30, 16}}};
  for (const std::array<int64_t, 5>& stride : kFar) {
    params.input_stride = stride;
    for (const auto& kernel : GridSampler3DBackwardKernels()) {
      const auto plan = kernel.plan(params, "");
      ASSERT_NE(plan, nullptr);
      EXPECT_STREQ(plan->path(), "blocks");
      auto gathered = params;
      gathered.shape.c = 15;
      EXPECT_EQ(kernel.plan(gathered, ""), nullptr);
    }
    portacl::ops::GridSampler3DParams sampled;
    sampled.shape = params.shape;
    sampled.input_stride = stride;
    for (const auto& kernel : GridSampler3DKernels()) {
      const auto plan = kernel.plan(sampled, "");
      ASSERT_NE(plan, nullptr);
      EXPECT_STREQ(plan->path(), "blocks");
      auto gathered = sampled;
      gathered.shape.c = 15;
      EXPECT_EQ(kernel.plan(gathered, ""), nullptr);
    }
  }
}

// With channels in the lanes, a volume for each thread that has its own part of the workspace.
TEST_F(GridSampler3DKernelsTest, EqualTheReferenceWhereThreadsTakeWholeVolumes) {
  Random random(59);
  for (const Element element : kElements) {
    for (const GridMode& mode : AllGridModes()) {
      // Two chunks of points: enough for more than one thread, too few to share a volume.
      GridCase c(element, random.Integer(3, 5), random.Integer(16, 35), {3, 4, 6}, {4, 8, 9});
      c.Fill(GridKind::kRandom, random);
      ExpectSameSamples(c, mode, Layout::kContiguous, {3});
      const int64_t mask = random.Integer(1, 3);
      ExpectSameGradients(c, mode, {(mask & 1) != 0, (mask & 2) != 0}, Layout::kContiguous, {3});
      if (HasFailure()) return;
    }
  }
  ExpectRan({"blocks"}, {"blocks"}, 20);
}

// How many volumes are computed at a time on `threads` threads, by the size of the workspace: with
// channels in the lanes, for the function and for both gradients.
int VolumesAtATime(int64_t n, int64_t extent, int threads) {
  GridCase c(Element::kFloat, n, 16, {extent, extent, extent}, {extent, extent, extent});
  portacl::ops::GridSampler3DParams sampling;
  sampling.shape = GridShape(c.input, c.grid, GridMode{});
  portacl::ops::GridSampler3DBackwardParams gradients;
  gradients.shape = sampling.shape;
  const auto points = static_cast<uint64_t>(extent * extent * extent);
  const uint64_t voxels = points * 16 * sizeof(float);
  const uint64_t totals = (points + 15) / 16 * 16 * 4 * sizeof(float);
  portacl::runtime::SetNumThreads(threads);
  const auto sampled = GridSampler3DKernels().front().plan(sampling, "blocks");
  const uint64_t slots = sampled->workspace_size() / voxels;
  EXPECT_EQ(sampled->workspace_size(), slots * voxels);
  const auto summed = GridSampler3DBackwardKernels().front().plan(gradients, "blocks");
  EXPECT_EQ(summed->workspace_size(), slots * (2 * voxels + totals));
  portacl::runtime::SetNumThreads(0);
  return static_cast<int>(slots);
}

TEST_F(GridSampler3DKernelsTest, ShareSmallVolumesOutAndLargeOnesAmongAllThreads) {
  EXPECT_EQ(VolumesAtATime(64, 8, 1), 1);
  EXPECT_EQ(VolumesAtATime(64, 8, 2), 2);
  EXPECT_EQ(VolumesAtATime(3, 8, 2), 2);   // uneven, but no work for two
  EXPECT_EQ(VolumesAtATime(3, 17, 2), 1);  // uneven
  EXPECT_EQ(VolumesAtATime(9, 17, 2), 2);  // hardly uneven
  EXPECT_EQ(VolumesAtATime(2, 8, 3), 1);   // too few
  EXPECT_EQ(VolumesAtATime(1, 8, 4), 1);
  EXPECT_EQ(VolumesAtATime(2, 25, 2), 2);
  EXPECT_EQ(VolumesAtATime(2, 26, 2), 1);  // more than 1 MiB
}

}  // namespace
}  // namespace portacl_test
