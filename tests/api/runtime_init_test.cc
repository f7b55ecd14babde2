// aclInit and aclFinalize, and what acl_base.h offers: float16, data types, buffers, descriptions.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "aclnn/aclnn_base.h"
#include "support/api/child_process.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : path_(testing::TempDir() + "/portacl_config_" + std::to_string(getpid()) + ".json") {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::remove(path_.c_str()); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

void CheckInitAndFinalize() {
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE, "aclInit: called a second time");
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: called a second time");
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS) << "a program may begin again";
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(RuntimeInitChild, RepeatedCallsAreErrors) { PORTACL_IN_CHILD({}, CheckInitAndFinalize()); }

void CheckCountedEnd() {
  uint64_t left = 9;
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclFinalizeReference(&left), ACL_SUCCESS);
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(aclFinalizeReference(nullptr), ACL_ERROR_REPEAT_FINALIZE);
}

TEST(RuntimeInitChild, ACountedEndIsAnEnd) { PORTACL_IN_CHILD({}, CheckCountedEnd()); }

void CheckWithoutInit() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(RuntimeInitChild, AMissingInitIsTolerated) { PORTACL_IN_CHILD({}, CheckWithoutInit()); }

void CheckGoodConfig(const std::string& text) {
  const ConfigFile file(text);
  EXPECT_EQ(aclInit(file.path()), ACL_SUCCESS) << text;
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

void CheckGoodConfigs() {
  CheckGoodConfig("{}");
  CheckGoodConfig(R"({"dump": {"dump_path": "/tmp", "dump_mode": "all"}, "profiler": {}})");
  EXPECT_EQ(aclInit(""), ACL_SUCCESS);
}

TEST(RuntimeInitChild, ConfigFilesAreAccepted) { PORTACL_IN_CHILD({}, CheckGoodConfigs()); }

void CheckBadConfig(const std::string& text, aclError code, const std::string& part) {
  const ConfigFile file(text);
  EXPECT_ACL_ERROR(aclInit(file.path()), code, part);
}

void CheckBadConfigs() {
  CheckBadConfig("", ACL_ERROR_PARSE_FILE, "is not JSON");
  CheckBadConfig("{\"dump\": ", ACL_ERROR_PARSE_FILE, "is not JSON");
  CheckBadConfig("[1, 2]", ACL_ERROR_PARSE_FILE, "holds a JSON array");
  CheckBadConfig(std::string(100000, '['), ACL_ERROR_PARSE_FILE, "nested too deeply");
  CheckBadConfig(std::string("{\"a\": \"\xff\"}"), ACL_ERROR_PARSE_FILE, "is not JSON");
  CheckBadConfig("{}" + std::string(11 << 20, ' '), ACL_ERROR_INVALID_FILE_SIZE, "at most");
  // Said to have 0 bytes, and holds half a terabyte.
  if (std::filesystem::exists("/proc/self/pagemap")) {
    EXPECT_ACL_ERROR(aclInit("/proc/self/pagemap"), ACL_ERROR_INVALID_FILE_SIZE, "at most");
  }
  EXPECT_ACL_ERROR(aclInit("/no/such/file.json"), ACL_ERROR_INVALID_FILE, "/no/such/file.json");
  EXPECT_ACL_ERROR(aclInit("/"), ACL_ERROR_INVALID_FILE, "is no file");
  const std::string fifo = testing::TempDir() + "portacl-fifo-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);  // opening it would wait for a writer
  EXPECT_ACL_ERROR(aclInit(fifo.c_str()), ACL_ERROR_INVALID_FILE, "is no file");
  unlink(fifo.c_str());
  EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS) << "a refused aclInit may be repeated";
}

TEST(RuntimeInitChild, BadConfigFilesAreRefused) { PORTACL_IN_CHILD({}, CheckBadConfigs()); }

TEST(RuntimeInit, AclnnInitChecksItsFileAndMayBeRepeated) {
  const ConfigFile file("{}");
  EXPECT_EQ(aclnnInit(nullptr), ACLNN_SUCCESS);
  EXPECT_EQ(aclnnInit(file.path()), ACLNN_SUCCESS);
  EXPECT_ACL_ERROR(aclnnInit("/no/such/file.json"), ACLNN_ERR_PARAM_INVALID,
                   "aclnnInit: configPath");
  EXPECT_EQ(aclnnFinalize(), ACLNN_SUCCESS);
  EXPECT_EQ(aclnnFinalize(), ACLNN_SUCCESS);
}

