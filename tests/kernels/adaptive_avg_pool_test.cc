// Adaptive average pooling and its gradient: the reference against sums that are written down, and
// the SIMD kernels against the reference, byte for byte, on every instruction set of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cpu/machine/named_machines.h"
#include "cpu/resize/adaptive_avg_pool_plan.h"
#include "ops/adaptive_avg_pool_params.h"
#include "ops/listed_kernels.h"
#include "support/api/compare.h"
#include "support/kernel_test.h"
#include "support/other_machine.h"
#include "support/run_kernel.h"

namespace portacl_test {
namespace {

using portacl::ops::AdaptiveAvgPoolParams;

struct PoolCase {
  bool backward = false;
  Tensor image, pooled;
};

AdaptiveAvgPoolParams ParamsOf(PoolCase* c) {
  AdaptiveAvgPoolParams p;
  p.dtype = ToDType(c->image.element());
  p.backward = c->backward;
  p.n = c->image.shape()[0];
  p.c = c->image.shape()[1];
  p.image = c->image.first();
  p.pooled = c->pooled.first();
  const auto set = [](const Tensor& t, std::array<int64_t, 3>* extents,
                      std::array<int64_t, 5>* strides) {
    const auto [n, ch, h, w] = As4D(t.shape(), 1);
    *extents = {DepthOf(t.shape(), 1), h, w};
    const auto [sn, sc, sh, sw] = As4D(t.strides(), 0);
    *strides = {sn, sc, DepthOf(t.strides(), 0), sh, sw};
    static_cast<void>(n + ch);
  };
  set(c->image, &p.extents, &p.image_stride);
  set(c->pooled, &p.pooled_extents, &p.pooled_stride);
  return p;
}

bool RunPool(const portacl::base::Kernel<AdaptiveAvgPoolParams>& kernel, PoolCase* c) {
  return RunKernel(kernel, ParamsOf(c));
}

template <size_t kCount>
Layout SomeLayout(Random& random, const std::array<Layout, kCount>& layouts) {
  if (random.Coin()) return random.Coin() ? Layout::kContiguous : Layout::kChannelsLast;
  return layouts[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(kCount) - 1))];
}

// Extents whose windows are whole, overlap, or repeat themselves.
Shape SomeExtents(Random& random, size_t axes) {
  Shape shape;
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t most = axes == 3 ? 9 : random.Coin() ? 9 : 64;
    shape.push_back(random.Integer(0, 3) == 0 ? 1 : random.Integer(1, most));
  }
  return shape;
}

Shape Whole(int64_t n, int64_t c, const Shape& extents) {
  Shape shape = {n, c};
  shape.insert(shape.end(), extents.begin(), extents.end());
  return shape;
}

PoolCase RandomPoolCase(Random& random) {
  const int64_t channels[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 65, 70, 130};
  const auto axes = static_cast<size_t>(random.Integer(1, 3));
  const int64_t n = random.Integer(1, 3);
  const int64_t c = channels[random.Integer(0, std::size(channels) - 1)];
  Shape image = SomeExtents(random, axes), pooled = SomeExtents(random, axes);
  if (random.Integer(0, 2) == 0) {  // whole windows
    for (size_t i = 0; i < axes; ++i) image[i] = pooled[i] * random.Integer(1, 4);
  }
  const bool backward = random.Coin();
  const bool bytes = !backward && random.Integer(0, 4) == 0;
  const Element element =
      bytes ? Element::kUInt8 : kElements[static_cast<size_t>(random.Integer(0, 3))];
  const Layout read = SomeLayout(random, kInputLayouts), write = SomeLayout(random, kOutputLayouts);
  PoolCase made{backward, Tensor(element, Whole(n, c, image), backward ? write : read),
                Tensor(element, Whole(n, c, pooled), backward ? read : write)};
  Tensor& source = backward ? made.pooled : made.image;
  if (bytes) {
    for (int64_t i = 0; i < source.size(); ++i) {
      source.Set(i, static_cast<double>(random.Integer(0, 255)));
    }
    return made;
  }
  source.FillUniform(random, -1, 1);
  if (random.Integer(0, 3) == 0) {
    const double odd[] = {0.0, -0.0, 1e-40, -6e-8, 1e30, INFINITY, -INFINITY, NAN, -1e-44};
    for (int64_t i = 0; i < source.size(); ++i) {
      if (random.Integer(0, 29) == 0) source.Set(i, odd[random.Integer(0, std::size(odd) - 1)]);
    }
  }
  return made;
}

