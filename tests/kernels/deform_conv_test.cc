// Deformable convolution, its samples and their gradients: the SIMD kernels against the reference,
// byte for byte, on every instruction set of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cpu/detection/deform_conv_plan.h"
#include "ops/deform_conv_params.h"
#include "ops/listed_kernels.h"
#include "support/api/compare.h"
#include "support/kernel_test.h"
#include "support/run_kernel.h"

namespace portacl_test::deform_conv {
namespace {

using portacl::ops::DeformConvParams;

// The tensors of a call, in the order of kNames.
enum Role : size_t {
  kInput,
  kWeight,
  kOffset,
  kMask,
  kBias,
  kGradOutput,
  kColumns,
  kGradColumns,
  kOutput,
  kOutColumns,
  kInputGrad,
  kWeightGrad,
  kOffsetGrad,
  kMaskGrad,
  kBiasGrad,
  kRoles
};
constexpr size_t kFirstWritten = kOutput;

struct ConvCase {
  DeformConvParams p;           // all but addresses and strides
  std::vector<Tensor> tensors;  // by role
  std::array<bool, kRoles> has{};
};

std::vector<int64_t> ShapeOf(const DeformConvParams& p, size_t role) {
  const int64_t points = p.offset_groups * p.taps();
  switch (role) {
    case kInput:
    case kInputGrad:
      return {p.images, p.channels, p.height, p.width};
    case kWeight:
    case kWeightGrad:
      return {p.out_channels, p.group_channels(), p.kernel[0], p.kernel[1]};
    case kOffset:
    case kOffsetGrad:
      return {p.images, 2 * points, p.out_height, p.out_width};
    case kMask:
    case kMaskGrad:
      return {p.images, points, p.out_height, p.out_width};
    case kBias:
    case kBiasGrad:
      return {p.out_channels};
    case kOutput:
    case kGradOutput:
      return {p.images, p.out_channels, p.out_height, p.out_width};
    default:
      return {p.images, p.channels, p.out_height * p.kernel[0], p.out_width * p.kernel[1]};
  }
}

DeformConvParams ParamsOf(ConvCase* c) {
  DeformConvParams p = c->p;
  p.dtype = ToDType(c->tensors[kInput].element());
  p.bias_is_float = c->tensors[kBias].element() != c->tensors[kInput].element();
  const auto describe = [&](Role role, auto* to) { Describe(&c->tensors[role], to, c->has[role]); };
  describe(kInput, &p.input);
  describe(kWeight, &p.weight);
  describe(kOffset, &p.offset);
  describe(kMask, &p.mask);
  describe(kBias, &p.bias);
  describe(kGradOutput, &p.grad_output);
  describe(kColumns, &p.columns);
  describe(kGradColumns, &p.grad_columns);
  describe(kOutput, &p.output);
  describe(kOutColumns, &p.out_columns);
  describe(kInputGrad, &p.input_grad);
  describe(kWeightGrad, &p.weight_grad);
  describe(kOffsetGrad, &p.offset_grad);
  describe(kMaskGrad, &p.mask_grad);
  describe(kBiasGrad, &p.bias_grad);
  return p;
}

int64_t PositionsAlong(const DeformConvParams& p, size_t axis, int64_t extent, int64_t behind) {
  const int64_t reach = p.dilation[axis] * (p.kernel[axis] - 1) + 1;
  return (extent + p.padding[axis] + behind - reach) / p.stride[axis] + 1;
}

DeformConvParams RandomParams(Random& random) {
  DeformConvParams p;
  const int64_t channels[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33};
  const auto some = [&] { return channels[random.Integer(0, std::size(channels) - 1)]; };
  p.images = random.Integer(1, 2);
  p.groups = random.Coin() ? 1 : random.Integer(1, 3);
  p.offset_groups = random.Coin() ? 1 : random.Integer(1, 2);
  p.channels = some() * p.groups * p.offset_groups;
  p.out_channels = random.Integer(0, 15) == 0 ? 0 : some() * p.groups;
  for (size_t axis = 0; axis < 2; ++axis) {
    p.kernel[axis] = random.Integer(1, 3);
    p.stride[axis] = random.Integer(1, 2);
    p.padding[axis] = random.Integer(0, 2);
    p.dilation[axis] = random.Integer(1, 2);
  }
  const auto extent = [&](size_t axis) {
    const int64_t least = p.dilation[axis] * (p.kernel[axis] - 1) + 1;
    return std::max(random.Integer(1, random.Coin() ? 6 : 24), least - p.padding[axis]);
  };
  p.height = extent(0);
  p.width = extent(1);
  p.out_height = PositionsAlong(p, 0, p.height, random.Integer(0, 1));
  p.out_width = PositionsAlong(p, 1, p.width, random.Integer(0, 1));
  p.planes = {1, 0, 2};
  if (random.Coin()) p.planes = {0, p.offset_groups * p.taps(), 1};
  return p;
}

// Moves of a few pixels, whole ones too; some far away or not finite.
void FillOffsets(Random& random, Tensor* offset) {
  for (int64_t i = 0; i < offset->size(); ++i) {
    const double at = random.Uniform(-3, 3);
    const double odd[] = {NAN, INFINITY, -INFINITY, 1e30, -1e9, -0.0, 1e-40};
    const bool strange = random.Integer(0, 39) == 0;
    offset->Set(i, strange                     ? odd[random.Integer(0, std::size(odd) - 1)]
                   : random.Integer(0, 3) == 0 ? std::round(at * 2) / 2
                                               : at);
  }
}

void PutOddNumbers(Random& random, Tensor* tensor) {
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (random.Integer(0, 199) > 0) continue;
    const double odd[] = {0.0, -0.0, 1e-40, -6e-8, 1e30, INFINITY, -INFINITY, NAN};
    tensor->Set(i, odd[random.Integer(0, std::size(odd) - 1)]);
  }
}

template <size_t kCount>
Layout SomeLayout(Random& random, const std::array<Layout, kCount>& layouts, size_t role) {
  if (role == kBias || role == kBiasGrad) return Layout::kContiguous;
  if (random.Coin()) return random.Coin() ? Layout::kContiguous : Layout::kChannelsLast;
  return layouts[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(kCount) - 1))];
}

