// The counters of live objects, and that others can add theirs.
#include "runtime/leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/context.h"
#include "runtime/memory.h"

namespace portacl::runtime {
namespace {

TEST(Leaks, RegisteredKindsAreInTheReport) {
  static size_t live = 0;
  RegisterLeakCounter("widgets", [] { return LeakCount{live, live * 10}; });
  RegisterLeakCounter("widgets", [] { return LeakCount{99, 99}; });
  EXPECT_THAT(DescribeLeaks(), testing::Not(testing::HasSubstr("widgets")));
  live = 3;
  EXPECT_THAT(DescribeLeaks(), testing::HasSubstr("3 widgets (30 bytes)"));
  live = 1;
  EXPECT_THAT(DescribeLeaks(), testing::HasSubstr("1 widget (10 bytes)"));
  live = 0;
}

TEST(Leaks, MemoryAndStreamsAreCounted) {
  ASSERT_TRUE(SetDevice(0).ok());
  const MemoryUse before = LeakedDeviceMemory();
  void* memory = nullptr;
  void* stream = nullptr;
  ASSERT_TRUE(Malloc(4000, 0, &memory).ok());
  ASSERT_TRUE(CreateStream(&stream).ok());
  EXPECT_EQ(LeakedDeviceMemory().count, before.count + 1);
  EXPECT_EQ(LeakedDeviceMemory().bytes, before.bytes + 4000);
  EXPECT_THAT(DescribeLeaks(), testing::AllOf(testing::HasSubstr("device allocation"),
                                              testing::HasSubstr("stream")));
  ASSERT_TRUE(Free(memory).ok());
  ASSERT_TRUE(DestroyStream(stream, false).ok());
  EXPECT_EQ(LeakedDeviceMemory().bytes, before.bytes);
}

}  // namespace
}  // namespace portacl::runtime
