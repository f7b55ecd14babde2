// PORTACL_TRACE: the file is a valid Chrome trace (tests/data/trace.schema.json) of what ran,
// however the process ends.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "portacl/portacl.h"
#include "support/api/acl_fixture.h"
#include "support/api/child_process.h"
#include "support/api/json_schema.h"
#include "support/api/native.h"
#include "support/api/runtime_fixture.h"
#include "test_paths.h"

namespace portacl_test {
namespace {

using nlohmann::json;

std::string TracePath(const std::string& test) {
  return PathForChildren("trace_" + test + ".json");
}

json ReadTrace(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  json trace = json::parse(file, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(trace.is_discarded()) << path << " is not JSON";
  return trace;
}

void CheckFormat(const json& trace) {
  static const json schema = [] {
    std::ifstream file(PORTACL_SOURCE_DIR "/tests/data/trace.schema.json");
    return json::parse(file);
  }();
  ASSERT_EQ(SchemaError(trace, schema), "");
}

std::map<std::string, int> CountByName(const json& trace) {
  std::map<std::string, int> counts;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++counts[event["name"].get<std::string>()];
  }
  return counts;
}

// Two streams with 3 copies, 2 fills, a host function and an event between them.
void RunProgram() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  const StreamHandle first;
  const StreamHandle second;
  const EventHandle event;
  void* device = nullptr;
  ASSERT_EQ(aclrtMalloc(&device, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  std::string host(1 << 20, 'h');
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(aclrtMemcpyAsync(device, host.size(), host.data(), host.size(),
                               ACL_MEMCPY_HOST_TO_DEVICE, first.get()),
              0);
  }
  Blocker blocker;  // the event is not complete before the second stream waits for it
  ASSERT_EQ(blocker.Launch(first.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event.get(), first.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamWaitEvent(second.get(), event.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(device, 64, 0, 64, second.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(device, 64, 1, 64, second.get()), ACL_SUCCESS);
  blocker.AwaitStart();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
}

void CheckProgramsTrace(const std::string& path) {
  const json trace = ReadTrace(path);
  CheckFormat(trace);
  auto counts = CountByName(trace);
  EXPECT_EQ(counts["copy"], 3);
  EXPECT_EQ(counts["memset"], 2);
  EXPECT_EQ(counts["host function"], 1);
  EXPECT_EQ(counts["event record"], 1);
  EXPECT_EQ(counts["event wait"], 1);
  std::map<std::string, double> begin;
  std::map<std::string, double> end;
  std::set<int> rows;
  std::set<std::string> row_names;
  for (const json& event : trace["traceEvents"]) {
    const auto name = event["name"].get<std::string>();
    if (event["ph"] == "M") row_names.insert(event["args"]["name"].get<std::string>());
    if (event["ph"] != "X" || event["pid"] == 0) continue;  // calls of the host are below
    rows.insert(event["tid"].get<int>());
    begin.emplace(name, event["ts"].get<double>());
    end[name] = event["ts"].get<double>() + event["dur"].get<double>();
    if (name == "copy") {
      EXPECT_EQ(event["args"]["detail"], "1048576 bytes ACL_MEMCPY_HOST_TO_DEVICE");
    }
  }
  EXPECT_EQ(rows.size(), 2u) << "a row per stream";
  for (const char* const call :
       {"aclrtMalloc", "aclrtMemcpyAsync", "aclrtSynchronizeDevice", "aclrtFree"}) {
    EXPECT_GE(counts[call], 1) << call;
  }
  std::map<int, std::set<std::string>> arrows;
  for (const json& event : trace["traceEvents"]) {
    const auto kind = event["ph"].get<std::string>();
    if (kind == "s" || kind == "f") arrows[event["id"].get<int>()].insert(kind);
    if (event["name"] == "event record" || event["name"] == "event wait") {
      EXPECT_EQ(event["args"]["detail"], "event 1");
    }
  }
  const auto whole = std::count_if(arrows.begin(), arrows.end(),
                                   [](const auto& arrow) { return arrow.second.size() == 2; });
  EXPECT_GE(whole, 7) << "from each call that enqueues to what it enqueued";
  EXPECT_TRUE(row_names.contains("device 0"));
  EXPECT_GE(end["host function"] - begin["host function"], 5000) << "microseconds";
  EXPECT_GE(begin["memset"], end["host function"]) << "the event orders the streams";
  EXPECT_GE(end["event wait"], end["host function"]) << "the wait lasts until the event";
}

TEST(RuntimeTraceChild, HasStreamsCopiesAndEventsAfterFinalize) {
  const std::string path = TracePath("finalize");
  PORTACL_IN_CHILD((Environment{{"PORTACL_TRACE", path}}), {
    RunProgram();
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
    if (!testing::Test::HasFailure()) _exit(0);  // no exit handler helps
  });
  CheckProgramsTrace(path);
  std::remove(path.c_str());
}

// The same gradient through the two-phase API, by name, and through portacl's own API.
void RunOperators() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  const StreamHandle stream;
  Tensor grad_output(Element::kFloat, {1, 2, 8, 6});
  Tensor grad_input(Element::kFloat, {1, 2, 4, 3});
  const DeviceTensor from(&grad_output);
  const DeviceTensor to(&grad_input);
  ASSERT_EQ(Execute(NearestCall::For(from.args(), to.args()), stream.get()), 0) << TakeMessage();

  const Shape large = grad_output.shape();
  const Shape small = grad_input.shape();
  const aclTensorDesc* descs[] = {aclCreateTensorDesc(ACL_FLOAT, 4, large.data(), ACL_FORMAT_NCHW),
                                  aclCreateTensorDesc(ACL_FLOAT, 4, small.data(), ACL_FORMAT_NCHW)};
  const aclDataBuffer* const in = aclCreateDataBuffer(from.address(), 96 * sizeof(float));
  aclDataBuffer* const out = aclCreateDataBuffer(to.address(), 24 * sizeof(float));
  aclopAttr* const attributes = aclopCreateAttr();
  aclopSetAttrListInt(attributes, "output_size", 2, large.data() + 2);
  aclopSetAttrListInt(attributes, "input_size", 4, small.data());
  ASSERT_EQ(
      aclopCompileAndExecute("UpsampleNearestExact2dGrad", 1, descs, &in, 1, descs + 1, &out,
                             attributes, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, stream.get()),
      0)
      << TakeMessage();
  ASSERT_EQ(aclrtSynchronizeStream(stream.get()), 0);
  for (const aclTensorDesc* const desc : descs) aclDestroyTensorDesc(desc);
  for (const aclDataBuffer* const buffer : {in, const_cast<const aclDataBuffer*>(out)}) {
    aclDestroyDataBuffer(buffer);
  }
  aclopDestroyAttr(attributes);

  std::vector<float> ones(96, 1.0f);
  std::vector<float> sums(24);
  ASSERT_TRUE(portacl::upsample_nearest_exact_backward(portacl::Tensor(ones.data(), {1, 2, 8, 6}),
                                                       portacl::Tensor(sums.data(), {1, 2, 4, 3}))
                  .ok());
}

// A call's plan is on the host's row. Its run follows, on the stream's row or, for portacl's own
// API, on the host's row. Both have shapes, dtype and kernel.
TEST(RuntimeTraceChild, HasThePlanAndTheRunOfEachOperatorCall) {
  const std::string path = TracePath("operators");
  PORTACL_IN_CHILD((Environment{{"PORTACL_TRACE", path}, {"PORTACL_IMPL", "ref"}}), RunOperators());
  const json trace = ReadTrace(path);
  CheckFormat(trace);
  struct Row {
    const char* op;
    bool on_stream;
  };
  for (const Row row :
       {Row{"aclnnUpsampleNearestExact2dBackward", true}, Row{"UpsampleNearestExact2dGrad", true},
        Row{"portacl::upsample_nearest_exact_backward", false}}) {
    SCOPED_TRACE(row.op);
    std::map<std::string, std::vector<json>> spans;
    for (const json& event : trace["traceEvents"]) {
      if (event["name"] == row.op) spans[event["cat"]].push_back(event);
    }
    ASSERT_EQ(spans["plan"].size(), 1u);
    ASSERT_EQ(spans["kernel"].size(), 1u);
    const bool two_phases = std::string_view(row.op).starts_with("aclnn");
    EXPECT_EQ(spans["host"].size(), two_phases ? 1u : 0u) << "phase 2; phase 1 is the plan";
    const json& plan = spans["plan"][0];
    const json& run = spans["kernel"][0];
    EXPECT_EQ(plan["pid"], 0) << "the host";
    EXPECT_EQ(run["pid"], row.on_stream ? 1 : 0);
    EXPECT_GT(plan["dur"], 0);
    EXPECT_GT(run["dur"], 0);
    EXPECT_LE(plan["ts"].get<double>() + plan["dur"].get<double>(), run["ts"].get<double>() + 0.002)
        << "rounded to nanoseconds";
    for (const json& span : {plan, run}) {
      EXPECT_THAT(
          span["args"]["detail"].get<std::string>(),
          testing::AllOf(testing::HasSubstr(" FLOAT ref"), testing::HasSubstr("[1, 2, 8, 6]"),
                         testing::HasSubstr("[1, 2, 4, 3]")));
    }
  }
  std::remove(path.c_str());
}

TEST(RuntimeTraceChild, TheDebugLogHasThePlanAndTheRunOfEachOperatorCall) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_LOG", "debug", 1);
        RunOperators();
        ExitWithResult();
      },
      testing::ExitedWithCode(0),
      "plan aclnnUpsampleNearestExact2dBackward FLOAT .*\\[1, 2, 8, 6\\].* us\n(.|\n)*"
      "kernel aclnnUpsampleNearestExact2dBackward FLOAT .* us\n(.|\n)*"
      "plan UpsampleNearestExact2dGrad(.|\n)*kernel UpsampleNearestExact2dGrad(.|\n)*"
      "plan portacl::(.|\n)*kernel portacl::");
}

// Those of the runtime and of operators, with their codes.
TEST(RuntimeTraceChild, TheTraceLogHasTheCallsOfTheApi) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_LOG", "trace", 1);
        RunOperators();
        aclrtSetDevice(-1);
        ExitWithResult();
      },
      testing::ExitedWithCode(0),
      "\\[trace\\] .*aclrtSetDevice 0, [0-9.]+ us\n(.|\n)*"
      "\\[trace\\] .*aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize 0, [0-9.]+ us\n(.|\n)*"
      "\\[trace\\] .*aclnnUpsampleNearestExact2dBackward 0, [0-9.]+ us\n(.|\n)*"
      "aclrtSetDevice 107001, ");
}

