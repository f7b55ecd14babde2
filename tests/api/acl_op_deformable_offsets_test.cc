// DeformableOffsets and DeformableOffsetsGrad by name, with channels last as torch_npu calls them:
// written numbers, the bits of the native functions, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/native.h"
#include "support/api/op_call.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;
using Attributes = std::map<std::string, Attribute>;

class AclOpDeformableOffsets : public AclTestOn<testing::TestWithParam<Way>> {
 protected:
  aclError Run(const char* type, const std::vector<Tensor*>& inputs,
               const std::vector<Tensor*>& outputs, const Attributes& attributes) {
    std::vector<DeviceTensor> on_device;
    OpCall call;
    call.type = type;
    call.attributes = attributes;
    for (Tensor* const tensor : inputs) {
      call.inputs.push_back(ArgumentOf(*tensor, on_device.emplace_back(tensor)));
    }
    for (Tensor* const tensor : outputs) {
      call.outputs.push_back(ArgumentOf(*tensor, on_device.emplace_back(tensor)));
    }
    const aclError code = RunOp(call, GetParam(), stream_);
    for (DeviceTensor& tensor : on_device) tensor.Download();
    for (Tensor* const tensor : outputs) EXPECT_TRUE(tensor->GuardsIntact());
    return code;
  }
};
INSTANTIATE_TEST_SUITE_P(, AclOpDeformableOffsets,
                         testing::Values(Way::kCompileAndExecute, Way::kCompileAndExecuteV2,
                                         Way::kExecuteV2, Way::kHandle),
                         [](const auto& param) { return NameOf(param.param); });

// Two channels of 1 x 3 pixels; a kernel of 1 x 1 at 3 positions: a quarter to the right, half a
// pixel down with mask 2, and beyond the image.
TEST_P(AclOpDeformableOffsets, SamplesChannelsThatLieLast) {
  Tensor x(Element::kFloat, {1, 1, 3, 2}), offsets(Element::kFloat, {1, 1, 3, 3});
  x.Fill({1, 10, 3, 30, 7, 70});
  offsets.Fill({0.25, 0, 1, 0, 0.5, 2, 1, 0, 1});  // x, y and mask of each position
  Tensor y(Element::kFloat, {1, 1, 3, 2});
  const Attributes attributes = {{"ksize", Ints{1, 1}},
                                 {"strides", Ints{1, 1, 1, 1}},
                                 {"pads", Ints{0, 0, 0, 0}},
                                 {"data_format", std::string("NHWC")}};
  ASSERT_EQ(Run("DeformableOffsets", {&x, &offsets}, {&y}, attributes), ACL_SUCCESS)
      << TakeMessage();
  EXPECT_EQ(y.Values(), (std::vector<double>{1.5, 15, 3, 30, 0, 0}));
  Tensor grad(Element::kFloat, {1, 1, 3, 2}), x_grad(Element::kFloat, {1, 1, 3, 2});
  Tensor offsets_grad(Element::kFloat, {1, 1, 3, 3});
  grad.Fill({1, 0, 0, 1, 1, 1});
  ASSERT_EQ(
      Run("DeformableOffsetsGrad", {&grad, &x, &offsets}, {&x_grad, &offsets_grad}, attributes),
      ACL_SUCCESS)
      << TakeMessage();
  EXPECT_EQ(x_grad.Values(), (std::vector<double>{0.75, 0, 0.25, 1, 0, 0}));
  // d/dx 3 - 1; masks: the sample. d/dy below the only row: -(row) times the mask.
  EXPECT_EQ(offsets_grad.Values(),
            (std::vector<double>{2, -1.5, 1.5, 2 * 0.5 * 40, -2 * 30, 15, 0, 0, 0}));
}

