// Which path the grid sampler's plans choose on a machine: by mask, channels, sizes and strides.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "cpu/grid_sampler/grid_sampler_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/grid_sampler/grid_sampler_plan.h"
#include "cpu/machine/machine.h"
#include "cpu/machine/named_machines.h"
#include "ops/listed_kernels.h"
#include "runtime/parallel.h"
#include "support/grid_kernels.h"
#include "support/other_machine.h"

namespace portacl_test {
namespace {

using portacl::base::DType;
using portacl::cpu::kEmeraldRapids;
using portacl::cpu::kGraniteRapids;
using portacl::cpu::kLargeMachine;
using portacl::cpu::kNamedMachines;
using portacl::cpu::kNeon;
using portacl::cpu::kSmallMachine;
using portacl::cpu::kZen3;
using portacl::cpu::kZen4;
using portacl::cpu::Machine;
using portacl::ops::GridSampler2DShape;
using portacl::ops::Interpolation;

GridSampler2DShape ShapeOf(int64_t n, int64_t c, int64_t h, int64_t w, int64_t oh, int64_t ow) {
  GridSampler2DShape shape;
  shape.n = n;
  shape.c = c;
  shape.h = h;
  shape.w = w;
  shape.oh = oh;
  shape.ow = ow;
  return shape;
}

constexpr Mask kInputGrad = {true, false};
constexpr Mask kGridGrad = {false, true};

// Row-major tensors. Plans do not look at addresses.
portacl::ops::GridSampler2DBackwardParams BackwardParams(const GridSampler2DShape& s, Mask mask) {
  portacl::ops::GridSampler2DBackwardParams p;
  p.shape = s;
  p.want_input_grad = mask.input_grad;
  p.want_grid_grad = mask.grid_grad;
  p.grad_output_stride = {s.c * s.oh * s.ow, s.oh * s.ow, s.ow, 1};
  p.input_stride = p.input_grad_stride = {s.c * s.h * s.w, s.h * s.w, s.w, 1};
  p.grid_stride = p.grid_grad_stride = {2 * s.oh * s.ow, 2 * s.ow, 2, 1};
  return p;
}

std::string PathOf(const portacl::ops::GridSampler2DBackwardParams& p) {
  const auto plan = portacl::cpu::PlanGridSampler2DBackward(p, "");
  return plan ? plan->path : "none";
}

// Each test names the machine that its choices are of, before it asks for one.
class GridSamplerPaths : public testing::Test {
 protected:
  ~GridSamplerPaths() override { portacl::runtime::SetNumThreads(0); }

  // Plans are made for the machine, with two threads or as many as it is said.
  void On(const Machine& machine, int threads = 2) {
    machine_.reset();  // before the next one begins
    machine_.emplace(machine);
    portacl::runtime::SetNumThreads(threads);
  }

  std::string BackwardPath(const portacl::ops::GridSampler2DBackwardParams& p) {
    EXPECT_TRUE(machine_.has_value()) << "of which machine?";
    return PathOf(p);
  }
  std::string BackwardPath(const GridSampler2DShape& s, Mask mask) {
    return BackwardPath(BackwardParams(s, mask));
  }