// A host's pool that releases the caller late: after more time than a busy machine takes for the
// work.
struct LatePool {
  int num_threads() { return 2; }
  template <class Task>
  void run(int count, Task task) {
    ++entered;
    for (int i = 0; i < count; ++i) task(i);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  int entered = 0;
};

// Returns how many of ten equal calls entered the pool.
int EntriesOfTenCalls() {
  static LatePool pool;
  EXPECT_EQ(portacl::set_thread_pool(pool).code(), PORTACL_OK);
  const Tensor large(Element::kFloat, {1, 16, 128, 128});
  Tensor small(Element::kFloat, {1, 16, 64, 64});
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(portacl::upsample_nearest_exact_backward(View(large), View(small)).ok());
  }
  return pool.entered;
}

TEST(RuntimeTraceChild, SaysWhyCallsStayOnTheirCallers) {
  const std::string path = TracePath("threads");
  PORTACL_IN_CHILD((Environment{{"PORTACL_TRACE", path}}), {
    EXPECT_EQ(EntriesOfTenCalls(), 2);
    const json info = json::parse(portaclGetInfo());
    EXPECT_EQ(info.at("adapt_threads"), true);
    EXPECT_EQ(info.at("calls_shared"), 2);
    EXPECT_EQ(info.at("calls_alone"), 8);
    EXPECT_EQ(info.at("calls_lost"), 2);
  });
  const json trace = ReadTrace(path);
  CheckFormat(trace);
  EXPECT_EQ(CountByName(trace)["waiting for threads"], 1);
  std::remove(path.c_str());
}

