// The vectorised kernels of the grid sampler's gradients equal the reference bit by bit: on every
// instruction set of the machine, for every path, mode, type, layout, mask and number of threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/machine/machine.h"
#include "ops/grid_sampler_params.h"
#include "ops/listed_kernels.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/grid_kernels.h"

namespace portacl_test {
namespace {

using portacl::cpu::GridSampler2DBackwardKernels;
using portacl::cpu::Vendor;
using portacl::ref::kGridSampler2DBackward;

struct Dims {
  int64_t n, c, h, w, oh, ow;
};

std::string ToString(const Dims& d) {
  return "(" + std::to_string(d.n) + ", " + std::to_string(d.c) + ", " + std::to_string(d.h) +
         ", " + std::to_string(d.w) + ") -> " + std::to_string(d.oh) + " x " + std::to_string(d.ow);
}

class GridSamplerBackwardKernels : public KernelTest {
 protected:
  static void ExpectSameBits(const Paths& paths, const GridCase& c, const GridMode& mode, Mask mask,
                             Layout layout = Layout::kContiguous,
                             const std::vector<int>& threads = {1, 2}) {
    ExpectSameGradients(GridSampler2DBackwardKernels(), kGridSampler2DBackward, c, mode, mask,
                        layout, threads, paths);
    // Short calls with few channels take other vectors, by the CPU's vendor.
    if (c.grad_output.size() >= 1024) return;
    OtherMachine machine;
    machine->vendor = machine->vendor == Vendor::kAmd ? Vendor::kOther : Vendor::kAmd;
    ExpectSameGradients(GridSampler2DBackwardKernels(), kGridSampler2DBackward, c, mode, mask,
                        layout, {threads.front()}, paths);
  }