TEST(RuntimeInit, VersionHasThreeNumbers) {
  int32_t major = -1;
  int32_t minor = -1;
  int32_t patch = -1;
  ASSERT_EQ(aclrtGetVersion(&major, &minor, &patch), ACL_SUCCESS);
  EXPECT_GE(major, 0);
  EXPECT_GE(minor, 0);
  EXPECT_GE(patch, 0);
  EXPECT_ACL_ERROR(aclrtGetVersion(nullptr, &minor, &patch), ACL_ERROR_RT_PARAM_INVALID, "null");
}

TEST(RuntimeInit, MessagesArePerThreadAndTakenByReading) {
  EXPECT_EQ(aclrtSetDevice(-5), ACL_ERROR_RT_INVALID_DEVICEID);
  std::thread([] { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); }).join();
  EXPECT_THAT(NewestMessage(), testing::StartsWith("aclrtSetDevice: deviceId is -5"));
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST(RuntimeBase, Float16ConvertsBothWays) {
  EXPECT_EQ(aclFloat16ToFloat(0x3C00), 1.0f);
  EXPECT_EQ(aclFloat16ToFloat(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(aclFloatToFloat16(65504.0f), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(65520.0f), 0x7C00);
  EXPECT_EQ(aclFloatToFloat16(1.0f + std::ldexp(1.0f, -11)), 0x3C00) << "ties go to even";
  EXPECT_TRUE(
      std::isnan(aclFloat16ToFloat(aclFloatToFloat16(std::numeric_limits<float>::quiet_NaN()))));
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = aclFloat16ToFloat(static_cast<aclFloat16>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(aclFloatToFloat16(value), bits);
  }
}

TEST(RuntimeBase, DataTypesHaveSizes) {
  const std::pair<aclDataType, size_t> sizes[] = {
      {ACL_FLOAT, 4},  {ACL_FLOAT16, 2}, {ACL_INT8, 1},   {ACL_INT32, 4},     {ACL_UINT8, 1},
      {ACL_INT16, 2},  {ACL_UINT16, 2},  {ACL_UINT32, 4}, {ACL_INT64, 8},     {ACL_UINT64, 8},
      {ACL_DOUBLE, 8}, {ACL_BOOL, 1},    {ACL_STRING, 0}, {ACL_COMPLEX64, 8}, {ACL_COMPLEX128, 16},
      {ACL_BF16, 2},   {ACL_INT4, 0},    {ACL_UINT1, 0},  {ACL_COMPLEX32, 4}, {ACL_DT_UNDEFINED, 0},
  };
  for (const auto& [dtype, size] : sizes) EXPECT_EQ(aclDataTypeSize(dtype), size) << dtype;
  EXPECT_EQ(aclDataTypeSize(static_cast<aclDataType>(99)), 0u);
}

TEST(RuntimeBase, DataBuffersKeepAddressAndSize) {
  int data = 0;
  int other = 0;
  aclDataBuffer* const buffer = aclCreateDataBuffer(&data, size_t{5} << 32 | 7);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), &data);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 7u) << "cut to 32 bits";
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), size_t{5} << 32 | 7);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, &other, 4), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), &other);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 4u);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  const auto* const foreign = reinterpret_cast<const aclDataBuffer*>(&data);
  for (const aclDataBuffer* bad : {static_cast<const aclDataBuffer*>(buffer), foreign}) {
    EXPECT_EQ(aclGetDataBufferAddr(bad), nullptr);
    EXPECT_EQ(aclGetDataBufferSizeV2(bad), 0u);
    EXPECT_ACL_ERROR(aclDestroyDataBuffer(bad), ACL_ERROR_INVALID_PARAM, "no live data buffer");
    EXPECT_EQ(aclUpdateDataBuffer(const_cast<aclDataBuffer*>(bad), &data, 4),
              ACL_ERROR_INVALID_PARAM);
  }
  EXPECT_EQ(aclDestroyDataBuffer(nullptr), ACL_SUCCESS);
}

