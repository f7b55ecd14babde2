// The vectorised kernels of grid sampling equal the reference bit by bit: on every instruction set
// of the machine, for every mode, type, layout and number of threads.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cpu/machine/machine.h"
#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/end_of_memory.h"
#include "support/grid_kernels.h"

namespace portacl_test {
namespace {

using portacl::cpu::GridSampler2DKernels;
using portacl::cpu::Vendor;
using portacl::ref::kGridSampler2D;

class GridSamplerKernels : public KernelTest {
 protected:
  static void ExpectSameBits(const Paths& paths, const GridCase& c, const GridMode& mode,
                             Layout layout = Layout::kContiguous,
                             const std::vector<int>& threads = {1, 2}) {
    const auto expect_same = [&](Vendor vendor, const std::vector<int>& counts) {
      OtherMachine machine;
      machine->vendor = vendor;
      ExpectSameSamples(GridSampler2DKernels(), kGridSampler2D, c, mode, layout, counts, paths);
    };
    expect_same(Vendor::kAmd, threads);
    expect_same(Vendor::kOther,
                {threads.front()});  // short calls take other vectors, on one thread
  }

  static void ExpectRan(const Paths& paths, int times) {
    portacl_test::ExpectRan(GridSampler2DKernels(), paths, times);
  }
};

TEST_F(GridSamplerKernels, EqualTheReferenceInEveryModeAndType) {
  Random random(31);
  for (const Element element : kElements) {
    for (const GridMode& mode : AllGridModes()) {
      for (const GridKind kind : {GridKind::kRandom, GridKind::kSmooth, GridKind::kOneCell}) {
        GridCase c(element, 1, 19, 37, 21, 13, 17);
        ExpectSameBits({"direct", "slab"}, c.Fill(kind, random), mode);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(GridSamplerKernels, EqualTheReferenceForEveryChannelCount) {
  Random random(32);
  for (int64_t channels = 1; channels <= 37; ++channels) {
    for (const Element element : kElements) {
      GridCase c(element, 3, channels, 9, 18, 7, 11);
      ExpectSameBits({"direct", "slab"}, c.Fill(GridKind::kRandom, random), GridMode{});
      if (HasFailure()) return;
    }
  }
}

TEST_F(GridSamplerKernels, EqualTheReferenceOnEveryLayout) {
  Random random(33);
  for (const Layout layout : kInputLayouts) {
    for (const Element element : kElements) {
      for (const int64_t channels : {1, 3, 16, 21}) {
        GridCase c(element, 2, channels, 17, 19, 6, 23, layout);
        ExpectSameBits(kServing, c.Fill(GridKind::kSmooth, random), GridMode{},
                       layout == Layout::kExpanded ? Layout::kContiguous : layout);
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"direct", "slab"}, 40);
}

TEST_F(GridSamplerKernels, EqualTheReferenceAtKinksAndOnStrangeNumbers) {
  Random random(34);
  for (const Element element : kElements) {
    const auto strange = StrangeCoordinates(element);
    const auto pick = [&] {
      return strange[static_cast<size_t>(
          random.Integer(0, static_cast<int64_t>(strange.size()) - 1))];
    };
    for (const GridMode& mode : AllGridModes()) {
      for (const int64_t channels : {1, 3, 16, 48}) {
        // Of few channels, small images with many points are framed; others have edges.
        const bool framed = random.Coin();
        const int64_t h = framed ? 11 : 31;
        const int64_t w = framed ? 9 : 27;
        GridCase c(element, 1, channels, h, w, 13, 21);
        c.Fill(GridKind::kRandom, random);
        c.grid.Fill([&](int64_t) {
          if (random.Integer(0, 5) == 0) return pick();
          const auto size = static_cast<double>(random.Coin() ? h : w);
          const double at = static_cast<double>(random.Integer(-40, 80)) / 2;
          return mode.align_corners ? 2 * at / (size - 1) - 1 : (2 * at + 1) / size - 1;
        });
        // Also the smallest numbers: products that underflow to -0.
        for (int i = 0; i < 40; ++i) {
          c.input.Set(random.Integer(0, c.input.size() - 1),
                      random.Coin() ? pick() : -1e-45 * random.Unit());
        }
        ExpectSameBits({"direct", "slab"}, c, mode);
        if (HasFailure()) return;
      }
    }
  }
}

// Few channels go point by point in the lanes of vectors: point counts around their lengths, groups
// that are inside the image, touch its edges or lie beyond, and layouts. Half of the images have
// too few points for a frame.
TEST_F(GridSamplerKernels, EqualTheReferenceForFewChannels) {
  Random random(35);
  for (const Element element : kElements) {
    for (const GridMode& mode : AllGridModes()) {
      for (const int64_t channels : {1, 3, 4, 5, 8, 32}) {
        for (const double reach : {0.5, 0.99, 1.5}) {
          GridCase c(element, 2, channels, random.Integer(1, 12), random.Integer(1, 40),
                     random.Integer(1, 3), random.Integer(1, 70),
                     random.Coin() ? Layout::kContiguous : PickOf(random, kInputLayouts));
          c.Fill(GridKind::kRandom, random);
          c.grid.FillUniform(random, -reach, reach);
          ExpectSameBits(kServing, c, mode, PickOf(random, kOutputLayouts), {1, 3});
          if (HasFailure()) return;
        }
      }
    }
  }
  ExpectRan({"direct", "slab"}, 200);
}

// Many images of few points share vectors: point counts around their lengths, up to the last
// images.
TEST_F(GridSamplerKernels, EqualTheReferenceForManyImagesOfFewPoints) {
  Random random(36);
  for (const Element element : kElements) {
    const auto strange = StrangeCoordinates(element);
    for (const GridMode& mode : AllGridModes()) {
      for (const int64_t points : {1, 2, 7, 9, 15, 17, 33, 127, 130}) {
        const int64_t rows = RowsOf(points, random);
        GridCase c(element, random.Integer(2, 37), random.Integer(1, 3), random.Integer(1, 6),
                   random.Integer(1, 9), rows, points / rows,
                   random.Coin() ? Layout::kContiguous : PickOf(random, kInputLayouts));
        c.Fill(GridKind::kRandom, random);
        c.grid.Set(random.Integer(0, c.grid.size() - 1), PickOf(random, strange));
        ExpectSameBits(kServing, c, mode, PickOf(random, kOutputLayouts), {1, 3});
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"direct"}, 200);
}

TEST_F(GridSamplerKernels, EqualTheReferenceForTapsApart) {
  ForTapsApart([](const GridCase& c, const GridMode& mode) {
    if (!HasFailure()) ExpectSameBits({"direct"}, c, mode);
  });
}

// Points along lines share a few rows: from flat lines to steep ones, close and wide, in images
// around the width of two vectors.
TEST_F(GridSamplerKernels, EqualTheReferenceForPointsCloseTogether) {
  Random random(37);
  for (const GridMode& mode : AllGridModes()) {
    for (const int64_t channels : {1, 2, 4, 5}) {
      for (const double steepest : {0.05, 0.3, 1.0}) {
        GridCase c(Element::kFloat, 1, channels, random.Integer(3, 9), random.Integer(31, 66), 5,
                   48);
        c.Fill(GridKind::kRandom, random);
        const double slope = steepest * (2 * random.Unit() - 1);
        const double step = (random.Coin() ? -1 : 1) * (0.2 + 2 * random.Unit());
        const double noise = random.Coin() ? 0 : 0.6;
        c.grid.Fill([&](int64_t i) {
          const bool is_y = i % 2 == 1;
          const auto along = static_cast<double>(i / 2 % 24);
          const double size = static_cast<double>(is_y ? c.input.shape()[2] : c.input.shape()[3]);
          const double at = size / 3 + (is_y ? slope : step) * along + noise * random.Unit();
          return (2 * at + 1) / size - 1;
        });
        ExpectSameBits({"direct"}, c, mode);
        if (HasFailure()) return;
      }
    }
  }
}

// Images around the largest that are framed.
TEST_F(GridSamplerKernels, EqualTheReferenceForLargeMaps) {
  Random random(38);
  for (const Element element : kElements) {
    for (const int64_t height : {43, 44, 45, 63, 64}) {
      GridCase c(element, 1, 1, height, height < 50 ? 44 : 64, 33, 65);
      for (const GridKind kind : {GridKind::kSmooth, GridKind::kRandom}) {
        for (const GridMode& mode : {GridMode{}, GridMode{.padding = kBorder}}) {
          ExpectSameBits({"direct"}, c.Fill(kind, random), mode);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_F(GridSamplerKernels, EqualTheReferenceOnRandomCalls) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  const auto modes = AllGridModes();
  for (int64_t round = 0; round < ByRunLength(120, 30); ++round) {
    const auto element = PickOf(random, kElements);
    const Layout layout = PickOf(random, kInputLayouts);
    GridCase c(element, random.Integer(1, 3), random.Integer(1, 50), random.Integer(1, 70),
               random.Integer(1, 70), random.Integer(1, 15), random.Integer(1, 40), layout);
    c.Fill(static_cast<GridKind>(random.Integer(0, 2)), random);
    ExpectSameBits(
        kServing, c,
        modes[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(modes.size()) - 1))],
        PickOf(random, kOutputLayouts), {1, static_cast<int>(random.Integer(2, 7))});
    if (HasFailure()) return;
  }
  ExpectRan({"direct", "slab"}, 5);
}

// Rows so far apart that the last row's offset in bytes exceeds 32 bits. Only the rows' memory is
// touched.
TEST_F(GridSamplerKernels, RowsMayLieGigabytesApart) {
  constexpr int64_t kWidth = 64;
  constexpr int64_t kRow = (int64_t{1} << 29) + 4096;  // in elements
  constexpr size_t kBytes = static_cast<size_t>(kRow + kWidth) * sizeof(float);
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "2 GiB of addresses are not to be had";
  auto* const image = static_cast<float*>(memory);
  Random random(29);
  for (int64_t i = 0; i < 2 * kWidth; ++i) {
    image[i / kWidth * kRow + i % kWidth] = static_cast<float>(random.Uniform(-1, 1));
  }
  GridCase c(Element::kFloat, 1, 1, 2, kWidth, 4, 50);
  c.Fill(GridKind::kRandom, random);
  for (const GridMode& mode : AllGridModes()) {
    ExpectSameSamplesOf(GridSampler2DKernels(), kGridSampler2D, c, mode, image,
                        std::array<int64_t, 4>{2 * kRow, 2 * kRow, kRow, 1}, {"direct"});
  }
  munmap(memory, kBytes);
}

// Points around the corner where the input ends, which is where the memory ends.
TEST_F(GridSamplerKernels, ReadNothingBehindTheInput) {
  Random random(43);
  for (const Element element : kElements) {
    for (const int64_t width : {2, 9, 33}) {
      GridCase c(element, 3, 2, 5, width, 3, 13);
      c.Fill(GridKind::kRandom, random);
      c.grid.FillUniform(random, 0.2, 1.4);
      const EndOfMemory input(c.input);
      std::array<int64_t, 4> stride;
      SetStrides(c.input, &stride);
      for (const GridMode& mode : AllGridModes()) {
        ExpectSameSamplesOf(GridSampler2DKernels(), kGridSampler2D, c, mode, input.begin(), stride,
                            kServing);
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"direct", "slab"}, 40);
}

}  // namespace
}  // namespace portacl_test
