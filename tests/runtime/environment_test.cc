// Numbers in environment variables.
#include "runtime/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace portacl::runtime {
namespace {

constexpr const char* kName = "PORTACL_TEST_VARIABLE";

class EnvironmentVariable : public testing::Test {
 protected:
  void TearDown() override { unsetenv(kName); }
  static void Set(const char* value) { setenv(kName, value, 1); }
};

TEST_F(EnvironmentVariable, IntegersInRangeCount) {
  EXPECT_EQ(EnvironmentInteger(kName, 1, 64, 7), 7);
  Set("12");
  EXPECT_EQ(EnvironmentInteger(kName, 1, 64, 7), 12);
  for (const char* bad : {"", "0", "65", "-1", "12 ", "0x10", "1e1", "99999999999999999999"}) {
    Set(bad);
    EXPECT_EQ(EnvironmentInteger(kName, 1, 64, 7), 7) << bad;
  }
}

TEST_F(EnvironmentVariable, BytesHaveUnits) {
  EXPECT_EQ(EnvironmentBytes(kName, 5), 5u);
  const std::pair<const char*, size_t> cases[] = {{"100", 100},
                                                  {"3K", 3072},
                                                  {"2M", size_t{2} << 20},
                                                  {"1G", size_t{1} << 30},
                                                  {"0", 0},
                                                  {"3k", 5},
                                                  {"G", 5},
                                                  {"-1", 5},
                                                  {"1GB", 5},
                                                  {"99999999999999G", 5}};
  for (const auto& [text, bytes] : cases) {
    Set(text);
    EXPECT_EQ(EnvironmentBytes(kName, 5), bytes) << text;
  }
}

TEST_F(EnvironmentVariable, FlagsAreOne) {
  EXPECT_FALSE(EnvironmentFlag(kName));
  Set("1");
  EXPECT_TRUE(EnvironmentFlag(kName));
  Set("true");
  EXPECT_FALSE(EnvironmentFlag(kName));
}

TEST_F(EnvironmentVariable, WhatIsNoValueIsNamedOnStderr) {
  const auto said = [](auto read) {
    testing::internal::CaptureStderr();
    read();
    return testing::internal::GetCapturedStderr();
  };
  const auto integer = [] { EnvironmentInteger(kName, 1, 64, 7); };
  const auto bytes = [] { EnvironmentBytes(kName, 5); };
  const auto flag = [] { EnvironmentFlag(kName); };
  EXPECT_EQ(said(integer) + said(bytes) + said(flag), "");
  Set("");
  EXPECT_EQ(said(integer) + said(bytes) + said(flag), "");
  Set("yes");
  EXPECT_EQ(said(integer),
            "portacl: PORTACL_TEST_VARIABLE is 'yes', but must be an integer from 1 to 64: "
            "ignored\n");
  EXPECT_EQ(said(bytes),
            "portacl: PORTACL_TEST_VARIABLE is 'yes', but must be a number of bytes such as 64K, "
            "256M or 2G: ignored\n");
  EXPECT_EQ(said(flag), "portacl: PORTACL_TEST_VARIABLE is 'yes', but must be 0 or 1: ignored\n");
  Set("0");
  EXPECT_EQ(said(flag), "");
}

TEST_F(EnvironmentVariable, WhatIsNoValueIsNamedOnceAProcess) {
  Set("many");
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { EnvironmentInteger(kName, 1, 8, 1); });
  for (std::thread& thread : threads) thread.join();
  EnvironmentInteger(kName, 1, 8, 1);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "portacl: PORTACL_TEST_VARIABLE is 'many', but must be an integer from 1 to 8: ignored\n");
  Set("more");  // another value is another mistake
  testing::internal::CaptureStderr();
  EnvironmentInteger(kName, 1, 8, 1);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace portacl::runtime
