// The 1D and 2D nearest-exact operators through their C API: results, and every row of the table
// of checks, alone and in pairs.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/float_state.h"
#include "support/api/nearest_oracle.h"
#include "support/api/shared_rows.h"

namespace portacl_test {
namespace {

// ---- results -----------------------------------------------------------------------------------

struct Shapes {
  Shape out;
  Shape grad_output;
  std::vector<double> scales;
};

// Runs the operator on device copies; the output comes back into `out`.
aclnnStatus RunNearest(Tensor* grad_output, Tensor* out, const std::vector<double>& scales,
                       aclrtStream stream) {
  const DeviceTensor from(grad_output);
  DeviceTensor to(out);
  const aclnnStatus status = Execute(NearestCall::For(from.args(), to.args(), scales), stream);
  to.Download();
  return status;
}

class AclnnNearest : public AclTestOn<testing::TestWithParam<Element>> {};
INSTANTIATE_TEST_SUITE_P(, AclnnNearest, testing::ValuesIn(kNearestElements),
                         [](const auto& param) { return NameOf(param.param); });

TEST_P(AclnnNearest, ResultsHaveTheContractsBitsInEveryLayout) {
  const std::vector<Shapes> all = {
      {{2, 3, 4, 5}, {2, 3, 8, 10}, {}}, {{1, 2, 5, 3}, {1, 2, 7, 11}, {}},
      {{1, 3, 9, 17}, {1, 3, 4, 5}, {}}, {{2, 1, 6, 5}, {2, 1, 15, 8}, {2.5, 0}},
      {{2, 3, 7}, {2, 3, 31}, {}},       {{1, 2, 50}, {1, 2, 1}, {}},
      {{1, 2, 9}, {1, 2, 33}, {3.5}}};
  Random random(41);
  for (const Shapes& shapes : all) {
    for (const Layout from : kInputLayouts) {
      for (const Layout to : kOutputLayouts) {
        SCOPED_TRACE(ToString(shapes.out) + ToString(shapes.grad_output) + NameOf(from) +
                     NameOf(to));
        Tensor grad_output(GetParam(), shapes.grad_output, from);
        grad_output.FillUniform(random, -1, 1);
        Tensor out(GetParam(), shapes.out, to);
        ASSERT_EQ(RunNearest(&grad_output, &out, shapes.scales, stream_), 0) << TakeMessage();
        EXPECT_TRUE(BitIdentical(out, NearestBackward(grad_output, shapes.out, shapes.scales)));
        EXPECT_TRUE(out.GuardsIntact());
      }
    }
  }
}

TEST_P(AclnnNearest, EverySizePairFollowsTheIndexRule) {
  const int64_t largest = ByRunLength(96, 24);
  Random random(42);
  for (const bool scaled : {false, true}) {
    for (int64_t in = 1; in <= largest; ++in) {
      for (int64_t out = 1; out <= largest; ++out) {
        if (in > 50 * out) continue;  // the document's limit
        Tensor grad_output(GetParam(), {1, 1, out});
        grad_output.FillUniform(random, -1, 1);
        Tensor result(GetParam(), {1, 1, in});
        std::vector<double> scales;
        if (scaled) scales = {static_cast<double>(out) / static_cast<double>(in)};
        ASSERT_EQ(RunNearest(&grad_output, &result, scales, stream_), 0) << TakeMessage();
        ASSERT_TRUE(BitIdentical(result, NearestBackward(grad_output, {1, 1, in}, scales)))
            << in << " <- " << out;
      }
    }
  }
}

TEST_P(AclnnNearest, TheExampleOfDocument001Runs) {
  Tensor grad_output(GetParam(), {1, 1, 4, 2});
  grad_output.Fill({0, 1, 2, 3, 4, 5, 6, 7});
  Tensor out(GetParam(), {1, 1, 8, 4});
  ASSERT_EQ(RunNearest(&grad_output, &out, {2.0, 2.0}, stream_), 0) << TakeMessage();
  Tensor want(GetParam(), {1, 1, 8, 4});
  want.Fill(0.0);
  want.Set(0, 6);
  want.Set(4, 22);
  EXPECT_TRUE(BitIdentical(out, want));
}

TEST_P(AclnnNearest, NullStridesMeanContiguous) {
  Random random(43);
  Tensor grad_output(GetParam(), {1, 2, 6, 8});
  grad_output.FillUniform(random, -1, 1);
  Tensor out(GetParam(), {1, 2, 3, 4});
  const DeviceTensor from(&grad_output);
  DeviceTensor to(&out);
  TensorArgs from_args = from.args();
  TensorArgs to_args = to.args();
  from_args.strides.reset();
  to_args.strides.reset();
  ASSERT_EQ(Execute(NearestCall::For(from_args, to_args), stream_), 0) << TakeMessage();
  to.Download();
  EXPECT_TRUE(BitIdentical(out, NearestBackward(grad_output, out.shape())));
}

TEST_P(AclnnNearest, OutputSizeIsNotUsedWhereAScaleIsGiven) {
  Random random(44);
  Tensor grad_output(GetParam(), {1, 1, 6, 8});
  grad_output.FillUniform(random, -1, 1);
  Tensor out(GetParam(), {1, 1, 3, 4});
  const DeviceTensor from(&grad_output);
  DeviceTensor to(&out);
  NearestCall call = NearestCall::For(from.args(), to.args(), {2.0, 0});
  call.output_size = {{777, 8}};
  ASSERT_EQ(Execute(call, stream_), 0) << TakeMessage();
  to.Download();
  EXPECT_TRUE(BitIdentical(out, NearestBackward(grad_output, out.shape(), {2.0, 0})));
}

using AclnnNearestOnce = AclTest;

TEST_F(AclnnNearestOnce, EmptyBatchesOrChannelsSucceedIn2DWithNothingToDo) {
  for (const Shape& start : {Shape{0, 3}, Shape{2, 0}, Shape{0, 0}}) {
    for (const bool null_data : {false, true}) {
      const DeviceMemory memory(64);
      void* data = null_data ? nullptr : memory.get();
      const NearestCall call =
          NearestCall::For({{start[0], start[1], 8, 10}, ACL_FLOAT, ACL_FORMAT_NCHW, data},
                           {{start[0], start[1], 4, 5}, ACL_FLOAT, ACL_FORMAT_NCHW, data});
      const Planned planned = call.Plan();
      ASSERT_EQ(planned.status, 0) << TakeMessage();
      EXPECT_EQ(planned.workspace_size, 0u);
      ASSERT_NE(planned.executor, nullptr);
      EXPECT_EQ(call.Run(nullptr, 0, planned.executor, stream_), 0) << TakeMessage();
      EXPECT_EQ(aclrtSynchronizeStream(stream_), 0);
    }
  }
}

TEST_F(AclnnNearestOnce, EmptyTensorsOfAbsurdExtentsCostNothing) {
  const int64_t huge = int64_t{1} << 40;
  const NearestCall call = NearestCall::For({{0, 3, huge, huge}}, {{0, 3, huge, huge}});
  const Planned planned = call.Plan();
  ASSERT_EQ(planned.status, 0) << TakeMessage();
  EXPECT_EQ(planned.workspace_size, 0u);
  EXPECT_EQ(call.Run(nullptr, 0, planned.executor, stream_), 0);
}

TEST_F(AclnnNearestOnce, AViewOfAbsurdExtentsIsRefusedBeforeAnyTableIsMade) {
  const int64_t huge = int64_t{1} << 45;
  const DeviceMemory memory(64);
  ExpectRefused(
      NearestCall::For(
          {{1, 1, 1, huge}, ACL_FLOAT, ACL_FORMAT_ND, memory.get(), Shape{1, 1, 1, 1}, 0, Shape{4}},
          {{1, 1, 1, huge},
           ACL_FLOAT,
           ACL_FORMAT_ND,
           memory.get(),
           Shape{1, 1, 1, 1},
           0,
           Shape{4}}),
      ACLNN_ERR_PARAM_INVALID, {"gradOutput", "storage"});
}

TEST_F(AclnnNearestOnce, InputSizeThatDiffersFromOutWarnsAndIsRefusedWhenStrict) {
  Tensor grad_output(Element::kFloat, {1, 1, 4, 4});
  Tensor out(Element::kFloat, {1, 1, 2, 2});
  grad_output.Fill(1.0);
  const DeviceTensor from(&grad_output);
  DeviceTensor to(&out);
  NearestCall call = NearestCall::For(from.args(), to.args());
  for (const std::vector<int64_t>& size :
       {std::vector<int64_t>{1, 1, 3, 2}, {1, 1, 2, 9}, {5, 1, 2, 2}, {0, 1, 2, 2}}) {
    call.input_size = size;
    portaclSetStrict(0);
    ASSERT_EQ(Execute(call, stream_), 0) << TakeMessage();
    const std::string message = TakeMessage();
    EXPECT_THAT(message,
                testing::AllOf(testing::HasSubstr("warning"), testing::HasSubstr(call.op()),
                               testing::HasSubstr("inputSize"), testing::HasSubstr(ToString(size)),
                               testing::HasSubstr("[1, 1, 2, 2]")));
    to.Download();
    EXPECT_TRUE(BitIdentical(out, NearestBackward(grad_output, out.shape())));
    portaclSetStrict(1);
    ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"inputSize", ToString(size), "PORTACL_STRICT"});
  }
}

