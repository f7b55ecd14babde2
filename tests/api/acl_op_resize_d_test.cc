// ResizeD, Resize, their gradients and affine grids, as torch_npu sends them if it compiles
// operators: with other axes, in other formats, and with torch_npu's own scales.
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

class AclOpResizeD : public AclTestOn<testing::TestWithParam<Way>> {
 protected:
  // The result of `type` for `from`, both described with these shapes.
  Tensor Run(const char* type, const Tensor& from, const Shape& read_as, const Shape& result,
             const Shape& written_as, const Attributes& attributes,
             const std::vector<Argument>& more = {}) {
    Tensor copy = from;
    Tensor to(from.element(), result);
    const DeviceTensor read(&copy);
    DeviceTensor written(&to);
    OpCall call;
    call.type = type;
    call.inputs = {ArgumentOf(from, read)};
    call.inputs[0].shape = read_as;
    call.inputs[0].format = ACL_FORMAT_NCHW;
    call.inputs.insert(call.inputs.end(), more.begin(), more.end());
    call.outputs = {ArgumentOf(to, written)};
    call.outputs[0].shape = written_as;
    call.attributes = attributes;
    EXPECT_EQ(RunOp(call, GetParam(), stream_), ACL_SUCCESS) << type << TakeMessage();
    written.Download();
    EXPECT_TRUE(to.GuardsIntact());
    return to;
  }

  template <class PlanIt>
  static Tensor Native(const Tensor& from, const Shape& shape, PlanIt plan_it) {
    Tensor want(from.element(), shape);
    portacl::Plan plan;
    EXPECT_TRUE(Succeeds(plan_it(&plan, View(from), View(want))));
    EXPECT_TRUE(Succeeds(plan.run()));
    return want;
  }

  static Tensor Random1(Element element, const Shape& shape) {
    Random random(181);
    Tensor tensor(element, shape);
    tensor.FillUniform(random, -1, 1);
    return tensor;
  }

  // What op-plugin sets beside sizes and scales.
  static Attributes Cubic(bool corners, const Floats& scales) {
    return {
        {"coordinate_transformation_mode", std::string(corners ? "align_corners" : "half_pixel")},
        {"cubic_coeff_a", -0.75F},
        {"exclude_outside", int64_t{0}},
        {"extrapolation_value", 0.0F},
        {"mode", std::string("cubic")},
        {"nearest_mode", std::string("round_prefer_floor")},
        {"roi", Floats{}},
        {"scales", scales}};
  }
  static Attributes Linear(bool corners, float scale) {
    return {
        {"coordinate_transformation_mode", std::string(corners ? "align_corners" : "half_pixel")},
        {"mode", std::string("linear")},
        {"scales", Floats{scale}}};
  }
};
INSTANTIATE_TEST_SUITE_P(, AclOpResizeD,
                         testing::Values(Way::kCompileAndExecute, Way::kCompileAndExecuteV2,
                                         Way::kExecuteV2, Way::kHandle),
                         [](const auto& param) { return NameOf(param.param); });

TEST_P(AclOpResizeD, CubicHasTheNativeBits) {
  for (const Element element : {Element::kFloat, Element::kFloat16}) {
    const Tensor from = Random1(element, {2, 3, 4, 5});
    const Shape shape = {2, 3, 7, 8};
    for (const bool corners : {false, true}) {
      for (const bool scaled : {false, true}) {
        const double scales[] = {static_cast<double>(1.8F), static_cast<double>(1.7F)};
        Attributes attributes = Cubic(corners, scaled ? Floats{1.8F, 1.7F} : Floats{0, 0});
        attributes["sizes"] = Ints{7, 8};
        EXPECT_TRUE(BitIdentical(
            Run("ResizeD", from, from.shape(), shape, shape, attributes),
            Native(from, shape,
                   [&](portacl::Plan* plan, const portacl::Tensor& a, const portacl::Tensor& b) {
                     return plan->upsample_cubic(a, b, corners, false, scaled ? scales : nullptr);
                   })));
      }
    }
  }
}

// The gradient's memory is H, W, N, C on both sides; y is described as N, C, H, W.
TEST_P(AclOpResizeD, TheGradientOfCubicLiesInHwnc) {
  const Tensor from = Random1(Element::kFloat, {2, 3, 7, 8});
  const Shape shape = {2, 3, 4, 5};
  Tensor moved(from.element(), {7, 8, 2, 3});
  for (int64_t at = 0; at < moved.size(); ++at) {
    const int64_t plane = at % 6;
    moved.Set(at, from.Get(plane * 56 + at / 6));
  }
  for (const bool corners : {false, true}) {
    Attributes attributes = Cubic(corners, {0, 0});
    attributes["original_size"] = Ints{2, 3, 4, 5};
    const Tensor want = Native(
        from, shape, [&](portacl::Plan* plan, const portacl::Tensor& a, const portacl::Tensor& b) {
          return plan->upsample_cubic_backward(a, b, corners);
        });
    EXPECT_TRUE(
        BitIdentical(Run("ResizeGradD", from, from.shape(), shape, shape, attributes), want));
    attributes["data_format"] = std::string("HWNC");
    const Tensor got = Run("ResizeGradD", moved, moved.shape(), {4, 5, 2, 3}, shape, attributes);
    for (int64_t at = 0; at < got.size(); ++at) {
      ASSERT_EQ(got.Get(at), want.Get(at % 6 * 20 + at / 6)) << at;
    }
  }
}

