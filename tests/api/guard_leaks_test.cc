// Guard mode: what a program has not given back is reported when it ends.
#include <gtest/gtest.h>

#include <cstdlib>

#include "aclnn/acl_meta.h"
#include "support/api/acl_fixture.h"
#include "support/api/guarded_program.h"
#include "support/api/without_libdw.h"

namespace portacl_test {
namespace {

// How `program` ends and what it says, with this value of PORTACL_GUARD.
void ExpectEnd(const char* guard, void (*program)(), int status, const char* said) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_GUARD", guard, 1);
        program();
      },
      testing::ExitedWithCode(status), said);
}

[[noreturn]] void Leak() {
  aclInit(nullptr);
  const GuardedProgram program;
  aclrtEvent event = nullptr;
  aclrtCreateEvent(&event);
  void* more = nullptr;
  aclrtMalloc(&more, 24, ACL_MEM_MALLOC_HUGE_FIRST);
  aclCreateDataBuffer(more, 24);
  const int64_t values[] = {2, 2};
  aclCreateIntArray(values, 2);
  TensorArgs{{2, 2}, ACL_FLOAT, ACL_FORMAT_ND, more}.Make().release();
  TensorArgs{{2, 3}, ACL_FLOAT, ACL_FORMAT_ND, more}.Make().release();
  const TensorArgs from{{1, 1, 2, 2}, ACL_FLOAT, ACL_FORMAT_ND, program.device};
  const TensorArgs to{{1, 1, 1, 1}, ACL_FLOAT, ACL_FORMAT_ND, more};
  NearestCall::For(from, to).Plan();
  aclFinalize();
  std::exit(0);
}

TEST(GuardLeaksDeathTest, FinalizeReportsLeaks) {
  ExpectEnd(
      "1", Leak, 0,
      "not destroyed at aclFinalize: 2 device allocations \\(1024 bytes\\), 1 host allocation "
      "\\(1000 bytes\\), 1 stream, 1 event, 2 tensors, 1 int array, 1 executor, 1 data buffer\n"
      "(.|\n)*24 bytes of device memory at 0x[0-9a-f]+, allocated at:");
}

[[noreturn]] void LeakIntoReset() {
  aclInit(nullptr);
  const GuardedProgram program;
  aclrtFreeHost(program.host);
  aclrtResetDevice(0);
  aclFinalize();
  std::exit(0);
}

TEST(GuardLeaksDeathTest, MemoryThatAResetFreedStillCountsAsLeaked) {
  const WithoutLibdw without;
  ExpectEnd("1", LeakIntoReset, 0,
            "aclFinalize: 1 device allocation \\(1000 bytes\\)\n"
            "  1000 bytes of device memory at 0x[0-9a-f]+ \\(freed by a reset of the device\\), "
            "allocated at:\n.*portacl_api_test(.|\n)*addr2line -Cfpie [^ ]*portacl_api_test 0x");
}

[[noreturn]] void LeakWithoutFinalize() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  void* memory = nullptr;
  volatile int left = 3;  // volatile: the compiler keeps the loop, so one place calls
  while (left > 0) {
    aclrtMalloc(&memory, 500, ACL_MEM_MALLOC_HUGE_FIRST);
    left = left - 1;
  }
  std::exit(0);
}

TEST(GuardLeaksDeathTest, LeaksAreReportedWithoutFinalize) {
  ExpectEnd("1", LeakWithoutFinalize, 0,
            "not destroyed at the end of the process, which did not call aclFinalize: 3 device "
            "allocations \\(1500 bytes\\)");
}

TEST(GuardLeaksDeathTest, LeaksOfOnePlaceAreOneLine) {
  const WithoutLibdw without;
  ExpectEnd("1", LeakWithoutFinalize, 0,
            "\n  3 allocations, 1500 bytes of device memory, allocated at:\n.*portacl_api_test");
}

TEST(GuardLeaksDeathTest, AnExitStatusOnRequest) {
  ExpectEnd("exit", LeakWithoutFinalize, 23, "3 allocations");
  ExpectEnd("exit", Leak, 23, "not destroyed at aclFinalize");
}

}  // namespace
}  // namespace portacl_test
