// The log of calls and the cases that are read from it: calls of a program, through each API, are
// read back as the same calls.
#include "tools/testing/call_log.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <portacl/portacl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/api/child_process.h"
#include "support/api/op_call.h"
#include "tools/cli_error.h"
#include "tools/testing/call.h"
#include "tools/testing/call_aclnn.h"
#include "tools/testing/call_native.h"
#include "tools/testing/generate_cases.h"

namespace portacl::golden {
namespace {

using ::testing::HasSubstr;

std::string FreshFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "portacl-log-XXXXXX").string();
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  return pattern;
}

constexpr const char* kFolder = "PORTACL_TEST_CALL_LOG";  // tells the child of its parent's folder

class CallLogChild : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const parents = std::getenv(kFolder);
    folder_ = parents == nullptr ? FreshFolder() : parents;
    setenv(kFolder, folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv(kFolder);
    std::filesystem::remove_all(folder_);
  }
  std::string LogPath() const { return folder_ + "/calls.log"; }

  // Runs `calls` in a process whose standard error is the log.
  void Record(const std::string& level, const std::function<void()>& calls) const {
    PORTACL_IN_CHILD((portacl_test::Environment{{"PORTACL_LOG", level}}), InChild(calls));
  }

  void InChild(const std::function<void()>& calls) const {
    ASSERT_NE(std::freopen(LogPath().c_str(), "w", stderr), nullptr);
    ASSERT_EQ(portaclSetProfile("open"), PORTACL_OK);
    calls();
  }

  std::vector<std::string> Lines() const {
    std::ifstream file(LogPath());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  std::string folder_;
};

std::vector<Case> LoggedCases(uint64_t seed) {
  GenerateOptions options;
  options.seed = seed;
  options.count = 120;
  std::vector<Case> cases = GenerateCases("random", options);
  for (Case& c : GenerateCases("smoke", options)) cases.push_back(std::move(c));
  for (const char* const text :
       {"upsample_nearest_exact2d self=2x4x5x3 self.format=NHWC outputSize=7,9 out=2x7x9x3 "
        "out.format=NHWC scalesW=2.5",
        "grid_sampler_3d dtype=float16 input=1x4x5x6x2 input.format=NDHWC grid=1x2x3x4x3 "
        "out=1x2x3x4x2 out.format=NDHWC paddingMode=reflection",
        "grid_sampler_2d_backward input=2x0x4x5 grid=2x3x3x2 outputMask=0,1",
        "upsample_nearest_exact1d_backward gradOutput=1x2x8 out=1x2x4 scales=1e-300"}) {
    cases.push_back(ParseCase(text));
  }
  return cases;
}

// What decides a call: its operator and arguments.
struct Known {
  std::string text;  // for messages
  const OperatorRow* op;
  std::vector<ArgumentOutline> arguments;

  bool operator==(const Known& other) const {
    return op == other.op && arguments == other.arguments;
  }
};

// Each once, in order.
std::vector<Known> Unlike(const std::vector<Case>& cases,
                          const std::function<void(const Case&, Known&)>& change) {
  std::vector<Known> known;
  for (const Case& c : cases) {
    Known next{ToString(c), c.op, OutlineOf(c)};
    change(c, next);
    if (std::find(known.begin(), known.end(), next) == known.end()) {
      known.push_back(std::move(next));
    }
  }
  return known;
}

void AsItIs(const Case&, Known&) {}

void ExpectSame(const std::vector<Known>& want, const std::vector<Known>& got) {
  for (size_t i = 0; i < std::min(want.size(), got.size()); ++i) {
    ASSERT_TRUE(want[i] == got[i]) << want[i].text << "\ncame back as\n" << got[i].text;
  }
  ASSERT_EQ(want.size(), got.size());
}