// ---- limits and profiles -----------------------------------------------------------------------

TEST_F(AclnnNearestOnce, TheLimitOf50IsPerAxisAndOnlyInOneDirection) {
  const DeviceMemory a(4096);
  const DeviceMemory b(4096);
  const auto line = [&](int64_t in, int64_t out) {
    return NearestCall::For({{1, 1, out}, ACL_FLOAT, ACL_FORMAT_ND, a.get()},
                            {{1, 1, in}, ACL_FLOAT, ACL_FORMAT_ND, b.get()});
  };
  const auto plane = [&](Shape in, Shape out) {
    return NearestCall::For({{1, 1, out[0], out[1]}, ACL_FLOAT, ACL_FORMAT_ND, a.get()},
                            {{1, 1, in[0], in[1]}, ACL_FLOAT, ACL_FORMAT_ND, b.get()});
  };
  for (const auto& accepted : {line(100, 2), line(1, 1000), line(50, 1)}) {
    EXPECT_EQ(Execute(accepted, stream_), 0) << TakeMessage();
  }
  for (const auto& accepted : {plane({2, 1}, {100, 1}), plane({1, 2}, {1, 100}),
                               plane({700, 1}, {1, 1}), plane({1, 700}, {1, 1})}) {
    EXPECT_EQ(Execute(accepted, stream_), 0) << TakeMessage();
  }
  const std::vector<NearestCall> refused = {line(101, 2), line(51, 1), plane({2, 1}, {101, 1}),
                                            plane({1, 2}, {1, 101})};
  for (const NearestCall& call : refused) {
    portaclSetProfile("atlas-a2");
    ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"50", "gradOutput", "out"});
    portaclSetProfile("open");
    EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
  }
}

