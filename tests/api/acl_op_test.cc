// The operators by graph name: results through each of the four ways to run them, and the code of
// every refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>

#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/float_state.h"
#include "support/api/grid_on_device.h"
#include "support/api/listed_call.h"
#include "support/api/native.h"
#include "support/api/nearest_oracle.h"
#include "support/api/op_call.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

OpCall NearestOp(const Argument& grad_output, const Argument& grad_input) {
  OpCall call;
  call.type = "UpsampleNearestExact2dGrad";
  call.inputs = {grad_output};
  call.outputs = {grad_input};
  call.attributes["output_size"] = Ints{grad_output.shape[2], grad_output.shape[3]};
  call.attributes["input_size"] = grad_input.shape;
  return call;
}

// ---- results -----------------------------------------------------------------------------------

class AclOp : public AclTestOn<testing::TestWithParam<Way>> {};
INSTANTIATE_TEST_SUITE_P(, AclOp,
                         testing::Values(Way::kCompileAndExecute, Way::kCompileAndExecuteV2,
                                         Way::kExecuteV2, Way::kHandle),
                         [](const auto& param) { return NameOf(param.param); });

TEST_P(AclOp, NearestHasTheBitsOfTheTwoPhaseOperatorWithoutItsLimit) {
  Random random(151);
  struct Case {
    Shape small, large;
    std::vector<double> scales;
  };
  for (const Case& c :
       {Case{{2, 3, 4, 5}, {2, 3, 9, 11}, {}}, Case{{1, 1, 8, 4}, {1, 1, 4, 2}, {2, 2}},
        Case{{1, 2, 3, 3}, {1, 2, 7, 8}, {2.5, 0}}, Case{{1, 1, 1, 2}, {1, 1, 200, 3}, {}},
        Case{{1, 1, 300, 2}, {1, 1, 2, 3}, {}}, Case{{0, 2, 3, 3}, {0, 2, 6, 6}, {}}}) {
    for (const Element element : kNearestElements) {
      for (const aclFormat format : {ACL_FORMAT_ND, ACL_FORMAT_NCHW}) {
        Tensor grad_output(element, c.large);
        grad_output.FillUniform(random, -1, 1);
        Tensor grad_input(element, c.small);
        const DeviceTensor from(&grad_output);
        DeviceTensor to(&grad_input);
        OpCall call = NearestOp(ArgumentOf(grad_output, from), ArgumentOf(grad_input, to));
        call.inputs[0].format = call.outputs[0].format = format;
        if (!c.scales.empty()) {
          call.attributes["scales_h"] = static_cast<float>(c.scales[0]);
          call.attributes["scales_w"] = static_cast<float>(c.scales[1]);
        }
        ASSERT_EQ(RunOp(call, GetParam(), stream_), 0) << TakeMessage();
        to.Download();
        EXPECT_TRUE(BitIdentical(grad_input, NearestBackward(grad_output, c.small, c.scales)));
        EXPECT_TRUE(grad_input.GuardsIntact());
      }
    }
  }
}

OpCall GridOp(const GridCase& c, const GridOnDevice& device) {
  OpCall call;
  call.type = "GridSampler2DGrad";
  call.inputs = {ArgumentOf(c.grad_output, device.grad_output), ArgumentOf(c.input, device.input),
                 ArgumentOf(c.grid, device.grid)};
  call.outputs = {ArgumentOf(device.input_grad, device.to_input),
                  ArgumentOf(device.grid_grad, device.to_grid)};
  return call;
}

