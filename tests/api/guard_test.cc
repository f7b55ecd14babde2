// Guard mode, PORTACL_GUARD=1: each mistake stops the program with its message, and correct
// programs run as before.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d_backward.h"
#include "support/api/acl_fixture.h"
#include "support/api/child_process.h"
#include "support/api/grid_case.h"
#include "support/api/guarded_program.h"
#include "support/api/runtime_fixture.h"
#include "support/api/without_libdw.h"

namespace portacl_test {
namespace {

char Read(const volatile char* address) { return *address; }

TEST(GuardDeathTest, HostReadsOfDeviceMemory) {
  EXPECT_GUARD_STOPS(Read(program.bytes() + 12),
                     "portacl guard: host (read|access) of device memory at 0x[0-9a-f]+: byte 12 "
                     "of an allocation of 1000 bytes");
}

TEST(GuardDeathTest, HostWritesSayWhatToUseInstead) {
  EXPECT_GUARD_STOPS(program.bytes()[0] = 1,
                     "host (write|access) of device memory.*\n.*aclrtMemcpy.*HOST_TO_DEVICE");
}

TEST(GuardDeathTest, TheMessageHasTheStackOfTheAllocation) {
  const WithoutLibdw without;
  EXPECT_GUARD_STOPS(program.bytes()[0] = 1, "allocated at:\n.*[(+]0x");
}

TEST(GuardDeathTest, TheMessageHasTheStackOfTheAccess) {
  const WithoutLibdw without;
  EXPECT_GUARD_STOPS(program.bytes()[0] = 1,
                     "accessed at:\n[^\n]*portacl_api_test[^\n]*0x(.|\n)*"
                     "addr2line -Cfpie [^\n]*portacl_api_test 0x");
}

[[gnu::noinline]] void TouchForTheTest(volatile char* address) {
  *address = 1;
  asm volatile("");  // no tail call: the caller's frame stays
}

std::string OutputOf(const std::string& command) {
  std::string text;
  FILE* const output = popen(command.c_str(), "r");
  for (int c = 0; output != nullptr && (c = fgetc(output)) != EOF;) text += static_cast<char>(c);
  if (output != nullptr) pclose(output);
  return text;
}

// The command printed after "accessed at" names `function` as the innermost one.
MATCHER_P(NamesTheInnermost, function, "") {
  const size_t access = arg.find("accessed at:");
  const size_t command = arg.find("addr2line", access);
  if (access == std::string::npos || command == std::string::npos) return false;
  const std::string names = OutputOf(arg.substr(command, arg.find('\n', command) - command));
  *result_listener << names;
  return names.substr(0, names.find('\n')).find(function) != std::string::npos;
}

TEST(GuardDeathTest, TheCommandOfTheMessageNamesTheFunction) {
  if (OutputOf("command -v addr2line").empty()) GTEST_SKIP() << "no addr2line";
  const WithoutLibdw without;
  EXPECT_GUARD_STOPS(TouchForTheTest(program.bytes()), NamesTheInnermost("TouchForTheTest"));
}

// The first frame below `title` is a return address; the command's first address is the byte before
// it. Files are loaded at multiples of a page.
MATCHER_P(BeginsWithTheCallBelow, title, "") {
  const auto number_behind = [text_of = std::string(arg)](size_t from, const char* text) {
    const size_t found = text_of.find(text, from);
    if (found == std::string::npos) return 0ULL;
    return std::stoull(text_of.substr(found + std::strlen(text)), nullptr, 16);
  };
  const size_t frames = arg.find(std::string(title) + ":");
  if (frames == std::string::npos) return false;
  const size_t command = arg.find("addr2line", frames);
  if (command == std::string::npos) return false;
  return (number_behind(frames, "[0x") - number_behind(command, " 0x")) % 4096 == 1;
}

TEST(GuardDeathTest, TheCommandForAnAllocationNamesTheCall) {
  const WithoutLibdw without;
  EXPECT_GUARD_STOPS(program.bytes()[0] = 1, BeginsWithTheCallBelow("allocated at"));
}

// An overrun within the page of the data does not fault: it is found when the memory is freed.
TEST(GuardDeathTest, OverrunsOfOneByteAreFoundAtFree) {
  EXPECT_GUARD_STOPS(
      {
        program.host_bytes()[kSize] = 1;
        aclrtFreeHost(program.host);
      },
      "byte 1000 of an allocation of 1000 bytes of pinned host memory was "
      "written\n.*(.|\n)*allocated at:(.|\n)*freed at:");
  EXPECT_GUARD_STOPS(
      {
        program.host_bytes()[-1] = 1;
        aclrtFreeHost(program.host);
      },
      "byte -1 of an allocation of 1000 bytes of pinned host memory was written");
}

TEST(GuardDeathTest, HostAccessBesideDeviceMemory) {
  EXPECT_GUARD_STOPS(program.bytes()[kSize + 100] = 1, "byte 1100 of an allocation of 1000 bytes");
  EXPECT_GUARD_STOPS(program.bytes()[-100] = 1, "byte -100 of an allocation of 1000 bytes");
}

TEST(GuardDeathTest, UseAfterFree) {
  EXPECT_GUARD_STOPS(
      {
        aclrtFree(program.device);
        Read(program.bytes());
      },
      "of a freed allocation of 1000 bytes\n.*use after free");
  EXPECT_GUARD_STOPS(
      {
        aclrtFreeHost(program.host);
        Read(program.host_bytes());
      },
      "pinned host memory.*of a freed allocation of 1000 bytes\n.*use after free");
}

TEST(GuardDeathTest, OverrunsOfHostMemory) {
  EXPECT_GUARD_STOPS(program.host_bytes()[1100] = 1,
                     "pinned host memory.*byte 1100.*\n.*outside the allocation");
}

// Freed memory keeps its addresses for a while, so that a stale pointer does not hit a new block.
TEST(GuardDeathTest, FreedMemoryIsNotHandedOutAgainSoon) {
  EXPECT_GUARD_STOPS(
      {
        aclrtFree(program.device);
        for (int i = 0; i < 200; ++i) {
          void* other = nullptr;
          aclrtMalloc(&other, kSize, ACL_MEM_MALLOC_HUGE_FIRST);
          aclrtFree(other);
        }
        program.bytes()[5] = 1;
      },
      "byte 5 of a freed allocation");
}

// Work that is still on a stream when its memory is freed.
TEST(GuardDeathTest, UseAfterFreeByAStream) {
  EXPECT_GUARD_STOPS(
      {
        Blocker blocker;
        blocker.Launch(program.stream);
        aclrtMemsetAsync(program.device, kSize, 0, kSize, program.stream);
        aclrtFree(program.device);
        blocker.Release();
        aclrtSynchronizeStream(program.stream);
      },
      "memset on stream [0-9]+ writes devPtr: (write|access) of device memory.*of a freed "
      "allocation of 1000 bytes\n.*use "
      "after free: synchronise");
}

// A handler that the program had installed before is called after the message.
TEST(GuardDeathTest, EarlierHandlersAreCalled) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_GUARD", "1", 1);
        std::signal(SIGSEGV, [](int) { _exit(42); });
        std::signal(SIGBUS, [](int) { _exit(42); });
        const GuardedProgram program;
        program.bytes()[0] = 1;
      },
      testing::ExitedWithCode(42), "host (write|access) of device memory");
}

