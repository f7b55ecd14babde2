// Guard mode: who is named in a report, and by whom it is printed.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/api/guarded_program.h"
#include "support/api/runtime_fixture.h"
#include "support/api/without_libdw.h"

namespace portacl_test {
namespace {

// A copy of a stream from pinned memory is no host's read, and says who launched it.
TEST(GuardReportDeathTest, WorkOnFreedMemoryIsNamed) {
  const WithoutLibdw without;
  EXPECT_GUARD_STOPS(
      {
        Blocker blocker;
        blocker.Launch(program.stream);
        aclrtMemcpyAsync(program.device, kSize, program.host, kSize, ACL_MEMCPY_HOST_TO_DEVICE,
                         program.stream);
        aclrtFreeHost(program.host);
        blocker.Release();
        aclrtSynchronizeStream(program.stream);
      },
      "copy on stream [0-9]+ reads src: .*of pinned host memory.*\n.*synchronise with the work"
      "(.|\n)*launched at:\n.*portacl_api_test");
}

// An operator whose output is freed before it runs.
TEST(GuardReportDeathTest, AnOperatorOnFreedMemoryIsNamed) {
  EXPECT_GUARD_STOPS(
      {
        void* small = nullptr;
        aclrtMalloc(&small, 4, ACL_MEM_MALLOC_HUGE_FIRST);
        const NearestCall call =
            NearestCall::For({{1, 1, 4, 4}, ACL_FLOAT, ACL_FORMAT_ND, program.device},
                             {{1, 1, 1, 1}, ACL_FLOAT, ACL_FORMAT_ND, small});
        const Planned planned = call.Plan();
        Blocker blocker;
        blocker.Launch(program.stream);
        aclnnUpsampleNearestExact2dBackward(nullptr, planned.workspace_size, planned.executor,
                                            program.stream);
        aclrtFree(program.device);
        blocker.Release();
        aclrtSynchronizeStream(program.stream);
      },
      "aclnnUpsampleNearestExact2dBackward on stream [0-9]+ reads gradOutput: (read|access) of "
      "device memory.*of a freed allocation of 1000 bytes(.|\n)*launched at:\n");
}

// Several threads stop at the same memory: one reports, and its report ends the process.
TEST(GuardReportDeathTest, OneThreadPrints) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "the sanitizer's handler reports before it ends the process, and others meanwhile";
#endif
  EXPECT_GUARD_STOPS(
      {
        std::atomic<int> ready{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) {
          threads.emplace_back([&] {
            ++ready;
            while (ready < 8) std::this_thread::yield();
            program.bytes()[0] = 1;
          });
        }
        for (std::thread& thread : threads) thread.join();
      },
      testing::AllOf(testing::HasSubstr("portacl guard: host"),
                     testing::Not(testing::ContainsRegex("portacl guard:(.|\n)*portacl guard:"))));
}

[[gnu::noinline]] void TouchesForTheReport(volatile char* address) {
  *address = 1;
  asm volatile("");  // no tail call: the caller's frame stays
}

// With libdw, stacks name no addresses, nothing inside the library and nothing below main().
TEST(GuardReportDeathTest, FunctionsAreNamedAndNothingElse) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime does not know the child that reads the lines";
#endif
  if (dlopen("libdw.so.1", RTLD_LAZY) == nullptr) GTEST_SKIP() << "no libdw";
  EXPECT_GUARD_STOPS(
      TouchesForTheReport(program.bytes()),
      testing::AllOf(testing::ContainsRegex("accessed at:\n    [^\n]*TouchesForTheReport[^\n]*\n"
                                            "(    .*\n)*    main[^\n]*\n  allocated at:\n"
                                            "    aclrtMalloc[^\n]*\n(    .*\n)*    main[^\n]*\n"
                                            "($|[A-Z=])"),  // a sanitizer's report
                     testing::Not(testing::ContainsRegex("addr2line|0x[0-9a-f]+\\]|portacl::"))));
}

}  // namespace
}  // namespace portacl_test
