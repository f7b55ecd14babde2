// RoiAlign and its gradient: the SIMD kernels against the reference, byte for byte, on
// every instruction set of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cpu/detection/roi_align_plan.h"
#include "ops/listed_kernels.h"
#include "ops/roi_align_params.h"
#include "support/api/compare.h"
#include "support/kernel_test.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::ops::RoiAlignMode;
using portacl::ops::RoiAlignParams;

struct RoiCase {
  RoiAlignParams p;  // all but addresses and strides
  Tensor image, boxes, pooled, values;
};

// Layouts: of the images (and of the values of a maximum's gradient), of the rois, of the bins.
RoiCase MakeRoiCase(Element element, const RoiAlignParams& p, const std::array<Layout, 3>& layout) {
  return {p, Tensor(element, {p.images, p.channels, p.height, p.width}, layout[0]),
          Tensor(element, {p.rois, p.rotated ? 6 : 5}, layout[1]),
          Tensor(element, {p.rois, p.channels, p.pooled_height, p.pooled_width}, layout[2]),
          Tensor(element, {p.images, p.channels, p.height, p.width}, layout[0])};
}

// Rois in the images, across their edges, reversed and empty; some of no image, or not finite.
void FillBoxes(Random& random, RoiCase* c) {
  const double scale = c->p.scale;
  for (int64_t n = 0; n < c->p.rois; ++n) {
    const auto place = [&](int64_t extent) {
      const double at = random.Uniform(-0.3, 1.3) * static_cast<double>(extent) / scale;
      return random.Integer(0, 3) == 0 ? std::round(at) : at;
    };
    const double x = place(c->p.width), y = place(c->p.height);
    const bool small = random.Coin();
    const double far_x = small ? x + random.Uniform(0, 4) : place(c->p.width);
    const double far_y = small ? y + random.Uniform(0, 4) : place(c->p.height);
    std::array<double, 5> box = {static_cast<double>(random.Integer(0, c->p.images - 1)), x, y,
                                 far_x, far_y};
    const double odd[] = {-0.5, 1e9, NAN, INFINITY, -INFINITY, 1e30, -1};
    if (random.Integer(0, 15) == 0) {
      box[static_cast<size_t>(random.Integer(0, 4))] = odd[random.Integer(0, std::size(odd) - 1)];
    }
    const int64_t columns = c->p.rotated ? 6 : 5;
    for (int64_t i = 0; i < 5; ++i) c->boxes.Set(columns * n + i, box[static_cast<size_t>(i)]);
    if (!c->p.rotated) continue;
    // Around (x, y), of the same size; angles in all quadrants, whole quarter turns, and angles
    // that are too large for the sine.
    if (random.Integer(0, 3) > 0) {
      c->boxes.Set(6 * n + 3, far_x - x);
      c->boxes.Set(6 * n + 4, far_y - y);
    }
    const double quarters = random.Uniform(-9, 9), angles[] = {NAN, 1e7, INFINITY};
    double angle = (random.Coin() ? quarters : std::round(quarters)) * 1.5707963267948966;
    if (random.Integer(0, 15) == 0) angle = angles[random.Integer(0, std::size(angles) - 1)];
    c->boxes.Set(6 * n + 5, angle);
  }
}

RoiAlignParams ParamsOf(RoiCase* c, bool backward) {
  RoiAlignParams p = c->p;
  p.dtype = ToDType(c->image.element());
  p.backward = backward;
  Describe(&c->image, &p.image);
  Describe(&c->boxes, &p.boxes);
  Describe(&c->pooled, &p.pooled);
  Describe(&c->values, &p.values);
  return p;
}

bool RunRoiAlign(const portacl::base::Kernel<RoiAlignParams>& kernel, bool backward, RoiCase* c) {
  return RunKernel(kernel, ParamsOf(c, backward));
}

void PutOddPixels(Random& random, Tensor* tensor) {
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (random.Integer(0, 29) > 0) continue;
    const double odd[] = {0.0, -0.0, 1e-40, -6e-8, 1e30, INFINITY, -INFINITY, NAN, -1e-44};
    tensor->Set(i, odd[random.Integer(0, std::size(odd) - 1)]);
  }
}

template <size_t kCount>
Layout SomeLayout(Random& random, const std::array<Layout, kCount>& layouts) {
  if (random.Coin()) return random.Coin() ? Layout::kContiguous : Layout::kChannelsLast;
  return layouts[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(kCount) - 1))];
}

enum class Samples { kTables, kOneByOne };