TEST_F(CallLogChild, AclnnCallsComeBackAsTheSameCases) {
  std::vector<Case> cases = LoggedCases(11);
  std::erase_if(cases, [](const Case& c) {
    return !c.op->traits->dtypes.open.Has(static_cast<int32_t>(c.dtype));
  });
  ASSERT_GT(cases.size(), 100u);
  Record("calls", [&] {
    AclnnCaller caller([](const char* name) { return dlsym(RTLD_DEFAULT, name); });
    for (const Case& c : cases) {
      Call call = MakeCall(c);
      const AclnnOutcome outcome = caller.Run(call);
      ASSERT_EQ(outcome.status, 0) << ToString(c) << ": " << outcome.message;
    }
  });
  const std::vector<Case> read = ReadCallLog(LogPath());
  ExpectSame(Unlike(cases, AsItIs), Unlike(read, AsItIs));
  for (const Case& c : read) EXPECT_EQ(ParseCase(ToString(c)), c) << ToString(c);
  for (const std::string& line : Lines()) {
    const bool gradient = line.find("_backward") != std::string::npos;
    EXPECT_NE(line.find(gradient ? ",backward," : ",forward,"), std::string::npos) << line;
  }
}

// portacl's own API has plain views of memory: no format, no storage around a view, and no tensor
// for an output that is not wanted.
void AsNative(const Case& c, Known& known) {
  const Call call = MakeCall(c);
  const std::vector<double> scales = call.scales();  // without those that count for nothing
  for (size_t i = 0, scale = 0; i < known.arguments.size(); ++i) {
    if (c.op->parameters[i].role == Role::kReal) known.arguments[i].real = scales.at(scale++);
    if (!IsTensor(c.op->parameters[i].role)) continue;
    ArgumentOutline& argument = known.arguments[i];
    argument.format = "ND";
    argument.offset = 0;
    if (!call.arguments[i].wanted) argument.strides = cli::DenseStrides(argument.shape);
    const bool empty = std::count(argument.shape.begin(), argument.shape.end(), 0) > 0;
    for (size_t axis = 0; axis < argument.shape.size() && !empty; ++axis) {
      argument.offset -= std::min<int64_t>(argument.strides[axis], 0) * (argument.shape[axis] - 1);
    }
  }
  // The gradient of pooling asks for no input: it is logged as the output lies.
  if (c.op->op == ops::Op::kAdaptiveAvgPoolBackward) {
    known.arguments[1].strides = known.arguments[2].strides;
    known.arguments[1].offset = known.arguments[2].offset;
  }
}

// Whether the native API may see a copy of points whose strides do not let levels join them.
bool PacksPoints(const Case& c) {
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    const std::string_view pattern = c.op->parameters[i].pattern;
    if (pattern.find(",L,P") != std::string_view::npos && c.arguments[i].layout) return true;
  }
  return false;
}

TEST_F(CallLogChild, NativeCallsComeBackAsTheSameCases) {
  std::vector<Case> cases = LoggedCases(12);
  // The log names the first function of the aclnn API that does the same.
  std::erase_if(cases, [](const Case& c) {
    const ops::Traits& traits = *c.op->traits;
    return std::string_view(ops::AclnnOf(c.op->op, traits.axes, traits.antialias)->name) !=
           c.op->function;
  });
  std::erase_if(cases, [](const Case& c) { return ToString(c).find("HWC") != std::string::npos; });
  std::erase_if(cases, PacksPoints);
  Record("calls", [&] {
    for (const Case& c : cases) {
      Call call = MakeCall(c);
      RunNative(call);
    }
  });
  ExpectSame(Unlike(cases, AsNative), Unlike(ReadCallLog(LogPath()), AsItIs));
}

// ---- by name -----------------------------------------------------------------------------------

struct GraphName {
  const char* op;
  const char* type;
};
constexpr GraphName kGraphNames[] = {
    {"upsample_nearest_exact2d", "UpsampleNearestExact2d"},
    {"upsample_nearest_exact3d", "UpsampleNearestExact3d"},
    {"upsample_nearest_exact2d_backward", "UpsampleNearestExact2dGrad"},
    {"upsample_nearest_exact3d_backward", "UpsampleNearestExact3dGrad"},
    {"grid_sampler_2d", "GridSampler2D"},
    {"grid_sampler_3d", "GridSampler3D"},
    {"grid_sampler_2d_backward", "GridSampler2DGrad"},
    {"grid_sampler_3d_backward", "GridSampler3DGrad"}};