TEST_F(AclnnNearestOnce, OnlyProfileAtlasTrainingLacksTheOperators) {
  const DeviceMemory a(4096);
  const DeviceMemory b(4096);
  for (const bool planar : {false, true}) {
    const NearestCall call = NearestCall::For(
        {planar ? Shape{1, 1, 4, 4} : Shape{1, 1, 4}, ACL_FLOAT, ACL_FORMAT_ND, a.get()},
        {planar ? Shape{1, 1, 2, 2} : Shape{1, 1, 2}, ACL_FLOAT, ACL_FORMAT_ND, b.get()});
    for (const char* profile : {"atlas-a2", "atlas-a3", "open"}) {
      ASSERT_EQ(portaclSetProfile(profile), 0);
      EXPECT_EQ(Execute(call, stream_), 0) << profile << TakeMessage();
    }
    ASSERT_EQ(portaclSetProfile("atlas-training"), 0);
    ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"atlas-training"});
  }
}

// ---- the table of checks -----------------------------------------------------------------------

using NearestRow = CheckRow<NearestCall>;

// Rows of the table in its order; each breaks one rule of a good call.
std::vector<NearestRow> NearestRows(bool planar) {
  const size_t spatial = planar ? 2 : 1;
  const std::string own = planar ? "NCHW" : "NCL";
  const std::string scale_name = planar ? "scalesH" : "scales";
  std::vector<NearestRow> rows = {NullRow("gradOutput", &NearestCall::grad_output),
                                  NullRow("outputSize", &NearestCall::output_size),
                                  NullRow("inputSize", &NearestCall::input_size),
                                  NullRow("out", &NearestCall::out),
                                  NullRow("workspaceSize", &NearestCall::null_workspace_size),
                                  NullRow("executor", &NearestCall::null_executor)};
  AddTensorRows<NearestCall>(
      {{"gradOutput", &NearestCall::grad_output}, {"out", &NearestCall::out}},
      {"DtypesDiffer",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->out.dtype = ACL_FLOAT16; },
       {"gradOutput", "FLOAT", "out", "FLOAT16", "equal"}},
      &rows);
  const std::vector<NearestRow> own_rows = {
      {"GradOutputExtent",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->grad_output.shape.back() = 0; },
       {"gradOutput", "at least 1", planar ? "W" : "L"}},
      {"OutExtent",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->out.shape.back() = 0; },
       {"out", "at least 1", planar ? "W" : "L"}},
      {"GradOutputFormat",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->grad_output.format = ACL_FORMAT_NHWC; },
       {"gradOutput", "NHWC", own, "ND"}},
      {"OutFormat",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->out.format = ACL_FORMAT_NC1HWC0; },
       {"out", "NC1HWC0", own, "ND"}},
      {"FormatsDiffer",
       ACLNN_ERR_PARAM_INVALID,
       [planar](NearestCall* c) { c->out.format = planar ? ACL_FORMAT_NCHW : ACL_FORMAT_NCL; },
       {"gradOutput", "ND", "out", own, "equal"}},
      {"OutputSizeLength",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->output_size->push_back(4); },
       {"outputSize", std::to_string(spatial + 1), std::to_string(spatial)}},
      {"OutputSizeElement",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->output_size->back() = 0; },
       {"outputSize", "0", "at least 1"}},
      {"OutputSizeNegative",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->output_size->back() = -3; },
       {"outputSize", "-3", "at least 1"}},
      {"InputSizeLength",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->input_size->pop_back(); },
       {"inputSize", std::to_string(spatial + 1), std::to_string(spatial + 2)}},
      {"InputSizeElement",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->input_size->back() = 0; },
       {"inputSize", "0", "at least 1"}},
      {"InputSizeNegative",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->input_size->front() = -1; },
       {"inputSize", "-1", "at least 0"}},
      {"ScaleNegative",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->scales[0] = -2.0; },
       {scale_name, "-2"}},
      {"ScaleNaN",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->scales.back() = kNaN; },
       {planar ? "scalesW" : "scales", "nan"}},
      {"BatchesDiffer",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->out.shape[0] = 3; },
       {"out", "gradOutput", "N = 1"}},
      {"ChannelsDiffer",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->out.shape[1] = 5; },
       {"out", "gradOutput", "C = 2"}},
      {"OutputSizeDisagrees",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) {
         c->output_size->back() = 7;
         c->scales.back() = 0;
       },
       {"outputSize", "7", "gradOutput", "0"}},
  };
  rows.insert(rows.end(), own_rows.begin(), own_rows.end());
  // An extent past its limit; outputSize agrees with it.
  const auto limit = [](NearestCall* c, bool of_out, size_t axis) {
    (of_out ? c->out : c->grad_output).shape[axis] = 400;
    c->output_size = Shape(c->grad_output.shape.begin() + 2, c->grad_output.shape.end());
  };
  if (planar) {
    rows.push_back({"LimitH",
                    ACLNN_ERR_PARAM_INVALID,
                    [limit](NearestCall* c) { limit(c, false, 2); },
                    {"H of gradOutput is 400", "of out 4", "at most 50"}});
    rows.push_back({"LimitW",
                    ACLNN_ERR_PARAM_INVALID,
                    [limit](NearestCall* c) { limit(c, false, 3); },
                    {"W of gradOutput is 400", "of out 4", "at most 50"}});
  } else {
    rows.push_back({"LimitL",
                    ACLNN_ERR_PARAM_INVALID,
                    [limit](NearestCall* c) { limit(c, true, 2); },
                    {"L of gradOutput is 4", "of out 400", "at most 50"}});
    rows.push_back({"Empty",
                    ACLNN_ERR_PARAM_INVALID,
                    [](NearestCall* c) { c->grad_output.shape[0] = c->out.shape[0] = 0; },
                    {"gradOutput", "empty"}});
  }
  return rows;
}