TEST(RuntimeTraceChild, ThePolicyOnThreadsCanBeSwitchedOff) {
  const std::string path = TracePath("threads_off");
  PORTACL_IN_CHILD((Environment{{"PORTACL_TRACE", path}, {"PORTACL_ADAPT_THREADS", "0"}}), {
    EXPECT_EQ(EntriesOfTenCalls(), 10);
    EXPECT_EQ(json::parse(portaclGetInfo()).at("adapt_threads"), false);
  });
  EXPECT_EQ(CountByName(ReadTrace(path))["waiting for threads"], 0);
  std::remove(path.c_str());
}

TEST(RuntimeTraceChild, IsCompleteWhenTheProcessEndsWithoutFinalize) {
  const std::string path = TracePath("exit");
  PORTACL_IN_CHILD((Environment{{"PORTACL_TRACE", path}}), RunProgram());
  CheckProgramsTrace(path);
  std::remove(path.c_str());
}

// Buffered events are lost if nothing runs at the end, but the file stays valid.
TEST(RuntimeTraceChild, IsValidWhenTheProcessIsKilled) {
  const std::string path = TracePath("killed");
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_TRACE", path.c_str(), 1);
        for (int i = 0; i < 100; ++i) RunProgram();
        std::raise(SIGKILL);
      },
      testing::KilledBySignal(SIGKILL), "");
  const json trace = ReadTrace(path);
  CheckFormat(trace);
  EXPECT_GT(trace["traceEvents"].size(), 100u);
  std::remove(path.c_str());
}

TEST(RuntimeTraceChild, AnUnusableFileIsReportedAndChangesNothing) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_TRACE", "/no/such/folder/trace.json", 1);
        RunProgram();
        ExitWithResult();
      },
      testing::ExitedWithCode(0), "PORTACL_TRACE: cannot write /no/such/folder/trace.json");
}

// As on a full disk: the file may not grow beyond `bytes`, and a write beyond is an error.
void RunWithFilesUpTo(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (int i = 0; i < 100; ++i) RunProgram();
  ExitWithResult();
}

TEST(RuntimeTraceChild, AFullDiskIsReportedAndWhatWasWrittenStaysValid) {
  const std::string path = TracePath("full");
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_TRACE", path.c_str(), 1);
        RunWithFilesUpTo(rlim_t{50} << 10);
      },
      testing::ExitedWithCode(0), "PORTACL_TRACE: writing .* failed: .*; the trace ends here");
  const json trace = ReadTrace(path);
  CheckFormat(trace);
  EXPECT_GT(trace["traceEvents"].size(), 10u);
  std::remove(path.c_str());
}

TEST(RuntimeTraceChild, ADeviceThatTakesNothingIsReported) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_TRACE", "/dev/full", 1);
        RunProgram();
        ExitWithResult();
      },
      testing::ExitedWithCode(0), "writing /dev/full failed: .*; the trace is lost");
}

}  // namespace
}  // namespace portacl_test