TEST_P(AclOpResizeD, LinearIsOfVectors) {
  const Tensor from = Random1(Element::kFloat, {2, 3, 5});
  const Tensor back = Random1(Element::kFloat, {2, 3, 8});
  struct Case {
    bool corners;
    float given;
    double used;
  };
  // 8 / 5 as a float is what the plugin gives for none: another ratio than 5 / 8.
  const Case cases[] = {{false, 8.0F / 5.0F, 0}, {true, 1.6F, 0}, {false, 1.7F, double{1.7F}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.given);
    Attributes attributes = Linear(c.corners, c.given);
    attributes["sizes"] = Ints{8};
    EXPECT_TRUE(BitIdentical(
        Run("ResizeD", from, {2, 3, 1, 5}, {2, 3, 8}, {2, 3, 8}, attributes),
        Native(from, {2, 3, 8},
               [&](portacl::Plan* plan, const portacl::Tensor& a, const portacl::Tensor& b) {
                 return plan->upsample_linear(a, b, c.corners, false, &c.used);
               })));
    attributes.erase("sizes");
    attributes["original_size"] = Ints{2, 3, 5};
    EXPECT_TRUE(BitIdentical(
        Run("ResizeGradD", back, {2, 3, 1, 8}, {2, 3, 5}, {2, 3, 5}, attributes),
        Native(back, {2, 3, 5},
               [&](portacl::Plan* plan, const portacl::Tensor& a, const portacl::Tensor& b) {
                 return plan->upsample_linear_backward(a, b, c.corners, false, &c.used);
               })));
  }
}

TEST_P(AclOpResizeD, ResizeIsNearest) {
  std::vector<int64_t> forward = {2, 3, 1, 8};
  std::vector<int64_t> original = {2, 3, 1, 5};
  float nothing[] = {8};
  const auto more = [&](std::vector<int64_t>* sizes) {
    const Argument unused = {
        {1}, ACL_FLOAT, ACL_FORMAT_ND, nothing, sizeof(nothing), {}, Argument::Place::kHost};
    return std::vector<Argument>{unused,
                                 unused,
                                 {{4},
                                  ACL_INT64,
                                  ACL_FORMAT_ND,
                                  sizes->data(),
                                  4 * sizeof(int64_t),
                                  {},
                                  Argument::Place::kHost}};
  };
  Attributes attributes = {{"coordinate_transformation_mode", std::string("pytorch_half_pixel")},
                           {"mode", std::string("nearest")},
                           {"nearest_mode", std::string("floor")}};
  const Tensor from = Random1(Element::kBFloat16, {2, 3, 5});
  const Tensor got =
      Run("Resize", from, {2, 3, 1, 5}, {2, 3, 8}, forward, attributes, more(&forward));
  EXPECT_TRUE(BitIdentical(
      got, Native(from, {2, 3, 8},
                  [](portacl::Plan* plan, const portacl::Tensor& a, const portacl::Tensor& b) {
                    return plan->upsample_nearest(a, b);
                  })));
  attributes["cubic_coeff_a"] = -0.75F;
  const Tensor back =
      Run("ResizeGrad", got, {2, 3, 1, 8}, {2, 3, 5}, original, attributes, more(&original));
  EXPECT_TRUE(BitIdentical(
      back, Native(got, {2, 3, 5},
                   [](portacl::Plan* plan, const portacl::Tensor& a, const portacl::Tensor& b) {
                     return plan->upsample_nearest_backward(a, b);
                   })));
  Tensor bytes(Element::kUInt8, {2, 3, 5});
  bytes.Fill([](int64_t i) { return static_cast<double>(i * 37 % 256); });
  const Tensor copied =
      Run("Resize", bytes, {2, 3, 1, 5}, {2, 3, 8}, forward, attributes, more(&forward));
  for (int64_t i = 0; i < copied.size(); ++i) {
    ASSERT_EQ(copied.Get(i), bytes.Get(i / 8 * 5 + i % 8 * 5 / 8)) << i;
  }
}