RoiCase RandomRoiCase(Random& random, bool backward, Samples samples) {
  const int64_t channels[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 64};
  RoiAlignParams p;
  p.images = random.Integer(1, 3);
  p.channels = channels[random.Integer(0, std::size(channels) - 1)];
  p.height = random.Integer(1, random.Coin() ? 4 : 40);
  p.width = random.Integer(1, random.Coin() ? 4 : 40);
  p.rois = random.Integer(0, 12);
  p.pooled_height = random.Integer(1, 8);
  p.pooled_width = random.Integer(1, random.Coin() ? 3 : 15);
  p.samples = random.Coin() ? 0 : random.Integer(1, 5);
  p.scale = random.Coin() ? 1 : random.Uniform(0.03, 2);
  p.aligned = random.Coin();
  p.includes_ends = random.Integer(0, 4) == 0;
  if (samples == Samples::kOneByOne) {
    p.rotated = random.Coin();
    p.clockwise = random.Coin();
    if (!p.rotated) p.mode = random.Coin() ? RoiAlignMode::kMax : RoiAlignMode::kMaxCorners;
    if (random.Integer(0, 9) == 0) p.samples = random.Integer(12, 20);  // several lists
    if (random.Integer(0, 4) == 0) p.rois = random.Integer(40, 60);     // several owners
  }
  const auto element = kElements[static_cast<size_t>(random.Integer(0, 3))];
  const Layout image =
      backward ? SomeLayout(random, kOutputLayouts) : SomeLayout(random, kInputLayouts);
  const Layout pooled =
      backward ? SomeLayout(random, kInputLayouts) : SomeLayout(random, kOutputLayouts);
  RoiCase c = MakeRoiCase(
      element, p, {image, random.Coin() ? Layout::kContiguous : Layout::kTransposed, pooled});
  FillBoxes(random, &c);
  Tensor& read = backward ? c.pooled : c.image;
  read.FillUniform(random, -1, 1);
  if (random.Integer(0, 3) == 0) PutOddPixels(random, &read);
  if (!backward) return c;
  c.values.FillUniform(random, -1, 1);
  const bool equal = random.Coin();  // samples
  for (int64_t i = 0; equal && i < c.values.size(); ++i) {
    c.values.Set(i, static_cast<double>(random.Integer(-1, 1)));
  }
  if (random.Integer(0, 3) == 0) PutOddPixels(random, &c.values);
  return c;
}

class RoiAlignKernels : public KernelTest {
 protected:
  void CompareRandomCases(bool backward, Samples samples) {
    const uint64_t seed = FreshSeed();
    Random random(seed);
    SCOPED_TRACE(testing::Message() << "PORTACL_TEST_SEED=" << seed);
    std::map<std::string, int> served;
    const int64_t count = ByRunLength(600, 80);
    for (int64_t i = 0; i < count; ++i) {
      RoiCase c = RandomRoiCase(random, backward, samples);
      SCOPED_TRACE(testing::Message()
                   << i << " image " << portacl_test::ToString(c.image.shape()) << " strides "
                   << portacl_test::ToString(c.image.strides()) << " pooled "
                   << portacl_test::ToString(c.pooled.shape()) << " strides "
                   << portacl_test::ToString(c.pooled.strides()) << NameOf(c.image.element())
                   << " samples " << c.p.samples << " aligned " << c.p.aligned << " mode "
                   << static_cast<int>(c.p.mode) << " rotated " << c.p.rotated);
      RoiCase want = c;
      ASSERT_TRUE(RunRoiAlign(portacl::ref::kRoiAlign, backward, &want));
      for (const auto& kernel : portacl::cpu::RoiAlignKernels()) {
        if (!kernel.available()) continue;
        portacl::runtime::SetNumThreads(
            static_cast<int>(random.Coin() ? 1 : random.Integer(2, 40)));
        RoiCase got = c;
        ASSERT_TRUE(RunRoiAlign(kernel, backward, &got)) << kernel.name;
        ++served[kernel.name];
        ASSERT_TRUE(backward ? SameAs(want.image, got.image) : SameAs(want.pooled, got.pooled))
            << kernel.name;
      }
    }
    for (const auto& kernel : portacl::cpu::RoiAlignKernels()) {
      if (!kernel.available()) continue;
      EXPECT_EQ(served[kernel.name], count) << kernel.name;
    }
  }
};

TEST_F(RoiAlignKernels, EqualTheReferenceOnRandomCases) {
  CompareRandomCases(false, Samples::kTables);
}
TEST_F(RoiAlignKernels, GradientsEqualTheReferenceOnRandomCases) {
  CompareRandomCases(true, Samples::kTables);
}
TEST_F(RoiAlignKernels, MaximaAndRotatedRoisEqualTheReference) {
  CompareRandomCases(false, Samples::kOneByOne);
}
TEST_F(RoiAlignKernels, GradientsOfMaximaAndRotatedRoisEqualTheReference) {
  CompareRandomCases(true, Samples::kOneByOne);
}