  static void ExpectRan(const Paths& paths, int times = 1) {
    portacl_test::ExpectRan(GridSampler2DBackwardKernels(), paths, times);
  }
};

TEST_F(GridSamplerBackwardKernels, AreListedBestFirstAndServeOrdinaryCalls) {
  Random random(1);
  GridCase c(Element::kFloat, 1, 16, 8, 8, 8, 8);
  c.Fill(GridKind::kSmooth, random);
  for (const auto& kernel : GridSampler2DBackwardKernels()) {
    if (!kernel.available()) continue;
    Tensor input_grad(Element::kFloat, c.input.shape());
    EXPECT_TRUE(
        RunGridBackward(kernel, c.grad_output, c.input, c.grid, GridMode{}, &input_grad, nullptr));
    EXPECT_EQ(paths_run[std::string(kernel.name) + ":slab"], 1);
  }
}

TEST_F(GridSamplerBackwardKernels, EqualTheReferenceInEveryModeAndType) {
  Random random(2);
  for (const Element element : kElements) {
    for (const GridMode& mode : AllGridModes()) {
      for (const GridKind kind : {GridKind::kRandom, GridKind::kSmooth}) {
        GridCase c(element, 1, 19, 37, 21, 13, 17);
        ExpectSameBits(kServing, c.Fill(kind, random), mode, {true, true});
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"slab", "owned"}, 40);
}

// 1 to 37 channels: every block width, alone and behind a whole block.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceForEveryChannelCount) {
  Random random(3);
  for (int64_t channels = 1; channels <= 37; ++channels) {
    for (const Element element : kElements) {
      SCOPED_TRACE(channels);
      GridCase c(element, 2, channels, 9, 18, 7, 11);
      ExpectSameBits(kServing, c.Fill(GridKind::kRandom, random), GridMode{}, {true, true});
      if (HasFailure()) return;
    }
  }
  ExpectRan({"slab", "owned", "padded", "packed"});
}

TEST_F(GridSamplerBackwardKernels, EqualTheReferenceOnEveryLayoutAndMask) {
  Random random(4);
  for (const Layout layout : kInputLayouts) {
    for (const Element element : kElements) {
      for (const Mask mask : {Mask{true, true}, Mask{true, false}, Mask{false, true}}) {
        for (const int64_t channels : {1, 2, 3, 16, 21}) {
          GridCase c(element, 2, channels, 17, 19, 6, 23, layout);
          c.Fill(GridKind::kSmooth, random);
          ExpectSameBits(kServing, c, GridMode{}, mask,
                         layout == Layout::kExpanded ? Layout::kContiguous : layout);
          if (HasFailure()) return;
        }
      }
    }
  }
  ExpectRan({"slab", "direct", "owned", "padded", "packed"}, 10);
}

// If only gridGrad is wanted and channels are few, points are in the lanes of vectors. Tested:
// point counts around the vectors' lengths, groups inside the image, at its edges and outside, and
// layouts.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceForGridGradAlone) {
  Random random(9);
  for (const Element element : kElements) {
    for (const int64_t channels : {1, 2, 3, 4, 5, 7, 8, 9}) {
      for (const int64_t points : {1, 3, 15, 16, 17, 31, 33, 100}) {
        for (const double reach : {0.5, 0.99, 1.5}) {
          const Layout layout = PickOf(random, kInputLayouts);
          GridCase c(element, 2, channels, random.Integer(1, 12), random.Integer(1, 40),
                     random.Integer(1, 3), points, random.Coin() ? Layout::kContiguous : layout);
          c.Fill(GridKind::kRandom, random);
          c.grid.FillUniform(random, -reach, reach);
          GridMode mode;
          mode.interpolation = random.Coin() ? 0 : 2;
          mode.padding = static_cast<int>(random.Integer(0, 2));
          mode.align_corners = random.Coin();
          SCOPED_TRACE("channels " + std::to_string(channels) + ", points " +
                       std::to_string(points) + ", reach " + std::to_string(reach));
          ExpectSameBits(kServing, c, mode, {false, true}, PickOf(random, kOutputLayouts), {1, 3});
          if (HasFailure()) return;
        }
      }
    }
  }
  ExpectRan({"direct", "slab"}, 40);
  ExpectRan({"padded"}, 20);
}

// Many images of few points, with vectors and batches that hold points of several images: point
// counts around both lengths, images of all layouts, points outside, unusual points.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceForManyImagesOfFewPoints) {
  Random random(39);
  for (const Element element : kElements) {
    const auto strange = StrangeCoordinates(element);
    for (const GridMode& mode : AllGridModes()) {
      for (const int64_t points : {1, 2, 7, 9, 15, 16, 17, 33, 64, 127, 130}) {
        const int64_t rows = RowsOf(points, random);
        GridCase c(element, random.Integer(2, 37), random.Integer(1, random.Coin() ? 3 : 20),
                   random.Integer(1, 6), random.Integer(1, 9), rows, points / rows,
                   random.Coin() ? Layout::kContiguous : PickOf(random, kInputLayouts));
        c.Fill(GridKind::kRandom, random);
        c.grid.Set(random.Integer(0, c.grid.size() - 1), PickOf(random, strange));
        const Mask mask = {random.Integer(0, 2) > 0, true};
        ExpectSameBits(kServing, c, mode, mask.input_grad ? Mask{true, random.Coin()} : mask,
                       random.Coin() ? Layout::kContiguous : PickOf(random, kOutputLayouts),
                       {1, 3});
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"direct", "joined"}, 100);
}

// 16-bit sums of whole images: batches that fill their memory to the last element or nearly, of
// many images or of one, with gaps behind rows and images of gradOutput or inputGrad.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceForStagedSumsOfManyImages) {
  struct Images {
    int64_t points, h, w;
  };
  Random random(40);
  for (const Element element : {Element::kFloat16, Element::kBFloat16}) {
    for (const Images& images : {Images{1, 16, 16}, Images{9, 90, 91}, Images{9, 64, 128}}) {
      for (const int interpolation : {0, 1, 2}) {
        for (const int64_t n : {int64_t{9}, random.Integer(10, 69), int64_t{70}}) {
          GridCase c(element, n, random.Integer(1, 3), images.h, images.w, 1, images.points);
          if (random.Coin()) {
            c.grad_output = Tensor(element, c.grad_output.shape(), Layout::kOddPadding);
          }
          c.Fill(GridKind::kRandom, random);
          GridMode mode;
          mode.interpolation = interpolation;
          mode.padding = static_cast<int>(random.Integer(0, 2));
          mode.align_corners = random.Coin();
          const bool gaps = random.Coin();  // of gridGrad they would not be joined
          ExpectSameBits({"joined"}, c, mode, {true, !gaps},
                         gaps ? Layout::kOddPadding : Layout::kContiguous, {1, 3});
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_F(GridSamplerBackwardKernels, EqualTheReferenceForTapsApart) {
  ForTapsApart([](const GridCase& c, const GridMode& mode) {
    if (HasFailure()) return;
    ExpectSameBits(kServing, c, mode, {true, true});
    ExpectSameBits({"direct"}, c, mode, {false, true});
  });
  ExpectRan({"joined"}, 2);
}

// Three or four channels on an image that fits the cache, an image per thread: packed cells. Point
// counts around the vectors' lengths, points outside and strange ones, widths, layouts.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceOnPackedCells) {
  Random random(12);
  for (const Element element : {Element::kFloat, Element::kFloat16, Element::kBFloat16}) {
    const auto strange = StrangeCoordinates(element);
    for (const int64_t channels : {3, 4}) {
      for (const int64_t points : {1, 3, 4, 15, 16, 17, 31, 33, 100}) {
        for (const double reach : {0.5, 0.99, 1.5}) {
          const Layout layout = random.Coin() ? Layout::kContiguous : PickOf(random, kInputLayouts);
          // From 122 (246) pixels on, the cells' rows are longer than the image's.
          const int64_t width =
              random.Integer(0, 3) == 0 ? random.Integer(120, 250) : random.Integer(1, 40);
          GridCase c(element, 3, channels, random.Integer(1, 12), width, random.Integer(1, 3),
                     points, layout);
          c.Fill(GridKind::kRandom, random);
          c.grid.FillUniform(random, -reach, reach);
          if (random.Coin()) {
            c.grid.Set(random.Integer(0, c.grid.size() - 1), PickOf(random, strange));
          }
          GridMode mode;
          mode.padding = static_cast<int>(random.Integer(0, 2));
          mode.align_corners = random.Coin();
          SCOPED_TRACE("channels " + std::to_string(channels) + ", points " +
                       std::to_string(points) + ", reach " + std::to_string(reach));
          ExpectSameBits({"packed"}, c, mode, {true, random.Coin()}, PickOf(random, kOutputLayouts),
                         {1, 3});
          if (HasFailure()) return;
        }
      }
    }
  }
}

// One or two channels (in nearest mode up to four) and fewer images than threads: strips of rows by
// owner. Some strips may be empty or have no point.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceForStripsOfOwners) {
  Random random(10);
  for (int64_t round = 0; round < ByRunLength(120, 40); ++round) {
    GridMode mode;
    mode.interpolation = static_cast<int>(round % 2);  // bilinear, nearest
    mode.padding = static_cast<int>(random.Integer(0, 2));
    mode.align_corners = random.Coin();
    // Owners begin with fewer points where gathers are fast.
    machine_->vendor = random.Coin() ? Vendor::kAmd : Vendor::kOther;
    const bool nearest = mode.interpolation == 1;
    const Element element = nearest && random.Coin() ? Element::kDouble : Element::kFloat;
    const Dims d = {random.Integer(1, nearest ? 3 : 2),
                    random.Integer(1, nearest ? 5 : 2),
                    random.Integer(1, 60),
                    random.Integer(2, 70),
                    random.Integer(1, 3),
                    random.Integer(2731, 2800)};
    SCOPED_TRACE("round " + std::to_string(round) + " " + ToString(d));
    const Layout layout =
        random.Coin() ? Layout::kContiguous : kOutputLayouts[static_cast<size_t>(round / 2 % 7)];
    GridCase c(element, d.n, d.c, d.h, d.w, d.oh, d.ow, layout);
    c.Fill(static_cast<GridKind>(random.Integer(0, 2)), random);
    const auto strange = StrangeCoordinates(element);
    for (int i = 0; i < 20 && random.Coin(); ++i) {
      c.grid.Set(random.Integer(0, c.grid.size() - 1),
                 strange[static_cast<size_t>(i) % strange.size()]);
    }
    ExpectSameBits(kServing, c, mode, {true, random.Coin()}, layout, {1, 2, 3, 8, 40});
    if (HasFailure()) return;
  }
  ExpectRan({"owned"}, ByRunLength(120, 40));
}

// More threads than images, and too few pieces of work in one image: images are done together.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceForImagesTogether) {
  Random random(38);
  for (int64_t round = 0; round < ByRunLength(40, 12); ++round) {
    GridMode mode;
    mode.interpolation = static_cast<int>(round % 3);
    mode.padding = static_cast<int>(random.Integer(0, 2));
    const Element element = round % 4 == 3 ? Element::kDouble : Element::kFloat;
    const Dims d = {random.Integer(2, 6),  random.Integer(5, 40), random.Integer(1, 70),
                    random.Integer(2, 30), random.Integer(1, 4),  random.Integer(500, 700)};
    SCOPED_TRACE("round " + std::to_string(round) + " " + ToString(d));
    GridCase c(element, d.n, d.c, d.h, d.w, d.oh, d.ow);
    c.Fill(static_cast<GridKind>(random.Integer(0, 2)), random);
    ExpectSameBits(kServing, c, mode, {true, random.Coin()}, Layout::kContiguous, {1, 7, 16});
    if (HasFailure()) return;
  }
  ExpectRan({"slab"}, ByRunLength(40, 12));
}

// If a block has 512 KiB of sums or more, gridGrad's sums have the order of the strips' lists of
// points. Smooth grids have lists of groups, half smooth grids whole groups in lists of points.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceWithManyPointsInLists) {
  Random random(7);
  for (const Element element : {Element::kFloat, Element::kDouble, Element::kBFloat16}) {
    const int64_t rows = element == Element::kDouble ? 130 : 260;
    if (ShortRun() && element != Element::kFloat) continue;
    for (const int smooth_share : {0, 50, 100}) {
      if (ShortRun() && smooth_share != 50) continue;
      for (const int interpolation : {0, 2}) {
        GridCase c(element, 1, 20, 121, 110, rows, 261);
        c.Fill(GridKind::kSmooth, random);
        for (int64_t i = c.grid.size() / 100 * smooth_share; i < c.grid.size(); ++i) {
          c.grid.Set(i, static_cast<double>(random.Integer(-1000, 1000)) / 1000);
        }
        GridMode mode;
        mode.interpolation = interpolation;
        mode.padding = static_cast<int>(random.Integer(0, 2));
        mode.align_corners = random.Coin();
        ExpectSameBits({"slab"}, c, mode, {true, true}, Layout::kContiguous, {1, 2, 3});
        ExpectSameBits({"slab"}, c, mode, {false, true}, Layout::kContiguous, {3});
        if (HasFailure()) return;
      }
    }
  }
}

// Small forms of the benchmark's shape classes, and sizes around the vectors' lengths.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceOnEveryShapeClass) {
  const std::vector<Dims> shapes = {
      {7, 1, 28, 28, 56, 56},  {11, 1, 46, 62, 9, 9},     {3, 3, 48, 160, 24, 80},
      {2, 32, 64, 64, 1, 900}, {3, 48, 75, 75, 500, 1},   {2, 32, 100, 134, 75, 4},
      {2, 2, 80, 96, 40, 96},  {2, 128, 30, 40, 1, 100},  {2, 19, 64, 128, 32, 32},
      {1, 64, 16, 16, 30, 30}, {1, 16, 256, 256, 40, 50}, {1, 3, 200, 960, 30, 50},
      {1, 1, 1, 1, 1, 1},      {1, 17, 1, 1, 3, 5},       {1, 16, 1, 300, 5, 64},
      {1, 16, 300, 1, 64, 5},  {1, 3, 15, 15, 15, 15},    {1, 16, 16, 16, 16, 16},
      {1, 5, 17, 17, 17, 17},  {1, 16, 130, 120, 60, 70}};
  Random random(5);
  for (const Dims& d : shapes) {
    SCOPED_TRACE(ToString(d));
    for (const GridKind kind : {GridKind::kSmooth, GridKind::kRandom, GridKind::kOneCell}) {
      for (const int interpolation : {0, 1, 2}) {
        GridCase c(Element::kFloat, d.n, d.c, d.h, d.w, d.oh, d.ow);
        c.Fill(kind, random);
        GridMode mode;
        mode.interpolation = interpolation;
        mode.padding = static_cast<int>(random.Integer(0, 2));
        mode.align_corners = random.Coin();
        ExpectSameBits(kServing, c, mode, {true, true}, Layout::kContiguous, {1, 2, 7, 3});
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"slab", "owned", "padded", "packed"}, 10);
}

TEST_F(GridSamplerBackwardKernels, EqualTheReferenceAtKinksAndOnStrangeNumbers) {
  Random random(6);
  for (const Element element : kElements) {
    for (const GridMode& mode : AllGridModes()) {
      for (const int64_t channels : {1, 2, 3, 16}) {
        GridCase c(element, 1, channels, 11, 9, 13, 21);
        c.Fill(GridKind::kRandom, random);
        const auto strange = StrangeCoordinates(element);
        // Pixel centres, edges, folds of the reflection, and what is not a coordinate.
        c.grid.Fill([&](int64_t) {
          if (random.Integer(0, 5) == 0) {
            return strange[static_cast<size_t>(
                random.Integer(0, static_cast<int64_t>(strange.size()) - 1))];
          }
          const double size = random.Coin() ? 11 : 9;
          const double at = static_cast<double>(random.Integer(-40, 40)) / 2;
          return mode.align_corners ? 2 * at / (size - 1) - 1 : (2 * at + 1) / size - 1;
        });
        if (random.Coin()) {
          for (int i = 0; i < 5; ++i) {
            c.grad_output.Set(random.Integer(0, c.grad_output.size() - 1),
                              strange[static_cast<size_t>(random.Integer(0, 6))]);
            c.input.Set(random.Integer(0, c.input.size() - 1),
                        strange[static_cast<size_t>(random.Integer(0, 6))]);
          }
        }
        SCOPED_TRACE(channels);
        ExpectSameBits(kServing, c, mode, {true, true});
        ExpectSameBits(kServing, c, mode, {false, true});
        if (HasFailure()) return;
      }
    }
  }
  ExpectRan({"slab", "direct", "owned", "padded", "packed"}, 20);
}

// Few unusual points on a smooth grid, and several strips: lists of groups hold points that touch
// no row, or a strip far away.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceWithStrangePointsInSmoothGrids) {
  Random random(8);
  for (const Element element : {Element::kFloat, Element::kDouble}) {
    if (ShortRun() && element != Element::kFloat) continue;
    for (const GridMode& mode : AllGridModes()) {
      for (const int64_t channels : {3, 17}) {
        GridCase c(element, 1, channels, 200, 140, 90, 64);
        c.Fill(GridKind::kSmooth, random);
        const auto strange = StrangeCoordinates(element);
        for (int i = 0; i < 60; ++i) {
          // Up to three images away, or where floats are up to 8 pixels apart.
          const int64_t most = random.Coin() ? 300 : int64_t{1} << 26;
          const double far = static_cast<double>(random.Integer(-most, most)) / 100;
          const int64_t at = random.Integer(0, c.grid.size() - 1);
          const auto which =
              static_cast<size_t>(random.Integer(0, static_cast<int64_t>(strange.size()) - 1));
          c.grid.Set(at, random.Coin() ? far : strange[which]);
        }
        SCOPED_TRACE(channels);
        ExpectSameBits({"slab"}, c, mode, {true, true}, Layout::kContiguous, {1, 3});
        if (HasFailure()) return;
      }
    }
  }
}