TEST_P(AclOp, GridSamplerGradHasItsAttributesAndDefaults) {
  portaclSetProfile("open");
  static constexpr const char* kInterpolations[] = {"bilinear", "nearest", "bicubic"};
  static constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};
  Random random(152);
  for (const GridMode& mode : AllGridModes()) {
    GridCase c(Element::kFloat, 2, 3, 5, 4, 3, 6);
    c.Fill(GridKind::kRandom, random);
    GridOnDevice device(&c);
    OpCall call = GridOp(c, device);
    // Defaults are left out.
    if (mode.interpolation != kBilinear) {
      call.attributes["interpolation_mode"] = std::string(kInterpolations[mode.interpolation]);
    }
    if (mode.padding != kZeros) {
      call.attributes["padding_mode"] = std::string(kPaddings[mode.padding]);
    }
    if (mode.align_corners) call.attributes["align_corners"] = true;
    ASSERT_EQ(RunOp(call, GetParam(), stream_), 0) << TakeMessage();
    device.to_input.Download();
    device.to_grid.Download();
    const GridGradients want = GridBackward(c.grad_output, c.input, c.grid, mode);
    EXPECT_TRUE(
        WithinTolerance(Operator::kGridSamplerBackward, device.input_grad, want.input_grad));
    EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, device.grid_grad, want.grid_grad));
  }
}

