// GridSample by name: images and volumes by the rank of x, the bits of the samplers by their own
// names, and its refusals.
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

class AclOpGridSample : public AclTestOn<testing::TestWithParam<Way>> {
 protected:
  AclOpGridSample() {
    Random random(91);
    for (Tensor* const tensor : {&image_, &points_, &volume_, &places_}) {
      tensor->FillUniform(random, -1.2, 1.2);
    }
  }

  Tensor Run(const char* type, const Tensor& x, const Tensor& grid, const Shape& shape,
             const Attributes& attributes) {
    Tensor from = x;
    Tensor at = grid;
    Tensor to(x.element(), shape);
    const DeviceTensor read(&from);
    const DeviceTensor read_at(&at);
    DeviceTensor written(&to);
    OpCall call;
    call.type = type;
    call.inputs = {ArgumentOf(from, read), ArgumentOf(at, read_at)};
    call.outputs = {ArgumentOf(to, written)};
    call.attributes = attributes;
    code_ = RunOp(call, GetParam(), stream_);
    written.Download();
    EXPECT_TRUE(to.GuardsIntact());
    return to;
  }

  void ExpectRefused(const Tensor& x, const Tensor& grid, const Shape& shape,
                     const Attributes& attributes, aclError code, const std::string& words) {
    Run("GridSample", x, grid, shape, attributes);
    EXPECT_EQ(code_, code);
    EXPECT_THAT(TakeMessage(), HasSubstr(words));
  }

  aclError code_ = 0;
  const Shape image_shape_ = {2, 3, 5, 4};
  Tensor image_{Element::kFloat, {2, 3, 6, 7}};
  Tensor points_{Element::kFloat, {2, 5, 4, 2}};
  const Shape volume_shape_ = {1, 2, 3, 2, 4};
  Tensor volume_{Element::kFloat16, {1, 2, 3, 4, 5}};
  Tensor places_{Element::kFloat16, {1, 3, 2, 4, 3}};
};
INSTANTIATE_TEST_SUITE_P(, AclOpGridSample,
                         testing::Values(Way::kCompileAndExecute, Way::kCompileAndExecuteV2,
                                         Way::kExecuteV2, Way::kHandle),
                         [](const auto& param) { return NameOf(param.param); });

TEST_P(AclOpGridSample, HasTheBitsOfTheSamplersByTheirOwnNames) {
  for (const char* const interpolation : {"bilinear", "nearest"}) {
    for (const char* const padding : {"zeros", "border", "reflection"}) {
      for (const bool corners : {false, true}) {
        SCOPED_TRACE(testing::Message() << interpolation << padding << corners);
        const Attributes shared = {{"interpolation_mode", std::string(interpolation)},
                                   {"padding_mode", std::string(padding)},
                                   {"align_corners", corners}};
        Attributes all = shared;
        all["channel_last"] = false;
        all["scheduler_mode"] = int64_t{1};
        EXPECT_TRUE(BitIdentical(Run("GridSample", image_, points_, image_shape_, all),
                                 Run("GridSampler2D", image_, points_, image_shape_, shared)));
        EXPECT_TRUE(BitIdentical(Run("GridSample", volume_, places_, volume_shape_, all),
                                 Run("GridSampler3D", volume_, places_, volume_shape_, shared)));
        EXPECT_EQ(code_, ACL_SUCCESS) << TakeMessage();
      }
    }
  }
}

TEST_P(AclOpGridSample, AttributesThatAreNotSetAreThoseOfTheSamplers) {
  const Tensor got = Run("GridSample", image_, points_, image_shape_, {});
  ASSERT_EQ(code_, ACL_SUCCESS) << TakeMessage();
  EXPECT_TRUE(BitIdentical(got, Run("GridSampler2D", image_, points_, image_shape_, {})));
}

TEST_P(AclOpGridSample, EveryRefusalNamesWhatIsWrong) {
  ExpectRefused(image_, points_, image_shape_, {{"channel_last", true}},
                ACL_ERROR_OP_ATTR_NOT_MATCH, "GridSample: attribute channel_last is true");
  ExpectRefused(image_, points_, image_shape_, {{"interpolation_mode", std::string("cubic")}},
                ACL_ERROR_OP_ATTR_NOT_MATCH, "attribute interpolation_mode is \"cubic\"");
  ExpectRefused(image_, points_, image_shape_, {{"align_corners", int64_t{1}}},
                ACL_ERROR_OP_ATTR_NOT_MATCH, "attribute align_corners must be a bool");
  Tensor wide(Element::kDouble, image_.shape());
  Tensor wide_points(Element::kDouble, points_.shape());
  ExpectRefused(wide, wide_points, image_shape_, {}, ACL_ERROR_UNSUPPORTED_DATA_TYPE,
                "x has dtype DOUBLE, but must be FLOAT, FLOAT16 or BF16");
  Tensor line(Element::kFloat, {2, 3, 7});
  ExpectRefused(line, points_, image_shape_, {}, ACL_ERROR_OP_INPUT_NOT_MATCH,
                "x has shape [2, 3, 7] of rank 3, but must have rank 4 or 5");
  ExpectRefused(image_, points_, {2, 3, 5, 5}, {}, ACL_ERROR_OP_OUTPUT_NOT_MATCH,
                "y has shape [2, 3, 5, 5], but x [2, 3, 6, 7] and grid [2, 5, 4, 2] ask for");
  portaclSetProfile("ascend-950");
  Run("GridSample", image_, points_, image_shape_, {});
  EXPECT_EQ(code_, ACL_SUCCESS) << TakeMessage();
  portaclSetProfile("open");
  Run("GridSample", wide, wide_points, image_shape_, {});
  EXPECT_EQ(code_, ACL_SUCCESS) << TakeMessage();
}

}  // namespace
}  // namespace portacl_test