// Results larger than the caches are written past them in whole lines; sums of few channels may be
// staged in the workspace.
TEST_F(GridSamplerBackwardKernels, EqualTheReferenceBeyondTheCaches) {
  machine_->last_level_cache = 1;
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  const auto modes = AllGridModes();
  for (int64_t round = 0; round < ByRunLength(240, 60); ++round) {
    // As many points as touch most lines, more, and fewer; rows of whole lines or not.
    const int64_t width = random.Coin() ? 16 * random.Integer(1, 5) : random.Integer(2, 80);
    const int64_t lines = random.Integer(4, 60) * width / 32 + 1;
    const Dims d = {random.Integer(1, 9),  random.Coin() ? random.Integer(1, 2) : 16,
                    random.Integer(8, 60), width,
                    random.Integer(1, 3),  lines};
    SCOPED_TRACE("round " + std::to_string(round) + " " + ToString(d));
    const Layout layout =
        random.Coin() ? Layout::kContiguous : kOutputLayouts[static_cast<size_t>(round % 7)];
    GridCase c(Element::kFloat, d.n, d.c, d.h, d.w, d.oh, d.ow, layout);
    c.Fill(static_cast<GridKind>(random.Integer(0, 2)), random);
    GridMode mode = modes[static_cast<size_t>(round) % modes.size()];
    if (random.Coin()) mode.interpolation = 0;
    const int64_t mask = random.Coin() ? 3 : random.Integer(1, 2);
    ExpectSameBits(kServing, c, mode, {(mask & 1) != 0, (mask & 2) != 0}, layout,
                   {1, static_cast<int>(random.Integer(2, 7))});
    if (HasFailure()) return;
  }
  ExpectRan({"slab", "padded"}, ByRunLength(40, 10));
}