// ---- refusals -----------------------------------------------------------------------------------

aclTensor* MakeTensor(const std::vector<int64_t>& shape, void* data) {
  return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND,
                         shape.data(), shape.size(), data);
}

// The gradient of a 2 x 2 image enlarged to 4 x 4; the status of the phase that fails.
aclnnStatus RunOperator(void* grad_output, void* out, aclrtStream stream) {
  const int64_t sizes[] = {4, 4, 1, 1, 2, 2};
  aclTensor* const from = MakeTensor({1, 1, 4, 4}, grad_output);
  aclTensor* const to = MakeTensor({1, 1, 2, 2}, out);
  aclIntArray* const output_size = aclCreateIntArray(sizes, 2);
  aclIntArray* const input_size = aclCreateIntArray(sizes + 2, 4);
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  aclnnStatus status = aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
      from, output_size, input_size, 0, 0, to, &workspace_size, &executor);
  void* workspace = nullptr;
  if (status == 0 && workspace_size > 0) {
    EXPECT_EQ(aclrtMalloc(&workspace, workspace_size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }
  if (status == 0) {
    status = aclnnUpsampleNearestExact2dBackward(workspace, workspace_size, executor, stream);
  }
  if (status == 0) status = aclrtSynchronizeStream(stream);
  if (workspace != nullptr) aclrtFree(workspace);
  aclDestroyTensor(from);
  aclDestroyTensor(to);
  aclDestroyIntArray(output_size);
  aclDestroyIntArray(input_size);
  return status;
}

void CheckHostTensors() {
  const GuardedProgram program;
  std::vector<float> plain(16, 1.0f);
  EXPECT_NE(RunOperator(plain.data(), program.device, program.stream), 0);
  EXPECT_THAT(NewestMessage(),
              testing::AllOf(testing::HasSubstr("gradOutput"), testing::HasSubstr("host memory"),
                             testing::HasSubstr("aclrtMalloc")));
  EXPECT_NE(RunOperator(program.device, program.host, program.stream), 0);
  EXPECT_THAT(NewestMessage(), testing::HasSubstr("aclrtMallocHost"));
  EXPECT_EQ(aclrtFree(program.device), ACL_SUCCESS);
  EXPECT_NE(RunOperator(program.device, program.device, program.stream), 0);
}

TEST(GuardChild, HostPointersAsTensorsAreRefused) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "1"}}), CheckHostTensors());
}