// Which tensors a call has: with a weight, or of the samples alone.
std::array<bool, kRoles> RandomRoles(Random& random, bool backward) {
  std::array<bool, kRoles> has{};
  const bool weight = random.Integer(0, 3) > 0;
  has[kInput] = has[kOffset] = true;
  has[kWeight] = weight;
  has[kMask] = random.Coin();
  if (!backward) {
    has[kOutput] = weight;
    has[kBias] = weight && random.Coin();
    has[kOutColumns] = !weight || random.Coin();
    return has;
  }
  has[kGradOutput] = weight;
  has[kGradColumns] = !weight;
  has[kColumns] = weight && random.Coin();
  for (const size_t role : {kInputGrad, kOffsetGrad}) has[role] = random.Integer(0, 3) > 0;
  for (const size_t role : {kWeightGrad, kBiasGrad}) {
    has[role] = weight && random.Integer(0, 3) > 0;
  }
  has[kMaskGrad] = has[kMask] && random.Coin();
  return has;
}

ConvCase MakeCase(Random& random, const DeformConvParams& p, const std::array<bool, kRoles>& has,
                  Element element, bool plain) {
  ConvCase c;
  c.p = p;
  c.has = has;
  const bool odd = !plain && random.Integer(0, 3) == 0;
  for (size_t role = 0; role < kRoles; ++role) {
    const bool written = role >= kFirstWritten;
    const Layout layout = plain     ? Layout::kContiguous
                          : written ? SomeLayout(random, kOutputLayouts, role)
                                    : SomeLayout(random, kInputLayouts, role);
    const bool is_float = role == kBias && SizeOf(element) == 2 && random.Coin();
    c.tensors.emplace_back(is_float ? Element::kFloat : element, ShapeOf(p, role), layout);
    if (written) continue;
    c.tensors[role].FillUniform(random, -1, 1);
    if (odd) PutOddNumbers(random, &c.tensors[role]);
  }
  FillOffsets(random, &c.tensors[kOffset]);
  return c;
}

testing::AssertionResult SameResults(const ConvCase& want, const ConvCase& got) {
  for (size_t role = kFirstWritten; role < kRoles; ++role) {
    if (!want.has[role]) continue;
    const auto same = SameAs(want.tensors[role], got.tensors[role]);
    if (!same) return testing::AssertionFailure() << "tensor " << role << ": " << same.message();
  }
  return testing::AssertionSuccess();
}

