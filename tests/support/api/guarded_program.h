// A program with memory for guard mode, PORTACL_GUARD=1, and a process for it.
#ifndef PORTACL_TESTS_SUPPORT_API_GUARDED_PROGRAM_H_
#define PORTACL_TESTS_SUPPORT_API_GUARDED_PROGRAM_H_

#include <gtest/gtest.h>

#include <cstdlib>

#include "support/api/acl_fixture.h"

namespace portacl_test {

inline constexpr size_t kSize = 1000;

// Runs `statement` in a process with guard mode on, which must stop at it with a message.
#define EXPECT_GUARD_STOPS(statement, message)            \
  do {                                                    \
    testing::FLAGS_gtest_death_test_style = "threadsafe"; \
    EXPECT_DEATH(                                         \
        {                                                 \
          setenv("PORTACL_GUARD", "1", 1);                \
          const portacl_test::GuardedProgram program;     \
          statement;                                      \
        },                                                \
        message);                                         \
  } while (false)

// A program with some device and pinned host memory.
struct GuardedProgram {
  GuardedProgram() {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtMalloc(&device, kSize, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMallocHost(&host, kSize), ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  }
  volatile char* bytes() const { return static_cast<volatile char*>(device); }
  volatile char* host_bytes() const { return static_cast<volatile char*>(host); }

  void* device = nullptr;
  void* host = nullptr;
  aclrtStream stream = nullptr;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_GUARDED_PROGRAM_H_