std::map<std::string, portacl_test::Attribute> AttributesOf(const Call& call) {
  std::map<std::string, portacl_test::Attribute> attributes;
  if (call.op->sampler()) {
    constexpr const char* kInterpolations[] = {"bilinear", "nearest", "bicubic"};
    constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};
    attributes["interpolation_mode"] =
        std::string(kInterpolations[call.integer("interpolationMode")]);
    attributes["padding_mode"] = std::string(kPaddings[call.integer("paddingMode")]);
    attributes["align_corners"] = call.integer("alignCorners") != 0;
    return attributes;
  }
  attributes["output_size"] = call.at("outputSize").integers;
  if (call.op->backward()) attributes["input_size"] = call.at("inputSize").integers;
  constexpr const char* kScales[] = {"scales_d", "scales_h", "scales_w"};
  const std::vector<double> scales = call.scales();
  for (size_t i = 0; i < scales.size(); ++i) {
    attributes[kScales[3 - scales.size() + i]] = static_cast<float>(scales[i]);
  }
  return attributes;
}

void RunByName(Call& call, const char* type, aclrtStream stream) {
  portacl_test::OpCall op;
  op.type = type;
  op.attributes = AttributesOf(call);
  std::vector<portacl_test::DeviceMemory> memory;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Role role = call.op->parameters[i].role;
    if (!IsTensor(role)) continue;
    const ViewTensor& tensor = call.arguments[i].tensor;
    memory.emplace_back(tensor.bytes().size());
    (role == Role::kInput ? op.inputs : op.outputs)
        .push_back({tensor.shape(), static_cast<aclDataType>(tensor.dtype()), ACL_FORMAT_ND,
                    memory.back().get(), tensor.bytes().size()});
  }
  EXPECT_EQ(RunOp(op, portacl_test::Way::kExecuteV2, stream), ACL_SUCCESS)
      << ToString(call.source) << ": " << portacl_test::TakeMessage();
}

TEST_F(CallLogChild, CallsByNameComeBackAsTheSameCases) {
  std::vector<Case> cases = {
      ParseCase("upsample_nearest_exact2d self=1x2x3x4 out=1x2x6x8 scalesH=2.5"),
      ParseCase("upsample_nearest_exact3d self=1x2x3x4x5 out=1x2x6x8x5 scalesD=0.1"),
      ParseCase("upsample_nearest_exact2d_backward gradOutput=1x2x6x8 out=1x2x3x4"),
      ParseCase("upsample_nearest_exact3d_backward gradOutput=1x2x6x8x2 out=1x2x3x4x2 scalesW=3"),
      ParseCase("grid_sampler_2d dtype=float16 input=1x2x6x8 grid=1x3x4x2 paddingMode=border"),
      ParseCase("grid_sampler_3d input=1x2x4x6x8 grid=1x2x3x4x3 interpolationMode=nearest"),
      ParseCase("grid_sampler_2d_backward input=1x2x6x8 grid=1x3x4x2 interpolationMode=bicubic"),
      ParseCase("grid_sampler_3d_backward input=1x2x4x6x8 grid=1x2x3x4x3 alignCorners=1")};
  for (Case& c : cases) {
    for (ArgumentCase& argument : c.arguments) {  // attributes are floats
      if (argument.real) argument.real = static_cast<double>(static_cast<float>(*argument.real));
    }
  }
  Record("calls", [&] {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (const Case& c : cases) {
      const auto* const name =
          std::find_if(std::begin(kGraphNames), std::end(kGraphNames),
                       [&](const GraphName& g) { return c.op->name == std::string(g.op); });
      ASSERT_NE(name, std::end(kGraphNames));
      Call call = MakeCall(c);
      RunByName(call, name->type, nullptr);
    }
    ASSERT_EQ(aclFinalize(), ACL_SUCCESS);
  });
  ASSERT_EQ(Lines().size(), cases.size());
  EXPECT_THAT(Lines()[0], ::testing::StartsWith("portacl_call,v1,UpsampleNearestExact2d,"
                                                "upsample_nearest_exact2d,forward,"));
  ExpectSame(Unlike(cases, AsItIs), Unlike(ReadCallLog(LogPath()), AsItIs));
}

