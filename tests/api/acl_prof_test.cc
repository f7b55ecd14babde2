// Profiling: marks and ranges of the program appear on the timeline of PORTACL_TRACE;
// configurations are accepted; and each mistake refused.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "acl/acl_prof.h"
#include "support/api/child_process.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

using nlohmann::json;

void* Stamp(const std::string& text) {
  void* const stamp = aclprofCreateStamp();
  EXPECT_EQ(aclprofSetStampTraceMessage(stamp, text.data(), static_cast<uint32_t>(text.size())), 0);
  return stamp;
}

void RunMarks() {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  void* const outer = Stamp("outer");
  void* const inner = Stamp("inner");
  uint32_t range = 0;
  EXPECT_EQ(aclprofPush(outer), ACL_SUCCESS);
  EXPECT_EQ(aclprofPush(inner), ACL_SUCCESS);
  EXPECT_EQ(aclprofRangeStart(outer, &range), ACL_SUCCESS);
  EXPECT_EQ(aclprofMark(inner), ACL_SUCCESS);
  EXPECT_EQ(aclprofPop(), ACL_SUCCESS);
  EXPECT_EQ(aclprofPop(), ACL_SUCCESS);
  EXPECT_EQ(aclprofRangeStop(range), ACL_SUCCESS);
  EXPECT_EQ(aclprofMarkEx("on a stream", 11, stream), ACL_SUCCESS);
  aclprofStepInfo* const step = aclprofCreateStepInfo();
  EXPECT_EQ(aclprofGetStepTimestamp(step, ACL_STEP_START, stream), ACL_SUCCESS);
  EXPECT_EQ(aclprofGetStepTimestamp(step, ACL_STEP_END, stream), ACL_SUCCESS);
  aclprofDestroyStepInfo(step);
  aclprofDestroyStamp(outer);
  aclprofDestroyStamp(inner);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(AclProfChild, MarksAndRangesAreOnTheTimeline) {
  const std::string path = PathForChildren("marks.json");
  PORTACL_IN_CHILD((Environment{{"PORTACL_TRACE", path}}), RunMarks());
  std::ifstream file(path);
  const json trace = json::parse(file, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(trace.is_discarded());
  std::multiset<std::pair<std::string, std::string>> seen;
  for (const json& event : trace["traceEvents"]) {
    if (event.value("cat", "") != "user") continue;
    seen.emplace(event["name"].get<std::string>(), event["args"]["detail"].get<std::string>());
  }
  const std::multiset<std::pair<std::string, std::string>> expected{
      {"range", "outer"},      {"range", "inner"},       {"range", "outer"},    {"mark", "inner"},
      {"mark", "on a stream"}, {"mark", "step 1 start"}, {"mark", "step 1 end"}};
  EXPECT_EQ(seen, expected);
  std::remove(path.c_str());
}

class AclProfErrors : public RuntimeTest {};

TEST_F(AclProfErrors, ConfigurationsAreAccepted) {
  EXPECT_EQ(aclprofInit("/tmp", 4), ACL_SUCCESS);
  uint32_t device = 0;
  aclprofConfig* const config = aclprofCreateConfig(&device, 1, ACL_AICORE_PIPE_UTILIZATION,
                                                    nullptr, ACL_PROF_ACL_API | ACL_PROF_TASK_TIME);
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "200MB", 5), ACL_SUCCESS);
  EXPECT_EQ(aclprofStart(config), ACL_SUCCESS);
  EXPECT_EQ(aclprofStop(config), ACL_SUCCESS);
  EXPECT_EQ(aclprofDestroyConfig(config), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclprofStart(config), ACL_ERROR_INVALID_PARAM, "no live configuration");
  EXPECT_ACL_ERROR(aclprofDestroyConfig(config), ACL_ERROR_INVALID_PARAM, "no live configuration");
  EXPECT_EQ(aclprofFinalize(), ACL_SUCCESS);
  device = 99;
  EXPECT_EQ(aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, 0), nullptr);
  EXPECT_THAT(NewestMessage(), testing::HasSubstr("99"));
}

TEST_F(AclProfErrors, WrongCallsAreErrors) {
  uint32_t range = 0;
  int foreign = 0;
  EXPECT_ACL_ERROR(aclprofPop(), ACL_ERROR_INVALID_PARAM, "no open range");
  EXPECT_ACL_ERROR(aclprofRangeStop(4000000000), ACL_ERROR_INVALID_PARAM, "no open range");
  EXPECT_ACL_ERROR(aclprofRangeStart(&foreign, &range), ACL_ERROR_INVALID_PARAM, "no live stamp");
  EXPECT_ACL_ERROR(aclprofMark(nullptr), ACL_ERROR_INVALID_PARAM, "no live stamp");
  EXPECT_ACL_ERROR(aclprofPush(nullptr), ACL_ERROR_INVALID_PARAM, "no live stamp");
  EXPECT_ACL_ERROR(aclprofMarkEx("", 0, stream_), ACL_ERROR_INVALID_PARAM, "has 0 bytes");
  EXPECT_ACL_ERROR(aclprofMarkEx(nullptr, 1, stream_), ACL_ERROR_INVALID_PARAM, "msg is null");
  EXPECT_ACL_ERROR(aclprofInit(nullptr, 1), ACL_ERROR_INVALID_PARAM, "profilerResultPath is null");
  EXPECT_ACL_ERROR(aclprofSetConfig(ACL_PROF_ARGS_MAX, "1", 1), ACL_ERROR_INVALID_PARAM,
                   "configType is 15");
  void* const stamp = aclprofCreateStamp();
  const std::string text(2000, 'x');
  EXPECT_ACL_ERROR(aclprofSetStampTraceMessage(stamp, text.data(), 2000), ACL_ERROR_INVALID_PARAM,
                   "2000 bytes");
  aclprofDestroyStamp(stamp);
  EXPECT_ACL_ERROR(aclprofMark(stamp), ACL_ERROR_INVALID_PARAM, "no live stamp");
  aclprofDestroyStamp(stamp);
  EXPECT_THAT(NewestMessage(), testing::HasSubstr("no live stamp"));
  aclprofStepInfo* const step = aclprofCreateStepInfo();
  EXPECT_ACL_ERROR(aclprofGetStepTimestamp(step, static_cast<aclprofStepTag>(2), stream_),
                   ACL_ERROR_INVALID_PARAM, "tag is 2");
  aclprofDestroyStepInfo(step);
  EXPECT_ACL_ERROR(aclprofGetStepTimestamp(step, ACL_STEP_START, stream_), ACL_ERROR_INVALID_PARAM,
                   "no live step");
}

}  // namespace
}  // namespace portacl_test