// Enough work that every number of threads shares it out: rois in parts, the gradient in strips.
TEST_F(RoiAlignKernels, DoNotDependOnThreads) {
  Random random(61);
  RoiAlignParams p;
  p.images = 1;
  p.channels = 40;
  p.height = 50;
  p.width = 37;
  p.rois = 60;
  p.pooled_height = p.pooled_width = 7;
  for (int i = 0; i < 6; ++i) {
    const bool backward = i % 2 == 1;
    p.mode = i / 2 == 1 ? RoiAlignMode::kMax : RoiAlignMode::kAverage;
    p.rotated = i / 2 == 2;
    RoiCase c = MakeRoiCase(Element::kFloat, p, {});
    FillBoxes(random, &c);
    for (Tensor* tensor : {&c.pooled, &c.image, &c.values}) tensor->FillUniform(random, -1, 1);
    RoiCase want = c;
    ASSERT_TRUE(RunRoiAlign(portacl::ref::kRoiAlign, backward, &want));
    const auto kernels = portacl::cpu::RoiAlignKernels();
    const auto usable = [](const auto& kernel) { return kernel.available(); };
    const auto found = std::find_if(kernels.begin(), kernels.end(), usable);
    if (found == kernels.end()) GTEST_SKIP() << "this CPU has the reference alone";
    const auto& kernel = *found;
    for (int threads = 1; threads <= 40; threads += threads < 8 ? 1 : 8) {
      portacl::runtime::SetNumThreads(threads);
      ASSERT_TRUE(RunRoiAlign(kernel, backward, &c));
      EXPECT_TRUE(backward ? SameAs(want.image, c.image) : SameAs(want.pooled, c.pooled))
          << threads;
    }
  }
}

// A roi without a sine names an image, but contributes nothing: its bins are 0.
TEST_F(RoiAlignKernels, RoisWithoutASineAreClearedWhateverImageTheyName) {
  Random random(63);
  RoiAlignParams p;
  p.images = 3;
  p.channels = 5;
  p.height = p.width = 9;
  p.rois = 4;
  p.pooled_height = p.pooled_width = 2;
  p.rotated = true;
  RoiCase c = MakeRoiCase(Element::kFloat, p, {});
  c.image.FillUniform(random, -1, 1);
  for (int64_t n = 0; n < p.rois; ++n) {
    // Images 0, 1, 2 and 3, which is none.
    const double roi[] = {static_cast<double>(n), 4, 4, 5, 5, n == 3 ? 0.0 : NAN};
    for (int64_t i = 0; i < 6; ++i) c.boxes.Set(6 * n + i, roi[i]);
  }
  for (const auto& kernel : portacl::cpu::RoiAlignKernels()) {
    if (!kernel.available()) continue;
    c.pooled.Fill(7);
    ASSERT_TRUE(RunRoiAlign(kernel, false, &c));
    for (int64_t i = 0; i < c.pooled.size(); ++i) ASSERT_EQ(c.pooled.Get(i), 0) << kernel.name << i;
    c.pooled.FillUniform(random, -1, 1);
    c.image.Fill(7);
    ASSERT_TRUE(RunRoiAlign(kernel, true, &c));
    for (int64_t i = 0; i < c.image.size(); ++i) ASSERT_EQ(c.image.Get(i), 0) << kernel.name << i;
  }
}

// Large bins leave some of the threads idle, and copies beyond some GB are the reference's work.
TEST_F(RoiAlignKernels, TheWorkspaceOfSamplesIsBounded) {
  constexpr uint64_t kGiB = uint64_t{1} << 30;
  portacl::runtime::SetNumThreads(128);
  const auto plan = [](const RoiAlignParams& p) { return portacl::cpu::PlanRoiAlign(p, 16); };
  RoiAlignParams p;
  p.images = 1;
  p.channels = 256;
  p.height = p.width = 64;
  p.rois = 100;
  p.pooled_height = p.pooled_width = 256;
  p.image.stride = {256 * 64 * 64, 64 * 64, 64, 1};
  for (const bool rotated : {false, true}) {
    p.rotated = rotated;
    p.mode = rotated ? RoiAlignMode::kAverage : RoiAlignMode::kMax;
    for (const bool backward : {false, true}) {
      p.backward = backward;
      const auto large = plan(p);
      ASSERT_TRUE(large.has_value());
      EXPECT_LT(large->workspace_size, 3 * kGiB / 2) << rotated << backward;
      EXPECT_EQ(std::get<portacl::cpu::RoiPointsGeometry>(large->way).slots, 15);
      RoiAlignParams small = p;
      small.pooled_height = small.pooled_width = 7;
      EXPECT_EQ(std::get<portacl::cpu::RoiPointsGeometry>(plan(small)->way).slots, 128);
      RoiAlignParams huge = p;
      huge.pooled_height = 8192;
      EXPECT_FALSE(plan(huge).has_value());
    }
  }
  p.rotated = false;
  p.mode = RoiAlignMode::kMax;
  p.backward = true;
  p.dtype = portacl::base::DType::kFloat16;
  p.pooled_height = p.pooled_width = 7;
  p.height = p.width = 1024;
  ASSERT_TRUE(plan(p).has_value());
  EXPECT_LT(plan(p)->workspace_size, 3 * kGiB);
  p.height = p.width = 4096;
  EXPECT_FALSE(plan(p).has_value());
  p.backward = false;
  EXPECT_FALSE(plan(p).has_value());
  p.image.stride = {int64_t{256} * 4096 * 4096, 1, 256 * 4096, 256};  // needs no copy
  ASSERT_TRUE(plan(p).has_value());
  EXPECT_LT(plan(p)->workspace_size, kGiB);
}

}  // namespace
}  // namespace portacl_test