// ---- lines -------------------------------------------------------------------------------------

constexpr int kThreads = 8;
constexpr int kCallsOfAThread = 60;

Case CaseOfThread(int thread, int number) {
  return ParseCase("upsample_nearest_exact1d self=" + std::to_string(thread + 1) + "x1x" +
                   std::to_string(number + 1) + " outputSize=7");
}

// With the debug log's lines among them.
TEST_F(CallLogChild, LinesOfManyThreadsStayWhole) {
  Record("debug,calls", [] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kCallsOfAThread; ++i) {
          Call call = MakeCall(CaseOfThread(t, i));
          RunNative(call);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  size_t calls = 0, others = 0;
  for (const std::string& line : Lines()) {
    const bool is_call = line.starts_with("portacl_call,v1,portacl::upsample_nearest_exact,");
    const bool is_message = line.starts_with("20") && line.ends_with(" us");
    EXPECT_TRUE(is_call || is_message) << line;
    if (is_call) {
      EXPECT_EQ(std::count(line.begin(), line.end(), ','), 8) << line;
    }
    ++(is_call ? calls : others);
  }
  EXPECT_EQ(calls, static_cast<size_t>(kThreads * kCallsOfAThread));
  EXPECT_EQ(others, 2 * calls);
  std::vector<std::string> want, got;
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kCallsOfAThread; ++i) want.push_back(ToString(CaseOfThread(t, i)));
  }
  for (const Case& c : ReadCallLog(LogPath())) got.push_back(ToString(c));
  EXPECT_THAT(got, ::testing::UnorderedElementsAreArray(want));
}

TEST_F(CallLogChild, NothingIsWrittenUnlessItIsAskedFor) {
  Record("warn", [] {
    Call call = MakeCall(CaseOfThread(0, 0));
    RunNative(call);
  });
  EXPECT_THAT(Lines(), ::testing::IsEmpty());
}

TEST_F(CallLogChild, UnknownWordsAreNamedAndTheOthersCount) {
  Record("call,calls", [] {
    Call call = MakeCall(CaseOfThread(0, 0));
    RunNative(call);
  });
  ASSERT_EQ(Lines().size(), 2u);
  EXPECT_THAT(Lines()[0], HasSubstr("PORTACL_LOG is 'call,calls', but must be"));
  EXPECT_THAT(Lines()[0], HasSubstr("'call' is ignored"));
  EXPECT_EQ(ReadCallLog(LogPath()).size(), 1u);
}

TEST_F(CallLogChild, AnUnknownWordLeavesTheLevel) {
  Record("debug, calls,foo", [] {
    Call call = MakeCall(CaseOfThread(0, 0));
    RunNative(call);
  });
  ASSERT_EQ(Lines().size(), 4u);
  EXPECT_THAT(Lines()[0], HasSubstr("'foo' is ignored"));
  EXPECT_EQ(ReadCallLog(LogPath()).size(), 1u);
}

class CallLogFile : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = FreshFolder(); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> Read(const std::string& text) const {
    std::ofstream(folder_ + "/a.log") << text;
    std::vector<std::string> strings;
    for (const Case& c : ReadCallLog(folder_ + "/a.log")) strings.push_back(ToString(c));
    return strings;
  }
  std::string RefusalOf(const std::string& text) const {
    try {
      static_cast<void>(Read(text));
    } catch (const cli::BadInput& error) {
      const std::string message = error.what();
      return message.substr(std::min(message.find("a.log"), message.size()));
    }
    return "accepted";
  }

  std::string folder_;
};

