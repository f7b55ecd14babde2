// Numbers in environment variables.
#include "base/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace portacl::base::settings {
namespace {

constexpr const char* kName = "PORTACL_TEST_VARIABLE";

class SettingsTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv(kName); }
  static void Set(const char* value) { setenv(kName, value, 1); }
};

TEST_F(SettingsTest, IntegersInRangeCount) {
  EXPECT_EQ(ReadInteger(kName, 1, 64, 7), 7);
  Set("12");
  EXPECT_EQ(ReadInteger(kName, 1, 64, 7), 12);
  for (const char* bad : {"", "0", "65", "-1", "12 ", "0x10", "1e1", "99999999999999999999"}) {
    Set(bad);
    EXPECT_EQ(ReadInteger(kName, 1, 64, 7), 7) << bad;
  }
}

TEST_F(SettingsTest, BytesHaveUnits) {
  EXPECT_EQ(ReadBytes(kName, 5), 5u);
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
    EXPECT_EQ(ReadBytes(kName, 5), bytes) << text;
  }
}

TEST_F(SettingsTest, FlagsAreOne) {
  EXPECT_FALSE(ReadFlag(kName));
  Set("1");
  EXPECT_TRUE(ReadFlag(kName));
  Set("true");
  EXPECT_FALSE(ReadFlag(kName));
}

TEST_F(SettingsTest, WhatIsNoValueIsNamedOnStderr) {
  const auto said = [](auto read) {
    testing::internal::CaptureStderr();
    read();
    return testing::internal::GetCapturedStderr();
  };
  const auto integer = [] { ReadInteger(kName, 1, 64, 7); };
  const auto bytes = [] { ReadBytes(kName, 5); };
  const auto flag = [] { ReadFlag(kName); };
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

TEST_F(SettingsTest, WhatIsNoValueIsNamedOnceAProcess) {
  Set("many");
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { ReadInteger(kName, 1, 8, 1); });
  for (std::thread& thread : threads) thread.join();
  ReadInteger(kName, 1, 8, 1);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "portacl: PORTACL_TEST_VARIABLE is 'many', but must be an integer from 1 to 8: ignored\n");
  Set("more");  // another value is another mistake
  testing::internal::CaptureStderr();
  ReadInteger(kName, 1, 8, 1);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace portacl::base::settings
