// Guard mode: calls that are refused are named, for programs that look at no code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "support/api/acl_fixture.h"
#include "support/api/guarded_program.h"

namespace portacl_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::Not;

// The program goes on, and says what the calls were refused for.
#define EXPECT_GUARD_SAYS(statement, message)             \
  do {                                                    \
    testing::FLAGS_gtest_death_test_style = "threadsafe"; \
    EXPECT_EXIT(                                          \
        {                                                 \
          setenv("PORTACL_GUARD", "1", 1);                \
          const GuardedProgram program;                   \
          statement;                                      \
          std::_Exit(0);                                  \
        },                                                \
        testing::ExitedWithCode(0), message);             \
  } while (false)

TEST(GuardRefusalsDeathTest, ADoubleFree) {
  EXPECT_GUARD_SAYS(
      {
        aclrtFree(program.device);
        aclrtFree(program.device);
      },
      "portacl guard: aclrtFree is refused with [0-9]+: 0x[0-9a-f]+ is no live "
      "allocation: already freed.*\n  called at:\n(.|\n)*  allocated at:\n(.|\n)*aclrtMalloc"
      "(.|\n)*  freed at:\n(.|\n)*aclrtFree");
}

TEST(GuardRefusalsDeathTest, FreedMemoryAsTensorData) {
  EXPECT_GUARD_SAYS(
      {
        void* small = nullptr;
        aclrtMalloc(&small, 4, ACL_MEM_MALLOC_HUGE_FIRST);
        const NearestCall call =
            NearestCall::For({{1, 1, 4, 4}, ACL_FLOAT, ACL_FORMAT_ND, program.device},
                             {{1, 1, 1, 1}, ACL_FLOAT, ACL_FORMAT_ND, small});
        const Planned planned = call.Plan();
        aclrtFree(program.device);
        aclnnUpsampleNearestExact2dBackward(nullptr, planned.workspace_size, planned.executor,
                                            program.stream);
      },
      "portacl guard: aclnnUpsampleNearestExact2dBackward is refused with [0-9]+: .*gradOutput is "
      "0x[0-9a-f]+, which is freed memory(.|\n)*  called at:\n(.|\n)*  allocated at:\n(.|\n)*"
      "  freed at:\n");
}

TEST(GuardRefusalsDeathTest, ADestroyedStream) {
  EXPECT_GUARD_SAYS(
      {
        aclrtDestroyStream(program.stream);
        aclrtSynchronizeStream(program.stream);
      },
      "portacl guard: aclrtSynchronizeStream is refused with 107017: .*\n  called at:\n");
}

// In a loop, and again from another line.
TEST(GuardRefusalsDeathTest, EachPlaceOnce) {
  EXPECT_GUARD_SAYS(
      {
        for (int i = 0; i < 5; ++i) aclrtFree(nullptr);
        std::fputs("second\n", stderr);
        aclrtFree(nullptr);
      },
      AllOf(ContainsRegex("aclrtFree is refused(.|\n)*second\n(.|\n)*aclrtFree is refused"),
            Not(ContainsRegex("is refused(.|\n)*is refused(.|\n)*is refused"))));
}

// The answer "not installed" is no refusal. torch_npu asks for three packages when it is imported.
TEST(GuardRefusalsDeathTest, AnswersAreNoRefusals) {
  EXPECT_GUARD_SAYS(
      {
        aclCANNPackageVersion version{};
        aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, &version);
        std::fputs("the end\n", stderr);
      },
      AllOf(ContainsRegex("the end"), Not(ContainsRegex("refused"))));
}

TEST(GuardRefusalsDeathTest, NothingWithoutGuardMode) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_GUARD", "0", 1);
        const GuardedProgram program;
        aclrtFree(nullptr);
        std::fputs("the end\n", stderr);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), AllOf(ContainsRegex("the end"), Not(ContainsRegex("refused"))));
}

}  // namespace
}  // namespace portacl_test