constexpr const char* kLine =
    "portacl_call,v1,aclnnGridSampler2DBackward,grid_sampler_2d_backward,backward,avx2:slab,"
    "gradOutput:float16:NCHW:2x3x5x7:105x35x7x1:0 input:float16:ND:2x3x8x9:216x1x27x3:0 "
    "grid:float16:ND:2x5x7x2:-70x14x2x1:70 inputGrad:float16:ND:2x3x8x9:216x72x9x1:0 "
    "gridGrad:float16:ND:2x5x7x2:70x14x2x1:0,"
    "interpolationMode:nearest paddingMode:border alignCorners:0 outputMask:1x0,12.345\n";

TEST_F(CallLogFile, EqualCallsAreOneCaseWithoutWhatFollowsFromTheRest) {
  const std::string line = kLine;
  const std::string later = "[rank0] " + line.substr(0, line.rfind(',')) + ",99.000\r\n";
  EXPECT_THAT(
      Read("step 1\n" + line + "step 2\n" + later),
      ::testing::ElementsAre("grid_sampler_2d_backward dtype=float16 gradOutput.format=NCHW "
                             "input=2x3x8x9 input.strides=216,1,27,3 grid=2x5x7x2 "
                             "grid.strides=-70,14,2,1 grid.offset=70 interpolationMode=nearest "
                             "paddingMode=border outputMask=1,0"));
}

TEST_F(CallLogFile, CallsOfBytesAreCasesOfUint8) {
  EXPECT_THAT(
      Read("portacl_call,v1,aclnnUpsampleNearest2dV2,upsample_nearest2d_v2,forward,ref,"
           "self:uint8:NCHW:2x3x1x7:21x7x7x1:0 out:uint8:NCHW:2x3x1x11:33x11x11x1:0,"
           "scalesH:0 scalesW:0,2.054\n"),
      ::testing::ElementsAre("upsample_nearest2d_v2 dtype=uint8 self=2x3x1x7 self.format=NCHW "
                             "outputSize=1,11 out.format=NCHW"));
}

TEST_F(CallLogFile, MessagesNameFileAndLine) {
  const std::string line = kLine;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = line;
    return "x\n" + changed.replace(changed.find(from), from.size(), to);
  };
  EXPECT_EQ(RefusalOf("nothing here\n"),
            "a.log: no line of PORTACL_LOG=calls in it (portacl_call,v1,...)");
  EXPECT_EQ(RefusalOf(with(",v1,", ",v2,")),
            "a.log:2: a line of version 'v2', but this program reads v1");
  EXPECT_EQ(RefusalOf(line.substr(0, 60)),
            "a.log:1: 4 fields, but a line of portacl_call,v1 has 9");
  EXPECT_THAT(
      RefusalOf(with("grid_sampler_2d_backward", "grid_sampler_5d")),
      HasSubstr("a.log:2: field operator: unknown operator 'grid_sampler_5d'; did you mean "));
  EXPECT_EQ(RefusalOf(with(":105x35x7x1:0 ", ":105x35x7x1 ")),
            "a.log:2: 'gradOutput:float16:NCHW:2x3x5x7:105x35x7x1' is not "
            "NAME:DTYPE:FORMAT:SHAPE:STRIDES:OFFSET");
  EXPECT_EQ(RefusalOf(with("alignCorners:0", "alignCorners")),
            "a.log:2: 'alignCorners' is not NAME:VALUE");
  EXPECT_THAT(RefusalOf(with("2x3x8x9", "2xx8x9")), HasSubstr("a.log:2: field input: "));
  EXPECT_THAT(RefusalOf(with("216x1x27x3", "216x1x27")),
              HasSubstr("input.strides: 3 of them for shape"));
}

}  // namespace
}  // namespace portacl::golden
