// Deformable convolution: numbers of a plain sum, offsets that are not finite, its special
// refusals, and the record of the signatures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "aclnnop/aclnn_deformable_conv2d.h"
#include "aclnnop/aclnn_deformable_conv2d_backward.h"
#include "portacl/portacl.h"
#include "support/api/abi.h"
#include "support/api/acl_fixture.h"

namespace portacl_test::deform_conv {
namespace {

PORTACL_ABI_OF(aclnnDeformableConv2dGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                           const aclIntArray*, const aclIntArray*, const aclIntArray*,
                           const aclIntArray*, int64_t, int64_t, bool, aclTensor*, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnDeformableConv2dBackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                           const aclTensor*, const aclIntArray*, const aclIntArray*,
                           const aclIntArray*, const aclIntArray*, int64_t, int64_t, bool,
                           aclTensor*, aclTensor*, aclTensor*, aclTensor*, uint64_t*,
                           aclOpExecutor**));
PORTACL_ABI_OF(aclnnDeformableConv2d, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnDeformableConv2dBackward,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(portaclPlanDeformConv2d,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, const int64_t*, const int64_t*,
                       const int64_t*, const int64_t*, int64_t, int64_t, int32_t,
                       const portaclTensor*, const portaclTensor*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanDeformConv2dBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const int64_t*, const int64_t*, const int64_t*, const int64_t*, int64_t,
                       int64_t, int32_t, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       portaclPlan**));
PORTACL_ABI_OF(portaclPlanDeformableOffsets,
               int32_t(const portaclTensor*, const portaclTensor*, const int64_t*, const int64_t*,
                       const int64_t*, const int64_t*, int64_t, const portaclTensor*,
                       portaclPlan**));
PORTACL_ABI_OF(portaclPlanDeformableOffsetsBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const int64_t*, const int64_t*, const int64_t*, const int64_t*, int64_t,
                       const portaclTensor*, const portaclTensor*, portaclPlan**));

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> Numbers(size_t count, double scale = 1) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(scale * (static_cast<double>(i * 37 % 101) / 101 - 0.45)));
  }
  return values;
}

// One call: an image of 1 x 4 x 6 x 5, 6 outputs, a kernel of 3 x 2, two groups of each kind.
struct Problem {
  std::vector<int64_t> kernel = {3, 2}, stride = {1, 1, 1, 1}, padding = {1, 1, 0, 1};
  std::vector<int64_t> dilation = {1, 1, 1, 1};
  int64_t groups = 2, offset_groups = 2;
  std::vector<float> image = Numbers(4 * 6 * 5), weight = Numbers(6 * 2 * 6);
  std::vector<float> offset = Numbers(36 * 30, 4), bias = Numbers(6);
};
const Shape kImage = {1, 4, 6, 5}, kWeight = {6, 2, 3, 2}, kOffset = {1, 36, 6, 5};
const Shape kOut = {1, 6, 6, 5}, kColumns = {1, 4, 18, 10};