TEST_F(GridSamplerBackwardKernels, EqualTheReferenceOnRandomCalls) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  const auto modes = AllGridModes();
  for (int64_t round = 0; round < ByRunLength(120, 30); ++round) {
    const int64_t channels = random.Coin() ? random.Integer(1, 4) : random.Integer(1, 50);
    const Dims d = {random.Integer(1, 3),  channels,
                    random.Integer(1, 70), random.Integer(1, 70),
                    random.Integer(1, 15), random.Integer(1, 40)};
    SCOPED_TRACE("round " + std::to_string(round) + " " + ToString(d));
    const auto element = PickOf(random, kElements);
    const Layout layout = PickOf(random, kInputLayouts);
    GridCase c(element, d.n, d.c, d.h, d.w, d.oh, d.ow, layout);
    c.Fill(static_cast<GridKind>(random.Integer(0, 2)), random);
    const int64_t mask = random.Integer(1, 3);
    OtherMachine machine;
    machine->vendor = random.Coin() ? Vendor::kAmd : Vendor::kOther;
    if (random.Coin()) machine->l2_cache = 4096;
    ExpectSameBits(
        kServing, c,
        modes[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(modes.size()) - 1))],
        {(mask & 1) != 0, (mask & 2) != 0}, PickOf(random, kOutputLayouts),
        {1, static_cast<int>(random.Integer(2, 7))});
    if (HasFailure()) return;
  }
  ExpectRan({"slab"}, ByRunLength(100, 25));
}

}  // namespace
}  // namespace portacl_test
