// Differences between the pages' editions, and the profile that only the newest have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "acl/acl_rt.h"
#include "support/api/acl_fixture.h"
#include "support/api/grid_on_device.h"
#include "support/api/listed_call.h"
#include "support/api/op_call.h"

namespace portacl_test {
namespace {

namespace functions = portacl::ops::signatures;
using portacl::ops::Signature;
using testing::HasSubstr;

constexpr aclnnStatus kTaken = ACLNN_SUCCESS;
constexpr aclnnStatus kRefused = ACLNN_ERR_PARAM_INVALID;

struct EditionRow {
  const char* what;
  const Signature* function;
  const char* profile;
  std::function<void(listed::Call&)> change;
  aclnnStatus first;   // edition 8.x
  aclnnStatus newest;  // edition 9.x
  const char* part;    // of the message of the one that refuses
};

// ---- changes ------------------------------------------------------------------------------------

std::function<void(listed::Call&)> Typed(aclDataType dtype) {
  return [dtype](listed::Call& call) {
    for (auto& argument : call.arguments()) argument.tensor.dtype = dtype;
  };
}
std::function<void(listed::Call&)> Number(const char* name, double value) {
  return [name, value](listed::Call& call) { call[name].number = value; };
}
std::function<void(listed::Call&)> Both(std::function<void(listed::Call&)> a,
                                        std::function<void(listed::Call&)> b) {
  return [a, b](listed::Call& call) {
    a(call);
    b(call);
  };
}
// Tensors (N, C, ...) as (N, ..., C) in the format of their rank; others are as they were.
std::function<void(listed::Call&)> Last(std::vector<const char*> names, aclFormat format) {
  return [names, format](listed::Call& call) {
    for (const char* const name : names) {
      TensorArgs& tensor = call[name].tensor;
      tensor.format = format;
      tensor.shape.push_back(tensor.shape[1]);
      tensor.shape.erase(tensor.shape.begin() + 1);
    }
  };
}
std::function<void(listed::Call&)> Formats(std::vector<const char*> names, aclFormat format) {
  return [names, format](listed::Call& call) {
    for (const char* const name : names) call[name].tensor.format = format;
  };
}
// No channels, in every tensor and list.
void Empty(listed::Call& call) {
  for (auto& argument : call.arguments()) {
    if (argument.tensor.shape.size() > 1) argument.tensor.shape[1] = 0;
    if (argument.ints.size() > 3) argument.ints[1] = 0;
  }
}
std::function<void(listed::Call&)> Extents(int64_t in, int64_t out) {
  return [in, out](listed::Call& call) {
    call["gradOutput"].tensor.shape.back() = call["outputSize"].ints.back() = out;
    call["out"].tensor.shape.back() = call["inputSize"].ints.back() = in;
  };
}
void FourChannels(listed::Call& call) {
  for (const char* const name : {"input", "out"}) call[name].tensor.shape[1] = 4;
}
void OtherInputSize(listed::Call& call) { call["inputSize"].ints.back() += 1; }

// Tensors that a change has made longer do not overlap.
void SpreadOut(listed::Call& call) {
  char* next = nullptr;
  for (auto& argument : call.arguments()) {
    TensorArgs& tensor = argument.tensor;
    if (tensor.data == nullptr) continue;
    if (next == nullptr) next = static_cast<char*>(tensor.data);
    tensor.data = next;
    next += (static_cast<size_t>(ProductOf(tensor.shape)) * sizeof(double) + 63) / 64 * 64;
  }
}

// ---- rows ---------------------------------------------------------------------------------------

std::vector<EditionRow> GridRows() {
  const auto* const image = &functions::aclnnGridSampler2D;
  const auto* const image_back = &functions::aclnnGridSampler2DBackward;
  const auto* const volume = &functions::aclnnGridSampler3D;
  const auto* const volume_back = &functions::aclnnGridSampler3DBackward;
  const auto reflection = Number("paddingMode", 2);
  const auto cubic = Number("interpolationMode", 2);
  const auto all_ncdhw = Both(Formats({"gradOutput", "input", "inputGrad"}, ACL_FORMAT_NCDHW),
                              Formats({"grid", "gridGrad"}, ACL_FORMAT_NDHWC));
  const auto all_ndhwc = Both(Last({"gradOutput", "input", "inputGrad"}, ACL_FORMAT_NDHWC),
                              Formats({"grid", "gridGrad"}, ACL_FORMAT_NDHWC));
  const auto ndhwc = Last({"input", "out"}, ACL_FORMAT_NDHWC);
  return {
      {"reflection", image_back, "atlas-a2", reflection, kRefused, kTaken, "paddingMode is 2"},
      {"reflection", image_back, "atlas-training", reflection, kRefused, kTaken, "paddingMode is"},
      {"reflection", image_back, "ascend-950", reflection, kTaken, kTaken, ""},
      {"cubic gradient", image_back, "atlas-a2", cubic, kRefused, kRefused, "interpolationMode"},
      {"BF16", image, "atlas-a2", Typed(ACL_BF16), kTaken, kRefused, "has dtype BF16"},
      {"BF16", image, "ascend-950", Typed(ACL_BF16), kTaken, kTaken, ""},
      {"DOUBLE cubic", image, "atlas-a3", Both(Typed(ACL_DOUBLE), cubic), kTaken, kRefused,
       "2 (bicubic) takes FLOAT and FLOAT16"},
      {"DOUBLE cubic", image, "ascend-950", Both(Typed(ACL_DOUBLE), cubic), kTaken, kTaken, ""},
      {"cubic", image, "atlas-a2", cubic, kTaken, kTaken, ""},
      {"cubic", image, "atlas-training", cubic, kTaken, kRefused, "interpolationMode is 2"},
      {"DOUBLE", image, "atlas-training", Typed(ACL_DOUBLE), kRefused, kTaken, "DOUBLE"},
      {"BF16", volume, "atlas-a2", Typed(ACL_BF16), kRefused, kTaken, "BF16"},
      {"BF16", volume, "atlas-training", Typed(ACL_BF16), kRefused, kRefused, "BF16"},
      {"BF16", volume_back, "atlas-a3", Both(all_ncdhw, Typed(ACL_BF16)), kRefused, kTaken, "BF16"},
      {"NDHWC, 2 channels", volume, "atlas-a2", ndhwc, kTaken, kRefused, "multiple of 4"},
      {"NDHWC, 4 channels", volume, "atlas-a2", Both(FourChannels, ndhwc), kTaken, kTaken, ""},
      {"NDHWC, nearest", volume, "atlas-a2",
       Both(Both(FourChannels, ndhwc), Number("interpolationMode", 1)), kTaken, kRefused, "mode 0"},
      {"NDHWC, FLOAT16", volume, "atlas-a2", Both(Both(FourChannels, ndhwc), Typed(ACL_FLOAT16)),
       kTaken, kRefused, "takes FLOAT"},
      {"ND", volume_back, "atlas-a2", [](listed::Call&) {}, kTaken, kRefused, "format ND"},
      {"NCDHW", volume_back, "atlas-a2", all_ncdhw, kTaken, kTaken, ""},
      {"NDHWC", volume_back, "atlas-a2", all_ndhwc, kTaken, kTaken, ""},
      {"grid NCDHW", volume_back, "atlas-a2", Both(all_ncdhw, Formats({"grid"}, ACL_FORMAT_NCDHW)),
       kTaken, kRefused, "grid has format NCDHW, but must be NDHWC"},
      {"NDHWC, DOUBLE", volume_back, "atlas-a2", Both(all_ndhwc, Typed(ACL_DOUBLE)), kTaken,
       kRefused, "DOUBLE, which format NDHWC does not take"},
      {"volumes of 950", volume, "ascend-950", [](listed::Call&) {}, kRefused, kRefused,
       "does not have this operator"},
  };
}

std::vector<EditionRow> NearestRows() {
  const auto* const line = &functions::aclnnUpsampleNearestExact1d;
  const auto* const line_back = &functions::aclnnUpsampleNearestExact1dBackward;
  const auto* const image_back = &functions::aclnnUpsampleNearestExact2dBackward;
  const auto* const volume = &functions::aclnnUpsampleNearestExact3d;
  const auto* const volume_back = &functions::aclnnUpsampleNearestExact3dBackward;
  const auto* const bicubic = &functions::aclnnUpsampleBicubic2d;
  const auto none = [](listed::Call&) {};
  return {
      {"I = 51 O", line_back, "atlas-a2", Extents(102, 2), kRefused, kTaken, "at most 50"},
      {"O = 51 I", line_back, "atlas-a2", Extents(2, 102), kTaken, kRefused, "at most 50"},
      {"O = 51 I", line_back, "open", Extents(2, 102), kTaken, kTaken, ""},
      {"O = 51 I", volume_back, "atlas-a2", Extents(2, 102), kTaken, kRefused, "at most 50"},
      {"O = 50 I", volume_back, "atlas-a2", Extents(2, 100), kTaken, kTaken, ""},
      {"negative", volume_back, "atlas-a2", Number("scalesH", -1), kRefused, kTaken, "scalesH"},
      {"negative", image_back, "atlas-a2", Number("scalesH", -1), kRefused, kRefused, "scalesH"},
      {"inputSize", volume_back, "atlas-a2", OtherInputSize, kTaken, kRefused, "must be equal"},
      {"inputSize", volume_back, "open", OtherInputSize, kTaken, kTaken, ""},
      {"empty", volume_back, "atlas-a2", Empty, kTaken, kRefused, "must not be empty"},
      {"NDHWC", volume_back, "atlas-a2", Last({"gradOutput", "out"}, ACL_FORMAT_NDHWC), kRefused,
       kTaken, "format NDHWC"},
      {"negative", line, "atlas-a2", Number("scales", -1), kRefused, kTaken, "scales is -1"},
      {"empty", line, "atlas-a2", Empty, kTaken, kRefused, "must not be empty"},
      {"negative", volume, "atlas-a2", Number("scalesD", -1), kRefused, kTaken, "scalesD is -1"},
      {"empty", volume, "atlas-a2", Empty, kTaken, kRefused, "must not be empty"},
      {"empty", volume, "open", Empty, kTaken, kTaken, ""},
      {"NDHWC", volume, "atlas-a2", Last({"self", "out"}, ACL_FORMAT_NDHWC), kRefused, kTaken,
       "format NDHWC"},
      {"NHWC", bicubic, "ascend-950", Last({"self", "out"}, ACL_FORMAT_NHWC), kTaken, kTaken, ""},
      {"NHWC", bicubic, "atlas-a2", Last({"self", "out"}, ACL_FORMAT_NHWC), kRefused, kRefused,
       "format NHWC"},
      {"950", &functions::aclnnUpsampleBilinear2dBackward, "ascend-950", Typed(ACL_BF16), kTaken,
       kTaken, ""},
      {"no page of 950", &functions::aclnnUpsampleNearest1d, "ascend-950", none, kRefused, kRefused,
       "does not have this operator"},
  };
}

class Editions : public AclTest {
 protected:
  ~Editions() override { portaclSetEdition("8.x"); }
  static void ExpectRows(const std::vector<EditionRow>& rows) {
    for (const EditionRow& row : rows) {
      for (const char* const edition : {"8.x", "9.x"}) {
        SCOPED_TRACE(testing::Message()
                     << row.function->name << ", " << row.what << ": " << row.profile << edition);
        ASSERT_EQ(portaclSetProfile(row.profile), PORTACL_OK);
        ASSERT_EQ(portaclSetEdition(edition), PORTACL_OK);
        listed::Call call(*row.function);
        row.change(call);
        SpreadOut(call);
        const aclnnStatus status = call.Run(nullptr);
        EXPECT_EQ(status, *edition == '8' ? row.first : row.newest) << TakeMessage();
        if (status != kTaken) {
          EXPECT_THAT(TakeMessage(), HasSubstr(row.part));
        }
      }
    }
  }
};

TEST_F(Editions, OfTheGridSampler) { ExpectRows(GridRows()); }
TEST_F(Editions, OfResizing) { ExpectRows(NearestRows()); }

// In format NDHWC the elements are those of the axes as they lie.
TEST_F(Editions, VolumesInNdhwcAreTheSameNumbers) {
  portaclSetEdition("9.x");
  Random random(91);
  for (const bool backward : {false, true}) {
    const Signature& function = backward ? functions::aclnnUpsampleNearestExact3dBackward
                                         : functions::aclnnUpsampleNearestExact3d;
    const char* const read_name = backward ? "gradOutput" : "self";
    const Shape small = {1, 2, 2, 2, 3};
    const Shape large = {1, 2, 4, 4, 6};
    Tensor from(Element::kFloat, backward ? large : small, Layout::kChannelsLast);
    from.FillUniform(random, -1, 1);
    Tensor results[] = {Tensor(Element::kFloat, backward ? small : large, Layout::kChannelsLast),
                        Tensor(Element::kFloat, backward ? small : large)};
    for (Tensor& to : results) {
      const DeviceTensor read(&from);
      DeviceTensor written(&to);
      listed::Call call(function);
      call[read_name].tensor = read.args(ACL_FORMAT_NCDHW);
      call["out"].tensor = written.args(ACL_FORMAT_NCDHW);
      if (&to == &results[0]) {
        for (const char* const name : {read_name, "out"}) {
          TensorArgs& tensor = call[name].tensor;
          tensor.format = ACL_FORMAT_NDHWC;
          for (Shape* const dims : {&tensor.shape, &*tensor.strides}) {
            dims->push_back((*dims)[1]);
            dims->erase(dims->begin() + 1);
          }
        }
      }
      ASSERT_EQ(call.Run(stream_), ACLNN_SUCCESS) << TakeMessage();
      written.Download();
    }
    EXPECT_EQ(results[0].Values(), results[1].Values());
  }
}

TEST_F(Editions, ByName) {
  GridCase c(Element::kFloat, 1, 2, 3, 4, 5, 6);
  c.grid.Fill(0.0);
  const GridOnDevice device(&c);
  OpCall sampler;
  sampler.type = "GridSampler2DGrad";
  sampler.inputs = {ArgumentOf(c.grad_output, device.grad_output),
                    ArgumentOf(c.input, device.input), ArgumentOf(c.grid, device.grid)};
  sampler.outputs = {ArgumentOf(device.input_grad, device.to_input),
                     ArgumentOf(device.grid_grad, device.to_grid)};
  sampler.attributes["interpolation_mode"] = std::string("bicubic");
  Tensor large(Element::kFloat, {1, 2, 2, 4, 6});
  Tensor small(Element::kFloat, {1, 2, 1, 2, 3});
  const DeviceTensor from(&large);
  const DeviceTensor to(&small);
  OpCall nearest;
  nearest.type = "UpsampleNearestExact3dGrad";
  nearest.inputs = {ArgumentOf(large, from)};
  nearest.outputs = {ArgumentOf(small, to)};
  nearest.attributes = {{"output_size", Ints{2, 4, 6}}, {"input_size", Ints{1, 2, 1, 2, 4}}};
  EXPECT_EQ(RunOp(sampler, Way::kExecuteV2, stream_), ACL_ERROR_OP_ATTR_NOT_MATCH);
  EXPECT_EQ(RunOp(nearest, Way::kExecuteV2, stream_), ACL_SUCCESS) << TakeMessage();
  portaclSetEdition("9.x");
  EXPECT_EQ(RunOp(sampler, Way::kExecuteV2, stream_), ACL_SUCCESS) << TakeMessage();
  EXPECT_EQ(RunOp(nearest, Way::kExecuteV2, stream_), ACL_ERROR_OP_ATTR_NOT_MATCH);
}

TEST_F(Editions, TheNewestHaveALevelOfDeterminism) {
  for (const char* const edition : {"8.x", "9.x"}) {
    portaclSetEdition(edition);
    const bool newest = *edition == '9';
    ASSERT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3) == ACL_SUCCESS, newest);
    EXPECT_NE(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 2), ACL_SUCCESS);
    EXPECT_NE(aclrtCtxSetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, 3), ACL_SUCCESS);
    int64_t value = 0;
    EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_SUCCESS);
    EXPECT_EQ(value, newest ? 3 : 0);
  }
}

TEST_F(Editions, AreNamedAndOthersRefused) {
  EXPECT_STREQ(portaclGetEdition(), "8.x");
  EXPECT_EQ(portaclSetEdition("9.x"), PORTACL_OK);
  EXPECT_STREQ(portaclGetEdition(), "9.x");
  EXPECT_EQ(portaclSetEdition("10"), PORTACL_ERROR_INVALID);
  EXPECT_EQ(portaclSetEdition(nullptr), PORTACL_ERROR_NULL);
  EXPECT_STREQ(portaclGetEdition(), "9.x") << "a refused name changes nothing";
  EXPECT_THAT(portaclGetInfo(), HasSubstr(R"("edition":"9.x")"));
}

}  // namespace
}  // namespace portacl_test