// A good call on memory that every spoiled shape fits in.
class AclnnNearestChecks : public AclTestOn<testing::TestWithParam<bool>> {
 protected:
  NearestCall GoodCall() const {
    const bool planar = GetParam();
    NearestCall call = NearestCall::For(
        {planar ? Shape{1, 2, 4, 4} : Shape{1, 2, 4}, ACL_FLOAT, ACL_FORMAT_ND, from_.get()},
        {planar ? Shape{1, 2, 4, 4} : Shape{1, 2, 4}, ACL_FLOAT, ACL_FORMAT_ND, to_.get()});
    return call;
  }
  DeviceMemory from_{1 << 16};
  DeviceMemory to_{1 << 16};
};
INSTANTIATE_TEST_SUITE_P(, AclnnNearestChecks, testing::Bool(),
                         [](const auto& param) { return param.param ? "Planar" : "Line"; });

TEST_P(AclnnNearestChecks, TheGoodCallIsAccepted) {
  EXPECT_EQ(Execute(GoodCall(), stream_), 0) << TakeMessage();
}

TEST_P(AclnnNearestChecks, EveryRowIsRefusedWithItsCodeAndAMessage) {
  ExpectEveryRowIsRefused(GoodCall(), NearestRows(GetParam()));
}

TEST_P(AclnnNearestChecks, OfTwoBrokenRowsTheEarlierIsReported) {
  ExpectRowsAreCheckedInOrder(GoodCall(), NearestRows(GetParam()));
}