TEST_P(AclOp, TheForwardOperatorsRunByName) {
  Random random(153);
  Tensor image(Element::kFloat, {2, 3, 4, 5});
  image.FillUniform(random, -1, 1);
  const DeviceTensor from(&image);
  Tensor larger(Element::kFloat, {2, 3, 9, 11});
  DeviceTensor to(&larger);
  OpCall nearest;
  nearest.type = "UpsampleNearestExact2d";
  nearest.inputs = {ArgumentOf(image, from)};
  nearest.outputs = {ArgumentOf(larger, to)};
  nearest.attributes["output_size"] = Ints{9, 11};
  ASSERT_EQ(RunOp(nearest, GetParam(), stream_), 0) << TakeMessage();
  to.Download();
  EXPECT_TRUE(BitIdentical(larger, NearestForward(image, larger.shape())));

  Tensor grid(Element::kFloat, {2, 6, 7, 2});
  grid.FillUniform(random, -1.2, 1.2);
  const DeviceTensor points(&grid);
  Tensor sampled(Element::kFloat, {2, 3, 6, 7});
  DeviceTensor result(&sampled);
  OpCall sampler;
  sampler.type = "GridSampler2D";
  sampler.inputs = {ArgumentOf(image, from), ArgumentOf(grid, points)};
  sampler.outputs = {ArgumentOf(sampled, result)};
  sampler.attributes["interpolation_mode"] = std::string("bicubic");
  sampler.attributes["padding_mode"] = std::string("reflection");
  sampler.attributes["align_corners"] = true;
  ASSERT_EQ(RunOp(sampler, GetParam(), stream_), 0) << TakeMessage();
  result.Download();
  EXPECT_TRUE(WithinTolerance(Operator::kGridSampler, sampled,
                              GridForward(image, grid, {kBicubic, kReflection, true})));
  nearest.attributes.clear();
  EXPECT_EQ(RunOp(nearest, GetParam(), stream_), ACL_ERROR_OP_ATTR_NOT_MATCH);
  sampler.outputs[0].shape = {2, 3, 7, 6};
  EXPECT_EQ(RunOp(sampler, GetParam(), stream_), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  EXPECT_THAT(TakeMessage(), HasSubstr("y has shape [2, 3, 7, 6]"));
}

// ---- refusals ----------------------------------------------------------------------------------

struct GraphRow {
  std::string name;
  aclError code;
  std::function<void(OpCall*)> spoil;
  std::vector<std::string> parts;
};

void ExpectRows(const OpCall& good, const std::vector<GraphRow>& rows, Way way,
                aclrtStream stream) {
  EXPECT_EQ(RunOp(good, way, stream), 0) << TakeMessage();
  for (const GraphRow& row : rows) {
    SCOPED_TRACE(row.name);
    OpCall call = good;
    row.spoil(&call);
    EXPECT_EQ(RunOp(call, way, stream), row.code);
    const std::string message = TakeMessage();
    for (const std::string& part : row.parts) EXPECT_THAT(message, HasSubstr(part));
  }
}

std::vector<GraphRow> NearestRows() {
  const auto attribute = [](const char* name, Attribute value) {
    return [name, value](OpCall* c) { c->attributes[name] = value; };
  };
  return {
      {"UnknownOperator",
       ACL_ERROR_OP_NOT_FOUND,
       [](OpCall* c) { c->type = "UpsampleNearest4dGrad"; },
       {"UpsampleNearest4dGrad"}},
      {"NullOperator", ACL_ERROR_INVALID_PARAM, [](OpCall* c) { c->null_type = true; }, {"opType"}},
      {"NoInput", ACL_ERROR_OP_INPUT_NOT_MATCH, [](OpCall* c) { c->inputs.clear(); }, {"0 input"}},
      {"TwoInputs",
       ACL_ERROR_OP_INPUT_NOT_MATCH,
       [](OpCall* c) { c->inputs.push_back(c->inputs[0]); },
       {"2 input"}},
      {"NoOutput",
       ACL_ERROR_OP_OUTPUT_NOT_MATCH,
       [](OpCall* c) { c->outputs.clear(); },
       {"0 output"}},
      {"TwoOutputs",
       ACL_ERROR_OP_OUTPUT_NOT_MATCH,
       [](OpCall* c) { c->outputs.push_back(c->outputs[0]); },
       {"2 output"}},
      {"NullDesc",
       ACL_ERROR_INVALID_PARAM,
       [](OpCall* c) { c->inputs[0].null_desc = true; },
       {"inputDesc"}},
      {"NullBuffer",
       ACL_ERROR_INVALID_PARAM,
       [](OpCall* c) { c->outputs[0].null_buffer = true; },
       {"output"}},
      {"InputRank",
       ACL_ERROR_OP_INPUT_NOT_MATCH,
       [](OpCall* c) {
         c->inputs[0].shape = {1, 2, 24};
       },
       {"grad_output", "rank"}},
      {"OutputRank",
       ACL_ERROR_OP_OUTPUT_NOT_MATCH,
       [](OpCall* c) {
         c->outputs[0].shape = {1, 2, 6};
       },
       {"grad_input", "rank"}},
      {"InputExtent",
       ACL_ERROR_OP_INPUT_NOT_MATCH,
       [](OpCall* c) { c->inputs[0].shape[2] = 0; },
       {"grad_output", "at least 1"}},
      {"NegativeExtent",
       ACL_ERROR_OP_INPUT_NOT_MATCH,
       [](OpCall* c) { c->inputs[0].shape[0] = -1; },
       {"-1"}},
      {"Batch",
       ACL_ERROR_OP_OUTPUT_NOT_MATCH,
       [](OpCall* c) { c->outputs[0].shape[0] = 3; },
       {"grad_input", "N = 1"}},
      {"SmallBuffer",
       ACL_ERROR_OP_INPUT_NOT_MATCH,
       [](OpCall* c) { c->inputs[0].bytes -= 1; },
       {"input", std::to_string(48 * 4 - 1)}},
      {"SmallOutputBuffer",
       ACL_ERROR_OP_OUTPUT_NOT_MATCH,
       [](OpCall* c) { c->outputs[0].bytes = 0; },
       {"output", "0"}},
      {"InputDtype",
       ACL_ERROR_UNSUPPORTED_DATA_TYPE,
       [](OpCall* c) { c->inputs[0].dtype = ACL_DOUBLE; },
       {"grad_output", "DOUBLE"}},
      {"OutputDtype",
       ACL_ERROR_UNSUPPORTED_DATA_TYPE,
       [](OpCall* c) { c->outputs[0].dtype = ACL_BF16; },
       {"grad_input", "BF16"}},
      {"InputFormat",
       ACL_ERROR_FORMAT_NOT_MATCH,
       [](OpCall* c) { c->inputs[0].format = ACL_FORMAT_NHWC; },
       {"grad_output", "NHWC"}},
      {"FormatsDiffer",
       ACL_ERROR_FORMAT_NOT_MATCH,
       [](OpCall* c) { c->outputs[0].format = ACL_FORMAT_NCHW; },
       {"grad_input", "NCHW"}},
      {"NoOutputSize",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       [](OpCall* c) { c->attributes.erase("output_size"); },
       {"output_size", "missing"}},
      {"NoInputSize",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       [](OpCall* c) { c->attributes.erase("input_size"); },
       {"input_size", "missing"}},
      {"OutputSizeType",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       attribute("output_size", int64_t{4}),
       {"output_size", "list"}},
      {"OutputSizeLength",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       attribute("output_size", Ints{4}),
       {"output_size", "2"}},
      {"OutputSizeValue",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       attribute("output_size", Ints{4, 0}),
       {"output_size", "0"}},
      {"OutputSizeDisagrees",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       attribute("output_size", Ints{4, 7}),
       {"output_size", "7"}},
      {"InputSizeLength",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       attribute("input_size", Ints{1, 2, 2}),
       {"input_size", "4"}},
      {"ScaleType",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       attribute("scales_h", std::string("2")),
       {"scales_h"}},
      {"UnknownAttribute",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       attribute("scale_h", 2.0F),
       {"scale_h", "scales_h"}},
      {"ScaleNegative",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       attribute("scales_w", -1.0F),
       {"scales_w", "-1"}},
      {"ScaleNaN",
       ACL_ERROR_OP_ATTR_NOT_MATCH,
       attribute("scales_h", std::nanf("")),
       {"scales_h", "nan"}},
      {"NullData",
       ACL_ERROR_INVALID_PARAM,
       [](OpCall* c) { c->inputs[0].data = nullptr; },
       {"grad_output", "null"}},
      {"Overlap",
       ACL_ERROR_INVALID_PARAM,
       [](OpCall* c) { c->outputs[0].data = c->inputs[0].data; },
       {"grad_input", "overlaps"}},
  };
}

TEST_P(AclOp, EveryRefusalOfNearestHasItsCodeAndAMessage) {
  const DeviceMemory from(48 * 4);
  const DeviceMemory to(12 * 4);
  const OpCall good = NearestOp({{1, 2, 4, 6}, ACL_FLOAT, ACL_FORMAT_ND, from.get(), from.size()},
                                {{1, 2, 2, 3}, ACL_FLOAT, ACL_FORMAT_ND, to.get(), to.size()});
  ExpectRows(good, NearestRows(), GetParam(), stream_);
  portaclSetProfile("atlas-training");
  EXPECT_EQ(RunOp(good, GetParam(), stream_), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_THAT(TakeMessage(), HasSubstr("atlas-training"));
  // An operator that the profile lacks is refused as unknown, whatever else is wrong.
  OpCall bare = good;
  bare.attributes.clear();
  EXPECT_EQ(RunOp(bare, GetParam(), stream_), ACL_ERROR_OP_NOT_FOUND);
  bare.inputs.push_back(bare.inputs[0]);
  EXPECT_EQ(RunOp(bare, GetParam(), stream_), ACL_ERROR_OP_NOT_FOUND);
}

TEST_P(AclOp, TheCallersFloatStateDoesNotReachTheScales) {
  const DeviceMemory from(16 * 4);
  const DeviceMemory to(16 * 4);
  OpCall call = NearestOp({{1, 1, 4, 4}, ACL_FLOAT, ACL_FORMAT_ND, from.get(), from.size()},
                          {{1, 1, 4, 4}, ACL_FLOAT, ACL_FORMAT_ND, to.get(), to.size()});
  call.attributes["scales_h"] = std::numeric_limits<float>::denorm_min();
  call.attributes["output_size"] = Ints{9, 4};  // its 9 is not used: there is a scale
  const FloatState state(FE_UPWARD, true, true);
  EXPECT_EQ(RunOp(call, GetParam(), stream_), 0) << TakeMessage();
  call.attributes["scales_h"] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(RunOp(call, GetParam(), stream_), ACL_ERROR_OP_ATTR_NOT_MATCH);
}

TEST_P(AclOp, EveryRefusalOfTheGridSamplerHasItsCodeAndAMessage) {
  GridCase c(Element::kFloat, 1, 2, 3, 4, 5, 6);
  c.grid.Fill(0.0);
  const GridOnDevice device(&c);
  const OpCall good = GridOp(c, device);
  const auto attribute = [](const char* name, Attribute value) {
    return [name, value](OpCall* call) { call->attributes[name] = value; };
  };
  ExpectRows(good,
             {{"OneInput",
               ACL_ERROR_OP_INPUT_NOT_MATCH,
               [](OpCall* o) { o->inputs.resize(1); },
               {"1 input"}},
              {"OneOutput",
               ACL_ERROR_OP_OUTPUT_NOT_MATCH,
               [](OpCall* o) { o->outputs.resize(1); },
               {"1 output"}},
              {"Dtype",
               ACL_ERROR_UNSUPPORTED_DATA_TYPE,
               [](OpCall* o) { o->inputs[1].dtype = ACL_INT32; },
               {"x", "INT32"}},
              {"Format",
               ACL_ERROR_FORMAT_NOT_MATCH,
               [](OpCall* o) { o->inputs[2].format = ACL_FORMAT_NHWC; },
               {"grid", "NHWC"}},
              {"GridExtent",
               ACL_ERROR_OP_INPUT_NOT_MATCH,
               [](OpCall* o) { o->inputs[2].shape[3] = o->outputs[1].shape[3] = 1; },
               {"grid", "2"}},
              {"OutputShape",
               ACL_ERROR_OP_OUTPUT_NOT_MATCH,
               [](OpCall* o) { o->outputs[0].shape[1] = 1; },
               {"dx", "like x"}},
              {"GridOutputShape",
               ACL_ERROR_OP_OUTPUT_NOT_MATCH,
               [](OpCall* o) { o->outputs[1].shape[1] = 1; },
               {"dgrid", "like grid"}},
              {"Interpolation",
               ACL_ERROR_OP_ATTR_NOT_MATCH,
               attribute("interpolation_mode", std::string("lanczos")),
               {"interpolation_mode", "lanczos", "bilinear"}},
              {"Bicubic",
               ACL_ERROR_OP_ATTR_NOT_MATCH,
               attribute("interpolation_mode", std::string("bicubic")),
               {"interpolation_mode is \"bicubic\"", "bilinear or nearest", "open"}},
              {"InterpolationType",
               ACL_ERROR_OP_ATTR_NOT_MATCH,
               attribute("interpolation_mode", int64_t{0}),
               {"interpolation_mode", "string"}},
              {"Padding",
               ACL_ERROR_OP_ATTR_NOT_MATCH,
               attribute("padding_mode", std::string("wrap")),
               {"padding_mode", "wrap", "zeros"}},
              {"Reflection",
               ACL_ERROR_OP_ATTR_NOT_MATCH,
               attribute("padding_mode", std::string("reflection")),
               {"padding_mode is \"reflection\"", "zeros or border", "open"}},
              {"AlignCorners",
               ACL_ERROR_OP_ATTR_NOT_MATCH,
               attribute("align_corners", std::string("true")),
               {"align_corners", "bool"}}},
             GetParam(), stream_);
  portaclSetProfile("atlas-training");
  OpCall narrow = good;
  for (auto* side : {&narrow.inputs, &narrow.outputs}) {
    for (Argument& argument : *side) argument.dtype = ACL_BF16;
  }
  EXPECT_EQ(RunOp(narrow, GetParam(), stream_), ACL_ERROR_UNSUPPORTED_DATA_TYPE);
}

TEST_P(AclOp, ARefusedCallWritesNothing) {
  Tensor grad_output(Element::kFloat, {1, 2, 4, 6});
  Tensor grad_input(Element::kFloat, {1, 2, 2, 3});
  const Tensor before = grad_input;
  const DeviceTensor from(&grad_output);
  DeviceTensor to(&grad_input);
  for (const GraphRow& row : NearestRows()) {
    OpCall call = NearestOp(ArgumentOf(grad_output, from), ArgumentOf(grad_input, to));
    row.spoil(&call);
    EXPECT_NE(RunOp(call, GetParam(), stream_), 0) << row.name;
    to.Download();
    EXPECT_EQ(grad_input.bytes(), before.bytes()) << row.name;
  }
}

// ---- the list ----------------------------------------------------------------------------------

// A small call on zeros for each graph name of the library's list: its tensors, and the attributes
// without a default.
class GraphCalls {
 public:
  OpCall Of(const listed::Signature& type) {
    OpCall call;
    call.type = type.name;
    for (const listed::Parameter& parameter : type.parameters) {
      if (*parameter.name == '\0') continue;
      const Shape extents = listed::ExtentsOf(parameter, listed::kTiny);
      if (parameter.kind == listed::Kind::kSizes) {
        call.inputs.push_back(SizesAt(extents));
      } else if (listed::IsTensor(parameter.kind)) {
        const bool output = portacl::ops::IsWritten(parameter.kind);
        (output ? call.outputs : call.inputs).push_back(At(extents));
      } else if (parameter.name == std::string_view("modulated")) {
        call.attributes[parameter.name] = false;  // as many planes as extents say
      } else if (parameter.unset == nullptr) {
        using listed::Kind;
        if (parameter.kind == Kind::kInt) {
          call.attributes[parameter.name] = extents.at(0);
        } else if (parameter.kind == Kind::kFloat) {
          call.attributes[parameter.name] = 1.0f;
        } else {
          EXPECT_EQ(parameter.kind, Kind::kInts) << type.name << " " << parameter.name;
          call.attributes[parameter.name] = extents;
        }
      }
    }
    return call;
  }

 private:
  // A tensor of its own.
  Argument At(const Shape& shape) {
    memory_.emplace_back(kSize);
    EXPECT_EQ(aclrtMemset(memory_.back().get(), kSize, 0, kSize), ACL_SUCCESS);
    Argument argument;
    argument.shape = shape;
    argument.data = memory_.back().get();
    argument.bytes = kSize;
    return argument;
  }
  // A list of sizes in host memory.
  Argument SizesAt(const Shape& values) {
    std::vector<int32_t>& sizes = sizes_.emplace_back(values.begin(), values.end());
    Argument argument;
    argument.shape = {static_cast<int64_t>(sizes.size())};
    argument.dtype = ACL_INT32;
    argument.data = sizes.data();
    argument.bytes = sizes.size() * sizeof(int32_t);
    argument.place = Argument::Place::kHost;
    return argument;
  }

  static constexpr size_t kSize = 4096;
  std::vector<DeviceMemory> memory_;
  std::deque<std::vector<int32_t>> sizes_;
};

TEST_P(AclOp, EveryGraphNameOfTheListRuns) {
  std::vector<std::string> names;
  for (const listed::Signature* const type : portacl::ops::kGraphOperators) {
    GraphCalls calls;
    names.emplace_back(type->name);
    EXPECT_EQ(RunOp(calls.Of(*type), GetParam(), stream_), ACL_SUCCESS)
        << type->name << ": " << TakeMessage();
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, ListedNames("graph"));
}

// ---- attributes and handles --------------------------------------------------------------------

using AclOpOnce = AclTest;

TEST_F(AclOpOnce, CompileChecksWithoutRunning) {
  OpSide in({{{1, 2, 4, 6}}});
  OpSide out({{{1, 2, 2, 3}}});
  const Owned<aclopAttr> attr(aclopCreateAttr());
  const auto compile = [&] {
    return aclopCompile("UpsampleNearestExact2dGrad", 1, in.descs.data(), 1, out.descs.data(),
                        attr.get(), ACL_ENGINE_AICORE, ACL_COMPILE_UNREGISTERED, "nowhere");
  };
  EXPECT_EQ(compile(), ACL_ERROR_OP_ATTR_NOT_MATCH);
  Set(attr.get(), "output_size", Ints{4, 6});
  Set(attr.get(), "input_size", Ints{1, 2, 2, 3});
  EXPECT_EQ(compile(), 0) << TakeMessage();
  Set(attr.get(), "output_size", Ints{4, 5});
  EXPECT_EQ(compile(), ACL_ERROR_OP_ATTR_NOT_MATCH)
      << "a name that is set already gets the new value";
}

TEST_F(AclOpOnce, AHandleServesManyExecutionsOnOtherData) {
  Random random(161);
  OpSide in({{{1, 2, 4, 6}}});
  OpSide out({{{1, 2, 2, 3}}});
  Owned<aclopAttr> attr(aclopCreateAttr());
  Set(attr.get(), "output_size", Ints{4, 6});
  Set(attr.get(), "input_size", Ints{1, 2, 2, 3});
  aclopHandle* handle = nullptr;
  ASSERT_EQ(aclopCreateHandle("UpsampleNearestExact2dGrad", 1, in.descs.data(), 1, out.descs.data(),
                              attr.get(), &handle),
            0);
  attr.reset();
  for (int i = 0; i < 3; ++i) {
    Tensor grad_output(Element::kFloat, {1, 2, 4, 6});
    grad_output.FillUniform(random, -1, 1);
    Tensor grad_input(Element::kFloat, {1, 2, 2, 3});
    const DeviceTensor from(&grad_output);
    DeviceTensor to(&grad_input);
    const OpSide in_data({ArgumentOf(grad_output, from)});
    const OpSide out_data({ArgumentOf(grad_input, to)});
    ASSERT_EQ(
        aclopExecWithHandle(handle, 1, in_data.buffers.data(), 1, out_data.buffers.data(), stream_),
        0);
    ASSERT_EQ(aclrtSynchronizeStream(stream_), 0);
    to.Download();
    EXPECT_TRUE(BitIdentical(grad_input, NearestBackward(grad_output, {1, 2, 2, 3})));
  }
  const OpSide in_data({{{1, 2, 4, 6}}});
  EXPECT_EQ(aclopExecWithHandle(handle, 2, in_data.buffers.data(), 1, nullptr, stream_),
            ACL_ERROR_OP_INPUT_NOT_MATCH);
  EXPECT_EQ(aclopExecWithHandle(handle, 1, in_data.buffers.data(), 0, nullptr, stream_),
            ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  aclopDestroyHandle(handle);
  EXPECT_EQ(aclopExecWithHandle(handle, 1, in_data.buffers.data(), 1, nullptr, stream_),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopExecWithHandle(nullptr, 1, in_data.buffers.data(), 1, nullptr, stream_),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopCreateHandle("UpsampleNearestExact2dGrad", 1, in.descs.data(), 1, out.descs.data(),
                              nullptr, nullptr),
            ACL_ERROR_INVALID_PARAM);
  aclopDestroyHandle(nullptr);
}

TEST_F(AclOpOnce, AttributesRefuseNullAndDeadHandlesAndBadLists) {
  Owned<aclopAttr> attr(aclopCreateAttr());
  const int64_t ints[] = {1, 2};
  const float floats[] = {1};
  const uint8_t bools[] = {1, 0};
  EXPECT_EQ(aclopSetAttrListFloat(attr.get(), "a", 1, floats), 0);
  EXPECT_EQ(aclopSetAttrListBool(attr.get(), "b", 2, bools), 0);
  EXPECT_EQ(aclopSetAttrListInt(attr.get(), "c", 0, nullptr), 0);
  EXPECT_EQ(aclopSetAttrInt(attr.get(), "d", 4), 0);
  EXPECT_EQ(aclopSetAttrListInt(attr.get(), "a", -1, ints), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrListInt(attr.get(), "a", 2, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetAttrString(attr.get(), "a", nullptr), ACL_ERROR_INVALID_PARAM);
  const char* words[] = {"zeros", nullptr};
  EXPECT_EQ(aclopSetAttrListString(attr.get(), "e", 1, words), 0);
  EXPECT_EQ(aclopSetAttrListString(attr.get(), "e", 0, nullptr), 0);
  EXPECT_EQ(aclopSetAttrListString(attr.get(), "e", 1, nullptr), ACL_ERROR_INVALID_PARAM);
  TakeMessage();
  EXPECT_EQ(aclopSetAttrListString(attr.get(), "e", 2, words), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(TakeMessage(), HasSubstr("values[1]"));
  EXPECT_EQ(aclopSetAttrInt(attr.get(), nullptr, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(TakeMessage(), HasSubstr("attrName"));
  EXPECT_EQ(aclopSetAttrInt(nullptr, "a", 4), ACL_ERROR_INVALID_PARAM);
  aclopAttr* const dead = attr.get();
  attr.reset();
  EXPECT_EQ(aclopSetAttrInt(dead, "a", 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_THAT(TakeMessage(), HasSubstr("live"));
  aclopDestroyAttr(nullptr);
}

}  // namespace
}  // namespace portacl_test