const portacl::cpu::AdaptiveAvgPoolGeometry& GeometryOf(
    const portacl::cpu::AdaptiveAvgPoolPlan& plan) {
  return std::get<portacl::cpu::AdaptiveAvgPoolGeometry>(plan.way);
}

class AdaptiveAvgPoolKernels : public KernelTest {};

TEST_F(AdaptiveAvgPoolKernels, EqualTheReferenceOnRandomCases) {
  const uint64_t seed = FreshSeed();
  Random random(seed);
  SCOPED_TRACE(testing::Message() << "PORTACL_TEST_SEED=" << seed);
  std::map<std::string, int> served;
  const int64_t count = ByRunLength(1500, 150);
  for (int64_t i = 0; i < count; ++i) {
    PoolCase c = RandomPoolCase(random);
    SCOPED_TRACE(testing::Message() << i << " image " << portacl_test::ToString(c.image.shape())
                                    << " strides " << portacl_test::ToString(c.image.strides())
                                    << " pooled " << portacl_test::ToString(c.pooled.shape())
                                    << " strides " << portacl_test::ToString(c.pooled.strides())
                                    << NameOf(c.image.element()) << " backward " << c.backward);
    PoolCase want = c;
    ASSERT_TRUE(RunPool(portacl::ref::kAdaptiveAvgPool, &want));
    for (const auto& kernel : portacl::cpu::AdaptiveAvgPoolKernels()) {
      if (!kernel.available()) continue;
      portacl::runtime::SetNumThreads(static_cast<int>(random.Coin() ? 1 : random.Integer(2, 40)));
      PoolCase got = c;
      if (!RunPool(kernel, &got)) continue;  // a few rows
      ++served[kernel.name];
      ASSERT_TRUE(c.backward ? SameAs(want.image, got.image) : SameAs(want.pooled, got.pooled))
          << kernel.name;
    }
  }
  for (const auto& kernel : portacl::cpu::AdaptiveAvgPoolKernels()) {
    if (!kernel.available()) continue;
    EXPECT_GT(served[kernel.name], count * 3 / 4) << kernel.name;
  }
}

// Rows that are longer than a chunk of columns, with windows across its ends. Windows of many
// channels, with sums made line by line (with 260 channels they are not). Planes of channels that
// lie side by side, too many to become rows together.
TEST_F(AdaptiveAvgPoolKernels, EqualTheReferenceOnLongRows) {
  Random random(FreshSeed());
  const auto check = [&random](Element element, bool backward, const Shape& image,
                               const Shape& pooled, Layout from, Layout to) {
    PoolCase c{backward, Tensor(element, image, from), Tensor(element, pooled, to)};
    (backward ? c.pooled : c.image).FillUniform(random, -1, 1);
    PoolCase want = c;
    ASSERT_TRUE(RunPool(portacl::ref::kAdaptiveAvgPool, &want));
    for (const auto& kernel : portacl::cpu::AdaptiveAvgPoolKernels()) {
      if (!kernel.available()) continue;
      PoolCase got = c;
      ASSERT_TRUE(RunPool(kernel, &got));
      EXPECT_TRUE(backward ? SameAs(want.image, got.image) : SameAs(want.pooled, got.pooled))
          << kernel.name << NameOf(element) << portacl_test::ToString(image);
    }
  };
  const std::array layouts = {std::pair(Layout::kContiguous, Layout::kContiguous),
                              std::pair(Layout::kChannelsLast, Layout::kChannelsLast),
                              std::pair(Layout::kChannelsLast, Layout::kContiguous)};
  for (const Element element : {Element::kFloat, Element::kFloat16, Element::kBFloat16}) {
    for (const auto& [image, pooled] :
         {std::array{Shape{3, 5, 2, 1031}, Shape{3, 5, 1, 7}},
          std::array{Shape{3, 5, 40, 47}, Shape{3, 5, 3, 1}},
          std::array{Shape{1, 70, 2, 517}, Shape{1, 70, 2, 600}},
          std::array{Shape{17, 1, 70, 70}, Shape{17, 1, 1, 1}},
          std::array{Shape{2, 256, 5, 80}, Shape{2, 256, 2, 2}},
          std::array{Shape{1, 260, 5, 80}, Shape{1, 260, 3, 2}},
          std::array{Shape{1, 256, 2, 150}, Shape{1, 256, 3, 131}},
          std::array{Shape{1, 256, 4, 3, 72}, Shape{1, 256, 2, 1, 2}}}) {
      for (const auto& [from, to] : layouts) {
        check(element, false, image, pooled, from, to);
        check(element, true, image, pooled, from, to);
      }
    }
  }
}