TEST_P(AclnnNearestChecks, OtherDtypesAreRefused) {
  for (const aclDataType dtype :
       {ACL_DT_UNDEFINED, ACL_INT8, ACL_UINT8, ACL_INT64, ACL_BOOL, ACL_STRING, ACL_COMPLEX64,
        ACL_INT4, ACL_COMPLEX32, static_cast<aclDataType>(99)}) {
    NearestCall call = GoodCall();
    call.grad_output.dtype = call.out.dtype = dtype;
    ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"gradOutput", "FLOAT"});
  }
}

TEST_P(AclnnNearestChecks, FormatsOfTheDocumentAreAccepted) {
  const aclFormat own = GetParam() ? ACL_FORMAT_NCHW : ACL_FORMAT_NCL;
  const aclFormat other = GetParam() ? ACL_FORMAT_NCL : ACL_FORMAT_NCHW;
  NearestCall call = GoodCall();
  call.grad_output.format = call.out.format = own;
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
  call.grad_output.format = call.out.format = other;
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"gradOutput"});
}

TEST_P(AclnnNearestChecks, TheCallersFloatStateDoesNotReachThem) {
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  NearestCall tiny = GoodCall();  // a scale above 0, so that outputSize is not used
  tiny.scales.assign(tiny.scales.size(), kLeast);
  tiny.output_size->back() = 9;
  NearestCall negative = GoodCall();
  negative.scales.back() = -kLeast;
  NearestCall unordered = GoodCall();
  unordered.scales.back() = kNaN;
  const FloatState state(FE_UPWARD, true, true);
  EXPECT_EQ(tiny.Plan().status, 0) << TakeMessage();
  EXPECT_EQ(negative.Plan().status, ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(unordered.Plan().status, ACLNN_ERR_PARAM_INVALID);
}

TEST_P(AclnnNearestChecks, ARefusedCallWritesToNoTensor) {
  for (const NearestRow& row : NearestRows(GetParam())) {
    Tensor out(Element::kFloat, GoodCall().out.shape);
    const Tensor before = out;
    DeviceTensor to(&out);
    NearestCall call = GoodCall();
    call.out.data = to.address();
    row.spoil(&call);
    call.Plan();
    to.Download();
    EXPECT_EQ(out.bytes(), before.bytes()) << row.name;
  }
}

}  // namespace
}  // namespace portacl_test
