// Programs for lazy mode, PORTACL_LAZY=1: streams, events and memory, and a process for each.
#ifndef PORTACL_TESTS_SUPPORT_API_LAZY_PROGRAM_H_
#define PORTACL_TESTS_SUPPORT_API_LAZY_PROGRAM_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <string>

#include "support/api/acl_fixture.h"

namespace portacl_test {

inline constexpr size_t kBytes = 4096;

// Streams and memory of a program. Results are bytes of one value.
struct Lazy {
  Lazy() {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (aclrtStream* stream : {&a, &b, &c}) EXPECT_EQ(aclrtCreateStream(stream), ACL_SUCCESS);
    for (aclrtEvent* made : {&event, &other}) EXPECT_EQ(aclrtCreateEvent(made), ACL_SUCCESS);
    for (char** memory : {&x, &y, &z}) {
      void* address = nullptr;
      EXPECT_EQ(aclrtMalloc(&address, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      *memory = static_cast<char*>(address);
      EXPECT_EQ(aclrtMemset(address, kBytes, 1, kBytes), ACL_SUCCESS);
    }
    void* address = nullptr;
    EXPECT_EQ(aclrtMallocHost(&address, kBytes), ACL_SUCCESS);
    host = static_cast<unsigned char*>(address);
    host[0] = 1;
  }

  void Set(char* to, int value, aclrtStream stream, size_t bytes = kBytes) const {
    EXPECT_EQ(aclrtMemsetAsync(to, bytes, value, bytes, stream), ACL_SUCCESS);
  }
  void Copy(char* to, const char* from, aclrtStream stream) const {
    EXPECT_EQ(aclrtMemcpyAsync(to, kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
              ACL_SUCCESS);
  }
  void ToHost(const char* from, aclrtStream stream) const {
    EXPECT_EQ(aclrtMemcpyAsync(host, kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream),
              ACL_SUCCESS);
  }
  void Record(aclrtStream stream) const { EXPECT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS); }
  void Wait(aclrtStream stream) const {
    EXPECT_EQ(aclrtStreamWaitEvent(stream, event), ACL_SUCCESS);
  }
  void Sync(aclrtStream stream) const { EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS); }
  // The value at an address, by a copy that waits for nothing.
  int Value(const char* from) const {
    unsigned char value = 0;
    EXPECT_EQ(aclrtMemcpy(&value, 1, from, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return value;
  }
  // outputs 1 x 1 x 4 x 4 floats from a quarter of them, or the reverse.
  void Shrink(char* from, char* to, aclrtStream stream) const {
    const NearestCall call = NearestCall::For({{1, 1, 4, 4}, ACL_FLOAT, ACL_FORMAT_ND, from},
                                              {{1, 1, 2, 2}, ACL_FLOAT, ACL_FORMAT_ND, to});
    const Planned planned = call.Plan();
    EXPECT_EQ(aclnnUpsampleNearestExact2dBackward(nullptr, planned.workspace_size, planned.executor,
                                                  stream),
              0);
  }

  aclrtStream a = nullptr, b = nullptr, c = nullptr;
  aclrtEvent event = nullptr, other = nullptr;
  char *x = nullptr, *y = nullptr, *z = nullptr;
  unsigned char* host = nullptr;
};

struct Program {
  const char* name;
  std::function<void(Lazy&)> run;
  const char* report = "";  // a regular expression; "": the results alone are wrong
};
inline std::ostream& operator<<(std::ostream& out, const Program& program) {
  return out << program.name;
}

inline std::string NameOfProgram(const testing::TestParamInfo<Program>& info) {
  return info.param.name;
}

}  // namespace portacl_test

// Runs a program in lazy mode, with guard mode "0" or "1", in a process of its own.
#define EXPECT_LAZY(program, guard, message)              \
  do {                                                    \
    testing::FLAGS_gtest_death_test_style = "threadsafe"; \
    EXPECT_EXIT(                                          \
        {                                                 \
          setenv("PORTACL_LAZY", "1", 1);                 \
          setenv("PORTACL_GUARD", guard, 1);              \
          portacl_test::Lazy world;                       \
          (program).run(world);                           \
          std::fputs("the end\n", stderr);                \
          std::_Exit(testing::Test::HasFailure());        \
        },                                                \
        testing::ExitedWithCode(0), message);             \
  } while (false)

#endif  // PORTACL_TESTS_SUPPORT_API_LAZY_PROGRAM_H_