// Floats in device memory.
class Device {
 public:
  Device(const Shape& shape, const std::vector<float>& values)
      : count_(values.size()), memory_(count_ * sizeof(float)) {
    EXPECT_EQ(aclrtMemcpy(memory_.get(), count_ * sizeof(float), values.data(),
                          count_ * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
    TensorArgs args;
    args.shape = shape;
    args.dtype = ACL_FLOAT;
    args.data = memory_.get();
    tensor_ = args.Make();
  }
  explicit Device(const Shape& shape) : Device(shape, std::vector<float>(CountOf(shape), kNan)) {}
  aclTensor* get() const { return tensor_.get(); }
  std::vector<float> Get() const {
    std::vector<float> values(count_);
    EXPECT_EQ(aclrtMemcpy(values.data(), count_ * sizeof(float), memory_.get(),
                          count_ * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    return values;
  }
  static size_t CountOf(const Shape& shape) {
    size_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
    return count;
  }

 private:
  size_t count_;
  DeviceMemory memory_;
  TensorHandle tensor_;
};

// The sample of a channel at a position, and its product with the mask, plainly.
double SampleOf(const Problem& p, int64_t c, int64_t tap, int64_t at) {
  const int64_t plane = c / 2 * 6 + tap;
  const auto moved = [&](int64_t kind) {
    return static_cast<double>(p.offset[static_cast<size_t>((kind * 12 + plane) * 30 + at)]);
  };
  const double x = static_cast<double>(at % 5 + tap % 2) + moved(0);
  const double y = static_cast<double>(at / 5 - 1 + tap / 2) + moved(1);
  double sum = 0;
  for (int64_t row = 0; row < 6; ++row) {
    for (int64_t column = 0; column < 5; ++column) {
      const double wx = 1 - std::fabs(x - static_cast<double>(column));
      const double wy = 1 - std::fabs(y - static_cast<double>(row));
      if (wx <= 0 || wy <= 0) continue;
      sum += wx * wy * p.image[static_cast<size_t>((c * 6 + row) * 5 + column)];
    }
  }
  return sum * moved(2);
}

class DeformConv : public AclTest {
 protected:
  struct Outcome {
    aclnnStatus status = 0;
    std::vector<float> out, columns;
  };

  template <class Phase1, class Phase2>
  aclnnStatus Execute(const Phase1& phase1, const Phase2& phase2) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (const aclnnStatus status = phase1(&size, &executor); status != ACLNN_SUCCESS) return status;
    const DeviceMemory workspace(size);
    const aclnnStatus status = phase2(workspace.get(), size, executor, stream_);
    return status != ACLNN_SUCCESS ? status : aclrtSynchronizeStream(stream_);
  }

  Outcome Run(const Problem& p) {
    const Device x(kImage, p.image), weight(kWeight, p.weight), offset(kOffset, p.offset);
    const Device bias({6}, p.bias), out(kOut), columns(kColumns);
    const IntArrayHandle kernel = MakeInts(p.kernel), stride = MakeInts(p.stride);
    const IntArrayHandle padding = MakeInts(p.padding), dilation = MakeInts(p.dilation);
    Outcome outcome;
    outcome.status = Execute(
        [&](uint64_t* size, aclOpExecutor** executor) {
          return aclnnDeformableConv2dGetWorkspaceSize(
              x.get(), weight.get(), offset.get(), bias.get(), kernel.get(), stride.get(),
              padding.get(), dilation.get(), p.groups, p.offset_groups, true, out.get(),
              columns.get(), size, executor);
        },
        aclnnDeformableConv2d);
    outcome.out = out.Get();
    outcome.columns = columns.Get();
    return outcome;
  }

  // Gradients of the image, the weight, the offsets and the bias for an output gradient of ones.
  std::vector<std::vector<float>> Gradients(const Problem& p, const std::vector<float>& columns) {
    const Device x(kImage, p.image), weight(kWeight, p.weight), offset(kOffset, p.offset);
    const Device grad(kOut, std::vector<float>(180, 1.0f)), saved(kColumns, columns);
    const Device image_grad(kImage), weight_grad(kWeight), offset_grad(kOffset), bias_grad({6});
    const IntArrayHandle kernel = MakeInts(p.kernel), stride = MakeInts(p.stride);
    const IntArrayHandle padding = MakeInts(p.padding), dilation = MakeInts(p.dilation);
    const aclnnStatus status = Execute(
        [&](uint64_t* size, aclOpExecutor** executor) {
          return aclnnDeformableConv2dBackwardGetWorkspaceSize(
              x.get(), grad.get(), saved.get(), weight.get(), offset.get(), kernel.get(),
              stride.get(), padding.get(), dilation.get(), p.groups, p.offset_groups, true,
              image_grad.get(), weight_grad.get(), offset_grad.get(), bias_grad.get(), size,
              executor);
        },
        aclnnDeformableConv2dBackward);
    EXPECT_EQ(status, ACLNN_SUCCESS) << TakeMessage();
    return {image_grad.Get(), weight_grad.Get(), offset_grad.Get(), bias_grad.Get()};
  }

  std::string Refused(const std::function<void(Problem*)>& spoil) {
    Problem p;
    spoil(&p);
    EXPECT_EQ(Run(p).status, ACLNN_ERR_PARAM_INVALID);
    return TakeMessage();
  }
};

TEST_F(DeformConv, SumsItsSamples) {
  const Problem p;
  const Outcome got = Run(p);
  ASSERT_EQ(got.status, ACLNN_SUCCESS) << TakeMessage();
  for (int64_t at = 0; at < 30; ++at) {
    for (int64_t tap = 0; tap < 6; ++tap) {
      for (int64_t c = 0; c < 4; ++c) {
        const int64_t y = at / 5 * 3 + tap / 2, x = at % 5 * 2 + tap % 2;
        EXPECT_NEAR(got.columns[static_cast<size_t>((c * 18 + y) * 10 + x)],
                    SampleOf(p, c, tap, at), 2e-6);
      }
    }
    for (int64_t o = 0; o < 6; ++o) {
      double sum = static_cast<double>(p.bias[static_cast<size_t>(o)]);
      for (int64_t i = 0; i < 12; ++i) {
        sum += static_cast<double>(p.weight[static_cast<size_t>(o * 12 + i)]) *
               SampleOf(p, o / 3 * 2 + i / 6, i % 6, at);
      }
      EXPECT_NEAR(got.out[static_cast<size_t>(o * 30 + at)], sum, 2e-5);
    }
  }
}

// The output is linear in the image, in the weight and in the masks.
TEST_F(DeformConv, GradientsAreTransposes) {
  Problem p;
  p.bias.assign(6, 0.0f);
  const Outcome got = Run(p);
  double sum = 0;
  for (const float value : got.out) sum += value;
  const auto grads = Gradients(p, got.columns);
  const auto dot = [](const std::vector<float>& a, const std::vector<float>& b, size_t first) {
    double total = 0;
    for (size_t i = first; i < a.size(); ++i) total += static_cast<double>(a[i]) * b[i];
    return total;
  };
  EXPECT_NEAR(dot(p.image, grads[0], 0), sum, 1e-4);
  EXPECT_NEAR(dot(p.weight, grads[1], 0), sum, 1e-4);
  EXPECT_NEAR(dot(p.offset, grads[2], 24 * 30), sum, 1e-4) << "masks stand behind";
  EXPECT_EQ(grads[3], std::vector<float>(6, 30.0f));
  // Along x: a difference of the outputs.
  Problem moved = p;
  const size_t at = 7 * 30 + 13;
  constexpr float kStep = 1e-3f;
  moved.offset[at] += kStep;
  double change = 0;
  const Outcome after = Run(moved);
  for (size_t i = 0; i < got.out.size(); ++i) change += after.out[i] - got.out[i];
  EXPECT_NEAR(grads[2][at], change / kStep, 2e-3);
}

TEST_F(DeformConv, OffsetsThatAreNotFiniteDoNoHarm) {
  Problem p;
  const size_t nan_at = 3 * 30 + 8, inf_at = 4 * 30 + 9, huge_at = 16 * 30 + 10;
  p.offset[nan_at] = kNan;
  p.offset[inf_at] = -kInf;
  p.offset[huge_at] = 1e30f;
  const Outcome got = Run(p);
  ASSERT_EQ(got.status, ACLNN_SUCCESS) << TakeMessage();
  size_t nans = 0;
  for (const float value : got.out) nans += std::isnan(value) ? 1 : 0;
  EXPECT_EQ(nans, 3u) << "of the three outputs of one group";
  const auto grads = Gradients(p, got.columns);
  for (const float value : grads[0]) EXPECT_TRUE(std::isfinite(value));
  EXPECT_TRUE(std::isnan(grads[2][nan_at]));
  EXPECT_TRUE(std::isnan(grads[2][nan_at + 24 * 30])) << "the mask of the sample";
  EXPECT_EQ(grads[2][inf_at], 0.0f);
  EXPECT_EQ(grads[2][huge_at], 0.0f);
}

TEST_F(DeformConv, RefusesWhatIsNoConvolution) {
  using testing::HasSubstr;
  EXPECT_EQ(Refused([](Problem* p) {
              p->kernel = {2, 3};
            }),
            "aclnnDeformableConv2d: weight has shape [6, 2, 3, 2], but must be [6, 2, 2, 3]");
  EXPECT_EQ(Refused([](Problem* p) {
              p->stride = {1, 2, 1, 1};
            }),
            "aclnnDeformableConv2d: stride[1] is 2, but must be 1");
  EXPECT_EQ(Refused([](Problem* p) {
              p->padding = {1, 1, 0, -1};
            }),
            "aclnnDeformableConv2d: padding[3] is -1, but must be at least 0");
  EXPECT_EQ(Refused([](Problem* p) { p->groups = 3; }),
            "aclnnDeformableConv2d: groups is 3, but must divide the 4 channels of x");
  EXPECT_EQ(Refused([](Problem* p) { p->offset_groups = 0; }),
            "aclnnDeformableConv2d: deformableGroups is 0, but must be at least 1");
  EXPECT_THAT(Refused([](Problem* p) {
                p->dilation = {1, 1, 9, 1};
              }),
              HasSubstr("along H no position fits"));
  EXPECT_THAT(Refused([](Problem* p) { p->offset_groups = 1; }),
              HasSubstr("offset has shape [1, 36, 6, 5], but must be [1, 18, 6, 5]"));
  portaclSetProfile("atlas-a2");
  EXPECT_EQ(Refused([](Problem* p) {
              p->kernel = {3000, 2};
            }),
            "aclnnDeformableConv2d: kernelSize is 3000 x 2, but must have at most 2048 taps");
}

// A bias of FLOAT beside 16 bits is not rounded; other types must be equal.
TEST_F(DeformConv, ABiasMayBeFloatBesideSixteenBits) {
  Random random(73);
  const auto made = [&](Element element, const Shape& shape) {
    Tensor tensor(element, shape);
    tensor.FillUniform(random, -1, 1);
    return tensor;
  };
  const IntArrayHandle kernel = MakeInts(Shape{1, 1}), one = MakeInts(Shape{1, 1, 1, 1});
  const IntArrayHandle padding = MakeInts(Shape{0, 0, 0, 0});
  // Two channels at twelve positions, offsets of 0 and factors of 1: sums are fma(w1, x1, w0 * x0).
  std::vector<double> at_pixels(36, 0.0);
  std::fill(at_pixels.begin() + 24, at_pixels.end(), 1.0);
  Tensor x(Element::kFloat, {1}), weight(x), bias(x), out(x);
  const auto run = [&](Element element, Element of_bias) {
    x = made(element, {1, 2, 3, 4}), weight = made(element, {3, 2, 1, 1});
    bias = made(of_bias, {3}), out = Tensor(element, {1, 3, 3, 4});
    Tensor offset(element, {1, 3, 3, 4});
    offset.Fill(at_pixels);
    const DeviceTensor in(&x), of(&weight), at(&offset), add(&bias);
    DeviceTensor to(&out);
    const TensorHandle t[] = {in.args().Make(), of.args().Make(), at.args().Make(),
                              add.args().Make(), to.args().Make()};
    const aclnnStatus status = Execute(
        [&](uint64_t* size, aclOpExecutor** executor) {
          return aclnnDeformableConv2dGetWorkspaceSize(
              t[0].get(), t[1].get(), t[2].get(), t[3].get(), kernel.get(), one.get(),
              padding.get(), one.get(), 1, 1, true, t[4].get(), nullptr, size, executor);
        },
        aclnnDeformableConv2d);
    to.Download();
    return status;
  };
  // What `biases` give, rounded once.
  const auto wanted = [&](Element element, const Tensor& biases) {
    std::vector<double> values;
    for (int64_t i = 0; i < out.size(); ++i) {
      const int64_t o = i / 12, position = i % 12;
      const auto factor = [&](int64_t c) { return static_cast<float>(weight.Get(o * 2 + c)); };
      const auto pixel = [&](int64_t c) { return static_cast<float>(x.Get(c * 12 + position)); };
      const float sum = std::fma(factor(1), pixel(1), factor(0) * pixel(0));
      values.push_back(sum + static_cast<float>(biases.Get(o)));
    }
    Tensor rounded(element, out.shape());
    rounded.Fill(values);
    return rounded.Values();
  };
  for (const Element element : {Element::kFloat16, Element::kBFloat16}) {
    ASSERT_EQ(run(element, Element::kFloat), ACLNN_SUCCESS) << TakeMessage();
    EXPECT_EQ(out.Values(), wanted(element, bias));
    Tensor rounded(element, {3});
    rounded.Fill(bias.Values());
    EXPECT_NE(out.Values(), wanted(element, rounded));
    ASSERT_EQ(run(element, element), ACLNN_SUCCESS) << TakeMessage();
    EXPECT_EQ(out.Values(), wanted(element, bias));
  }
  EXPECT_EQ(run(Element::kFloat16, Element::kBFloat16), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("biasOptional has dtype BF16, but x has FLOAT16"));
  EXPECT_EQ(run(Element::kFloat, Element::kFloat16), ACLNN_ERR_PARAM_INVALID);
}

// y, x in turn beside a tensor of masks, as torchvision has them: the same bits.
TEST_F(DeformConv, PairsAreAnotherOrderOfTheSamePlanes) {
  const Problem p;
  std::vector<float> pairs, masks(p.offset.begin() + 24 * 30, p.offset.end());
  for (size_t plane = 0; plane < 12; ++plane) {
    for (const size_t kind : {size_t{1}, size_t{0}}) {
      const auto first = p.offset.begin() + static_cast<std::ptrdiff_t>((kind * 12 + plane) * 30);
      pairs.insert(pairs.end(), first, first + 30);
    }
  }
  std::vector<float> out(180, kNan);
  portacl::DeformConv how;
  how.padding[0] = how.padding[1] = how.padding[3] = 1;
  how.groups = how.offset_groups = 2;
  const auto view = [](const std::vector<float>& values, const Shape& shape) {
    return portacl::Tensor(values.data(), portacl::DataType::kFloat32, shape.size(), shape.data());
  };
  const portacl::Status status = portacl::deform_conv2d(
      view(p.image, kImage), view(p.weight, kWeight), view(pairs, {1, 24, 6, 5}),
      view(masks, {1, 12, 6, 5}), view(p.bias, {6}), view(out, kOut), how);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(out, Run(p).out);
}

}  // namespace
}  // namespace portacl_test::deform_conv