class DeformConvKernels : public KernelTest {
 protected:
  void CompareRandomCases(bool backward) {
    const uint64_t seed = FreshSeed();
    Random random(seed);
    SCOPED_TRACE(testing::Message() << "PORTACL_TEST_SEED=" << seed);
    std::map<std::string, int> served;
    const int64_t count = ByRunLength(300, 40);
    for (int64_t i = 0; i < count; ++i) {
      DeformConvParams p = RandomParams(random);
      p.backward = backward;
      const auto has = RandomRoles(random, backward);
      if (!has[kWeight]) p.groups = 1;
      const auto element = kElements[static_cast<size_t>(random.Integer(0, 3))];
      ConvCase c = MakeCase(random, p, has, element, false);
      SCOPED_TRACE(testing::Message()
                   << i << " image " << portacl_test::ToString(c.tensors[kInput].shape())
                   << " weight " << portacl_test::ToString(c.tensors[kWeight].shape())
                   << " positions " << p.out_height << " x " << p.out_width << " groups "
                   << p.groups << " offset groups " << p.offset_groups << NameOf(element));
      ConvCase want = c;
      ASSERT_TRUE(RunKernel(portacl::ref::kDeformConv, ParamsOf(&want)));
      for (const auto& kernel : portacl::cpu::DeformConvKernels()) {
        if (!kernel.available()) continue;
        portacl::runtime::SetNumThreads(
            static_cast<int>(random.Coin() ? 1 : random.Integer(2, 40)));
        ConvCase got = c;
        ASSERT_TRUE(RunKernel(kernel, ParamsOf(&got))) << kernel.name;
        ++served[kernel.name];
        ASSERT_TRUE(SameResults(want, got)) << kernel.name;
      }
    }
    for (const auto& kernel : portacl::cpu::DeformConvKernels()) {
      if (!kernel.available()) continue;
      EXPECT_EQ(served[kernel.name], count) << kernel.name;
    }
  }
};

TEST_F(DeformConvKernels, EqualTheReferenceOnRandomCases) { CompareRandomCases(false); }
TEST_F(DeformConvKernels, GradientsEqualTheReferenceOnRandomCases) { CompareRandomCases(true); }

// Enough work that every number of threads shares it out: several blocks of 256 positions.
TEST_F(DeformConvKernels, DoNotDependOnThreads) {
  Random random(71);
  DeformConvParams p;
  p.images = 2;
  p.channels = 48;
  p.out_channels = 37;
  p.height = p.out_height = 19;
  p.width = p.out_width = 31;
  p.kernel = {3, 3};
  p.stride = p.padding = p.dilation = {1, 1};
  p.planes = {1, 0, 2};
  for (const bool backward : {false, true}) {
    p.backward = backward;
    std::array<bool, kRoles> has{};
    has[kInput] = has[kWeight] = has[kOffset] = has[kMask] = has[kBias] = true;
    has[backward ? kGradOutput : kOutput] = true;
    for (size_t role = kInputGrad; backward && role < kRoles; ++role) has[role] = true;
    ConvCase c = MakeCase(random, p, has, Element::kFloat, true);
    ConvCase want = c;
    ASSERT_TRUE(RunKernel(portacl::ref::kDeformConv, ParamsOf(&want)));
    const auto kernels = portacl::cpu::DeformConvKernels();
    const auto usable = [](const auto& kernel) { return kernel.available(); };
    const auto found = std::find_if(kernels.begin(), kernels.end(), usable);
    if (found == kernels.end()) GTEST_SKIP() << "this CPU has the reference alone";
    for (int threads = 1; threads <= 40; threads += threads < 8 ? 1 : 8) {
      portacl::runtime::SetNumThreads(threads);
      ASSERT_TRUE(RunKernel(*found, ParamsOf(&c)));
      EXPECT_TRUE(SameResults(want, c)) << threads;
    }
  }
}

// Without channels, nothing else bounds the number of offset groups.
TEST(DeformConvPlan, ThePointsOfATileFitIn64Bits) {
  DeformConvParams p;
  p.backward = true;
  p.images = p.height = p.width = p.out_height = p.out_width = p.out_channels = 1;
  p.kernel = p.stride = p.dilation = {1, 1};
  p.bias_grad.has = true;
  EXPECT_TRUE(portacl::cpu::PlanDeformConv(p, {6, 16}).has_value());
  p.offset_groups = int64_t{1} << 60;
  EXPECT_FALSE(portacl::cpu::PlanDeformConv(p, {6, 16}).has_value());
}

}  // namespace
}  // namespace portacl_test::deform_conv