TEST_P(AclOpDeformableOffsets, HasTheNativeBitsInBothLayouts) {
  Random random(79);
  Tensor x(Element::kFloat, {2, 4, 6, 5}), offsets(Element::kFloat, {2, 36, 3, 5});
  Tensor grad(Element::kFloat, {2, 4, 9, 10});
  x.FillUniform(random, -1, 1);
  offsets.FillUniform(random, -2, 2);
  grad.FillUniform(random, -1, 1);
  const auto same = [](const Tensor& t) { return Tensor(Element::kFloat, t.shape()); };
  Tensor y = same(grad), x_grad = same(x), offsets_grad = same(offsets);
  portacl::DeformConv how;
  how.stride[0] = 2;
  how.padding[0] = how.padding[3] = 1;
  how.offset_groups = 2;
  const int64_t kernel[] = {3, 2};
  ASSERT_TRUE(portacl::deformable_offsets(View(x), View(offsets), View(y), kernel, how).ok())
      << portaclGetErrorMessage();
  ASSERT_TRUE(portacl::deformable_offsets_backward(View(grad), View(x), View(offsets), View(x_grad),
                                                   View(offsets_grad), kernel, how)
                  .ok())
      << portaclGetErrorMessage();
  // A copy with the channels last, and back.
  const auto last = [](const Tensor& t) {
    const Shape& s = t.shape();
    Tensor moved(Element::kFloat, {s[0], s[2], s[3], s[1]});
    for (int64_t i = 0; i < t.size(); ++i) {
      const int64_t pixel = i % (s[2] * s[3]), c = i / (s[2] * s[3]) % s[1];
      moved.Set((i / (s[1] * s[2] * s[3]) * s[2] * s[3] + pixel) * s[1] + c, t.Get(i));
    }
    return moved;
  };
  for (const bool channels_last : {false, true}) {
    const auto laid = [&](const Tensor& t) { return channels_last ? last(t) : t; };
    Tensor in = laid(x), at = laid(offsets), from = laid(grad);
    Tensor to = same(laid(y)), in_grad = same(laid(x)), at_grad = same(laid(offsets));
    const Attributes attributes = {{"ksize", Ints{3, 2}},
                                   {"strides", channels_last ? Ints{1, 2, 1, 1} : Ints{1, 1, 2, 1}},
                                   {"pads", Ints{1, 0, 0, 1}},
                                   {"dilations", Ints{1, 1, 1, 1}},
                                   {"deformable_groups", int64_t{2}},
                                   {"modulated", true},
                                   {"data_format", std::string(channels_last ? "NHWC" : "NCHW")}};
    ASSERT_EQ(Run("DeformableOffsets", {&in, &at}, {&to}, attributes), ACL_SUCCESS)
        << TakeMessage();
    EXPECT_TRUE(BitIdentical(to, laid(y)));
    ASSERT_EQ(Run("DeformableOffsetsGrad", {&from, &in, &at}, {&in_grad, &at_grad}, attributes),
              ACL_SUCCESS)
        << TakeMessage();
    EXPECT_TRUE(BitIdentical(in_grad, laid(x_grad)));
    EXPECT_TRUE(BitIdentical(at_grad, laid(offsets_grad)));
  }
}

TEST_P(AclOpDeformableOffsets, RefusalsHaveTheAxesOfTheCall) {
  Tensor x(Element::kFloat, {1, 3, 3, 2}), offsets(Element::kFloat, {1, 3, 3, 3});
  Tensor y(Element::kFloat, {1, 3, 3, 1});
  Attributes attributes = {{"ksize", Ints{1, 1}},
                           {"strides", Ints{1, 1, 1, 1}},
                           {"pads", Ints{0, 0, 0, 0}},
                           {"data_format", std::string("NHWC")}};
  EXPECT_NE(Run("DeformableOffsets", {&x, &offsets}, {&y}, attributes), ACL_SUCCESS);
  EXPECT_THAT(TakeMessage(), HasSubstr("y has shape [1, 3, 3, 1], but must be [1, 3, 3, 2]"));
  attributes["strides"] = Ints{1, 1, 1, 2};
  EXPECT_NE(Run("DeformableOffsets", {&x, &offsets}, {&y}, attributes), ACL_SUCCESS);
  EXPECT_THAT(TakeMessage(), HasSubstr("strides[3] is 2, but must be 1"));
}

}  // namespace
}  // namespace portacl_test