// Bytes: sums that float32 does not hold go to the reference; halves are rounded up.
TEST_F(AdaptiveAvgPoolKernels, BytesHaveTheExactAverage) {
  for (const int64_t extent : {2, 128, 129, 300}) {
    PoolCase c{false, Tensor(Element::kUInt8, {4, 1, extent, extent}, Layout::kContiguous),
               Tensor(Element::kUInt8, {4, 1, 1, 1}, Layout::kContiguous)};
    for (int64_t i = 0; i < c.image.size(); ++i) {  // the average is 254.5, or a little less
      c.image.Set(i, i % 2 == 0 ? 254 : 255);
      if (i == c.image.size() - 1) c.image.Set(i, extent % 2 == 0 ? 254 : 253);
    }
    const std::vector<double> want = {255, 255, 255, 254};
    PoolCase by_ref = c;
    ASSERT_TRUE(RunPool(portacl::ref::kAdaptiveAvgPool, &by_ref));
    for (int64_t i = 0; extent % 2 == 0 && i < 4; ++i) {
      EXPECT_EQ(by_ref.pooled.Get(i), want[static_cast<size_t>(i)]) << extent;
    }
    for (const auto& kernel : portacl::cpu::AdaptiveAvgPoolKernels()) {
      PoolCase got = c;
      if (!kernel.available() || !RunPool(kernel, &got)) continue;
      EXPECT_LE(extent, 128) << kernel.name;
      EXPECT_TRUE(SameAs(by_ref.pooled, got.pooled)) << kernel.name << extent;
    }
  }
}

// Windows of 2 x 2 of bytes are sums of whole numbers: every width around a vector's.
TEST_F(AdaptiveAvgPoolKernels, HalvesOfPicturesEqualTheReference) {
  const uint64_t seed = FreshSeed();
  Random random(seed);
  SCOPED_TRACE(testing::Message() << "PORTACL_TEST_SEED=" << seed);
  for (const int64_t c : {1, 2, 3, 4}) {
    for (int64_t width = 1; width <= 140; width += width < 70 ? 1 : 23) {
      const bool last = random.Coin();
      const Layout layout = last ? Layout::kChannelsLast : Layout::kContiguous;
      PoolCase made{false, Tensor(Element::kUInt8, {2, c, 18, 2 * width}, layout),
                    Tensor(Element::kUInt8, {2, c, 9, width}, layout)};
      for (int64_t i = 0; i < made.image.size(); ++i) {
        made.image.Set(i, static_cast<double>(random.Integer(0, 255)));
      }
      const auto plan = portacl::cpu::PlanAdaptiveAvgPool(ParamsOf(&made), 16);
      ASSERT_TRUE(plan.has_value());
      const bool lines_up = !last || c == 1 || c == 3;
      EXPECT_EQ(GeometryOf(*plan).halves, lines_up && width >= 32) << c << last << width;
      PoolCase want = made;
      ASSERT_TRUE(RunPool(portacl::ref::kAdaptiveAvgPool, &want));
      for (const auto& kernel : portacl::cpu::AdaptiveAvgPoolKernels()) {
        PoolCase got = made;
        if (!kernel.available() || !RunPool(kernel, &got)) continue;
        EXPECT_TRUE(SameAs(want.pooled, got.pooled)) << kernel.name << c << last << width;
      }
    }
  }
}

// Results beyond the caches of a small machine, of whole lines and others.
TEST_F(AdaptiveAvgPoolKernels, ResultsPastTheCachesEqualTheReference) {
  OtherMachine machine(portacl::cpu::kZen4);  // it has streaming stores
  machine->last_level_cache = 1 << 14;
  Random random(FreshSeed());
  for (const int64_t width : {48, 52}) {
    for (const int64_t c : {3, 16, 32}) {
      for (const Layout layout : {Layout::kContiguous, Layout::kChannelsLast}) {
        PoolCase made{true, Tensor(Element::kFloat, {2, c, 40, width}, layout),
                      Tensor(Element::kFloat, {2, c, 13, 16}, layout)};
        made.pooled.FillUniform(random, -1, 1);
        const auto plan = portacl::cpu::PlanAdaptiveAvgPool(ParamsOf(&made), 16);
        ASSERT_TRUE(plan.has_value());
        const bool lanes = layout == Layout::kChannelsLast && c % 16 == 0;
        EXPECT_EQ(GeometryOf(*plan).channels, lanes) << c << " " << width;
        EXPECT_EQ(GeometryOf(*plan).stream, lanes || width == 48) << c << " " << width;
        PoolCase want = made;
        ASSERT_TRUE(RunPool(portacl::ref::kAdaptiveAvgPool, &want));
        for (const auto& kernel : portacl::cpu::AdaptiveAvgPoolKernels()) {
          if (!kernel.available()) continue;
          PoolCase got = made;
          ASSERT_TRUE(RunPool(kernel, &got));
          EXPECT_TRUE(SameAs(want.image, got.image)) << kernel.name << c << " " << width;
        }
      }
    }
  }
}