TEST_P(AclOpResizeD, PointsOfAGridMayLieAlongOneAxis) {
  for (const bool volume : {false, true}) {
    const Tensor theta = Random1(Element::kFloat, volume ? Shape{2, 3, 4} : Shape{2, 2, 3});
    const Shape grid = volume ? Shape{2, 3, 4, 5, 3} : Shape{2, 4, 5, 2};
    std::vector<int32_t> size = {2, 1, 4, 5};
    if (volume) size.insert(size.begin() + 2, 3);
    const Argument list = {
        {static_cast<int64_t>(size.size())}, ACL_INT32, ACL_FORMAT_ND,         size.data(),
        size.size() * sizeof(int32_t),       {},        Argument::Place::kHost};
    const Tensor want = Native(
        theta, grid, [](portacl::Plan* plan, const portacl::Tensor& a, const portacl::Tensor& b) {
          return plan->affine_grid(a, b, true);
        });
    const Shape flat = volume ? Shape{2, 60, 3} : Shape{2, 20, 2};
    Tensor copy = theta;
    Tensor to(theta.element(), grid);
    const DeviceTensor read(&copy);
    DeviceTensor written(&to);
    OpCall call;
    call.type = "AffineGrid";
    call.inputs = {ArgumentOf(theta, read), list};
    call.outputs = {ArgumentOf(to, written)};
    call.outputs[0].shape = flat;
    call.attributes = {{"align_corners", true}};
    ASSERT_EQ(RunOp(call, GetParam(), stream_), ACL_SUCCESS) << TakeMessage();
    written.Download();
    EXPECT_TRUE(BitIdentical(to, want));
    size.back() = 6;
    EXPECT_EQ(RunOp(call, GetParam(), stream_), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
    EXPECT_THAT(TakeMessage(), HasSubstr("y has shape"));
  }
}

// A format may be replaced by another one with the same axes in the same order.
TEST_P(AclOpResizeD, FormatsOfTheSameAxesMayDiffer) {
  const Tensor from = Random1(Element::kFloat, {1, 2, 3, 4, 5});
  for (const char* const type : {"UpsampleNearest3dGrad", "UpsampleTrilinear3dGrad"}) {
    Tensor copy = from;
    Tensor to(from.element(), {1, 2, 2, 3, 4});
    const DeviceTensor read(&copy);
    DeviceTensor written(&to);
    OpCall call;
    call.type = type;
    call.inputs = {ArgumentOf(from, read)};
    call.inputs[0].format = ACL_FORMAT_NCDHW;
    call.outputs = {ArgumentOf(to, written)};
    call.attributes = {{"output_size", Ints{3, 4, 5}}, {"input_size", Ints{1, 2, 2, 3, 4}}};
    EXPECT_EQ(RunOp(call, GetParam(), stream_), ACL_SUCCESS) << type << TakeMessage();
    call.inputs[0].format = ACL_FORMAT_NDHWC;
    EXPECT_NE(RunOp(call, GetParam(), stream_), ACL_SUCCESS);
    EXPECT_THAT(TakeMessage(), HasSubstr("format NDHWC"));
  }
}

TEST_P(AclOpResizeD, WhatHasNoMeaningHereIsRefused) {
  const DeviceMemory memory(4096);
  OpCall good;
  good.type = "ResizeD";
  good.inputs = {{{1, 1, 4, 5}, ACL_FLOAT, ACL_FORMAT_NCHW, memory.get(), 80}};
  good.outputs = {
      {{1, 1, 8, 9}, ACL_FLOAT, ACL_FORMAT_ND, static_cast<char*>(memory.get()) + 1024, 288}};
  good.attributes = Cubic(false, {0, 0});
  good.attributes["sizes"] = Ints{8, 9};
  EXPECT_EQ(RunOp(good, GetParam(), stream_), ACL_SUCCESS) << TakeMessage();
  struct Row {
    const char* name;
    Attribute value;
    const char* what;
  };
  const Row rows[] = {
      {"mode", std::string("nearest"), "mode is \"nearest\", but must be cubic or linear"},
      {"mode", 1.0F, "mode must be a string"},
      {"coordinate_transformation_mode", std::string("asymmetric"),
       "is \"asymmetric\", but must be half_pixel or align_corners"},
      {"cubic_coeff_a", -0.5F, "cubic_coeff_a is -0.5, but must be -0.75"},
      {"exclude_outside", int64_t{1}, "exclude_outside is 1, but must be 0"},
      {"roi", Floats{0, 1}, "roi has 2 elements, but must be empty"},
      {"scales", Floats{1}, "scales has 1 elements, but must have 2 or none"},
      {"scales", 1.0F, "scales must be a list of floats"},
      {"sizes", Ints{8, 10}, "y has shape [1, 1, 8, 9], but sizes asks for W = 10"},
      {"sizes", Ints{8}, "sizes has 1 elements, but must have 2"},
      {"data_format", std::string("HWNC"), "attribute data_format is unknown"},
  };
  for (const Row& row : rows) {
    OpCall call = good;
    call.attributes[row.name] = row.value;
    EXPECT_NE(RunOp(call, GetParam(), stream_), ACL_SUCCESS) << row.what;
    EXPECT_THAT(TakeMessage(), HasSubstr(row.what));
  }
  OpCall call = good;
  call.attributes.erase("sizes");
  EXPECT_EQ(RunOp(call, GetParam(), stream_), ACL_ERROR_OP_ATTR_NOT_MATCH);
  EXPECT_THAT(TakeMessage(), HasSubstr("attribute sizes is missing"));
  call.attributes["sizes"] = Ints{8, 9};
  call.inputs[0].format = ACL_FORMAT_NHWC;
  EXPECT_NE(RunOp(call, GetParam(), stream_), ACL_SUCCESS);
  EXPECT_THAT(TakeMessage(), HasSubstr("X has format NHWC, but must be"));
}

}  // namespace
}  // namespace portacl_test
