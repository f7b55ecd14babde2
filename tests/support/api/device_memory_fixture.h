// A fixture with a stream and a little device memory.
#ifndef PORTACL_TESTS_SUPPORT_API_DEVICE_MEMORY_FIXTURE_H_
#define PORTACL_TESTS_SUPPORT_API_DEVICE_MEMORY_FIXTURE_H_

#include <cstddef>

#include "support/api/runtime_fixture.h"

namespace portacl_test {

class DeviceMemoryTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    ASSERT_EQ(aclrtMalloc(&device_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemset(device_, kBytes, 0, kBytes), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(device_), ACL_SUCCESS);
    RuntimeTest::TearDown();
  }
  char* At(size_t offset) const { return static_cast<char*>(device_) + offset; }

  static constexpr size_t kBytes = 256;
  void* device_ = nullptr;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_DEVICE_MEMORY_FIXTURE_H_