// The grid sampler's reference kernel needs a workspace.
void CheckHostWorkspaces() {
  const GuardedProgram program;
  Random random(5);
  GridCase c(Element::kFloat, 1, 1, 4, 4, 3, 3);
  c.Fill(GridKind::kRandom, random);
  Tensor input_grad(Element::kFloat, c.input.shape());
  Tensor grid_grad(Element::kFloat, c.grid.shape());
  const DeviceTensor tensors[] = {DeviceTensor(&c.grad_output), DeviceTensor(&c.input),
                                  DeviceTensor(&c.grid), DeviceTensor(&input_grad),
                                  DeviceTensor(&grid_grad)};
  GridCall call;
  call.grad_output = tensors[0].args();
  call.input = tensors[1].args();
  call.grid = tensors[2].args();
  call.input_grad = tensors[3].args();
  call.grid_grad = tensors[4].args();
  const Planned planned = call.Plan();
  ASSERT_EQ(planned.status, 0) << TakeMessage();
  ASSERT_GT(planned.workspace_size, 0u);
  std::vector<char> plain(planned.workspace_size);
  EXPECT_NE(call.Run(plain.data(), plain.size(), planned.executor, program.stream), 0);
  EXPECT_THAT(TakeMessage(),
              testing::AllOf(testing::HasSubstr("workspace"), testing::HasSubstr("host memory")));
  const DeviceMemory workspace(planned.workspace_size);
  EXPECT_EQ(call.Run(workspace.get(), workspace.size(), planned.executor, program.stream), 0)
      << "the refused call has not used the executor up: " << TakeMessage();
  EXPECT_EQ(aclrtSynchronizeStream(program.stream), 0);
}

TEST(GuardChild, HostPointersAsWorkspaceAreRefused) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "1"}, {"PORTACL_IMPL", "ref"}}),
                   CheckHostWorkspaces());
}

// ---- correct programs ---------------------------------------------------------------------------

void CheckCorrectProgram() {
  const GuardedProgram program;
  std::string fresh(kSize, ' ');
  ASSERT_EQ(aclrtMemcpy(fresh.data(), kSize, program.device, kSize, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(fresh, std::string(kSize, '\xFF')) << "fresh memory has a pattern";
  std::memset(program.host, 'x', kSize);
  ASSERT_EQ(aclrtMemcpyAsync(program.device, kSize, program.host, kSize, ACL_MEMCPY_HOST_TO_DEVICE,
                             program.stream),
            0);
  ASSERT_EQ(aclrtMemsetAsync(static_cast<char*>(program.device) + 1, 10, 'y', 2, program.stream),
            0);
  ASSERT_EQ(aclrtSynchronizeStream(program.stream), ACL_SUCCESS);
  std::string back(5, ' ');
  ASSERT_EQ(aclrtMemcpy(back.data(), 5, program.device, 5, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(back, "xyyxx");

  void* grad_output = nullptr;
  ASSERT_EQ(aclrtMalloc(&grad_output, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  const std::vector<float> ones(16, 1.0f);
  ASSERT_EQ(aclrtMemcpy(grad_output, 64, ones.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  EXPECT_EQ(RunOperator(grad_output, program.device, program.stream), 0) << NewestMessage();
  std::vector<float> sums(4);
  ASSERT_EQ(aclrtMemcpy(sums.data(), 16, program.device, 16, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(sums, std::vector<float>(4, 4.0f));
  EXPECT_EQ(aclrtFree(grad_output), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(grad_output), ACL_ERROR_RT_MEMORY_FREE);
  EXPECT_EQ(aclrtFree(program.device), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(program.host), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(program.stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST(GuardChild, CorrectProgramsRunAsEver) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "1"}}), CheckCorrectProgram());
}

[[noreturn]] void LeakNothing() {
  aclInit(nullptr);
  CheckCorrectProgram();
  aclFinalize();
  std::exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(GuardDeathTest, NothingIsReportedWithoutLeaks) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("PORTACL_GUARD", "1", 1);
        LeakNothing();
      },
      testing::ExitedWithCode(0), testing::Not(testing::HasSubstr("not destroyed")));
}

}  // namespace
}  // namespace portacl_test