// Elements of pixels become columns only if they fit an axis. Otherwise channels in the lanes serve
// the call.
TEST_F(AdaptiveAvgPoolKernels, LongRowsOfFewChannelsAreServed) {
  for (const bool backward : {false, true}) {
    for (const bool enlarges : {false, true}) {
      for (const int64_t extent : {1000, 8640000}) {
        AdaptiveAvgPoolParams p;
        p.backward = backward;
        p.n = 8;
        p.c = 2;
        const int64_t image = enlarges ? 4 : extent, pooled = enlarges ? extent : 4;
        p.extents = {1, 1, image};
        p.pooled_extents = {1, 1, pooled};
        p.image_stride = {2 * image, 1, 2 * image, 2 * image, 2};
        p.pooled_stride = {2 * pooled, 1, 2 * pooled, 2 * pooled, 2};
        const auto plan = portacl::cpu::PlanAdaptiveAvgPool(p, 16);
        ASSERT_TRUE(plan.has_value()) << backward << enlarges << " " << extent;
        EXPECT_EQ(GeometryOf(*plan).channels, extent > 1000) << backward << enlarges;
      }
    }
  }
}

// Each output's window, written down; an axis that grows repeats elements.
TEST(AdaptiveAvgPoolReference, AveragesWindows) {
  PoolCase c{false, Tensor(Element::kFloat, {1, 1, 5}, Layout::kContiguous),
             Tensor(Element::kFloat, {1, 1, 3}, Layout::kContiguous)};
  for (int64_t i = 0; i < 5; ++i) c.image.Set(i, static_cast<double>(1 << i));
  ASSERT_TRUE(RunPool(portacl::ref::kAdaptiveAvgPool, &c));
  EXPECT_EQ(c.pooled.Get(0), 1.5);                           // [0, 2)
  EXPECT_EQ(c.pooled.Get(1), static_cast<float>(14.0 / 3));  // [1, 4)
  EXPECT_EQ(c.pooled.Get(2), 12);                            // [3, 5)
  c.backward = true;
  for (int64_t o = 0; o < 3; ++o) c.pooled.Set(o, o == 1 ? 3 : 2);
  ASSERT_TRUE(RunPool(portacl::ref::kAdaptiveAvgPool, &c));
  const double want[] = {1, 2, 1, 2, 1};
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(c.image.Get(i), want[i]) << i;
}

// Enough work that every number of threads shares it out.
TEST_F(AdaptiveAvgPoolKernels, DoNotDependOnThreads) {
  Random random(61);
  for (const bool backward : {false, true}) {
    PoolCase c{backward, Tensor(Element::kFloat, {2, 40, 50, 37}, Layout::kContiguous),
               Tensor(Element::kFloat, {2, 40, 7, 9}, Layout::kContiguous)};
    (backward ? c.pooled : c.image).FillUniform(random, -1, 1);
    PoolCase want = c;
    ASSERT_TRUE(RunPool(portacl::ref::kAdaptiveAvgPool, &want));
    const auto kernels = portacl::cpu::AdaptiveAvgPoolKernels();
    const auto usable = [](const auto& kernel) { return kernel.available(); };
    const auto found = std::find_if(kernels.begin(), kernels.end(), usable);
    if (found == kernels.end()) GTEST_SKIP() << "this CPU has the reference alone";
    for (int threads = 1; threads <= 40; threads += threads < 8 ? 1 : 8) {
      portacl::runtime::SetNumThreads(threads);
      ASSERT_TRUE(RunPool(*found, &c));
      EXPECT_TRUE(backward ? SameAs(want.image, c.image) : SameAs(want.pooled, c.pooled))
          << threads;
    }
  }
}

}  // namespace
}  // namespace portacl_test