  std::optional<OtherMachine> machine_;
};

TEST_F(GridSamplerPaths, GridGradAloneOfFewChannelsIsDirect) {
  On(kGraniteRapids);
  for (const int64_t channels : {1, 2, 3, 4}) {
    EXPECT_EQ(BackwardPath(ShapeOf(1, channels, 2000, 3000, 90, 100), kGridGrad), "direct");
  }
  EXPECT_EQ(BackwardPath(ShapeOf(1, 8, 90, 100, 90, 100), kGridGrad), "direct");
  EXPECT_EQ(BackwardPath(ShapeOf(1, 8, 900, 1000, 250, 250), kGridGrad), "slab");
  EXPECT_EQ(BackwardPath(ShapeOf(1, 9, 90, 100, 90, 100), kGridGrad), "slab");
  // A point for 16 pixels: of any number of channels.
  EXPECT_EQ(BackwardPath(ShapeOf(1, 8, 900, 1000, 225, 250), kGridGrad), "direct");
  EXPECT_EQ(BackwardPath(ShapeOf(1, 90, 900, 1000, 225, 250), kGridGrad), "direct");
  EXPECT_EQ(BackwardPath(ShapeOf(1, 90, 900, 1000, 225, 251), kGridGrad), "slab");
  EXPECT_EQ(BackwardPath(ShapeOf(1, 3, 90, 100, 90, 100), kBoth), "slab");
  GridSampler2DShape nearest = ShapeOf(1, 3, 90, 100, 90, 100);
  nearest.interpolation = Interpolation::kNearest;
  EXPECT_EQ(BackwardPath(nearest, kGridGrad), "slab");
  GridSampler2DShape bicubic = ShapeOf(1, 4, 900, 1000, 900, 1000);
  bicubic.interpolation = Interpolation::kBicubic;
  EXPECT_EQ(BackwardPath(bicubic, kGridGrad), "direct");
  bicubic.c = 5;
  EXPECT_EQ(BackwardPath(bicubic, kGridGrad), "slab");
}

TEST_F(GridSamplerPaths, GridGradAloneOfFewerChannelsIsDirectIfGathersAreSlow) {
  for (const Machine& machine : {kZen3, kZen4}) {
    On(machine);
    EXPECT_EQ(BackwardPath(ShapeOf(2, 1, 90, 100, 90, 100), kGridGrad), "padded");
    EXPECT_EQ(BackwardPath(ShapeOf(2, 2, 90, 100, 90, 100), kGridGrad), "padded");
    EXPECT_EQ(BackwardPath(ShapeOf(1, 1, 2000, 3000, 90, 100), kGridGrad), "direct");  // no copies
    EXPECT_EQ(BackwardPath(ShapeOf(1, 4, 90, 100, 90, 100), kGridGrad), "direct");
    EXPECT_EQ(BackwardPath(ShapeOf(1, 5, 90, 100, 90, 100), kGridGrad), "slab");
    EXPECT_EQ(BackwardPath(ShapeOf(1, 90, 900, 1000, 225, 250), kGridGrad), "direct");
    GridSampler2DShape bicubic = ShapeOf(1, 2, 900, 1000, 900, 1000);
    bicubic.interpolation = Interpolation::kBicubic;
    EXPECT_EQ(BackwardPath(bicubic, kGridGrad), "direct");
    bicubic.c = 3;
    EXPECT_EQ(BackwardPath(bicubic, kGridGrad), "slab");
  }
}

TEST_F(GridSamplerPaths, DirectGathersFewChannelsOfStridedImages) {
  for (const int64_t column : {2, -1, 90}) {
    const auto path = [&](int64_t channels, Mask mask, DType dtype = DType::kFloat) {
      auto p = BackwardParams(ShapeOf(1, channels, 90, 100, 90, 100), mask);
      p.shape.dtype = dtype;
      p.input_stride = {18000 * channels, 18000, column == 90 ? 1 : 200, column};
      return BackwardPath(p);
    };
    for (const Machine& machine : {kGraniteRapids, kZen4}) {
      On(machine);
      EXPECT_EQ(path(3, kGridGrad), "direct");
      EXPECT_EQ(path(4, kGridGrad, DType::kDouble), "direct");
      EXPECT_EQ(path(5, kGridGrad), "slab");
      EXPECT_EQ(path(3, kGridGrad, DType::kBFloat16), "slab");
      auto sparse = BackwardParams(ShapeOf(1, 1, 2000, 3000, 9, 10), kGridGrad);
      sparse.input_stride[3] = column;
      EXPECT_EQ(BackwardPath(sparse), "direct");  // no copy of the image
      On(machine, 1);                             // which takes whole images
      EXPECT_EQ(path(1, kGridGrad), "padded");
      EXPECT_EQ(path(1, kBoth), "padded");
      EXPECT_EQ(BackwardPath(sparse), "direct");
    }
    On(kGraniteRapids);
    EXPECT_EQ(path(1, kGridGrad), "direct");
    EXPECT_EQ(path(1, kBoth), "owned");  // which gathers for gridGrad
    On(kZen4);                           // slow gathers: too small to share
    EXPECT_EQ(path(1, kGridGrad), "padded");
    EXPECT_EQ(path(1, kBoth), "padded");
    On(kZen4, 10);
    EXPECT_EQ(path(1, kGridGrad), "direct");
    EXPECT_EQ(path(1, kBoth), "slab");  // too many owners
  }
}

TEST_F(GridSamplerPaths, DirectNeedsOffsetsOf32Bits) {
  On(kZen4);
  auto far = BackwardParams(ShapeOf(1, 3, 90, 100, 90, 100), kGridGrad);
  far.input_stride[2] = int64_t{1} << 24;
  EXPECT_EQ(BackwardPath(far), "direct");
  far.shape.dtype = DType::kBFloat16;
  EXPECT_EQ(BackwardPath(far), "slab");  // 2 bytes: more than 2^31 - 1
  far.shape.dtype = DType::kFloat;
  far.input_stride[2] = int64_t{1} << 25;
  EXPECT_EQ(BackwardPath(far), "slab");
  EXPECT_EQ(BackwardPath(ShapeOf(1, 3, 90, 1, 90, 100), kGridGrad), "slab");  // no pairs
}

TEST_F(GridSamplerPaths, DirectTakesNoWorkspaceAndChunksCoverThePoints) {
  On(kGraniteRapids);
  for (const int64_t points : {1, 16, 17, 5000, 1 << 20}) {
    const auto params = BackwardParams(ShapeOf(3, 2, 50, 60, 1, points), kGridGrad);
    const auto plan = portacl::cpu::PlanGridSampler2DBackward(params, "");
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->workspace_size, 0u);
    const auto& g = std::get<portacl::cpu::PointGathers>(plan->way).chunks;
    EXPECT_EQ(g.chunk_points % int64_t{portacl::cpu::kGroup}, 0);
    EXPECT_GE(g.chunks * g.chunk_points, points);
    EXPECT_LT((g.chunks - 1) * g.chunk_points, points);
  }
}

TEST_F(GridSamplerPaths, ThreadsShareFewImagesOfOneOrTwoChannelsByOwner) {
  const GridSampler2DShape one = ShapeOf(1, 1, 256, 320, 300, 300);
  const GridSampler2DShape small = ShapeOf(1, 2, 150, 210, 150, 210);
  for (const Machine& machine : {kGraniteRapids, kZen4}) {
    On(machine);
    EXPECT_EQ(BackwardPath(one, kBoth), "owned");
    EXPECT_EQ(BackwardPath(one, kInputGrad), "owned");
    EXPECT_EQ(BackwardPath(ShapeOf(1, 2, 256, 320, 300, 300), kBoth), "owned");
    EXPECT_EQ(BackwardPath(ShapeOf(1, 3, 256, 320, 300, 300), kBoth), "slab");
    EXPECT_EQ(BackwardPath(ShapeOf(2, 1, 256, 320, 300, 300), kBoth), "padded");
    EXPECT_EQ(BackwardPath(ShapeOf(1, 1, 20, 20, 20, 20), kBoth), "padded");  // too small to share
    On(machine, 4);
    EXPECT_EQ(BackwardPath(small, kBoth), "owned");
    On(machine, 8);
    EXPECT_EQ(BackwardPath(one, kBoth), "owned");
    On(machine, 9);
    EXPECT_EQ(BackwardPath(one, kBoth), "slab");
  }
  On(kGraniteRapids);
  EXPECT_EQ(BackwardPath(small, kBoth), "owned");
  On(kZen4);  // slow gathers
  EXPECT_EQ(BackwardPath(small, kBoth), "padded");
}

// The more threads would share an image's stages, the fewer turns may be left over.
TEST_F(GridSamplerPaths, ThreadsTakeWholeImagesWhereFewTurnsAreLeftOver) {
  const auto by_image = [](int64_t images, int threads, int64_t rows = 256) {
    return portacl::cpu::ByImage(ShapeOf(images, 16, rows, 256, rows, 256), threads);
  };
  EXPECT_TRUE(by_image(1, 1));
  EXPECT_TRUE(by_image(4, 2));
  EXPECT_FALSE(by_image(13, 2));
  EXPECT_TRUE(by_image(15, 2));
  EXPECT_FALSE(by_image(6, 4));
  EXPECT_TRUE(by_image(7, 4));
  EXPECT_FALSE(by_image(11, 8));
  EXPECT_TRUE(by_image(12, 8));
  EXPECT_FALSE(by_image(40, 32));
  EXPECT_TRUE(by_image(48, 32));
  EXPECT_FALSE(by_image(31, 32));
  EXPECT_TRUE(by_image(11, 8, 8));  // small ones
  EXPECT_FALSE(by_image(7, 8, 8));
}

// Owners of many strips find their points by a byte for each.
TEST_F(GridSamplerPaths, ManyOwnersHaveCodesOfThePoints) {
  const GridSampler2DShape three = ShapeOf(3, 1, 256, 320, 30, 33);
  const auto plan_for = [&](int threads) {
    On(kZen4, threads);
    return portacl::cpu::PlanGridSampler2DBackward(BackwardParams(three, kBoth), "owned");
  };
  EXPECT_EQ(plan_for(9)->workspace_size, 0u);          // three strips an image
  EXPECT_EQ(plan_for(10)->workspace_size, 3 * 1024u);  // 990 points, in whole blocks of 64
  EXPECT_EQ(plan_for(1000)->workspace_size, 3 * 1024u);
  const auto plan = plan_for(1000);
  EXPECT_EQ(std::get<portacl::cpu::OwnedParts>(plan->way).slabs, 127);
}

TEST_F(GridSamplerPaths, StripsOfOwnersAreAllRowsOnce) {
  for (const int64_t rows : {1, 2, 127, 128, 129, 500, 1000, 99991, (1 << 24) - 1, 1 << 24}) {
    for (const int64_t strips : {1, 2, 3, 7, 64, 126, 127}) {
      if (strips > rows) continue;
      portacl::cpu::OwnedParts g;
      g.slabs = strips;
      g.image_codes = portacl::cpu::kCodeBlock;
      g.per_line = static_cast<float>(strips) / static_cast<float>(rows);
      EXPECT_EQ(g.FirstLineOf(0, rows), 0);
      EXPECT_EQ(g.FirstLineOf(strips, rows), rows);
      for (int64_t strip = 0; strip < strips; ++strip) {
        const int64_t first = g.FirstLineOf(strip, rows);
        const int64_t end = g.FirstLineOf(strip + 1, rows);
        ASSERT_LT(first, end) << strip << " of " << strips << ", " << rows << " rows";
        EXPECT_LE(end - first, rows / strips + 2);
        EXPECT_EQ(g.SlabOf(first), strip);
        EXPECT_EQ(g.SlabOf(end - 1), strip);
      }
    }
  }
}

// Five images of two blocks and 96 rows. One image has 12 pieces of at least 16 rows: enough for
// two threads, too few for three and more.
TEST_F(GridSamplerPaths, ImagesGoTogetherWhereOneHasTooFewPieces) {
  const auto plan_for = [&](int threads) {
    On(kZen4, threads);
    const auto params = BackwardParams(ShapeOf(5, 32, 96, 200, 90, 100), kBoth);
    return *portacl::cpu::PlanGridSampler2DBackward(params, "slab");
  };
  const auto images = [](const portacl::cpu::GridSampler2DBackwardPlan& plan) {
    return std::get<portacl::cpu::SlabGeometry>(plan.way).images;
  };
  EXPECT_EQ(images(plan_for(2)), 1);
  EXPECT_EQ(images(plan_for(3)), 3);
  EXPECT_EQ(images(plan_for(6)), 5);
  EXPECT_EQ(images(plan_for(100)), 5);
  const auto g = std::get<portacl::cpu::SlabGeometry>(plan_for(100).way);
  EXPECT_EQ(plan_for(100).workspace_size,
            static_cast<uint64_t>(g.slots) * g.slab_bytes + 5 * g.image_bytes);
}

TEST_F(GridSamplerPaths, ThreeOrFourChannelsThatFitTheCacheArePacked) {
  On(kZen4);                                                             // L2: 1 MiB
  const GridSampler2DShape pictures = ShapeOf(2, 3, 100, 120, 90, 100);  // 2 x 402 kB of cells
  for (const Mask mask : {kBoth, kInputGrad}) {
    EXPECT_EQ(BackwardPath(pictures, mask), "packed");
    EXPECT_EQ(BackwardPath(ShapeOf(2, 4, 100, 120, 90, 100), mask), "packed");
    EXPECT_EQ(BackwardPath(ShapeOf(2, 5, 100, 120, 90, 100), mask), "slab");
    EXPECT_EQ(BackwardPath(ShapeOf(1, 3, 100, 120, 90, 100), mask), "slab");  // two threads
    EXPECT_EQ(BackwardPath(ShapeOf(1, 3, 61, 83, 61, 83), mask), "packed");   // too small to share
    EXPECT_EQ(BackwardPath(ShapeOf(2, 3, 100, 120, 3, 100), mask), "owned");  // few points
    const auto plan = portacl::cpu::PlanGridSampler2DBackward(BackwardParams(pictures, mask), "");
    ASSERT_TRUE(plan);
    const auto& g = std::get<portacl::cpu::PackedGeometry>(plan->way);
    EXPECT_GE(g.image, (100 + 3) * (120 + 2) * (mask.grid_grad ? 8 : 4));
    EXPECT_EQ(plan->workspace_size, static_cast<uint64_t>(2 * g.image * 4));
  }
  // Where a cell has sums alone it is half as long.
  const GridSampler2DShape large = ShapeOf(2, 3, 180, 200, 90, 100);
  EXPECT_EQ(BackwardPath(large, kInputGrad), "packed");
  EXPECT_EQ(BackwardPath(large, kBoth), "slab");
  GridSampler2DShape other = pictures;
  other.dtype = DType::kBFloat16;
  EXPECT_EQ(BackwardPath(other, kBoth), "packed");
  other.dtype = DType::kDouble;
  EXPECT_EQ(BackwardPath(other, kBoth), "slab");
  other = pictures;
  other.interpolation = Interpolation::kBicubic;
  EXPECT_EQ(BackwardPath(other, kBoth), "slab");
  auto spread = BackwardParams(pictures, kBoth);
  spread.input_stride[3] = 2;
  spread.input_grad_stride[3] = -2;
  EXPECT_EQ(BackwardPath(spread), "packed");
}

TEST_F(GridSamplerPaths, NearestModeOfFewChannelsHasOwners) {
  const auto strips = [&](const GridSampler2DShape& shape, int threads) -> int64_t {
    On(kZen4, threads);
    const auto plan = portacl::cpu::PlanGridSampler2DBackward(BackwardParams(shape, kBoth), "");
    if (std::string(plan->path) != "owned") return 0;
    const int64_t found = std::get<portacl::cpu::OwnedParts>(plan->way).slabs;
    EXPECT_EQ(plan->workspace_size > 0, found > 3);
    return found;
  };
  GridSampler2DShape one = ShapeOf(1, 4, 90, 100, 90, 100);
  one.interpolation = Interpolation::kNearest;
  EXPECT_EQ(strips(one, 1), 1);
  EXPECT_EQ(strips(one, 2), 2);
  EXPECT_EQ(strips(one, 8), 8);
  EXPECT_EQ(strips(one, 9), 0);
  GridSampler2DShape three = one;
  three.n = 3;
  EXPECT_EQ(strips(three, 2), 2);  // images that the threads cannot share evenly
  EXPECT_EQ(strips(three, 3), 1);
  GridSampler2DShape tiny = ShapeOf(1, 1, 8, 8, 8, 8);
  tiny.interpolation = Interpolation::kNearest;
  EXPECT_EQ(strips(tiny, 16), 1);
  GridSampler2DShape five = one;
  five.c = 5;
  EXPECT_EQ(strips(five, 2), 0);
  GridSampler2DShape half = one;
  half.dtype = DType::kFloat16;  // sums are float
  EXPECT_EQ(strips(half, 2), 0);
  half.dtype = DType::kDouble;
  EXPECT_EQ(strips(half, 2), 2);
  On(kZen4);
  auto spread = BackwardParams(one, kBoth);
  spread.input_grad_stride[3] = 2;
  EXPECT_EQ(BackwardPath(spread), "slab");
  EXPECT_EQ(BackwardPath(one, kGridGrad), "slab");
}

TEST_F(GridSamplerPaths, FollowTheMachinesCaches) {
  const GridSampler2DShape planes = ShapeOf(2, 1, 300, 300, 300, 300);  // 2 x 366 kB padded
  const GridSampler2DShape eight = ShapeOf(1, 8, 150, 150, 90, 100);    // 720 kB
  On(kGraniteRapids);                                                   // L2: 2 MiB
  EXPECT_EQ(BackwardPath(eight, kGridGrad), "direct");
  On(kSmallMachine);  // 256 KiB
  EXPECT_EQ(BackwardPath(eight, kGridGrad), "slab");
  On(kZen3);
  EXPECT_EQ(BackwardPath(planes, kBoth), "padded");  // beyond L2, within the last level
  On(kSmallMachine);
  EXPECT_EQ(BackwardPath(planes, kBoth), "owned");
}

// Images whose columns do not follow each other are copied to padded planes of any size.
TEST_F(GridSamplerPaths, EverySecondColumnIsPadded) {
  On(kSmallMachine);
  auto p = BackwardParams(ShapeOf(2, 1, 900, 900, 900, 900), kBoth);
  EXPECT_EQ(BackwardPath(p), "owned");
  p.input_stride = {2 * 810000, 2 * 810000, 1800, 2};
  EXPECT_EQ(BackwardPath(p), "padded");
}

TEST_F(GridSamplerPaths, WritePastTheCachesBeyondTheLastLevel) {
  const auto streams = [&](const Machine& machine, int64_t rows) {
    On(machine);
    const auto params = BackwardParams(ShapeOf(2, 16, rows, 64, rows, 64), kBoth);
    const auto plan = portacl::cpu::PlanGridSampler2DBackward(params, "");
    return std::get<portacl::cpu::SlabGeometry>(plan->way).stream;
  };
  EXPECT_TRUE(streams(kSmallMachine, 64));  // 1.6 MB
  EXPECT_FALSE(streams(kZen4, 64));
  EXPECT_TRUE(streams(kZen4, 2048));           // 52 MB
  EXPECT_TRUE(streams(kGraniteRapids, 2048));  // two CPUs' share of its cache
  EXPECT_FALSE(streams(kEmeraldRapids, 2048));
}

TEST_F(GridSamplerPaths, PlanesAreWrittenPastTheCachesOnX86Only) {
  const auto streams = [&](const Machine& machine) {
    On(machine);
    const auto params = BackwardParams(ShapeOf(4, 1, 2048, 2048, 2048, 2048), kBoth);
    const auto plan = portacl::cpu::PlanGridSampler2DBackward(params, "padded");
    return std::get<portacl::cpu::PaddedGeometry>(plan->way).stream;
  };
  EXPECT_TRUE(streams(kZen3));
  EXPECT_TRUE(streams(kGraniteRapids));
  EXPECT_FALSE(streams(kNeon));
}

// Of columns that are so many elements apart.
portacl::ops::GridSampler2DParams SamplingParams(Interpolation interpolation, int64_t channels,
                                                 int64_t pixel_stride = 1,
                                                 DType dtype = DType::kFloat) {
  portacl::ops::GridSampler2DParams p;
  p.shape = ShapeOf(1, channels, 90, 100, 90, 100);
  p.shape.interpolation = interpolation;
  p.shape.dtype = dtype;
  p.input_stride = {channels * 9000, 9000, 100, pixel_stride};
  p.grid_stride = {18000, 200, 2, 1};
  p.output_stride = {channels * 9000, 9000, 100, 1};
  return p;
}

TEST_F(GridSamplerPaths, SamplingOfFewChannelsIsDirect) {
  On(kGraniteRapids);
  bool has_windows = true;
  const auto path = [&](Interpolation interpolation, int64_t channels, int64_t pixel_stride,
                        DType dtype = DType::kFloat) {
    const auto plan = portacl::cpu::PlanGridSampler2D(
        SamplingParams(interpolation, channels, pixel_stride, dtype), has_windows, "");
    EXPECT_EQ(plan->workspace_size == 0, std::string(plan->path) == "direct");
    return std::string(plan->path);
  };
  EXPECT_EQ(path(Interpolation::kBilinear, 8, 1), "direct");
  EXPECT_EQ(path(Interpolation::kBilinear, 9, 1), "slab");
  EXPECT_EQ(path(Interpolation::kNearest, 32, 1), "direct");
  EXPECT_EQ(path(Interpolation::kNearest, 33, 1), "slab");
  EXPECT_EQ(path(Interpolation::kBicubic, 4, 1), "direct");
  EXPECT_EQ(path(Interpolation::kBicubic, 5, 1), "slab");
  EXPECT_EQ(path(Interpolation::kBilinear, 4, 3), "direct");
  EXPECT_EQ(path(Interpolation::kBilinear, 5, 3), "slab");
  EXPECT_EQ(path(Interpolation::kBilinear, 3, 3, DType::kBFloat16), "slab");
  EXPECT_EQ(path(Interpolation::kBilinear, 3, 1, DType::kBFloat16), "direct");
  for (const Machine& machine : {kZen3, kZen4}) {  // slow gathers
    On(machine);
    EXPECT_EQ(path(Interpolation::kBilinear, 4, 1), "direct");
    EXPECT_EQ(path(Interpolation::kBilinear, 5, 1), "slab");
    EXPECT_EQ(path(Interpolation::kBicubic, 3, 1), "direct");
    EXPECT_EQ(path(Interpolation::kBicubic, 4, 1), "slab");
    EXPECT_EQ(path(Interpolation::kBilinear, 4, 3), "direct");
    EXPECT_EQ(path(Interpolation::kBilinear, 5, 3), "slab");
  }
  EXPECT_EQ(path(Interpolation::kNearest, 32, 1), "direct");
  EXPECT_EQ(path(Interpolation::kNearest, 33, 1), "slab");
  has_windows = false;
  EXPECT_EQ(path(Interpolation::kNearest, 6, 1), "direct");
  EXPECT_EQ(path(Interpolation::kNearest, 7, 1), "slab");
}

// Of a machine that has both, "avx2" may be forced.
TEST_F(GridSamplerPaths, KernelsWithoutWindowsChooseAsOnMachinesWithoutThem) {
  On(kZen4);
  int chosen = 0;
  for (const auto& kernel : portacl::cpu::GridSampler2DKernels()) {
    if (!kernel.available()) continue;
    const auto path = [&](int64_t channels) {
      return std::string(
          kernel.plan(SamplingParams(Interpolation::kNearest, channels), "")->path());
    };
    const int64_t most = std::string(kernel.name) == "avx512" ? 32 : 6;
    EXPECT_EQ(path(most), "direct") << kernel.name;
    EXPECT_EQ(path(most + 1), "slab") << kernel.name;
    ++chosen;
  }
  if (chosen == 0) GTEST_SKIP() << "this CPU has the reference kernel alone";
}

// Of as many points as pixels, or of a number of pixels a point.
TEST_F(GridSamplerPaths, SamplingOfChannelsLastIsDirectForFewChannelsAndPoints) {
  const auto path = [](Interpolation interpolation, int64_t channels, int64_t pixels,
                       DType dtype = DType::kFloat) {
    portacl::ops::GridSampler2DParams p;
    p.shape = ShapeOf(1, channels, 240, 240, 1, 240 * 240 / pixels);
    p.shape.interpolation = interpolation;
    p.shape.dtype = dtype;
    p.input_stride = {240 * 240 * channels, 1, 240 * channels, channels};
    p.grid_stride = {2 * p.shape.ow, 2 * p.shape.ow, 2, 1};
    p.output_stride = {p.shape.ow * channels, 1, p.shape.ow * channels, channels};
    return std::string(portacl::cpu::PlanGridSampler2D(p, true, "")->path);
  };
  for (const Machine& machine : {kZen3, kZen4}) {  // slow gathers
    On(machine);
    EXPECT_EQ(path(Interpolation::kNearest, 4, 1), "direct");
    EXPECT_EQ(path(Interpolation::kNearest, 6, 1), "slab");
    EXPECT_EQ(path(Interpolation::kNearest, 6, 2), "direct");
    EXPECT_EQ(path(Interpolation::kNearest, 64, 4), "direct");
    EXPECT_EQ(path(Interpolation::kNearest, 3, 1, DType::kBFloat16), "slab");
    EXPECT_EQ(path(Interpolation::kBilinear, 2, 1), "direct");
    EXPECT_EQ(path(Interpolation::kBilinear, 3, 1), "slab");
    EXPECT_EQ(path(Interpolation::kBilinear, 3, 2), "direct");
    EXPECT_EQ(path(Interpolation::kBilinear, 64, 12), "direct");
    EXPECT_EQ(path(Interpolation::kBilinear, 3, 10, DType::kFloat16), "slab");
    EXPECT_EQ(path(Interpolation::kBilinear, 3, 12, DType::kFloat16), "direct");
    EXPECT_EQ(path(Interpolation::kBicubic, 2, 1), "direct");
    EXPECT_EQ(path(Interpolation::kBicubic, 3, 8), "slab");
    EXPECT_EQ(path(Interpolation::kBicubic, 3, 10), "direct");
  }
  On(kGraniteRapids);
  EXPECT_EQ(path(Interpolation::kBilinear, 4, 1), "direct");
  EXPECT_EQ(path(Interpolation::kBilinear, 5, 11), "slab");
  EXPECT_EQ(path(Interpolation::kBilinear, 5, 12), "direct");
  EXPECT_EQ(path(Interpolation::kNearest, 6, 7), "slab");
  EXPECT_EQ(path(Interpolation::kNearest, 6, 8), "direct");
  EXPECT_EQ(path(Interpolation::kBicubic, 3, 10), "slab");
}

// A slab of such a view would be filled element by element.
TEST_F(GridSamplerPaths, SamplingWithoutNeighboursIsDirectForFewerPixels) {
  On(kZen4);
  const auto path = [](Interpolation interpolation, int64_t points, int64_t channel_stride) {
    portacl::ops::GridSampler2DParams p;
    p.shape = ShapeOf(1, 64, 48, 48, 1, points);
    p.shape.interpolation = interpolation;
    p.input_stride = {1, channel_stride, 64 * 2, 64 * 2 * 48};
    p.grid_stride = {2 * points, 2 * points, 2, 1};
    p.output_stride = {64 * points, points, points, 1};
    return std::string(portacl::cpu::PlanGridSampler2D(p, true, "")->path);
  };
  const int64_t pixels = 48 * 48;
  EXPECT_EQ(path(Interpolation::kNearest, pixels / 2, 2), "direct");
  EXPECT_EQ(path(Interpolation::kNearest, pixels / 2, 1), "slab");  // channels_last
  EXPECT_EQ(path(Interpolation::kBilinear, pixels / 4, 2), "direct");
  EXPECT_EQ(path(Interpolation::kBilinear, pixels, 2), "slab");
  EXPECT_EQ(path(Interpolation::kBilinear, pixels / 4, 1), "slab");
  EXPECT_EQ(path(Interpolation::kBicubic, pixels / 32, 2), "direct");
  EXPECT_EQ(path(Interpolation::kBicubic, pixels / 8, 2), "slab");
}

TEST_F(GridSamplerPaths, ManyImagesOfFewPointsShareVectors) {
  On(kZen4);
  const auto params = [](int64_t n, int64_t points) {
    portacl::ops::GridSampler2DParams p;
    p.shape = ShapeOf(n, 1, 9, 8, 1, points);
    p.input_stride = {72, 72, 8, 1};
    p.grid_stride = {2 * points, 2 * points, 2, 1};
    p.output_stride = {points, points, points, 1};
    return p;
  };
  const auto joined = [](const portacl::ops::GridSampler2DParams& p) {
    const auto plan = portacl::cpu::PlanGridSampler2D(p, true, "direct");
    return plan && std::get<portacl::cpu::PointGathers>(plan->way).joined;
  };
  EXPECT_TRUE(joined(params(37, 9)));
  EXPECT_TRUE(joined(params(400, 1)));
  EXPECT_FALSE(joined(params(1, 9)));
  EXPECT_FALSE(joined(params(2, 81)));  // 12 vectors instead of 11
  EXPECT_FALSE(joined(params(37, 16)));
  EXPECT_FALSE(joined(params(37, 145)));
  auto gaps = params(37, 9);
  gaps.grid_stride[0] = 20;
  EXPECT_FALSE(joined(gaps));
  auto backwards = params(37, 9);
  backwards.input_stride[0] = -72;
  EXPECT_FALSE(joined(backwards));
  auto far = params(37, 9);
  far.input_stride[0] = int64_t{1} << 29;
  EXPECT_FALSE(joined(far));
}

TEST_F(GridSamplerPaths, GradientsOfManyImagesOfFewPointsAreJoined) {
  On(kZen4);
  const auto path = [&](int64_t channels, int64_t points, Interpolation interpolation,
                        DType dtype = DType::kFloat) {
    GridSampler2DShape s = ShapeOf(400, channels, 16, 32, 1, points);
    s.interpolation = interpolation;
    s.dtype = dtype;
    return BackwardPath(s, kBoth);
  };
  EXPECT_EQ(path(1, 15, Interpolation::kBilinear), "joined");
  EXPECT_EQ(path(2, 1, Interpolation::kBilinear), "joined");
  EXPECT_EQ(path(2, 17, Interpolation::kBilinear), "padded");
  EXPECT_EQ(path(3, 31, Interpolation::kBilinear), "joined");
  EXPECT_EQ(path(20, 31, Interpolation::kBilinear), "joined");
  EXPECT_EQ(path(3, 33, Interpolation::kBilinear), "packed");
  EXPECT_EQ(path(20, 33, Interpolation::kBilinear), "slab");
  EXPECT_EQ(path(20, 16, Interpolation::kBilinear), "slab");  // whole vectors
  EXPECT_EQ(path(2, 15, Interpolation::kNearest), "joined");
  EXPECT_EQ(path(2, 17, Interpolation::kNearest), "owned");
  EXPECT_EQ(path(1, 15, Interpolation::kBicubic), "joined");
  EXPECT_EQ(path(1, 17, Interpolation::kBicubic), "owned");
  EXPECT_EQ(path(1, 33, Interpolation::kBicubic), "slab");
  EXPECT_EQ(path(3, 9, Interpolation::kBicubic), "joined");
  EXPECT_EQ(path(16, 3, Interpolation::kBicubic), "owned");
  EXPECT_EQ(path(1, 9, Interpolation::kBilinear, DType::kDouble), "joined");
  EXPECT_EQ(path(1, 9, Interpolation::kBilinear, DType::kFloat16), "joined");
  EXPECT_EQ(path(2, 64, Interpolation::kNearest, DType::kBFloat16), "joined");
  EXPECT_EQ(path(16, 16, Interpolation::kNearest, DType::kBFloat16), "joined");
  EXPECT_EQ(path(16, 17, Interpolation::kNearest, DType::kBFloat16), "slab");
  EXPECT_EQ(path(1, 65, Interpolation::kNearest, DType::kBFloat16), "slab");

  // Images of few pixels: slabs, where channels fill their vectors.
  const auto dense = [&](int64_t channels, int64_t points, DType dtype) {
    GridSampler2DShape s = ShapeOf(400, channels, 8, 8, 1, points);
    s.dtype = dtype;
    return BackwardPath(s, kBoth);
  };
  EXPECT_EQ(dense(3, 15, DType::kFloat), "joined");
  EXPECT_EQ(dense(4, 9, DType::kDouble), "joined");
  EXPECT_EQ(dense(4, 9, DType::kBFloat16), "joined");
  EXPECT_EQ(dense(4, 17, DType::kDouble), "slab");
  EXPECT_EQ(dense(5, 9, DType::kDouble), "slab");

  auto gaps = BackwardParams(ShapeOf(400, 1, 16, 32, 1, 9), kBoth);
  EXPECT_EQ(BackwardPath(gaps), "joined");
  gaps.grid_grad_stride[0] = 20;
  EXPECT_EQ(BackwardPath(gaps), "owned");
  gaps = BackwardParams(ShapeOf(400, 1, 16, 32, 1, 9), kBoth);
  gaps.input_grad_stride[0] = int64_t{1} << 29;
  EXPECT_EQ(BackwardPath(gaps), "owned");
}

// Sums of 16-bit types are of whole images, of 8192 pixels at most.
TEST_F(GridSamplerPaths, NarrowGradientsAreJoinedWhereImagesOccupyTheThreads) {
  On(kZen4);
  const auto path = [&](int64_t n, int64_t channels, int64_t h, int64_t w) {
    GridSampler2DShape s = ShapeOf(n, channels, h, w, 1, 9);
    s.dtype = DType::kBFloat16;
    return BackwardPath(s, kBoth);
  };
  EXPECT_EQ(path(400, 1, 64, 128), "joined");
  EXPECT_EQ(path(400, 1, 2731, 3), "slab");
  EXPECT_EQ(path(8, 1, 64, 128), "joined");
  EXPECT_EQ(path(7, 1, 64, 128), "slab");
  EXPECT_EQ(path(8, 512, 64, 64), "joined");
  On(kZen4, 32);
  EXPECT_EQ(path(32, 512, 64, 64), "joined");
  EXPECT_EQ(path(31, 512, 64, 64), "slab");
  EXPECT_EQ(path(8, 512, 64, 64), "slab");
  EXPECT_EQ(path(8, 2, 64, 64), "joined");
  EXPECT_EQ(path(8, 3, 64, 64), "slab");
  EXPECT_EQ(path(8, 16, 12, 12), "joined");  // too small to share
}

TEST_F(GridSamplerPaths, TinySamplingIsDirectWhateverTheChannels) {
  On(kZen4);
  const auto path = [](int64_t channels) {
    portacl::ops::GridSampler2DParams p;
    p.shape = ShapeOf(1, channels, 8, 8, 8, 8);
    p.input_stride = {channels * 64, 64, 8, 1};
    p.grid_stride = {128, 16, 2, 1};
    p.output_stride = {channels * 64, 64, 8, 1};
    return std::string(portacl::cpu::PlanGridSampler2D(p, true, "")->path);
  };
  EXPECT_EQ(path(127), "direct");
  EXPECT_EQ(path(128), "slab");
}

TEST_F(GridSamplerPaths, AnyPathAndVariantCanBeLeftOut) {
  On(kZen4);
  const auto plan = [](const GridSampler2DShape& s, const char* choice) {
    return portacl::cpu::PlanGridSampler2DBackward(BackwardParams(s, kBoth), choice);
  };
  const GridSampler2DShape one = ShapeOf(2, 1, 300, 300, 300, 300);
  EXPECT_STREQ(plan(one, "")->path, "padded");
  EXPECT_STREQ(plan(one, "-padded")->path, "owned");
  EXPECT_STREQ(plan(one, "-padded-owned")->path, "slab");
  EXPECT_STREQ(plan(one, "-owned")->path, "padded");
  EXPECT_FALSE(plan(one, "-padded-owned-slab"));

  const GridSampler2DShape sixteen = ShapeOf(1, 64, 512, 512, 512, 512);
  const auto slab = [&](const char* choice) {
    return std::get<portacl::cpu::SlabGeometry>(plan(sixteen, choice)->way);
  };
  EXPECT_GT(slab("").group_blocks, 0);
  EXPECT_GT(slab("-owned").group_blocks, 0);
  EXPECT_EQ(slab("-owned-gathered").group_blocks, 0);

  const GridSampler2DShape few = ShapeOf(400, 1, 16, 32, 1, 15);
  EXPECT_STREQ(plan(few, "")->path, "joined");
  EXPECT_STREQ(plan(few, "-joined")->path, "owned");
  const auto direct = [&](const char* choice) {
    const auto params = BackwardParams(few, kGridGrad);
    return std::get<portacl::cpu::PointGathers>(
        portacl::cpu::PlanGridSampler2DBackward(params, choice)->way);
  };
  EXPECT_TRUE(direct("").joined);
  EXPECT_FALSE(direct("-joined").joined);
}

// A point for more than 32 pixels is worth no copy of the planes.
TEST_F(GridSamplerPaths, FewPointsOfFewChannelsHaveAnOwner) {
  for (const Machine& machine : {kGraniteRapids, kZen4}) {
    On(machine);
    const auto plan = [&](int64_t points) {
      const auto params = BackwardParams(ShapeOf(2852, 1, 46, 62, 1, points), kBoth);
      return portacl::cpu::PlanGridSampler2DBackward(params, "");
    };
    EXPECT_STREQ(plan(90)->path, "padded");
    ASSERT_STREQ(plan(89)->path, "owned");
    EXPECT_EQ(std::get<portacl::cpu::OwnedParts>(plan(89)->way).slabs, 1);
    EXPECT_EQ(plan(89)->workspace_size, 0u);
  }
}

// An image of bicubic points is not cut: one owner would leave the other threads idle.
TEST_F(GridSamplerPaths, SparseBicubicPointsHaveOwnersIfTheyOccupyTheThreads) {
  for (const int threads : {2, 16, 64}) {
    On(kGraniteRapids, threads);
    const auto shape = [](int64_t n, Interpolation interpolation) {
      GridSampler2DShape s = ShapeOf(n, 1, 2048, 2048, 200, 300);
      s.interpolation = interpolation;
      return s;
    };
    for (const Mask mask : {kInputGrad, kBoth}) {
      EXPECT_EQ(BackwardPath(shape(1, Interpolation::kBicubic), mask), "slab") << threads;
      EXPECT_EQ(BackwardPath(shape(threads, Interpolation::kBicubic), mask), "owned") << threads;
    }
    // By name it is served as before.
    const auto named = portacl::cpu::PlanGridSampler2DBackward(
        BackwardParams(shape(1, Interpolation::kBicubic), kBoth), "owned");
    ASSERT_TRUE(named.has_value());
    EXPECT_STREQ(named->path, "owned");
  }
  On(kGraniteRapids, 1);
  GridSampler2DShape one = ShapeOf(1, 1, 2048, 2048, 200, 300);
  one.interpolation = Interpolation::kBicubic;
  EXPECT_EQ(BackwardPath(one, kBoth), "owned");
}

// A hundred key points of a map of 256 channels are worth no slab of the whole map.
TEST_F(GridSamplerPaths, FewPointsOfManyChannelsHaveOwners) {
  for (const auto& named : kNamedMachines) {
    for (const int threads : {1, 2}) {
      On(named.machine, threads);
      const auto path = [&](int64_t points, Interpolation interpolation) {
        GridSampler2DShape s = ShapeOf(1, 256, 60, 80, 1, points);
        s.interpolation = interpolation;
        return BackwardPath(s, kBoth);
      };
      EXPECT_EQ(path(100, Interpolation::kBilinear), "owned");
      EXPECT_EQ(path(101, Interpolation::kBilinear), "slab");
      auto strided = BackwardParams(ShapeOf(1, 256, 60, 80, 1, 100), kBoth);
      strided.input_grad_stride = {256 * 60 * 80, 1, 256 * 80, 256};  // its zeros are not dense
      EXPECT_EQ(BackwardPath(strided), "slab");
      EXPECT_EQ(path(150, Interpolation::kNearest), "owned");
      EXPECT_EQ(path(151, Interpolation::kNearest), "slab");
    }
  }
}

// What each machine chooses with all its CPUs for calls of each kind, side by side.
TEST_F(GridSamplerPaths, EveryMachineHasItsChoices) {
  GridSampler2DShape nearest = ShapeOf(4, 3, 112, 254, 112, 254);
  nearest.interpolation = Interpolation::kNearest;
  struct Row {
    GridSampler2DShape shape;
    Mask mask;
  };
  const std::vector<Row> rows = {
      {ShapeOf(1, 2, 150, 210, 150, 210), kBoth},    {ShapeOf(16, 1, 300, 300, 300, 300), kBoth},
      {ShapeOf(8, 3, 160, 160, 90, 90), kBoth},      {ShapeOf(1, 3, 100, 120, 90, 100), kBoth},
      {ShapeOf(1, 8, 150, 150, 90, 100), kGridGrad}, {nearest, kBoth}};
  const auto choices = [&](const Machine& machine) {
    On(machine, machine.cpus);
    std::string paths;
    for (const Row& row : rows) {
      paths += (paths.empty() ? "" : " ") + BackwardPath(row.shape, row.mask);
    }
    return paths;
  };
  const std::map<std::string, std::string> want = {
      {"granite_rapids", "owned padded packed slab direct owned"},
      {"emerald_rapids", "slab padded slab slab direct owned"},
      {"zen3", "padded padded slab slab slab owned"},
      {"zen4", "padded padded packed slab slab owned"},
      {"neon", "owned padded packed slab direct owned"},
      {"small", "owned owned slab slab slab owned"},
      {"large", "slab owned slab slab direct slab"},
  };
  for (const auto& named : kNamedMachines) {
    SCOPED_TRACE(named.name);
    const auto found = want.find(named.name);
    ASSERT_NE(found, want.end()) << "a machine without choices";
    EXPECT_EQ(choices(named.machine), found->second);
  }
}

// What a path needs, whatever it would cost: asked for by name it serves exactly these calls.
TEST_F(GridSamplerPaths, AreTakenWhereTheyAreAskedForAndServe) {
  On(kZen4);
  const auto serving = [](const portacl::ops::GridSampler2DBackwardParams& p) {
    std::string names;
    for (const char* const path : portacl::cpu::GridSampler2DBackwardPlan::kPaths) {
      const auto plan = portacl::cpu::PlanGridSampler2DBackward(p, path);
      if (!plan) continue;
      EXPECT_STREQ(plan->path, path);
      names += std::string(names.empty() ? "" : " ") + path;
    }
    return names;
  };
  const GridSampler2DShape one = ShapeOf(3, 1, 90, 100, 9, 10);
  EXPECT_EQ(serving(BackwardParams(one, kBoth)), "padded owned packed slab");
  EXPECT_EQ(serving(BackwardParams(one, kGridGrad)), "direct padded slab");
  EXPECT_EQ(serving(BackwardParams(ShapeOf(1, 4, 900, 1000, 9, 10), kInputGrad)),
            "owned packed slab");
  GridSampler2DShape nearest = ShapeOf(1, 40, 90, 100, 9, 10);
  nearest.interpolation = Interpolation::kNearest;
  EXPECT_EQ(serving(BackwardParams(nearest, kBoth)), "owned slab");
  auto spread = BackwardParams(one, kBoth);
  spread.input_stride[3] = spread.input_grad_stride[3] = 2;
  EXPECT_EQ(serving(spread), "padded owned packed slab");
}

}  // namespace
}  // namespace portacl_test