TEST(RuntimeBase, TensorDescsKeepWhatTheyAreGiven) {
  const int64_t dims[] = {2, 3, 4, 5};
  aclTensorDesc* const desc = aclCreateTensorDesc(ACL_FLOAT16, 4, dims, ACL_FORMAT_NCHW);
  ASSERT_NE(desc, nullptr);
  EXPECT_EQ(aclGetTensorDescType(desc), ACL_FLOAT16);
  EXPECT_EQ(aclGetTensorDescFormat(desc), ACL_FORMAT_NCHW);
  EXPECT_EQ(aclGetTensorDescSize(desc), 240u);
  EXPECT_EQ(aclGetTensorDescElementCount(desc), 120u);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 4u);
  EXPECT_EQ(aclGetTensorDescDim(desc, 3), 5);
  EXPECT_EQ(aclGetTensorDescDim(desc, 4), -1);
  int64_t dim = 0;
  EXPECT_EQ(aclGetTensorDescDimV2(desc, 1, &dim), ACL_SUCCESS);
  EXPECT_EQ(dim, 3);
  EXPECT_ACL_ERROR(aclGetTensorDescDimV2(desc, 4, &dim), ACL_ERROR_INVALID_PARAM, "index is 4");
  EXPECT_EQ(aclGetTensorDescDimV2(desc, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_STREQ(aclGetTensorDescName(desc), "");
  aclSetTensorDescName(desc, "grad_output");
  aclSetTensorDescName(desc, nullptr);
  EXPECT_STREQ(aclGetTensorDescName(desc), "grad_output");
  aclDestroyTensorDesc(desc);

  EXPECT_EQ(aclGetTensorDescType(desc), ACL_DT_UNDEFINED) << "a destroyed one";
  EXPECT_EQ(aclGetTensorDescFormat(nullptr), ACL_FORMAT_UNDEFINED);
  EXPECT_EQ(aclGetTensorDescSize(nullptr), 0u);
  EXPECT_EQ(aclGetTensorDescElementCount(desc), 0u);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 0u);
  EXPECT_EQ(aclGetTensorDescDim(desc, 0), -1);
  EXPECT_STREQ(aclGetTensorDescName(desc), "");
  aclDestroyTensorDesc(desc);
  aclDestroyTensorDesc(nullptr);
}

TEST(RuntimeBase, TensorDescsOfOddShapes) {
  aclTensorDesc* const scalar = aclCreateTensorDesc(ACL_DOUBLE, 0, nullptr, ACL_FORMAT_ND);
  ASSERT_NE(scalar, nullptr);
  EXPECT_EQ(aclGetTensorDescElementCount(scalar), 1u);
  EXPECT_EQ(aclGetTensorDescSize(scalar), 8u);
  aclDestroyTensorDesc(scalar);
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  aclTensorDesc* const absurd = aclCreateTensorDesc(ACL_FLOAT, 2, huge, ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescSize(absurd), 0u) << "more than an address space";
  aclDestroyTensorDesc(absurd);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, -1, huge, ACL_FORMAT_ND), nullptr);
  EXPECT_THAT(NewestMessage(), testing::HasSubstr("numDims is -1"));
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 2, nullptr, ACL_FORMAT_ND), nullptr);
}

[[noreturn]] void LogAndExit() {
  ACL_APP_LOG(ACL_WARNING, "%d images of %s", 3, "cats");
  ACL_APP_LOG(ACL_INFO, "not shown");
  aclAppLog(ACL_ERROR, nullptr, nullptr, 1, nullptr);
  std::exit(0);
}

TEST(RuntimeBaseDeathTest, TheApplicationsLogGoesToStderr) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto text = testing::AllOf(testing::ContainsRegex("runtime_init_test.cc:[0-9]+ LogAndExit"),
                                   testing::HasSubstr("3 images of cats"),
                                   testing::Not(testing::HasSubstr("not shown")));
  EXPECT_EXIT(
      {
        setenv("PORTACL_LOG", "warn", 1);
        LogAndExit();
      },
      testing::ExitedWithCode(0), text);
  EXPECT_EXIT(
      {
        setenv("ASCEND_GLOBAL_LOG_LEVEL", "2", 1);
        LogAndExit();
      },
      testing::ExitedWithCode(0), text);
}

// The parent sees stderr only: what went to stdout is told there.
void LogToStdoutAndExit(const char* level) {
  setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
  if (level != nullptr) setenv("ASCEND_GLOBAL_LOG_LEVEL", level, 1);
  testing::internal::CaptureStdout();
  ACL_APP_LOG(ACL_WARNING, "a warning");
  ACL_APP_LOG(ACL_ERROR, "an error");
  std::fprintf(stderr, "stdout: %s", testing::internal::GetCapturedStdout().c_str());
  std::exit(0);
}

TEST(RuntimeBaseDeathTest, TheLogGoesToStdoutWhereTheVendorsWould) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto both = testing::ContainsRegex("stdout: .*a warning(.|\n)*an error");
  const auto error = testing::AllOf(testing::ContainsRegex("stdout: .*an error"),
                                    testing::Not(testing::HasSubstr("a warning")));
  EXPECT_EXIT(LogToStdoutAndExit("2"), testing::ExitedWithCode(0), both);
  EXPECT_EXIT(LogToStdoutAndExit(nullptr), testing::ExitedWithCode(0), error);
  EXPECT_EXIT(LogToStdoutAndExit("4"), testing::ExitedWithCode(0), testing::Not(both));
}

}  // namespace
}  // namespace portacl_test
