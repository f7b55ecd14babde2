// Children of a process whose other threads are inside the library.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_upsample_nearest_exact1d_backward.h"
#include "portacl/portacl.h"
#include "support/api/child_process.h"

namespace portacl_test {
namespace {

void DoNothing(void*) {}

// 0, or the number of the first step that failed.
int UseHandles() {
  const std::array<int64_t, 3> large = {1, 1, 4};
  const std::array<int64_t, 3> small = {1, 1, 2};
  const std::array<int64_t, 1> output_size = {4};
  void* from = nullptr;
  void* to = nullptr;
  if (aclrtMalloc(&from, 16, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return 11;
  if (aclrtMalloc(&to, 8, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return 12;
  const auto tensor = [](const std::array<int64_t, 3>& shape, void* data) {
    return aclCreateTensor(shape.data(), 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCL, shape.data(), 3,
                           data);
  };
  aclTensor* const grad = tensor(large, from);
  aclTensor* const out = tensor(small, to);
  aclIntArray* const outputs = aclCreateIntArray(output_size.data(), 1);
  aclIntArray* const inputs = aclCreateIntArray(small.data(), 3);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  if (aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize(grad, outputs, inputs, 2.0, out, &bytes,
                                                          &executor) != OK) {
    return 13;
  }
  if (aclnnUpsampleNearestExact1dBackward(nullptr, 0, executor, nullptr) != OK) return 14;
  if (aclrtSynchronizeStream(nullptr) != ACL_SUCCESS) return 15;
  aclDestroyIntArray(inputs);
  aclDestroyIntArray(outputs);
  aclDestroyTensor(out);
  aclDestroyTensor(grad);
  if (aclrtFree(to) != ACL_SUCCESS || aclrtFree(from) != ACL_SUCCESS) return 16;
  return 0;
}

int UseStreams() {
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  if (aclrtCreateStream(&stream) != ACL_SUCCESS) return 21;
  if (aclrtCreateEvent(&event) != ACL_SUCCESS) return 22;
  const auto self = static_cast<uint64_t>(pthread_self());
  if (aclrtSubscribeReport(self, stream) != ACL_SUCCESS) return 23;
  if (aclrtLaunchCallback(&DoNothing, nullptr, ACL_CALLBACK_NO_BLOCK, stream) != ACL_SUCCESS) {
    return 24;
  }
  if (aclrtProcessReport(-1) != ACL_SUCCESS) return 25;
  if (aclrtUnSubscribeReport(self, stream) != ACL_SUCCESS) return 26;
  if (aclrtRecordEvent(event, stream) != ACL_SUCCESS) return 27;
  if (aclrtSynchronizeEvent(event) != ACL_SUCCESS) return 28;
  if (aclrtDestroyEvent(event) != ACL_SUCCESS) return 29;
  if (aclrtDestroyStream(stream) != ACL_SUCCESS) return 30;
  return 0;
}

// Every lock of the library, and what it guards.
int UseTheLibrary() {
  if (aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  aclrtContext context = nullptr;
  if (aclrtCreateContext(&context, 0) != ACL_SUCCESS) return 2;
  if (const int failed = UseHandles(); failed != 0) return failed;
  if (const int failed = UseStreams(); failed != 0) return failed;
  if (aclrtDestroyContext(context) != ACL_SUCCESS) return 3;
  if (portaclSetImpl("ref") != PORTACL_OK || portaclSetImpl(nullptr) != PORTACL_OK) return 4;
  if (aclrtSetDevice(-1) != ACL_ERROR_RT_INVALID_DEVICEID) return 5;
  if (aclGetRecentErrMsg() == nullptr) return 6;
  return 0;
}

// Forks while other threads use the library; each child uses it too.
void ForkAmongBusyThreads() {
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop.load()) {
        if (const int step = UseTheLibrary(); step != 0) failed = step;
      }
    });
  }
  int wrong = 0;
  for (int i = 0; i < 40 && wrong == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(300);  // only a hang needs so long
      _exit(UseTheLibrary());
    }
    waitpid(child, &wrong, 0);
    EXPECT_EQ(wrong, 0) << "child " << i << ": step " << WEXITSTATUS(wrong) << ", signal "
                        << (WIFSIGNALED(wrong) ? WTERMSIG(wrong) : 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0) << "the parent's threads";
}

TEST(ForkedChild, GoesOnWhereTheParentsThreadsWereInsideTheLibrary) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow forks of threaded processes";
#elif defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer's allocator stays locked in a child (GCC 12)";
#endif
  // One thread for the loops: oneTBB's do not exist in the child.
  const Environment serial = {{"PORTACL_NUM_THREADS", "1"}};
  // Each time the first use of everything is among the forks.
  for (int process = 0; process < 8; ++process) PORTACL_IN_CHILD(serial, ForkAmongBusyThreads());
}

}  // namespace
}  // namespace portacl_test
