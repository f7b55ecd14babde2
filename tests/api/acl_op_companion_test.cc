// Identity and TransData by name: what they copy between layouts, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/api/acl_fixture.h"
#include "support/api/op_call.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

class AclOpCompanion : public AclTest {};

OpCall CopyOp(const char* type, const Argument& from, const Argument& to) {
  OpCall call;
  call.type = type;
  call.inputs = {from};
  call.outputs = {to};
  return call;
}

// The elements of (N, C, H, W) in the order of (N, H, W, C).
std::vector<double> ChannelsLast(const Tensor& dense) {
  const Shape& shape = dense.shape();
  std::vector<double> values;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t at = 0; at < shape[2] * shape[3]; ++at) {
      for (int64_t c = 0; c < shape[1]; ++c) {
        values.push_back(dense.Get((n * shape[1] + c) * shape[2] * shape[3] + at));
      }
    }
  }
  return values;
}

TEST_F(AclOpCompanion, IdentityCopiesEveryTypeAndRank) {
  for (const Element element : kAllElements) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 3, 4, 5}, Shape{1, 40000}}) {
      Tensor source(element, shape);
      source.Fill([](int64_t i) { return static_cast<double>(i % 101); });
      Tensor copy(element, shape);
      const DeviceTensor from(&source);
      DeviceTensor to(&copy);
      const OpCall call = CopyOp("Identity", ArgumentOf(source, from), ArgumentOf(copy, to));
      ASSERT_EQ(RunOp(call, Way::kCompileAndExecute, stream_), 0) << TakeMessage();
      to.Download();
      EXPECT_EQ(copy.Values(), source.Values());
      EXPECT_TRUE(copy.GuardsIntact());
    }
  }
}

TEST_F(AclOpCompanion, CastRoundsToTheTypeOfTheResult) {
  Tensor source(Element::kFloat, {2, 3, 4, 5});
  source.Fill([](int64_t i) { return 1.0 + static_cast<double>(i) / 4096; });
  Tensor copy(Element::kBFloat16, {2, 3, 4, 5});
  const DeviceTensor from(&source);
  DeviceTensor to(&copy);
  OpCall call = CopyOp("Cast", ArgumentOf(source, from), ArgumentOf(copy, to));
  call.inputs[0].format = ACL_FORMAT_NCHW;
  call.attributes["dst_type"] = int64_t{ACL_BF16};
  ASSERT_EQ(RunOp(call, Way::kCompileAndExecute, stream_), 0) << TakeMessage();
  to.Download();
  Tensor want(Element::kBFloat16, {2, 3, 4, 5});
  want.Fill([&](int64_t i) { return source.Get(i); });
  EXPECT_EQ(copy.Values(), want.Values());
  EXPECT_TRUE(copy.GuardsIntact());
  call.attributes["dst_type"] = int64_t{ACL_FLOAT};
  EXPECT_EQ(RunOp(call, Way::kCompileAndExecute, stream_), ACL_ERROR_OP_ATTR_NOT_MATCH);
  EXPECT_THAT(TakeMessage(), HasSubstr("dst_type is 0, but y has data type BF16"));
  call.attributes["dst_type"] = 1.0F;
  EXPECT_EQ(RunOp(call, Way::kCompileAndExecute, stream_), ACL_ERROR_OP_ATTR_NOT_MATCH);
  call.attributes.clear();
  call.outputs[0].shape = {2, 3, 20};
  EXPECT_EQ(RunOp(call, Way::kCompileAndExecute, stream_), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
}

// Types without a whole number of bytes, and one that does not exist.
TEST_F(AclOpCompanion, RefusesTypesThatNobodyCasts) {
  const DeviceMemory memory(4096);
  const auto argument = [&](int offset) {
    return Argument{
        {2, 3}, ACL_FLOAT, ACL_FORMAT_ND, static_cast<char*>(memory.get()) + offset, 24};
  };
  const OpCall good = CopyOp("Cast", argument(0), argument(1024));
  for (const Way way :
       {Way::kCompileAndExecute, Way::kCompileAndExecuteV2, Way::kExecuteV2, Way::kHandle}) {
    ASSERT_EQ(RunOp(good, way, stream_), 0) << TakeMessage();
    for (const int dtype : {-1, 13, 29, 99}) {
      for (const char* const spoilt : {"x", "y"}) {
        SCOPED_TRACE(std::string(NameOf(way)) + " " + spoilt + " " + std::to_string(dtype));
        OpCall call = good;
        (*spoilt == 'x' ? call.inputs : call.outputs)[0].dtype = static_cast<aclDataType>(dtype);
        EXPECT_EQ(RunOp(call, way, stream_), ACL_ERROR_UNSUPPORTED_DATA_TYPE);
        EXPECT_THAT(TakeMessage(), HasSubstr(std::string("Cast: ") + spoilt + " has data type"));
      }
    }
  }
}

TEST_F(AclOpCompanion, RefusesAConstantOfMoreBytesThanCanBeCounted) {
  const DeviceMemory memory(64);
  const Argument many{
      {int64_t{1} << 31, int64_t{1} << 31}, ACL_FLOAT, ACL_FORMAT_ND, memory.get(), 64};
  OpCall call = CopyOp("Cast", many, many);
  float constant = 1;
  call.inputs[0].data = &constant;
  call.inputs[0].bytes = sizeof constant;
  call.inputs[0].place = Argument::Place::kConstant;
  EXPECT_EQ(RunOp(call, Way::kExecuteV2, stream_), ACL_ERROR_OP_INPUT_NOT_MATCH);
  EXPECT_THAT(TakeMessage(), HasSubstr("FLOAT needs 4611686018427387904 times 4"));
}

// torch_npu casts formats so: one description of the tensor, another of its memory.
TEST_F(AclOpCompanion, IdentityCastsFormatsOfMemory) {
  Tensor source(Element::kFloat, {2, 3, 4, 5});
  source.Fill([](int64_t i) { return static_cast<double>(i); });
  Tensor copy(Element::kFloat, {2, 3, 4, 5});
  const DeviceTensor from(&source);
  DeviceTensor to(&copy);
  OpCall call = CopyOp("Identity", ArgumentOf(source, from), ArgumentOf(copy, to));
  call.inputs[0].format = call.outputs[0].format = ACL_FORMAT_NCHW;
  call.inputs[0].memory_format = ACL_FORMAT_NCHW;
  call.outputs[0].memory_format = ACL_FORMAT_ND;
  ASSERT_EQ(RunOp(call, Way::kCompileAndExecute, stream_), 0) << TakeMessage();
  to.Download();
  EXPECT_EQ(copy.Values(), source.Values());
  call.outputs[0].memory_format = ACL_FORMAT_NHWC;
  for (const Way way : {Way::kCompileAndExecuteV2, Way::kExecuteV2, Way::kHandle}) {
    ASSERT_EQ(RunOp(call, way, stream_), 0) << TakeMessage();
    to.Download();
    EXPECT_EQ(copy.Values(), ChannelsLast(source));
  }
  call.outputs[0].memory_format = ACL_FORMAT_FRACTAL_NZ;
  EXPECT_EQ(RunOp(call, Way::kCompileAndExecute, stream_), ACL_ERROR_FORMAT_NOT_MATCH);
  EXPECT_THAT(TakeMessage(), HasSubstr("its memory format FRACTAL_NZ"));
}

TEST_F(AclOpCompanion, TransDataOrdersAxesAsTheFormatsNameThem) {
  Tensor source(Element::kFloat16, {2, 3, 4, 5});
  source.Fill([](int64_t i) { return static_cast<double>(i); });
  Tensor last(Element::kFloat16, {2, 4, 5, 3});
  Tensor back(Element::kFloat16, {2, 3, 4, 5});
  const DeviceTensor from(&source);
  DeviceTensor between(&last);
  DeviceTensor to(&back);
  OpCall there = CopyOp("TransData", ArgumentOf(source, from), ArgumentOf(last, between));
  there.inputs[0].format = ACL_FORMAT_NCHW;
  there.outputs[0].format = ACL_FORMAT_NHWC;
  there.attributes["src_format"] = std::string("NCHW");
  there.attributes["dst_format"] = std::string("NHWC");
  there.attributes["groups"] = int64_t{1};
  ASSERT_EQ(RunOp(there, Way::kCompileAndExecute, stream_), 0) << TakeMessage();
  between.Download();
  EXPECT_EQ(last.Values(), ChannelsLast(source));
  OpCall home = CopyOp("TransData", ArgumentOf(last, between), ArgumentOf(back, to));
  home.inputs[0].format = ACL_FORMAT_NHWC;
  home.outputs[0].format = ACL_FORMAT_NCHW;
  ASSERT_EQ(RunOp(home, Way::kHandle, stream_), 0) << TakeMessage();
  to.Download();
  EXPECT_EQ(back.Values(), source.Values());
  // ND says nothing about the axes: the order stays.
  OpCall plain = CopyOp("TransData", ArgumentOf(source, from), ArgumentOf(back, to));
  plain.outputs[0].format = ACL_FORMAT_NHWC;
  ASSERT_EQ(RunOp(plain, Way::kExecuteV2, stream_), 0) << TakeMessage();
}

struct Refusal {
  const char* name;
  aclError code;
  const char* part;
  void (*spoil)(OpCall* call);
};

constexpr Refusal kRefusals[] = {
    {"OtherType", ACL_ERROR_UNSUPPORTED_DATA_TYPE, "dst has data type INT32, but src has FLOAT",
     [](OpCall* c) { c->outputs[0].dtype = ACL_INT32; }},
    {"WideType", ACL_ERROR_UNSUPPORTED_DATA_TYPE, "must have one of 1, 2, 4 or 8 bytes",
     [](OpCall* c) { c->inputs[0].dtype = c->outputs[0].dtype = ACL_COMPLEX128; }},
    {"OtherShape", ACL_ERROR_OP_OUTPUT_NOT_MATCH,
     "dst has shape [1, 2, 3, 2], but must have [1, 3, 2, 2], the shape of src",
     [](OpCall* c) {
       c->outputs[0].shape = {1, 2, 3, 2};
     }},
    {"OtherAxes", ACL_ERROR_FORMAT_NOT_MATCH, "src has format NCHW and dst NCL",
     [](OpCall* c) { c->outputs[0].format = ACL_FORMAT_NCL; }},
    {"Fractal", ACL_ERROR_FORMAT_NOT_MATCH, "dst NC1HWC0: portacl knows formats that are orders",
     [](OpCall* c) { c->outputs[0].format = ACL_FORMAT_NC1HWC0; }},
    {"WrongAttribute", ACL_ERROR_OP_ATTR_NOT_MATCH,
     "attribute dst_format is \"NCHW\", but the tensor's format is NHWC",
     [](OpCall* c) { c->attributes["dst_format"] = std::string("NCHW"); }},
    {"AttributeType", ACL_ERROR_OP_ATTR_NOT_MATCH, "attribute src_format must be a string",
     [](OpCall* c) { c->attributes["src_format"] = int64_t{0}; }},
    {"UnknownAttribute", ACL_ERROR_OP_ATTR_NOT_MATCH,
     "attribute format is unknown; it has src_format",
     [](OpCall* c) { c->attributes["format"] = int64_t{0}; }},
    {"IdentityHasNoAttributes", ACL_ERROR_OP_ATTR_NOT_MATCH, "it has none",
     [](OpCall* c) {
       c->type = "Identity";
       c->attributes["src_format"] = int64_t{0};
     }},
    {"IdentityKeepsTheOrder", ACL_ERROR_OP_OUTPUT_NOT_MATCH, "y has shape [1, 3, 2, 2]",
     [](OpCall* c) { c->type = "Identity"; }},
    {"Overlap", ACL_ERROR_INVALID_PARAM, "overlap",
     [](OpCall* c) {
       c->outputs[0].data = static_cast<char*>(c->inputs[0].data) + 4;
       c->outputs[0].bytes = c->inputs[0].bytes = 48;
     }},
};

TEST_F(AclOpCompanion, RefusesEachRowWithItsCode) {
  const DeviceMemory memory(4096);
  const auto argument = [&](const Shape& shape, aclFormat format, size_t offset) {
    return Argument{shape, ACL_FLOAT, format, static_cast<char*>(memory.get()) + offset, 1024};
  };
  const OpCall good = CopyOp("TransData", argument({1, 2, 3, 2}, ACL_FORMAT_NCHW, 0),
                             argument({1, 3, 2, 2}, ACL_FORMAT_NHWC, 1024));
  ASSERT_EQ(RunOp(good, Way::kCompileAndExecute, stream_), 0) << TakeMessage();
  for (const Refusal& row : kRefusals) {
    SCOPED_TRACE(row.name);
    OpCall call = good;
    row.spoil(&call);
    EXPECT_EQ(RunOp(call, Way::kCompileAndExecute, stream_), row.code);
    EXPECT_THAT(TakeMessage(), HasSubstr(row.part));
  }
}

class AclOpCompanionReset : public RuntimeTest {};

// A graph copies its host inputs into device memory. A reset frees this memory; whatever gets the
// address afterwards does not belong to the graph.
TEST_F(AclOpCompanionReset, AGraphFreesNothingThatAResetFreed) {
  constexpr int64_t kCount = 65536;
  constexpr size_t kBytes = kCount * sizeof(float);
  std::vector<float> host(kCount, 1.0F);
  void* out = nullptr;
  ASSERT_EQ(aclrtMalloc(&out, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  const OpSide from({{{kCount}, ACL_FLOAT, ACL_FORMAT_ND, host.data(), kBytes}});
  const OpSide to({{{kCount}, ACL_FLOAT, ACL_FORMAT_ND, out, kBytes}});
  ASSERT_EQ(aclSetTensorPlaceMent(from.descs[0], ACL_MEMTYPE_HOST), 0);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
  ASSERT_EQ(aclopCompileAndExecute("Identity", 1, from.descs.data(), from.buffers.data(), 1,
                                   to.descs.data(), to.buffers.data(), nullptr, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, stream),
            0)
      << TakeMessage();
  aclmdlRI graph = nullptr;
  ASSERT_EQ(aclmdlRICaptureEnd(stream, &graph), 0);
  ASSERT_EQ(aclrtResetDevice(0), 0);
  stream_ = nullptr;  // the reset destroyed the fixture's stream
  ASSERT_EQ(aclrtSetDevice(0), 0);
  std::vector<void*> mine(4);
  for (void*& memory : mine) ASSERT_EQ(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  EXPECT_EQ(aclmdlRIDestroy(graph), 0);
  for (void* const memory : mine) EXPECT_EQ(aclrtFree(memory), 0) << TakeMessage();
}

}  // namespace
}  // namespace portacl_test
